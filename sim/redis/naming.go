package redis

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/lua"
)

// longestName bounds a name, in bytes.
const longestName = 60

// Namer names what the requests of a run ask for: by the command, in capitals, and a script by its name, if it is well
// known, or else by its first line. It knows a script by its hash once some client has sent its text in the run; the
// zero value knows none.
type Namer struct {
	run    int
	texts  map[string]*sentScript
	hashes map[string]*sentScript
}

// sentScript is one that was sent.
type sentScript struct {
	name string
	sent int // the last run in which it was
}

// mostScripts is how many scripts are kept from one run for the next.
const mostScripts = 1000

// Begin turns to another run. What was found out about texts is kept, since it takes longer than the rest of a name.
func (n *Namer) Begin() {
	if n.run++; len(n.texts) > mostScripts {
		n.texts, n.hashes = nil, nil
	}
}

// Name names the request with these arguments.
func (n *Namer) Name(args []string) string {
	command := strings.ToUpper(args[0])
	switch {
	case len(args) < 2:
	case command == "EVAL", command == "EVAL_RO":
		return n.script(args[1])
	case command == "EVALSHA", command == "EVALSHA_RO":
		if s := n.hashes[strings.ToLower(args[1])]; s != nil && s.sent == n.run {
			return s.name
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
	if s := n.texts[text]; s != nil {
		s.sent = n.run
		return s.name
	}
	if n.texts == nil {
		n.texts, n.hashes = map[string]*sentScript{}, map[string]*sentScript{}
	}
	name, tokens := "", lua.Tokens(text)
	for _, w := range WellKnown {
		if lua.Tokens(w.Text) == tokens {
			name = w.Name
		}
	}
	if name == "" {
		name = firstLine(text)
	}
	sum, s := sha1.Sum([]byte(text)), &sentScript{name, n.run}
	n.texts[text], n.hashes[hex.EncodeToString(sum[:])] = s, s
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
	if len(text) <= longestName && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
		return text
	}
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
