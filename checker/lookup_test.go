package checker

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// TestOnlyTheSameAttemptWasExtended checks that an attempt counts as having extended a lock only after an extend event
// with this attempt and this lock. In each case but one, the event comes later or has a different kind, attempt or
// lock.
func TestOnlyTheSameAttemptWasExtended(t *testing.T) {
	extended := history.Event{F: history.Extend, Type: history.Invoke, Process: "client-1", Attempt: "client-1/1",
		Lock: "orders"}
	acquired, other, elsewhere := extended, extended, extended
	acquired.F, other.Attempt, elsewhere.Lock = history.Acquire, "client-1/2", "users"
	for _, c := range []struct {
		event history.Event
		at    int
		want  bool
	}{{extended, 1, true}, {extended, 0, false}, {acquired, 1, false}, {other, 1, false}, {elsewhere, 1, false}} {
		j := judge{}
		j.History = &history.History{Events: []history.Event{c.event}}
		if got := j.extending("client-1/1", "orders", c.at); got != c.want {
			t.Errorf("%+v, before position %d: %t", c.event, c.at, got)
		}
	}
}

// TestAWriteBelongsToItsOwnCall looks for the call that belongs to an accepted write among calls that differ from it in
// one field, or that began after the write was accepted.
func TestAWriteBelongsToItsOwnCall(t *testing.T) {
	event := func(f history.F, kind history.Type, attempt history.Attempt, lock history.Lock,
		value string) history.Event {
		return history.Event{F: f, Type: kind, Process: "client-1", Attempt: attempt, Lock: lock, Value: value}
	}
	call := event(history.Write, history.Invoke, "client-1/1", "orders", "a")
	end := event(history.Write, history.OK, "client-1/1", "orders", "a")
	accepted := history.Event{F: history.Apply, Type: history.OK, Process: history.Resource, Of: "client-1/1",
		Lock: "orders", Value: "a"}
	none := []history.Event{
		event(history.Read, history.Invoke, "client-1/1", "orders", "a"),
		event(history.Write, history.Invoke, "client-1/2", "orders", "a"),
		event(history.Write, history.Invoke, "client-1/1", "users", "a"),
		event(history.Write, history.Invoke, "client-1/1", "orders", "b"),
	}
	for _, c := range []struct {
		name         string
		events       []history.Event
		at           int
		called, done int
	}{
		{"only other calls", append(none, accepted), len(none), -1, trace.Open},
		{"its call, then others", append([]history.Event{call}, append(none, accepted)...), 5, 0, trace.Open},
		{"a call that returned", []history.Event{call, accepted, end}, 1, 0, 2},
		{"a call that returned before", []history.Event{call, end, accepted}, 2, 0, 1},
		{"called again", []history.Event{call, end, call, accepted, end}, 3, 2, 4},
		{"called after", []history.Event{accepted, call, end}, 0, -1, trace.Open},
		{"returned twice", []history.Event{call, accepted, end, end}, 1, 0, 2},
		{"an end without a call", []history.Event{end, accepted}, 1, -1, trace.Open},
	} {
		j := judge{}
		j.History = &history.History{Events: c.events}
		if called, done := j.calledWrite(c.at); called != c.called || done != c.done {
			t.Errorf("%s: %d and %d, want %d and %d", c.name, called, done, c.called, c.done)
		}
	}
}

// TestOnlyALateWriteByASupersededHolderIsStale checks acceptsStale on the accesses of two holders, the second with the
// higher token. A write by the first holder is stale only after an access by the second one.
func TestOnlyALateWriteByASupersededHolderIsStale(t *testing.T) {
	acquired := func(client history.Process, token history.Token) (both []history.Event) {
		for _, kind := range []history.Type{history.Invoke, history.OK} {
			e := history.Event{F: history.Acquire, Type: kind, Process: client, Lock: "orders",
				Attempt: history.Attempt(client + "/1")}
			if kind == history.OK {
				e.Token = token
			}
			both = append(both, e)
		}
		return both
	}
	accepted := func(op history.F, of history.Attempt, token history.Token) history.Event {
		return history.Event{F: history.Apply, Op: op, Type: history.OK, Process: history.Resource, Of: of,
			Lock: "orders", Token: token}
	}
	read1, write1 := accepted(history.Read, "client-1/1", 1), accepted(history.Write, "client-1/1", 1)
	read2, write2 := accepted(history.Read, "client-2/1", 2), accepted(history.Write, "client-2/1", 2)
	strangers := accepted(history.Write, "client-3/1", 1)
	for _, c := range []struct {
		name     string
		accesses []history.Event
		want     bool
	}{
		{"a write after a write", []history.Event{write2, write1}, true},
		{"a write after a read", []history.Event{read2, write1}, true},
		{"the third access", []history.Event{write1, write2, write1}, true},
		{"in order", []history.Event{read1, write1, read2, write2}, false},
		{"a read", []history.Event{write2, read1}, false},
		{"a write without a grant", []history.Event{write2, strangers}, false},
		{"the second holder's own", []history.Event{write2, write2}, false},
	} {
		h := &history.History{Header: history.Header{Locks: []history.Lock{"orders"}}}
		h.Events = append(append(acquired("client-1", 1), acquired("client-2", 2)...), c.accesses...)
		for i := range h.Events {
			h.Events[i].Index, h.Events[i].Time = i, history.Time(i)
		}
		var j judge
		j.Read(h)
		if got := j.acceptsStale(); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}
