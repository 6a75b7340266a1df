package redis

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/lua"
)

// longestName bounds the name of a script, in runes.
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
	return command
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

// firstLine is the first line of a script that has something on it, without what a fault's line cannot hold.
func firstLine(script string) string {
	for line := range strings.Lines(script) {
		words := strings.Fields(strings.Map(func(r rune) rune {
			switch {
			case r == '"':
				return '\''
			case r < ' ' || r == '#' || r > '~':
				return ' '
			}
			return r
		}, line))
		name := strings.Join(words, " ")
		if len(name) > longestName {
			name = strings.TrimSpace(name[:longestName])
		}
		if name != "" {
			return name
		}
	}
	return "EVAL"
}
