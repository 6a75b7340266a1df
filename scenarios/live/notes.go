package live

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// mostArgument is the longest argument of a command that a run accepts, in bytes: a history keeps values, a value and a
// member on one line, in which a byte may take six, and a line has 1 MiB at most.
const mostArgument = 64 << 10

// tooLong is the error for a command with an argument that a run does not accept; empty if it accepts all.
func tooLong(args []string) string {
	for i, a := range args {
		if len(a) > mostArgument {
			return fmt.Sprintf("ERR fencepost: argument %d of %.20s has %d bytes, and a run takes %d at most", i,
				args[0], len(a), mostArgument)
		}
	}
	return ""
}

// recordable is a value as a history can keep it: bytes that are no text are written in hexadecimal digits, and a value
// that commands have made too long is cut off.
func recordable(value string) string {
	if len(value) > mostArgument {
		value = fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(value[:100], "?"), len(value))
	}
	if utf8.ValidString(value) {
		return value
	}
	if len(value) > mostArgument/2 {
		return fmt.Sprintf("0x%s… (%d bytes)", hex.EncodeToString([]byte(value[:100])), len(value))
	}
	return "0x" + hex.EncodeToString([]byte(value))
}

// incidents are the distinct things that a reader must know about a run, with how often each happened.
type incidents struct {
	keys  []string
	texts map[string]string
	times map[string]int
}

// mostIncidents is how many kinds are kept separately.
const mostIncidents = 50

// add counts an incident. Of several with one key the first is kept.
func (n *incidents) add(key, text string) {
	if n.times == nil {
		n.texts, n.times = map[string]string{}, map[string]int{}
	}
	if n.times[key] == 0 {
		if len(n.keys) == mostIncidents {
			key, text = "others", "more of the kind"
		}
		if !slices.Contains(n.keys, key) {
			n.keys = append(n.keys, key)
		}
		n.texts[key] = text
	}
	n.times[key]++
}

// list returns a line for each.
func (n *incidents) list() (lines []string) {
	for _, key := range n.keys {
		line := n.texts[key]
		if times := n.times[key]; times > 1 {
			line += fmt.Sprintf(" (%d times)", times)
		}
		lines = append(lines, line)
	}
	return lines
}

// usual are the errors that are normal when servers fail over, restart or do not have a script yet, and those of the
// resource.
var usual = []string{"NOSCRIPT", "READONLY", "LOADING", "MASTERDOWN", "NOREPLICAS", "TRYAGAIN", "EXECABORT",
	"STALETOKEN", "UNBLOCKED"}

// greetings are what client libraries send when they connect, whether or not the server knows it.
var greetings = []string{"HELLO", "CLIENT", "COMMAND", "AUTH"}

// refused records an error that a server has returned to the user's client, which may not look at it.
func (k *client) refused(server sim.ProcessID, args []string, answer []byte) {
	if len(args) == 0 || len(answer) == 0 || answer[0] != '-' || k.stage.Command == "" {
		return
	}
	line, _, _ := strings.Cut(string(answer[1:]), "\r\n")
	kind, _, _ := strings.Cut(line, " ")
	name := shown(strings.ToUpper(args[0]), 20)
	if slices.Contains(usual, kind) || slices.Contains(greetings, name) {
		return
	}
	k.stage.incidents.add(string(k.id)+" "+string(server)+" "+name,
		fmt.Sprintf("%s refused %s of %s: %s", server, name, k.id, shown(line, 200)))
}

// shown is the start of a text, on one line, without control characters and passwords of URLs.
func shown(text string, most int) string {
	text = strings.Map(func(c rune) rune {
		if history.Unprintable(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(WithoutPasswords(text), "?"))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return text
}

// userinfo is the part of a URL before its host.
var userinfo = regexp.MustCompile(`(://)[^/\s"'@]*@`)

// WithoutPasswords is a text without the users and passwords of the URLs in it: before their hosts there is "…@".
func WithoutPasswords(text string) string { return userinfo.ReplaceAllString(text, "${1}…@") }
