package reading

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/nearest"
)

// Kind is the kind of lock in a history. If the history's header does not specify it, the user does.
type Kind string

// Kinds of lock. AsRecorded, the zero Kind, means that the header says which kind it is.
const (
	AsRecorded Kind = ""
	Mutex      Kind = "mutex"     // a lock that is only acquired and released
	Reentrant  Kind = "reentrant" // a mutex that its owner may acquire more than once; it may issue fencing tokens
)

// KindOf parses the name of a kind.
func KindOf(word string) (Kind, error) {
	words := []string{string(Mutex), string(Reentrant)}
	if slices.Contains(words, word) {
		return Kind(word), nil
	}
	if near := nearest.Word(word, words); near != "" {
		return "", fmt.Errorf("unknown kind of lock %q (did you mean %q?)", word, near)
	}
	return "", fmt.Errorf("unknown kind of lock %q: it must be %s", word, strings.Join(words, " or "))
}

// take marks a history as that of a lock of this kind. It returns an error if the history contains anything that such a
// lock does not have: operations other than acquire and release, leases, shared holds, server or resource records, or,
// for a mutex, tokens.
func (k Kind) take(h *history.History) error {
	if k == AsRecorded {
		return nil
	}
	for i := range h.Events {
		e := &h.Events[i]
		switch {
		case e.Process == history.Nemesis, e.F == history.Crashed:
		case e.F != history.Acquire && e.F != history.Release:
			return fmt.Errorf("index %d: %s of %s: a %s is only acquired and released", e.Index, e.F, e.Process, k)
		case e.Grant != nil, e.Token != 0 && k == Mutex, e.Shared:
			what := map[Kind]string{Mutex: "a lease, a token", Reentrant: "a lease"}[k]
			return fmt.Errorf("index %d: %s of %s states %s or a shared hold: a %s lock has none", e.Index, e.F,
				e.Process, what, k)
		}
	}
	h.Header.Reentrant = h.Header.Reentrant || k == Reentrant
	return nil
}
