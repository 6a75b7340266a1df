package trace

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// TestTheThreadsOfAProcessReleaseEachTheirOwn checks that each return is matched with the call on the same lock if two
// threads in one process release two locks at the same time, no matter in which order the calls return. The events do
// not name any attempts.
func TestTheThreadsOfAProcessReleaseEachTheirOwn(t *testing.T) {
	for _, first := range []history.Lock{"a", "b"} {
		other := map[history.Lock]history.Lock{"a": "b", "b": "a"}[first]
		h := &history.History{}
		for _, e := range []history.Event{
			{Type: history.OK, F: history.Acquire, Lock: "a"}, {Type: history.OK, F: history.Acquire, Lock: "b"},
			{Type: history.Invoke, F: history.Release, Lock: "a"},
			{Type: history.Invoke, F: history.Release, Lock: "b"},
			{Type: history.OK, F: history.Release, Lock: first}, {Type: history.OK, F: history.Release, Lock: other},
		} {
			e.Index, e.Process = len(h.Events), "client-1"
			h.Events = append(h.Events, e)
		}
		var tr Trace
		tr.Read(h)
		done := map[history.Lock]int{first: 4, other: 5}
		for _, g := range tr.Grants {
			if lock := tr.Locks[g.Lock].Name; g.Done != done[lock] {
				t.Errorf("%s first: the release of %s returned at %d, want %d", first, lock, g.Done, done[lock])
			}
		}
	}
}
