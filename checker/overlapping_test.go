package checker

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// TestOverlappingCallsOfOneProcessAreDistinguishedByTheirAttempts judges histories in which several goroutines in one
// process request a lock at the same time, and one of them waits for a long time. It matters to which call each answer
// belongs, because this decides whose hold is shared.
func TestOverlappingCallsOfOneProcessAreDistinguishedByTheirAttempts(t *testing.T) {
	const second = history.Time(1e9)
	event := func(at history.Time, f history.F, of history.Type, attempt history.Attempt, shared bool) history.Event {
		return history.Event{Time: at * second, Process: "service", F: f, Type: of, Lock: "lock", Attempt: attempt,
			Shared: shared}
	}
	outcome := func(named bool) Outcome {
		call := func(a history.Attempt) history.Attempt {
			if named {
				return a
			}
			return ""
		}
		h := &history.History{Events: []history.Event{
			event(1, history.Acquire, history.Invoke, call("service/1"), false),
			event(2, history.Acquire, history.Invoke, call("service/2"), true),
			event(3, history.Acquire, history.Invoke, call("service/3"), true),
			event(4, history.Acquire, history.OK, "service/2", false),
			event(5, history.Acquire, history.OK, "service/3", false),
			event(6, history.Release, history.Invoke, "service/2", false),
			event(7, history.Release, history.Invoke, "service/3", false),
			event(8, history.Acquire, history.Fail, "service/1", false),
		}}
		for i := range h.Events {
			h.Events[i].Index = i
		}
		return new(Checker).Check(h).Of(MutualExclusion).Outcome
	}
	if got := outcome(true); got != Holds {
		t.Errorf("two shared holds, as the calls of their attempts say: %v, want %v", got, Holds)
	}
	if got := outcome(false); got != Violated {
		t.Errorf("calls without an attempt are answered in their order, so that the first hold is exclusive: %v, "+
			"want %v", got, Violated)
	}
}
