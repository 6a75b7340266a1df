package timeline

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// TestAPromotedReplicaHasTheKeysThatReachedIt checks the keys and roles of a master and of the replica that replaces
// it. The replica lacks the second lock's key, as the event after the promotion says.
func TestAPromotedReplicaHasTheKeysThatReachedIt(t *testing.T) {
	const master, replica = history.Process("redis-1"), history.Process("redis-1-replica-1")
	key := func(at history.Time, on history.Process, lock history.Lock, f history.F, why history.Why) history.Event {
		return history.Event{Time: at, Process: on, Type: history.OK, F: f, Lock: lock, Of: "client-1/1", Why: why,
			Until: history.Never}
	}
	h := &history.History{
		Header: history.Header{Clients: []history.Process{"client-1"}, Servers: []history.Process{master, replica},
			Groups: [][]history.Process{{master, replica}}, Locks: []history.Lock{"a", "b"}, End: 9},
		Events: []history.Event{
			key(1, master, "a", history.KeySet, ""),
			key(1, master, "b", history.KeySet, ""),
			{Time: 3, Process: history.Nemesis, Type: history.Invoke, F: history.FailOver,
				Fault: &history.Fault{On: []history.Process{master}, To: []history.Process{replica}}},
			key(3, replica, "b", history.KeyGone, history.LostInFailover),
			key(5, replica, "a", history.KeyGone, history.Deleted),
			key(7, master, "a", history.KeyGone, history.LostInFailover),
		},
	}
	l := Arrange(h, nil)
	for server, want := range map[history.Process][]struct {
		lock     history.Lock
		from, to history.Time
	}{
		master:  {{"a", 1, 7}, {"b", 1, 9}},
		replica: {{"a", 3, 5}},
	} {
		lane, _ := l.server(server)
		if len(lane.Keys) != len(want) {
			t.Fatalf("%s has the keys %+v, want %+v", server, lane.Keys, want)
		}
		for i, w := range want {
			if k := lane.Keys[i]; k.Lock != w.lock || k.From != w.from || k.To != w.to {
				t.Errorf("%s has the key %+v, want %+v", server, k, w)
			}
		}
	}
	for server, want := range map[history.Process][]int{master: {2, 3, 4, 5}, replica: {0, 1}} {
		lane, _ := l.server(server)
		var got []int
		for pos := range h.Events {
			if slices.ContainsFunc(lane.Copies, func(s span) bool { return s.covers(pos) }) {
				got = append(got, pos)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s may be a replica after the events %v, want %v", server, got, want)
		}
	}
}

// TestRowsAndGapsShowTheKeysOfTheirTime compares settle with a slow method that examines every instant. A row must show
// the keys after the last event at its instant. The gap after the row must show the keys that last longest within the
// gap.
func TestRowsAndGapsShowTheKeysOfTheirTime(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	gaps := 0
	for range 2000 {
		n := 2 + r.IntN(8)
		l := &Lanes{history: &history.History{}}
		for range n {
			l.end += history.Time(r.IntN(4))
			l.history.Events = append(l.history.Events, history.Event{Time: l.end})
		}
		l.end += history.Time(r.IntN(4))
		var shown []row
		for pos, e := range l.history.Events {
			if pos == 0 || r.IntN(2) == 0 {
				shown = append(shown, row{at: e.Time, pos: pos})
			}
		}
		l.settle(shown)
		for i, s := range shown {
			end, until := n, l.end
			if i+1 < len(shown) {
				end, until = shown[i+1].pos, shown[i+1].at
			}
			stateAt := func(at history.Time) (pos int) { // the last event before the next row that has happened by then
				for p := s.pos; p < end; p++ {
					if l.history.Events[p].Time <= at {
						pos = p
					}
				}
				return pos
			}
			if want := stateAt(s.at); s.keys != want {
				t.Fatalf("row %d shows the keys after event %d, want %d", i, s.keys, want)
			}
			instants := make([]int, n)
			for at := s.at; at < until; at++ {
				instants[stateAt(at)]++
			}
			if until > s.at && instants[s.after] != slices.Max(instants) {
				t.Fatalf("the gap after row %d shows the keys after event %d: %v", i, s.after, instants)
			}
			if s.after != s.keys {
				gaps++
			}
		}
	}
	if gaps < 100 {
		t.Errorf("only %d gaps show other keys than their rows", gaps)
	}
}
