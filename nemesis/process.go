package nemesis

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/nearest"
	"github.com/fencepost-sim/fencepost/sim"
)

// resource is the only process whose name has no number.
const resource sim.ProcessID = "resource"

// longestProcess is the maximum length of a process name in bytes.
const longestProcess = 64

// isProcess reports whether text could be the name of a process: "resource", or one or more words, each followed by a
// number from 1, such as client-1 or redis-1-replica-2.
func isProcess(text string) bool {
	if text == string(resource) {
		return true
	}
	if text == "" || len(text) > longestProcess {
		return false
	}
	parts := 0
	for rest, more := text, true; more; parts++ {
		var part string
		part, rest, more = strings.Cut(rest, "-")
		if parts%2 == 0 && !isWord(part) || parts%2 == 1 && !isNumber(part) {
			return false
		}
	}
	return parts%2 == 0
}

func isWord(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz") == ""
}

func isNumber(s string) bool {
	return s != "" && s[0] != '0' && strings.Trim(s, "0123456789") == ""
}

// closest returns the process in the run that the user probably meant by text. It considers only processes whose role
// satisfies isTarget. If no name is similar, it returns "".
func (n *Names) closest(text string, isTarget func(role) bool) string {
	names := n.namesWith(isTarget)
	if name := processMeant(text); slices.Contains(names, name) {
		return name
	}
	return nearest.Word(text, names)
}

// processMeant corrects common misspellings of a name: Client1, client_1 and client-01 become client-1.
func processMeant(text string) string {
	if len(text) > longestProcess {
		return ""
	}
	fields := strings.FieldsFunc(splitNumbers(strings.ToLower(text)), func(r rune) bool { return r == '-' })
	for i, field := range fields {
		if trimmed := strings.TrimLeft(field, "0"); isNumber(trimmed) {
			fields[i] = trimmed
		} else if trimmed == "" {
			fields[i] = "1" // the user may have counted from 0
		}
	}
	if meant := strings.Join(fields, "-"); isProcess(meant) {
		return meant
	}
	return ""
}

// splitNumbers replaces every separator by "-", and inserts "-" where a number follows a letter.
func splitNumbers(text string) string {
	var b strings.Builder
	last := byte('-')
	for i := 0; i < len(text); i++ {
		c := text[i]
		if strings.IndexByte("_.#:/", c) >= 0 {
			c = '-'
		}
		if '0' <= c && c <= '9' && 'a' <= last && last <= 'z' {
			b.WriteByte('-')
		}
		b.WriteByte(c)
		last = c
	}
	return b.String()
}

// IsClient reports whether a process is a client, judging by its name: client-1, client-2 and so on.
func IsClient(p sim.ProcessID) bool { return strings.HasPrefix(string(p), "client-") }
