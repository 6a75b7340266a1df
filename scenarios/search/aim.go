package search

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/sim"
)

// aim turns drawn faults to what happens in a run without faults: to its requests and answers, and to its instants. A
// window of one message among thousands is seldom met by a fault that strikes at any time.
type aim struct {
	seed     uint64 // of the run that is known
	known    bool
	kinds    [][]nemesis.Sent // the requests, by what they ask for and whether their attempt got the lock
	instants []time.Duration  // of events, expiries and ends of validity, in order
}

// aimedTogether is how many plans are aimed at one run without faults, whose seed they have.
const aimedTogether = 16

// baseOf is the seed of the run at which the plan of a seed is aimed.
func baseOf(seed uint64) uint64 { return seed - seed%aimedTogether }

// at turns to what happens in a run: to nothing if it failed.
func (a *aim) at(r scenarios.Result, err error) {
	a.kinds, a.instants = nil, a.instants[:0]
	if err == nil { // else the plans' own runs will fail in the same way
		a.sort(&r)
	}
}

// sort sorts what happens in a run.
func (a *aim) sort(r *scenarios.Result) {
	got := map[history.Attempt]bool{}
	for i := range r.History.Events {
		e := &r.History.Events[i]
		if e.F == history.Acquire && e.Type == history.OK {
			got[e.Attempt] = true
		}
		a.instants = append(a.instants, e.Time.Duration())
		if e.Until > 0 && e.Until != history.Never {
			a.instants = append(a.instants, e.Until.Duration())
		}
		if e.Grant != nil && e.Grant.Until != history.Never {
			a.instants = append(a.instants, e.Grant.Until.Duration())
		}
	}
	slices.Sort(a.instants)
	a.instants = slices.Compact(a.instants)
	type kind struct {
		command string
		got     bool
	}
	places := map[kind]int{}
	for _, s := range r.Sent {
		k := kind{s.Command, got[s.Attempt]}
		at, known := places[k]
		if !known {
			at = len(a.kinds)
			places[k] = at
			a.kinds = append(a.kinds, nil)
		}
		a.kinds[at] = append(a.kinds[at], s)
	}
}

// archer aims the faults of one plan.
type archer struct {
	*aim
	random *sim.Stream
	// library says that the lock is a library's: of its own code no point is known, and answers stand for those.
	library bool
}

func (a *archer) below(n int) int { return int(a.random.Uint64() % uint64(n)) }

// request chooses one: first what it asks for, so that what is rare is as likely as what is frequent.
func (a *archer) request() *nemesis.Sent {
	of := a.kinds[a.below(len(a.kinds))]
	return &of[a.below(len(of))]
}

// near is at one of the instants after the given time, just before it, or up to 3 ms before; ok is false if there is
// none.
func (a *archer) near(after time.Duration) (t time.Duration, ok bool) {
	first, _ := slices.BinarySearch(a.instants, after+1)
	if first == len(a.instants) {
		return 0, false
	}
	t = a.instants[first+a.below(len(a.instants)-first)]
	switch a.below(3) {
	case 0:
		t -= time.Microsecond
	case 1:
		t -= time.Duration(a.below(3000)) * time.Microsecond
	}
	return t, t > after
}

// turn aims a fault that strikes at a time or with a message, if there is anything to aim at; what strikes at a point
// is aimed as it is, but for a pause of a library's client.
func (a *archer) turn(f nemesis.Fault) nemesis.Fault {
	switch {
	case len(a.kinds) == 0:
		return f
	case f.Number > 0:
		r, answer := a.request(), a.below(2) == 0
		f = r.Strike(f, answer)
		if t, ok := a.near(r.Left.Duration()); ok && f.By > 0 && a.below(2) == 0 {
			f.By = t - r.Left.Duration()
		}
		return f
	case a.library && f.Trigger.Point != "" && f.Kind.Placement().AfterAnswers && nemesis.IsClient(f.Target):
		r := a.request()
		f.Target, f.Trigger = r.Client, nemesis.Trigger{Message: r.Message(true)}
		return f
	case !f.Kind.Has(nemesis.FieldTrigger) || f.Trigger.Point != "":
		return f
	}
	at := f.Trigger.Time
	if a.below(2) == 0 {
		r := a.request()
		at = r.Left.Duration()
		f.Trigger = nemesis.Trigger{Message: r.Message(a.below(2) == 0), SaidAt: a.below(2) == 0}
	} else if t, ok := a.near(0); ok {
		at, f.Trigger = t, nemesis.Trigger{Time: t}
	}
	for _, length := range []*time.Duration{&f.For, &f.Restart} {
		if end, ok := a.near(at); ok && *length > 0 && a.below(2) == 0 {
			*length = end - at
		}
	}
	return f
}
