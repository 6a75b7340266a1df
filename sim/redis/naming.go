package redis

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/lua"
)

// longestName is the maximum length of a name, in bytes.
const longestName = 60

// Namer gives names to a run's requests. A request is named after its command, in capitals. A script's name is the one
// in WellKnown or, if it is not listed there, the script's first line. Namer recognizes a script by its hash once a
// client has sent the script's text in the same run. The zero value is ready to use.
type Namer struct {
	run    int
	texts  map[string]*sentScript
	hashes map[string]*sentScript
}

// sentScript is a script that a client has sent.
type sentScript struct {
	name string
	sent int // number of the last run in which a client sent the script
}

// mostScripts is the maximum number of scripts whose names are kept for the next run. If there are more, all of them
// are forgotten.
const mostScripts = 1000

// Begin starts another run. It keeps known names unless there are too many, because determining them is slow.
func (n *Namer) Begin() {
	if n.run++; len(n.texts) > mostScripts {
		n.texts, n.hashes = nil, nil
	}
}

// Name returns the name of the request with these arguments.
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

// script returns the name of the script with the given text, and stores the script's hash.
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

// firstLine returns a script's first line that has a printable character.
func firstLine(script string) string {
	for line := range strings.Lines(script) {
		if name := printable(line); name != "" {
			return name
		}
	}
	return "EVAL"
}

// printable returns the beginning of text, without characters that could mess up a terminal or a line in a fault plan.
// Such characters can occur because a client may send any bytes.
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
