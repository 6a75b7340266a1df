package checker

import (
	"fmt"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/cmd/processor"
)

// busy returns a sound history of about n events, in which three clients take turns holding a lock on five servers and
// updating the data that it guards. Each client requests the lock while another one is holding it.
func busy(t testing.TB, n int) *history.History {
	servers := []history.Process{"redis-1", "redis-2", "redis-3", "redis-4", "redis-5"}
	clients := []history.Process{"client-1", "client-2", "client-3"}
	h := &history.History{Header: history.Header{Clients: clients, Servers: servers, Locks: []history.Lock{"orders"},
		Quorum: 3, TTL: 10e9, Hold: 1e8, Slack: 1e9, Bound: 5e8}}
	now := history.Time(0)
	add := func(e history.Event) {
		now += 1e6
		e.Index, e.Time, e.Lock = len(h.Events), now, "orders"
		if e.Type == 0 {
			e.Type = history.OK
		}
		h.Events = append(h.Events, e)
	}
	call := func(c history.Process) { add(history.Event{Process: c, Type: history.Invoke, F: history.Acquire}) }
	value := ""
	call(clients[0])
	for turn := 0; len(h.Events) < n-1; turn++ {
		c, a := clients[turn%3], history.Attempt(fmt.Sprintf("%s/%d", clients[turn%3], turn/3+1))
		since := now
		for _, s := range servers {
			add(history.Event{Process: s, F: history.KeySet, Of: a, By: a, Until: now + 10e9})
		}
		add(history.Event{Process: c, F: history.Acquire, Attempt: a, Token: history.Token(turn + 1),
			Grant: &history.Grant{Since: since, Granted: now, Until: now + 9.8e9, Counted: servers}})
		call(clients[(turn+1)%3])
		next := fmt.Sprintf("v%d", turn)
		add(history.Event{Process: c, Type: history.Invoke, F: history.Read, Attempt: a})
		add(history.Event{Process: history.Resource, F: history.Apply, Op: history.Read, Of: a, Value: value})
		add(history.Event{Process: c, F: history.Read, Attempt: a, Value: value})
		add(history.Event{Process: c, Type: history.Invoke, F: history.Write, Attempt: a, Value: next})
		add(history.Event{Process: history.Resource, F: history.Apply, Op: history.Write, Of: a, Value: next})
		add(history.Event{Process: c, F: history.Write, Attempt: a, Value: next})
		value = next
		add(history.Event{Process: c, Type: history.Invoke, F: history.Release, Attempt: a})
		for _, s := range servers {
			add(history.Event{Process: s, F: history.KeyGone, Of: a, By: a, Why: history.Deleted})
		}
		add(history.Event{Process: c, F: history.Release, Attempt: a})
	}
	h.Header.End = now + 1e6
	return h
}

func TestABusySoundHistoryBreaksNoLaw(t *testing.T) {
	v := Check(busy(t, 400))
	for _, f := range v.Findings {
		if want := Holds; f.Outcome != want && f.Law != DeadlockFreedom && f.Law != Fairness {
			t.Errorf("%s", show(f))
		}
	}
	if f := v.Of(Fairness); f.Outcome != Unchecked { // the header states no order
		t.Errorf("%s", show(f))
	}
	if f := v.Of(DeadlockFreedom); f.Outcome != Undecided { // the last client is still waiting
		t.Errorf("%s", show(f))
	}
}

func BenchmarkCheck(b *testing.B) {
	h := busy(b, 400)
	var c Checker
	b.ReportMetric(float64(len(h.Events)), "events")
	b.ReportAllocs()
	for b.Loop() {
		if c.Check(h).Violated() {
			b.Fatal("violated")
		}
	}
}

// BenchmarkIntervalCheck judges a million operations: half a million acquires and releases of one lock.
func BenchmarkIntervalCheck(b *testing.B) {
	h := &history.History{}
	for i := range 500_000 {
		for j, e := range []history.Event{{Type: history.Invoke, F: history.Acquire},
			{Type: history.OK, F: history.Acquire},
			{Type: history.Invoke, F: history.Release}, {Type: history.OK, F: history.Release}} {
			e.Index, e.Time, e.Process, e.Lock = 4*i+j, history.Time(4*i+j), history.Process("client-1"), "orders"
			h.Events = append(h.Events, e)
		}
	}
	var t judge
	start := processor.Time()
	for b.Loop() {
		t.Read(h)
		t.Sections()
		if found, _ := t.clashes(MutualExclusion); len(found) > 0 {
			b.Fatal("found a clash")
		}
	}
	b.ReportMetric((processor.Time()-start).Seconds()/float64(b.N), "cpu-s")
}
