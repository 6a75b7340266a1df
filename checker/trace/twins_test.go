package trace

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// clashesByPairs is a simple version of interval.clashes, for comparison: it examines every pair.
func clashesByPairs(spans []Span) (pairs [][2]int) {
	for j := range spans {
		for i := range spans[:j] {
			if spans[i].clash(&spans[j]) {
				pairs = append(pairs, [2]int{i, j})
			}
		}
	}
	return pairs
}

// TestTheSweepFindsThePairThatPairsFind checks that interval.clashes finds the same pairs as a comparison of all pairs.
// The random spans are in any order. In some lists, a grant has several spans, as a lease with extensions does. In
// others, a grant has a single span, as a critical section does; that span may end before it begins.
func TestTheSweepFindsThePairThatPairsFind(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var v interval
	clashes := 0
	for round := range 200_000 {
		spans := make([]Span, 1+r.IntN(6))
		for i := range spans {
			from, grant := r.Int64N(24), r.Int32N(4)
			spans[i] = Span{From: from, To: from + r.Int64N(5), Grant: grant, At: i,
				Shared: grant%2 == 0 && round%2 == 0}
			if round%3 == 0 {
				spans[i].Grant, spans[i].To = int32(i), from+r.Int64N(12)-6
			}
		}
		for i := range spans {
			a := &spans[i]
			a.goesOn = !a.isInstant() && slices.ContainsFunc(spans,
				func(b Span) bool { return b.Grant == a.Grant && b.From == a.To && !b.isInstant() })
		}
		most := 1 + r.IntN(6)
		got, want := v.clashes(spans, most), clashesByPairs(spans)
		want = want[:min(len(want), most)]
		if !slices.Equal(got, want) {
			t.Fatalf("%+v: got %v, want %v", spans, got, want)
		}
		if i, j, found := v.First(spans); found != (len(want) > 0) || found && [2]int{i, j} != want[0] {
			t.Fatalf("%+v: got %d, %d, %v, want the first of %v", spans, i, j, found, want)
		}
		if len(got) > 0 {
			clashes++
		}
	}
	if clashes < 20_000 || clashes > 180_000 {
		t.Errorf("%d of 200000 rounds clashed", clashes)
	}
}

// randomUses makes a random history of three clients that request, hold and release two locks, with faults. Two of the
// clients may be tasks in one process.
func randomUses(r *rand.Rand) *history.History {
	h := &history.History{Header: history.Header{TTL: 5, Servers: []history.Process{"redis-1"}}}
	type client struct {
		doing   history.F
		lock    history.Lock
		held    history.Lock
		attempt history.Attempt
		asked   int
	}
	var cs [3]client
	now := history.Time(0)
	add := func(e history.Event) {
		now += history.Time(r.IntN(3))
		e.Index, e.Time = len(h.Events), now
		h.Events = append(h.Events, e)
	}
	fault := history.Event{Process: history.Nemesis, F: "pause", Value: "pause redis-1",
		Fault: &history.Fault{On: []history.Process{"redis-1"}, Ends: true}}
	on, tasks := false, r.IntN(2) == 0
	for range 24 {
		i := r.IntN(4)
		if i == 3 {
			if fault.Type = history.Invoke; on {
				fault.Type = history.OK
			}
			if r.IntN(3) == 0 {
				on = !on
				add(fault)
			}
			continue
		}
		c, p := &cs[i], history.Process(fmt.Sprintf("client-%d", i+1))
		if tasks && i == 2 {
			p = "client-1"
		}
		outcome := []history.Type{history.OK, history.OK, history.Fail, history.Info}[r.IntN(4)]
		switch {
		case c.doing == history.Acquire:
			add(history.Event{Process: p, F: c.doing, Type: outcome, Lock: c.lock, Attempt: c.attempt})
			if c.doing = ""; outcome == history.OK {
				c.held = c.lock
			}
		case c.doing == history.Release:
			add(history.Event{Process: p, F: c.doing, Type: outcome, Lock: c.lock, Attempt: c.attempt})
			c.doing = ""
		case c.held != "":
			c.doing, c.held = history.Release, ""
			add(history.Event{Process: p, F: c.doing, Type: history.Invoke, Lock: c.lock, Attempt: c.attempt})
		default:
			c.asked++
			c.doing, c.lock, c.attempt = history.Acquire, history.Lock("ab"[r.IntN(2):][:1]),
				history.Attempt(fmt.Sprintf("%d/%d", i, c.asked))
			add(history.Event{Process: p, F: c.doing, Type: history.Invoke, Lock: c.lock})
		}
	}
	return h
}

// undisturbedByPairs is a simple version of Uses and Undisturbed, for comparison: it examines every other acquire.
func undisturbedByPairs(t *Trace, n, end int) bool {
	a := &t.Asks[n]
	since := t.Time(a.Call) - t.History.Header.TTL
	for m := range t.Asks {
		b := &t.Asks[m]
		earlier := b.Call < a.Call
		otherTask := b.Process == a.Process && (earlier && t.ended(b) > a.Call || !earlier && b.Call < a.Ret)
		switch {
		case m == n || b.Lock != a.Lock:
		case otherTask && (earlier || b.Call <= end):
			return false
		case b.Process != a.Process:
			if earlier && t.finished(b) >= since || !earlier && b.Call <= end {
				return false
			}
		case earlier && t.finished(b) >= since:
			if !t.gaveBack(b) {
				return false
			}
			for i := range t.Faults {
				if f := &t.Faults[i]; f.Start < a.Call && f.Over() >= b.Call {
					return false
				}
			}
		}
	}
	return true
}

