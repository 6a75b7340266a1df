package search

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/sim"
)

// aim contains what happens in a run: its requests and event times. Some of the randomly drawn faults are aimed at a
// request or an event of a fault-free run, and variations of a plan at those of that plan's run. A fault at a random
// time would seldom hit one particular message among thousands.
type aim struct {
	seed     uint64 // seed of the fault-free run; not set for the run of a plan
	known    bool
	kinds    [][]nemesis.Sent // the requests, grouped by command and by whether their attempt got the lock
	instants []time.Duration  // times of events, expiries and ends of validity, sorted
}

// aimedTogether is the number of consecutive plans whose faults are aimed at events in the same fault-free run. The
// run's seed is also the seed of all these plans.
const aimedTogether = 16

// baseOf returns the seed of the fault-free run that the given seed's faults are aimed at.
func baseOf(seed uint64) uint64 { return seed - seed%aimedTogether }

// at stores a run's requests and events, so that faults can be aimed at them. If the run failed (err is not nil),
// faults are not aimed.
func (a *aim) at(r scenarios.Result, err error) {
	a.kinds, a.instants = nil, a.instants[:0]
	if err == nil { // otherwise the plans' own runs will fail in the same way
		a.sort(&r)
	}
}

// sort records the requests and instants of a run, and groups the requests by kind.
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

// archer aims one plan's faults at the requests and events of a run.
type archer struct {
	*aim
	random *sim.Stream
	// library is set if the lock comes from a library. Points inside the library's code are unknown, so faults that
	// would strike at such a point are aimed at answers instead.
	library bool
}

func (a *archer) below(n int) int { return int(a.random.Uint64() % uint64(n)) }

// request picks a request at random. It first picks a kind of request, so rare kinds are picked as often as frequent
// ones.
func (a *archer) request() *nemesis.Sent {
	of := a.kinds[a.below(len(a.kinds))]
	return &of[a.below(len(of))]
}

// near picks an instant of the fault-free run that is later than the given time. It returns that instant, or a time
// shortly before it (1 µs, or up to 3 ms). If there is no such instant, or the time before it would not be later than
// the given time, ok is false.
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

// turn aims a fault at a request, an answer or an event time of the run. It returns f unchanged if there is nothing to
// aim at or if f cannot be aimed. Only faults that strike at a time or at a message are aimed. A fault that
// strikes at a point in a client's code is not aimed, with one exception: if the client's lock comes from a library, a
// pause is moved to an answer.
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
