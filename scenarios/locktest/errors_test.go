package locktest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
)

// refusing is a lock that can never be acquired. Lock returns an error that gives the reason.
type refusing struct{ plain }

func (l *refusing) Lock(context.Context) error {
	return errors.New("pool of " + l.c.Name + " is exhausted\nand has been for a while")
}

// TestErrorsOfALibraryAreReported checks that the explanation quotes an error returned by Lock or Unlock.
func TestErrorsOfALibraryAreReported(t *testing.T) {
	for name, test := range map[string]struct {
		lock constructor
		law  checker.Law
		want string
	}{
		"an acquire": {making(func(c *Client) Lock { return &refusing{plain{c: c, ttl: 8}} }), checker.FaultTolerance,
			`ended in fail after 0.000 s ("pool of client-1 is exhausted…")`},
		"a release": {making(func(*Client) Lock { return unowned{} }), checker.FaultTolerance,
			`took no effect ("nobody owns this")`},
	} {
		t.Run(name, func(t *testing.T) {
			r, ok := Explore(t, Config{New: test.lock, Seeds: 1, SkipTrial: true, Plan: []string{noEffect}})
			if !ok {
				return
			}
			for _, b := range r.Breaches {
				if b.Law != test.law {
					continue
				}
				small, err := r.Shrink(b)
				if err != nil || !strings.Contains(strings.Join(strings.Fields(small.Text), " "), test.want) {
					t.Errorf("%v: %s is not in\n%s", err, test.want, small.Text)
				}
				return
			}
			t.Errorf("%s is not violated: %+v", test.law, r)
		})
	}
}

// unowned is a lock that every client can acquire and no client can release.
type unowned struct{ open }

func (unowned) Unlock(context.Context) error { return errors.New("nobody owns this") }

func TestWhatIsSaidFitsALine(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "an error without words",
		" \n":                         "an error without words",
		"no\x1b[2J\tpool":             "no?[2J?pool",
		"first\nsecond":               "first…",
		"bad \xff byte":               "bad ? byte",
		strings.Repeat("ü", 100):      strings.Repeat("ü", 100),
		strings.Repeat("ü", 101):      strings.Repeat("ü", 100) + "…",
		"lock is held by ot\u202eher": "lock is held by ot?her",
	} {
		if got := said(errors.New(text)); got != want {
			t.Errorf("%q is reported as %q, want %q", text, got, want)
		}
	}
}

// wordy is a lock that returns a different error message each time.
type wordy struct{ plain }

var failures int

func (l *wordy) Unlock(context.Context) error {
	failures++
	return fmt.Errorf("error %d", failures)
}

// TestTheWordsOfALibraryAreNoDifference checks that two runs count as equal if they differ only in the text of error
// messages.
func TestTheWordsOfALibraryAreNoDifference(t *testing.T) {
	r, ok := Explore(t, Config{Seeds: 4, Plan: []string{noEffect}, SkipTrial: true,
		New: making(func(c *Client) Lock { return &wordy{plain{c: c, ttl: 8 * time.Second}} })})
	if ok && (len(r.Breaches) == 0 || len(r.DifferingSeeds) > 0) {
		t.Errorf("%+v", r)
	}
}
