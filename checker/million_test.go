package checker

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// BenchmarkMillion judges a million events by one law at a time. For each law except fairness, it compares a history
// that breaks the law with a similar one that does not. Judging the former takes at most three times as long as judging
// the latter:
//
//	go test ./checker -run ^$ -bench Million -benchtime 3x
func BenchmarkMillion(b *testing.B) {
	events := busy(b, 1_000_000)
	for _, c := range millions {
		for _, broken := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/%s/%v", c.law, c.name, map[bool]string{false: "sound", true: "violated"}[broken]),
				func(b *testing.B) {
					h := &history.History{Header: events.Header, Events: slices.Clone(events.Events)}
					c.shape(h, broken)
					reindex(h)
					var judge Checker
					f := judge.CheckOnly(h, []Law{c.law}).Findings[0]
					if (f.Outcome == Violated) != broken {
						b.Fatalf("%v: %s", f.Outcome, f.Explanation)
					}
					for b.Loop() {
						judge.CheckOnly(h, []Law{c.law})
					}
				})
		}
	}
}

// million is a kind of long history, together with the law that its broken variant breaks.
type million struct {
	law   Law
	name  string
	shape func(h *history.History, broken bool)
}

// atLast returns a function that breaks a sound history by calling spoil, but only if it is told to.
func atLast(spoil func(h *history.History)) func(*history.History, bool) {
	return func(h *history.History, broken bool) {
		if broken {
			spoil(h)
		}
	}
}

var millions = []million{
	{LeaseExclusion, "last", atLast(overlapLast)}, {LeaseExclusion, "extended", extendAll},
	{MutualExclusion, "last", atLast(overlapLast)}, {MutualExclusion, "extended", extendAll},
	{MutualExclusion, "never left", atLast(neverLeft)},
	{ResourceSafety, "last", atLast(staleLast)}, {ResourceSafety, "shared", staleAmongShared},
	{Ownership, "last", atLast(func(h *history.History) { lastOf(h, history.KeyGone).By = "client-9/1" })},
	{TokenOrder, "last", atLast(func(h *history.History) { lastOf(h, history.Acquire).Token = 1 })},
	{TokenOrder, "descending", atLast(descending)},
	{DeadlockFreedom, "last",
		atLast(func(h *history.History) { h.Header.End = h.Events[len(h.Events)-1].Time + 60e9 })},
	{DeadlockFreedom, "all waiting", waitForever},
	{FaultTolerance, "last", atLast(slowLast)}, {FaultTolerance, "under faults", slowUnderFaults},
}

func reindex(h *history.History) {
	for i := range h.Events {
		h.Events[i].Index = i
		h.Header.End = max(h.Header.End, h.Events[i].Time)
	}
}

// lastOf returns the last event of kind f with outcome ok.
func lastOf(h *history.History, f history.F) *history.Event {
	for i := len(h.Events) - 1; ; i-- {
		if e := &h.Events[i]; e.F == f && e.Type == history.OK {
			return e
		}
	}
}

func tail(h *history.History) (now history.Time, add func(e history.Event)) {
	now = h.Events[len(h.Events)-1].Time
	return now, func(e history.Event) {
		now += 1e6
		e.Time = now
		if e.Lock == "" {
			e.Lock = "orders"
		}
		h.Events = append(h.Events, e)
	}
}

// overlapLast adds two overlapping grants.
func overlapLast(h *history.History) {
	now, add := tail(h)
	for _, p := range []history.Process{"client-8", "client-9"} {
		add(history.Event{Process: p, Type: history.Invoke, F: history.Acquire})
		add(history.Event{Process: p, Type: history.OK, F: history.Acquire, Attempt: history.Attempt(p + "/1"),
			Grant: &history.Grant{Since: now + 1e6, Granted: now + 5e6, Until: now + 1e10, Counted: h.Header.Servers}})
	}
}

