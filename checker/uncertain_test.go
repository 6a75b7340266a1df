package checker

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// withClockError returns a history of one lock, recorded by clocks that may be off by 5 ms. Its events are in time
// order.
func withClockError(seen map[history.Process]history.Time, events ...history.Event) *history.History {
	h := &history.History{Header: history.Header{End: history.Of(time.Second),
		Recording: history.Recording{ClockError: history.Of(5 * time.Millisecond), Seen: seen}}, Events: events}
	slices.SortStableFunc(h.Events, func(a, b history.Event) int { return cmp.Compare(a.Time, b.Time) })
	for i := range h.Events {
		h.Events[i].Index, h.Events[i].Lock = i, "lock"
	}
	return h
}

func ms(n int) history.Time { return history.Of(time.Duration(n) * time.Millisecond) }

// TestUncertainOverlapsAreMeasured checks that the explanation says by how much two sections overlap, or how far apart
// they are, if that is less than the clock error. The second client enters before, at the same time as, or after the
// first client calls release.
func TestUncertainOverlapsAreMeasured(t *testing.T) {
	for entered, want := range map[int]string{7: "overlap by 3ms", 10: "lie 0s apart", 12: "lie 2ms apart"} {
		h := withClockError(nil,
			history.Event{Time: 0, Process: "a", Type: history.Invoke, F: history.Acquire},
			history.Event{Time: 0, Process: "a", Type: history.OK, F: history.Acquire, Attempt: "a/1"},
			history.Event{Time: ms(1), Process: "b", Type: history.Invoke, F: history.Acquire},
			history.Event{Time: ms(entered), Process: "b", Type: history.OK, F: history.Acquire, Attempt: "b/1"},
			history.Event{Time: ms(10), Process: "a", Type: history.Invoke, F: history.Release, Attempt: "a/1"},
			history.Event{Time: ms(20), Process: "b", Type: history.Invoke, F: history.Release, Attempt: "b/1"})
		f := Check(h).Of(MutualExclusion)
		if f.Outcome != Undecided || !strings.Contains(f.Explanation, want) {
			t.Errorf("entered at %d ms: %v: %s; want %q", entered, f.Outcome, f.Explanation, want)
		}
	}
}

// TestWhatAClientReadAfterItsRecordEndsIsNotKnown checks that resource-safety is undecided if the resource accepts a
// client's write after the client's own record has ended. The client may have read something in the meantime.
func TestWhatAClientReadAfterItsRecordEndsIsNotKnown(t *testing.T) {
	const what = "a was recorded until 0.050 s, and the resource accepted what it did at 0.080 s"
	for at, open := range map[int]bool{30: false, 80: true} {
		h := withClockError(map[history.Process]history.Time{"a": ms(50), history.Resource: ms(200)},
			history.Event{Time: 0, Process: "a", Type: history.Invoke, F: history.Acquire},
			history.Event{Time: 0, Process: "a", Type: history.OK, F: history.Acquire, Attempt: "a/1", Token: 1,
				Grant: &history.Grant{Until: ms(500)}},
			history.Event{Time: 0, Process: "a", Type: history.Invoke, F: history.Write, Attempt: "a/1", Value: "x"},
			history.Event{Time: ms(at), Process: history.Resource, Type: history.OK, F: history.Apply,
				Op: history.Write, Of: "a/1", Token: 1, Value: "x"})
		f := Check(h).Of(ResourceSafety)
		if got := strings.Contains(f.Explanation, what); got != open || open && f.Outcome != Undecided {
			t.Errorf("accepted at %d ms: %v: %s", at, f.Outcome, f.Explanation)
		}
	}
}