func TestUsesFindWhatPairsFind(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var tr Trace
	seen := map[bool]int{}
	for range 20_000 {
		h := randomUses(r)
		tr.Read(h)
		tr.Uses()
		for n := range tr.Asks {
			end := tr.Asks[n].Call + r.IntN(4)
			got, want := tr.Undisturbed(int32(n), end), undisturbedByPairs(&tr, n, end)
			if got != want {
				t.Fatalf("ask %d until %d: got %v, want %v\n%+v\n%v", n, end, got, want, tr.touched[n],
					h.Events)
			}
			seen[got]++
		}
	}
	if seen[true] < 1000 || seen[false] < 1000 {
		t.Errorf("seen %v", seen)
	}
}

// lastKeptByWalk is a simple version of LastKept, for comparison: it examines every earlier record.
func lastKeptByWalk(t *Trace, c Change) int {
	e, unnamed := &t.History.Events[c.At], -1
	for at := c.At - 1; at >= 0; at-- {
		k := &t.History.Events[at]
		if k.Of != c.Owner || k.Lock != e.Lock || t.Keeper(k.Process) != t.Keeper(e.Process) || k.Member != e.Member {
			continue
		}
		switch {
		case k.By == c.Owner && (k.F == history.KeySet || k.F == history.KeyProlonged && !setsAnother(t, k)):
			return at
		case k.By == "" && k.F == history.KeySet && unnamed < 0:
			unnamed = at
		}
	}
	return unnamed
}

// setsAnother reports whether the request that made record k set other members of the key, but not the member in the
// record.
func setsAnother(t *Trace, k *history.Event) (another bool) {
	for i := range t.History.Events {
		e := &t.History.Events[i]
		if e.F != history.KeySet || e.Time != k.Time || e.Process != k.Process || e.Lock != k.Lock || e.Of != k.Of ||
			e.By != k.By {
			continue
		}
		if e.Member == k.Member {
			return false
		}
		another = true
	}
	return another
}

// sparesByWalk is a simple version of Spares, for comparison: it examines every record.
func sparesByWalk(t *Trace, c Change) bool {
	e, kept := &t.History.Events[c.At], lastKeptByWalk(t, c)
	return e.F == history.KeyProlonged && kept >= 0 && e.Until >= t.History.Events[kept].Until &&
		slices.ContainsFunc(t.History.Events, func(o history.Event) bool {
			return o.F == history.KeyProlonged && o.Time == e.Time && o.Process == e.Process && o.Lock == e.Lock &&
				o.Of == c.By && o.By == c.By
		})
}

// someRecords returns the key records from which TestKeptKeysAreFoundAsByAWalk makes its histories. They say that a
// member of a key was set, extended or lost. They differ in the attempt that owns the key, the attempt that made the
// request (or none), the member, and the time since the previous record.
func someRecords() (all []history.Event) {
	for _, f := range []history.F{history.KeySet, history.KeyProlonged, history.KeyGone} {
		for n := range 24 {
			e := history.Event{Process: "redis-1", Type: history.OK, F: f, Lock: "a", Of: []history.Attempt{"a/1",
				"b/1"}[n%2], Member: []string{"", "m"}[n/2%2], By: []history.Attempt{"", "a/1", "b/1"}[n/4%3],
				Time: history.Time(n / 12), Until: 10 - history.Time(n/12)}
			if f != history.KeyGone || n < 4 {
				all = append(all, e)
			}
		}
	}
	return all
}

// TestKeptKeysAreFoundAsByAWalk compares LastKept and Spares with simple implementations (lastKeptByWalk,
// sparesByWalk). It tries every history of three records, and random histories of eight records in which two servers
// record keys for two locks. In each history, it asks about every record as the change, with either of two attempts as
// the owner and either as the one that made the change.
func TestKeptKeysAreFoundAsByAWalk(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var tr Trace
	histories, kept, spared := 0, 0, 0
	compare := func(records ...history.Event) {
		h := &history.History{Header: history.Header{TTL: 5, Locks: []history.Lock{"a", "b"}}}
		now := history.Time(0)
		for i, e := range records {
			now += e.Time
			e.Index, e.Time, e.Until = i, now, now+e.Until
			h.Events = append(h.Events, e)
		}
		tr.Read(h)
		histories++
		for n := range 4 * len(records) {
			c := Change{n / 4, []history.Attempt{"a/1", "b/1"}[n%2], []history.Attempt{"a/1", "b/1"}[n/2%2]}
			last, spares := lastKeptByWalk(&tr, c), sparesByWalk(&tr, c)
			if got, does := tr.LastKept(c), tr.Spares(c); got != last || does != spares {
				t.Fatalf("%+v: last kept at %d, want %d; spares: %v, want %v\n%+v", c, got, last, does, spares,
					h.Events)
			}
			if last >= 0 {
				kept++
			}
			if spares {
				spared++
			}
		}
	}
	some := someRecords()
	for _, first := range some {
		for _, second := range some {
			for _, third := range some {
				compare(first, second, third)
			}
		}
	}
	for range testkit.Size(5_000, 50_000, 50_000) {
		var records [8]history.Event
		for i := range records {
			e := some[r.IntN(len(some))]
			e.Process = []history.Process{"redis-1", "redis-1", "redis-2"}[r.IntN(3)]
			e.Lock = []history.Lock{"a", "a", "b"}[r.IntN(3)]
			records[i] = e
		}
		compare(records[:]...)
	}
	t.Logf("%d histories, %d kept keys, %d owners spared", histories, kept, spared)
	if kept < 100_000 || spared < 1000 {
		t.Errorf("%d kept keys, %d owners spared", kept, spared)
	}
}