// extendAll makes two holders of one lock take turns extending it until the end of the history.
func extendAll(h *history.History, broken bool) {
	n := len(h.Events)
	h.Events = h.Events[:0:0]
	now := history.Time(0)
	add := func(e history.Event) {
		now += 1e6
		e.Time, e.Lock, e.Type = now, "orders", history.OK
		e.Grant = &history.Grant{Since: now, Granted: now, Until: now + 1e6, Counted: h.Header.Servers}
		h.Events = append(h.Events, e)
	}
	for _, p := range []history.Process{"client-1", "client-2"} {
		add(history.Event{Process: p, F: history.Acquire, Attempt: history.Attempt(p + "/1")})
		h.Events[len(h.Events)-1].Shared = !broken // shared if not broken, so that the sections may overlap
	}
	for i := range n - 3 {
		p := []history.Process{"client-1", "client-2"}[i%2]
		add(history.Event{Process: p, F: history.Extend, Attempt: history.Attempt(p + "/1")})
	}
	if broken {
		h.Events[n-2].Grant.Granted -= 5e5
	}
}

// neverLeft removes all releases.
func neverLeft(h *history.History) {
	kept := h.Events[:0]
	for _, e := range h.Events {
		if e.F != history.Release {
			kept = append(kept, e)
		}
	}
	h.Events = kept
}

// staleLast adds a write at the end, by the client that got the first grant.
func staleLast(h *history.History) {
	_, add := tail(h)
	add(history.Event{Process: history.Resource, Type: history.OK, F: history.Apply, Op: history.Write,
		Of: "client-1/1", Value: "stale"})
}

// staleAmongShared makes all grants shared and adds an exclusive one at the end.
func staleAmongShared(h *history.History, broken bool) {
	for i := range h.Events {
		h.Events[i].Shared = h.Events[i].F == history.Acquire
	}
	now, add := tail(h)
	add(history.Event{Process: "client-9", Type: history.Invoke, F: history.Acquire})
	add(history.Event{Process: "client-9", Type: history.OK, F: history.Acquire, Attempt: "client-9/1", Token: 1 << 40,
		Grant: &history.Grant{Since: now + 1e6, Granted: now + 1e6, Until: now + 1e9}})
	add(history.Event{Process: history.Resource, Type: history.OK, F: history.Apply, Op: history.Read,
		Of: "client-9/1"})
	if broken {
		staleLast(h)
	}
}

// descending makes each token lower than the previous grant's.
func descending(h *history.History) {
	for i := range h.Events {
		if e := &h.Events[i]; e.Token != 0 {
			e.Token = 1<<40 - e.Token
		}
	}
}

// waitForever replaces the history with one in which a million processes request another lock, whose holder never
// releases it.
func waitForever(h *history.History, broken bool) {
	h.Events, h.Header.Uncapped = h.Events[:1], broken
	now, add := tail(h)
	add(history.Event{Process: "client-1", Type: history.Fail, F: history.Acquire})
	add(history.Event{Process: "client-8", Type: history.Invoke, F: history.Acquire, Lock: "stock"})
	add(history.Event{Process: "client-8", Type: history.OK, F: history.Acquire, Lock: "stock", Attempt: "client-8/1"})
	for i := 0; len(h.Events) < 1_000_000; i++ {
		add(history.Event{Process: history.Process(fmt.Sprintf("waiter-%d", i)), Type: history.Invoke,
			F: history.Acquire, Lock: "stock"})
	}
	h.Header.End = now + 1e12
}

// slowLast adds an acquire that takes too long.
func slowLast(h *history.History) {
	_, add := tail(h)
	add(history.Event{Process: "client-2", Type: history.Fail, F: history.Acquire})
	add(history.Event{Process: "client-9", Type: history.Invoke, F: history.Acquire, Lock: "stock"})
	h.Events[len(h.Events)-1].Time += 1e11
	h.Header.End = h.Events[len(h.Events)-1].Time + 1e11
}

// slowUnderFaults adds a fault after every ten events. Each fault strikes one of two servers and never ends. At the
// end, slowUnderFaults adds an acquire that takes too long.
func slowUnderFaults(h *history.History, broken bool) {
	var events []history.Event
	for i, e := range h.Events {
		if events = append(events, e); i%10 == 0 {
			events = append(events,
				history.Event{Time: e.Time, Process: history.Nemesis, Type: history.Invoke, F: history.Pause,
					Value: fmt.Sprintf("pause %d", i),
					Fault: &history.Fault{On: h.Header.Servers[i/10%2:][:1], Ends: true}})
		}
	}
	if h.Events = events; broken {
		slowLast(h)
	}
}
