package checker

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/slow"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// TestEveryOrderIsJudgedAsWritten compares the checker with the literal implementation of the fairness law (package
// slow) on every small history of one lock. In these histories, a few processes request the lock, are granted it, give
// up, leave and crash, in all possible orders. One case uses even smaller histories, and adds one fault to each, at
// every position and with every duration.
func TestEveryOrderIsJudgedAsWritten(t *testing.T) {
	for _, c := range []struct {
		name                  string
		processes, operations int
		outcomes, unseen      bool
		faults                []*history.Fault
		order                 []history.Order
		want, violated        int
		long                  bool
	}{
		{name: "3 processes", processes: 3, operations: 4, order: []history.Order{{Slack: 0, Turn: 2}},
			want: 10_335, violated: 7_367},
		{name: "slacks and turns", processes: 3, operations: 3, outcomes: true,
			order: []history.Order{{Slack: 0, Turn: 1}, {Slack: 1, Turn: 1}, {Slack: 1, Turn: 3}, {Slack: 2, Turn: 2}},
			want:  1_697, violated: 3_917},
		{name: "a fault", processes: 3, operations: 3, order: []history.Order{{Slack: 0, Turn: 1}},
			faults: []*history.Fault{nil, {On: []history.Process{"a"}, Ends: true},
				{On: []history.Process{"redis-1"}, Ends: true},
				{On: []history.Process{"b"}, To: []history.Process{"redis-1"}}},
			want: 495, violated: 29_367},
		{name: "ends that nobody saw", processes: 3, operations: 3, unseen: true,
			order: []history.Order{{Slack: 0, Turn: 1}}, want: 579, violated: 435},
		{name: "all outcomes", processes: 3, operations: 4, outcomes: true, long: true,
			order: []history.Order{{Slack: 0, Turn: 1}, {Slack: 1, Turn: 2}}, want: 65_438, violated: 99_688},
		{name: "5 operations", processes: 3, operations: 5, order: []history.Order{{Slack: 0, Turn: 2}}, long: true,
			want: 222_962, violated: 176_391},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.long {
				testkit.FullOnly(t)
			}
			t.Parallel()
			both := bothReadings{t: t, orders: c.order, faults: c.faults, seen: map[string]int{}}
			e := enumeration{t: t, outcomes: c.outcomes, unseen: c.unseen, ps: make([]walker, c.processes)}
			e.each = func() { both.judge(&e.h) }
			e.walk(c.operations, 0)
			if both.seen[slow.Violated] != c.violated || e.seen != c.want {
				t.Errorf("%d histories, judged %v; want %d, %d of them violated", e.seen, both.seen, c.want, c.violated)
			}
		})
	}
}

// bothReadings judges histories with the checker and with the literal implementation of the law.
type bothReadings struct {
	t       *testing.T
	orders  []history.Order
	faults  []*history.Fault // nil stands for a fault without a description
	checker Checker
	seen    map[string]int // counts by outcome and cause
}

// judge compares both implementations on a history, for each queue order that the lock may promise. It then repeats the
// comparison with each fault added, at each position and with each duration.
func (b *bothReadings) judge(h *history.History) {
	with := *h
	with.Header.Locks, with.Header.Servers = []history.Lock{"orders"}, []history.Process{"redis-1"}
	with.Header.Quorum = 1
	for _, with.Header.Order = range b.orders {
		with.Header.End = history.Time(len(h.Events) + 3)
		b.compare(&with)
		for _, f := range b.faults {
			for from := range len(h.Events) + 1 {
				for to := from; to <= len(h.Events); to++ {
					with.Events = withFault(h.Events, f, from, to)
					with.Header.End = history.Time(len(with.Events) + 3)
					b.compare(&with)
				}
			}
		}
		with.Events = h.Events
	}
}

// withFault inserts a fault into a history, from the first given position to the second. If the second is after the
// last event, the fault never ends.
func withFault(events []history.Event, f *history.Fault, from, to int) []history.Event {
	strike := history.Event{Process: history.Nemesis, Type: history.Invoke, F: history.Pause, Value: "a fault",
		Fault: f}
	if f != nil && !f.Ends {
		strike.F = history.Cut
	}
	over := strike
	over.Type, over.Fault = history.OK, nil
	all := slices.Concat(events[:from], []history.Event{strike}, events[from:to])
	if f == nil || f.Ends {
		all = append(all, over)
	}
	all = append(all, events[to:]...)
	for i := range all {
		all[i].Index, all[i].Time = i, history.Time(i)
	}
	return all
}

func (b *bothReadings) compare(h *history.History) {
	got := b.checker.CheckOnly(h, []Law{Fairness}).Findings[0]
	want := slow.Of(h, string(Fairness))
	if difference := differs(got, want); difference != "" {
		b.t.Fatalf("%s: got\n%s\nwant %+v\n%+v\n%v", difference, show(got), want, h.Header, list(timed(h.Events)))
	}
	b.seen[got.Outcome.String()]++
	for f := range got.Breaches() {
		b.seen[f.Cause.String()]++
	}
}

// TestRandomOrdersAreJudgedAsWritten compares the two implementations on random histories of two locks. Between two
// events of one lock, several things may happen to the other.
func TestRandomOrdersAreJudgedAsWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	both := bothReadings{t: t, seen: map[string]int{}}
	for range testkit.Size(5_000, 20_000, 60_000) {
		h := randomWaits(r)
		h.Header.Order = history.Order{Slack: history.Time(r.IntN(3)), Turn: history.Time(1 + r.IntN(6))}
		both.compare(h)
	}
	for _, what := range []string{"holds", "unchecked", string(Overtaken), string(LeftFree),
		Cause{LeftFree, AbandonedPlace}.String()} {
		if both.seen[what] < testkit.Size(12, 50, 150) {
			t.Errorf("only %d rounds were %s", both.seen[what], what)
		}
	}
}
