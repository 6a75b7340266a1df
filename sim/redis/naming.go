package redis

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/lua"
)

// longestName bounds a name, in bytes.
const longestName = 60

// Namer names what the requests of one run ask for: by the command, in capitals, and a script by its name, if it is
// well known, or else by its first line. It knows a script by its hash once some client has sent its text; the zero
// value knows none.
type Namer struct {
	names map[string]string // of scripts, by their texts
	texts map[string]string // by their hashes
}

// Name names the request with these arguments.
func (n *Namer) Name(args []string) string {
	command := strings.ToUpper(args[0])
	switch {
	case len(args) < 2:
	case command == "EVAL", command == "EVAL_RO":
		return n.script(args[1])
	case command == "EVALSHA", command == "EVALSHA_RO":
		if text, known := n.texts[strings.ToLower(args[1])]; known {
			return n.script(text)
		}
	case command == "SCRIPT" && len(args) > 2 && strings.EqualFold(args[1], "load"):
		n.script(args[2])
	}
	if name := printable(command); name != "" {
		return name
	}
	return "?"
}

// script names a script by its text, and remembers its hash.
func (n *Namer) script(text string) string {
	if name, known := n.names[text]; known {
		return name
	}
	if n.names == nil {
		n.names, n.texts = map[string]string{}, map[string]string{}
	}
	sum := sha1.Sum([]byte(text))
	n.texts[hex.EncodeToString(sum[:])] = text
	name, tokens := "", lua.Tokens(text)
	for _, w := range WellKnown {
		if lua.Tokens(w.Text) == tokens {
			name = w.Name
		}
	}
	if name == "" {
		name = firstLine(text)
	}
	n.names[text] = name
	return name
}

// firstLine is the first line of a script that has something to print.
func firstLine(script string) string {
	for line := range strings.Lines(script) {
		if name := printable(line); name != "" {
			return name
		}
	}
	return "EVAL"
}

// printable is the beginning of a text, without what neither a terminal nor a fault's line may hold: a client sends
// what it likes.
func printable(text string) string {
	words := strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case r == '"':
			return '\''
		case r < ' ' || r == '#' || r > '~':
			return ' '
		}
		return r
	}, text))
	name := strings.Join(words, " ")
	return strings.TrimSpace(name[:min(len(name), longestName)])
}
