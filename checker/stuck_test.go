package checker

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/slow"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// randomWaits returns a history with three clients and two locks. The clients request one lock while holding the other,
// give up, release and crash. Some histories have faults. In some, a server is permanently cut off from one of the
// clients. At most one event happens per nanosecond.
func randomWaits(r *rand.Rand) *history.History {
	h := &history.History{Header: history.Header{TTL: history.Time(r.IntN(4)), Hold: 1, Slack: history.Time(r.IntN(4)),
		Uncapped: r.IntN(3) == 0, Locks: []history.Lock{"a", "b"}}}
	faults, cuts := r.IntN(2) == 0, r.IntN(3) == 0
	if cuts {
		h.Header.Servers, h.Header.Quorum = []history.Process{"redis-1"}, 1
	}
	struck := false
	var waits [3]history.Lock
	var holds [3]map[history.Lock]bool
	now := history.Time(0)
	for range 14 {
		i := r.IntN(3)
		if holds[i] == nil {
			holds[i] = map[history.Lock]bool{}
		}
		e := history.Event{Index: len(h.Events), Process: history.Process(fmt.Sprintf("client-%d", i+1)),
			Type: history.OK, F: history.Acquire, Lock: h.Header.Locks[r.IntN(2)]}
		switch {
		case faults && r.IntN(8) == 0:
			e = history.Event{Index: e.Index, Process: history.Nemesis, Type: history.Invoke, F: history.Pause}
			if struck = !struck; !struck {
				e.Type = history.OK
			} else if r.IntN(3) == 0 {
				e.F, struck = history.Jump, false
			}
		case cuts && r.IntN(12) == 0:
			e = history.Event{Index: e.Index, Process: history.Nemesis, Type: history.Invoke, F: history.Cut,
				Fault: &history.Fault{On: []history.Process{e.Process}, To: h.Header.Servers}}
		case r.IntN(12) == 0:
			e.F, e.Type, e.Lock, waits[i], holds[i] = history.Crashed, history.Info, "", "", map[history.Lock]bool{}
		case waits[i] != "":
			if e.Lock = waits[i]; r.IntN(3) == 0 {
				e.Type = history.Fail
			}
			holds[i][e.Lock] = holds[i][e.Lock] || e.Type == history.OK
			waits[i] = ""
		case holds[i][e.Lock]:
			e.F, e.Type = history.Release, history.Invoke
			delete(holds[i], e.Lock)
		default:
			e.Type = history.Invoke
			waits[i] = e.Lock
		}
		now += history.Time(1 + r.IntN(3))
		e.Time = now
		h.Events = append(h.Events, e)
	}
	h.Header.End = now + history.Time(r.IntN(8))
	return h
}

// TestStandstillIsWhatTheLawSays checks the checker against the literal implementation of the law (package slow), which
// examines every period of time.
func TestStandstillIsWhatTheLawSays(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var c Checker
	seen := map[string]int{}
	for range testkit.Size(5_000, 20_000, 60_000) {
		h := randomWaits(r)
		got := c.CheckOnly(h, []Law{DeadlockFreedom}).Findings[0]
		want := slow.Of(h, string(DeadlockFreedom))
		if difference := differs(got, want); difference != "" {
			t.Fatalf("%s: got\n%s\nwant %+v\n%+v\n%v", difference, show(got), want, h.Header, list(timed(h.Events)))
		}
		seen[got.Outcome.String()]++
		for b := range got.Breaches() {
			seen[string(b.Cause.Kind)]++
		}
	}
	for _, what := range []string{"holds", "undecided", string(StuckBehindCrashed), string(StuckBehindUncapped),
		string(StuckInCycle), string(StuckWithoutHolder), string(NoQuorumLeft)} {
		if seen[what] < testkit.Size(3, 15, 50) {
			t.Errorf("only %d rounds were %s", seen[what], what)
		}
	}
}

func timed(events []history.Event) []string {
	all := lines(events)
	for i, e := range events {
		all[i] += fmt.Sprintf(" %s at %d", e.Lock, e.Time)
	}
	return all
}
