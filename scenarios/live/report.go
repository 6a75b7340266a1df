package live

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/nearest"
)

// word is a report's first word. It says what has happened.
type word string

const (
	acquiring word = "ACQUIRING"
	acquired  word = "ACQUIRED"
	failed    word = "FAILED"
	extending word = "EXTENDING"
	extended  word = "EXTENDED"
	unchanged word = "EXTEND-FAILED"
	lost      word = "LOST"
	releasing word = "RELEASING"
	released  word = "RELEASED"
)

// grammar lists the first words of reports. For each, it says what else may follow besides the lock.
var grammar = []struct {
	word    word
	attempt bool
	options []string
}{
	{acquiring, false, nil},
	{acquired, true, []string{"TOKEN", "VALIDITY"}},
	{failed, false, nil},
	{extending, true, nil},
	{extended, true, []string{"VALIDITY"}},
	{unchanged, true, []string{"UNKNOWN"}},
	{lost, true, nil},
	{releasing, true, nil},
	{released, true, []string{"REFUSED", "UNKNOWN"}},
}

// report is a FENCEPOST command sent by a client.
type report struct {
	word     word
	lock     history.Lock
	attempt  string
	token    history.Token
	validity time.Duration
	stated   bool // whether the report states a validity
	refused  bool // for a release: whether the service refused it
	unknown  bool // for a release or an extension: whether its outcome is unknown
}

func parseReport(args []string) (r report, err error) {
	words := make([]string, len(grammar))
	for i := range grammar {
		words[i] = string(grammar[i].word)
	}
	if len(args) == 0 {
		return r, fmt.Errorf("FENCEPOST must be followed by one of these words: %s", strings.Join(words, ", "))
	}
	at := slices.Index(words, strings.ToUpper(args[0]))
	if at < 0 {
		return r, fmt.Errorf("unknown report: FENCEPOST %s%s", args[0], meant(args[0], words))
	}
	g := grammar[at]
	r.word = g.word
	need := []string{"lock"}
	if g.attempt {
		need = append(need, "attempt")
	}
	if len(args) < 1+len(need) {
		return r, fmt.Errorf("FENCEPOST %s has no %s: send FENCEPOST %s %s", g.word, need[len(args)-1], g.word,
			strings.Join(need, " "))
	}
	r.lock = history.Lock(args[1])
	rest := args[2:]
	if g.attempt {
		r.attempt, rest = args[2], args[3:]
	}
	for len(rest) > 0 {
		option := strings.ToUpper(rest[0])
		if !slices.Contains(g.options, option) {
			return r, fmt.Errorf("FENCEPOST %s does not accept %s%s", g.word, rest[0], meant(rest[0], g.options))
		}
		if rest, err = r.option(option, rest[1:]); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (r *report) option(name string, rest []string) ([]string, error) {
	switch name {
	case "REFUSED":
		r.refused = true
		return rest, nil
	case "UNKNOWN":
		r.unknown = true
		return rest, nil
	}
	if len(rest) == 0 {
		return nil, fmt.Errorf("%s must be followed by a number", name)
	}
	n, err := strconv.ParseInt(rest[0], 10, 64)
	if name == "TOKEN" {
		if err != nil || n < 1 {
			return nil, fmt.Errorf("TOKEN must be followed by a whole number of at least 1, not %q", rest[0])
		}
		r.token = history.Token(n)
		return rest[1:], nil
	}
	if err != nil || n > mostValidity || n < -mostValidity {
		return nil, fmt.Errorf("VALIDITY must be followed by a whole number of milliseconds, not %q", rest[0])
	}
	r.validity, r.stated = time.Duration(n)*time.Millisecond, true
	return rest[1:], nil
}

// mostValidity is the longest validity that a report may contain, in ms: a year.
const mostValidity = 366 * 24 * 3600 * 1000

func meant(text string, words []string) string {
	if near := nearest.Word(strings.ToUpper(text), words); near != "" {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return ""
}

// access is a READ or a WRITE of the protected resource.
type access struct {
	write bool
	lock  history.Lock
	value string
	token history.Token
}

// parseAccess parses a command to the resource.
func parseAccess(args []string) (a access, err error) {
	a.write = strings.EqualFold(args[0], "WRITE")
	need := []string{"lock"}
	if a.write {
		need = append(need, "value")
	}
	if len(args) < 1+len(need) {
		return a, fmt.Errorf("%s has no %s: send %[1]s %[3]s [TOKEN n]", strings.ToUpper(args[0]), need[len(args)-1],
			strings.Join(need, " "))
	}
	a.lock = history.Lock(args[1])
	rest := args[2:]
	if a.write {
		a.value, rest = args[2], args[3:]
	}
	if len(rest) == 0 {
		return a, nil
	}
	if !strings.EqualFold(rest[0], "TOKEN") {
		return a, fmt.Errorf(
			"%s does not accept %s%s", strings.ToUpper(args[0]), rest[0], meant(rest[0], []string{"TOKEN"}))
	}
	var r report
	if rest, err = r.option("TOKEN", rest[1:]); err == nil && len(rest) > 0 {
		err = fmt.Errorf("%s does not accept %s", strings.ToUpper(args[0]), rest[0])
	}
	a.token = r.token
	return a, err
}
