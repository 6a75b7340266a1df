//go:build linux

package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/live"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
)

// TestOnlyADelayedStartIsTriedAgain checks that a delayed start is repeated up to the limit, but not after an
// interrupt. A failure after the run has started does not count as a delayed start.
func TestOnlyADelayedStartIsTriedAgain(t *testing.T) {
	late := fmt.Errorf("starting redis-1: %w", &process.LateError{Err: errors.New("redis-1 is\n  late")})
	wrong := errors.New("no such program")
	ran := func() *live.Result { return &live.Result{} }
	type outcome struct {
		result *live.Result
		err    error
	}
	for _, test := range []struct {
		how       string
		outcomes  []outcome
		interrupt int // which start is interrupted; 0: none
		again     int
		err       string
		notes     string
	}{
		{"at once", []outcome{{ran(), nil}}, 0, 0, "<nil>", "[]"},
		{"late once", []outcome{{nil, late}, {ran(), nil}}, 0, 1, "<nil>",
			"[the host delayed the start, and only attempt 2 succeeded: starting redis-1: redis-1 is late]"},
		{"late twice", []outcome{{nil, late}, {nil, late}, {ran(), nil}}, 0, 2, "<nil>",
			"[the host delayed the start, and only attempt 3 succeeded: starting redis-1: redis-1 is late]"},
		{"late each time", []outcome{{nil, late}, {nil, late}, {nil, late}}, 0, 2,
			"the host delayed all 3 attempts to start the servers: starting redis-1: redis-1 is\n  late: " +
				"the run was not judged", ""},
		{"wrong", []outcome{{nil, wrong}}, 0, 0, wrong.Error(), ""},
		{"late, then wrong", []outcome{{nil, late}, {nil, wrong}}, 0, 1, wrong.Error(), ""},
		{"interrupted", []outcome{{nil, late}}, 1, 0, late.Error(), ""},
		{"late in the midst", []outcome{{ran(), late}}, 0, 0, late.Error(), "[]"},
	} {
		t.Run(test.how, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			starts, again := 0, 0
			o := &live.Options{Context: ctx, Again: func(why error) {
				if again++; why != late {
					t.Errorf("again since %v", why)
				}
			}}
			result, err := begun(o, func() (*live.Result, error) {
				starts++
				if starts == test.interrupt {
					cancel()
				}
				return test.outcomes[starts-1].result, test.outcomes[starts-1].err
			})
			if starts != len(test.outcomes) || again != test.again || fmt.Sprint(err) != test.err {
				t.Errorf("%d starts, %d said, %v", starts, again, err)
			}
			if notes := ""; result != nil {
				if notes = fmt.Sprint(result.Notes); notes != test.notes {
					t.Error(notes)
				}
			}
			var undecided *live.UndecidedError
			if (errors.As(err, &undecided) && undecided.Delayed) != (test.how == "late each time") {
				t.Errorf("undecided: %v", undecided)
			}
		})
	}
}

// TestClientsThatAreNotReadyInTime checks that Fencepost's own clients are started again if they are not ready in time,
// because only the host can have delayed them. A user's program must not be started again.
func TestClientsThatAreNotReadyInTime(t *testing.T) {
	s, err := scenarios.Named("kleppmann-gc-pause")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]int{"": mostStarts - 1, "exec sleep 1000": 0} {
		again := 0
		o := live.Options{Scenario: s, Command: command, Host: "127.0.0.1", Context: t.Context(),
			Own: process.Command{Path: self, Args: []string{"own"}}, Patience: time.Nanosecond}
		o.Again = func(error) { again++ }
		_, err := Choice{}.Run(o, s.Plan(1))
		problem := "client-1 has not reported"
		if command == "" {
			problem = "the host delayed all 3 attempts to start the servers: " + problem
		}
		if again != want || err == nil || !strings.HasPrefix(err.Error(), problem) {
			t.Errorf("%q: %d times again, %v", command, again, err)
		}
	}
}
