package live

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// mostArgument is the maximum length, in bytes, of a command argument in a run. A line in a history may be at most 1
// MiB long. It contains a value and a member, and each of their bytes may take up six bytes.
const mostArgument = 64 << 10

// tooLong returns the error reply to a command with an argument that is too long, or "" if all arguments are accepted.
func tooLong(args []string) string {
	for i, a := range args {
		if len(a) > mostArgument {
			return fmt.Sprintf("ERR fencepost: argument %d of %.20s has %d bytes, "+
				"but a run accepts at most %d bytes", i,
				args[0], len(a), mostArgument)
		}
	}
	return ""
}

// recordable returns a value in a form that a history can contain. A value that is not valid UTF-8 is converted to
// hexadecimal, and a value that is too long is truncated.
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

// incidents collects distinct observations for a report's reader, and counts how many times each occurred.
type incidents struct {
	keys  []string
	texts map[string]string
	times map[string]int
}

// mostIncidents is the maximum number of distinct incidents that are kept. All others share a single count.
const mostIncidents = 50

// add counts an incident. If add is called several times with the same key, only the first text is kept.
func (n *incidents) add(key, text string) {
	if n.times == nil {
		n.texts, n.times = map[string]string{}, map[string]int{}
	}
	if n.times[key] == 0 {
		if len(n.keys) == mostIncidents {
			key, text = "others", "more like these"
		}
		if !slices.Contains(n.keys, key) {
			n.keys = append(n.keys, key)
		}
		n.texts[key] = text
	}
	n.times[key]++
}

// list returns a line for each incident.
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

// usualErrors lists errors that are normal when servers fail over, restart or do not know a script yet, and the
// resource's errors.
var usualErrors = []string{"NOSCRIPT", "READONLY", "LOADING", "MASTERDOWN", "NOREPLICAS", "TRYAGAIN", "EXECABORT",
	"STALETOKEN", "UNBLOCKED"}

// greetings are commands that client libraries send when they connect, even to servers that do not know them.
var greetings = []string{"HELLO", "CLIENT", "COMMAND", "AUTH"}

// refused records that a lock server returned an error to the user's client, because the client may ignore the error.
func (k *client) refused(server sim.ProcessID, args []string, answer []byte) {
	if len(args) == 0 || len(answer) == 0 || answer[0] != '-' || k.stage.Command == "" {
		return
	}
	line, _, _ := strings.Cut(string(answer[1:]), "\r\n")
	kind, _, _ := strings.Cut(line, " ")
	name := shown(strings.ToUpper(args[0]), 20)
	if slices.Contains(usualErrors, kind) || slices.Contains(greetings, name) {
		return
	}
	k.stage.incidents.add(string(k.id)+" "+string(server)+" "+name,
		fmt.Sprintf("%s refused %s of %s: %s", server, name, k.id, shown(line, 200)))
}

// presentable returns a string without passwords, and with spaces in place of unprintable characters.
func presentable(text string) string {
	return strings.Map(func(c rune) rune {
		if history.Unprintable(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(WithoutPasswords(text), "?"))
}

// shown returns a string on one line, truncated to the maximum length in bytes. If it was truncated, "…" follows.
// Control characters are replaced by spaces, and passwords in URLs are hidden.
func shown(text string, most int) string {
	text = strings.Join(strings.Fields(presentable(text)), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return text
}
