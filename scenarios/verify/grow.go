package verify

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/sim"
)

// branch is a fault plan to which more faults can be added.
type branch struct {
	assignment int
	faults     []nemesis.Fault
	from       begin
	stands     float64 // number of placements that this branch represents
}

// growth is the result of adding one fault of one kind to a plan (branch).
type growth struct {
	Tally
	next  []branch
	found *Counterexample
	// missed lists the messages that are named in the scenario's own faults but were never sent in a run without other
	// faults.
	missed []nemesis.Missed
	cut    bool   // ctx was done before everything was tried
	lost   string // why nothing was tried; empty if it was tried
}

// grower adds one fault to branches (plans to which more faults can be added). Each worker has its own grower.
type grower struct {
	ctx      context.Context
	v        *Verification
	subjects *nemesis.Subjects
	runners  []*scenarios.Runner // indexed by assignment
	travels  []travelTimes
	checker  checker.Checker
	beyond   sim.Time                   // a fault of this length outlasts everything that it can influence
	slowest  sim.Time                   // longest delay of a message, apart from the long tail of delays
	fsync    sim.Time                   // how long a server blocks in an fsync after a write
	patience map[sim.ProcessID]sim.Time // for each client that gives up waiting, how long it waits
	moments  []sim.Moment               // moments of the latest run in which they were recorded
	settles  []sim.Moment

	// The following fields are the state of the current job.
	*branch
	*growth
	parent course // course of the run of the branch itself
	deeper bool   // a further fault will be added to the placements of this job
	seen   map[string]bool
}

func newGrower(ctx context.Context, v *Verification) *grower {
	g := &grower{ctx: ctx, v: v, subjects: subjectsOf(v.Scenario), seen: map[string]bool{},
		patience: map[sim.ProcessID]sim.Time{}}
	for _, a := range v.Assignments {
		r := scenarios.NewRunner(a.Scenario)
		r.ReportSent(v.Options.Requests)
		g.runners = append(g.runners, r)
		g.travels = append(g.travels, travelOf(a.Scenario))
	}
	g.slowest = history.Of(v.Scenario.Network.Delay.Hi)
	for _, l := range v.Scenario.Network.Links {
		g.slowest = max(g.slowest, history.Of(l.Delay.Hi))
	}
	g.fsync = history.Of(v.Scenario.Servers.StandsStill())
	for i := range v.Scenario.Clients {
		c := &v.Scenario.Clients[i]
		if p := history.Of(c.Lock.Patience); p > 0 {
			g.patience[c.ID] = p
		}
		g.beyond = max(g.beyond, history.Of(c.Lock.TTL+c.Lock.Patience+c.Lock.Retry.Hi+c.Work.Hold+time.Second))
	}
	for _, x := range v.Scenario.Mix.Without {
		g.beyond = max(g.beyond, history.Of(x.Within))
	}
	return g
}

// cutShort handles the results of a job. If ctx ended the job, it returns the results so far and no error. Otherwise it
// returns its arguments unchanged.
func (g *grower) cutShort(done *growth, err error) (*growth, error) {
	if ended := g.ctx.Err(); ended == nil || !errors.Is(err, ended) {
		return done, err
	}
	g.growth.cut = true
	return g.growth, nil
}

// bare runs and judges a branch's plan without adding a fault.
func (g *grower) bare(b *branch) (*growth, error) {
	g.branch, g.growth = b, &growth{Tally: newTally(g.v.Scenario.Promise.Laws)}
	result, _, err := g.run(nil, false)
	if err == nil {
		g.judge(result, b.stands)
		g.missed = result.Missed
	}
	return g.growth, err
}

// climb makes b the current branch. It runs b's plan and stores the course of the run, which shows where another fault
// can start.
func (g *grower) climb(b *branch, deeper bool) error {
	g.branch, g.growth, g.deeper = b, &growth{Tally: newTally(g.v.Scenario.Promise.Laws)}, deeper
	_, c, err := g.run(nil, true)
	g.parent = course{slices.Clone(c.moments), slices.Clone(c.settles), slices.Clone(c.events), c.digest, c.sent}
	return err
}

// share is part number s.part, counted from 0, of a list that is divided into s.of equal parts.
type share struct{ part, of int }

// bounds returns the half-open range [from, to) of the indices that belong to the share in a list of length n.
func (s share) bounds(n int) (from, to int) { return n * s.part / s.of, n * (s.part + 1) / s.of }

// start is a fault that does not have start and end times yet, together with an opening (a place where it may start).
type start struct {
	fault nemesis.Fault
	opening
}

// grow adds each fault of kind k to a branch (a plan), one fault at a time. It tries only the given share of the
// possible starts.
func (g *grower) grow(b *branch, k nemesis.Kind, of share, deeper bool) (*growth, error) {
	if err := g.climb(b, deeper); err != nil {
		return nil, err
	}
	starts := g.starts(k)
	from, to := of.bounds(len(starts))
	for i := range starts[from:to] {
		s := &starts[from+i]
		g.Starts++
		if err := g.place(s.fault, &s.opening); err != nil || g.found != nil {
			return g.growth, err
		}
	}
	return g.growth, nil
}

// starts returns the faults of kind k that can be added to the current branch, each with an opening (a place where it
// may start).
func (g *grower) starts(k nemesis.Kind) (list []start) {
	for _, f := range templates(g.v.Scenario, g.subjects, k) {
		for _, o := range g.openings(&f) {
			if !g.repeats(k, &o) {
				list = append(list, start{f, o})
			}
		}
	}
	return list
}

// openings returns the places (openings) at which fault f may start.
func (g *grower) openings(f *nemesis.Fault) []opening {
	c, how := &g.parent, f.Kind.Placement()
	switch how.At {
	case nemesis.AtMessages:
		return c.ofMessages(g.from)
	case nemesis.AtReplies:
		if g.v.Options.Requests {
			return g.named(c.ofMessages(g.from))
		}
		return c.ofMessages(g.from, g.subjects.Clients...)
	case nemesis.AtLinks:
		return c.ofLinks(g.from)
	}
	list := c.ofProcess(f.Target, g.from, g.dividingInstants(f))
	if how.Stills {
		list = list[:len(list)-1] // after its last action, a process does not notice the fault
	}
	if how.AfterAnswers && g.v.Options.Requests {
		list = append(list, c.afterAnswers(f.Target)...)
	}
	return list
}

// dividingInstants returns the instants that divide the possible start times of fault f into intervals. The instants at
// which the fault's target acts divide them as well, but are not included.
func (g *grower) dividingInstants(f *nemesis.Fault) []sim.Time {
	c, how := &g.parent, f.Kind.Placement()
	if how.Between == nil {
		return nil
	}
	switch how.Between(f) {
	case nemesis.Syncs:
		return c.settled(f.Target)
	case nemesis.HangUps:
		return c.noticed(f.Target, g.travels[g.assignment])
	case nemesis.Deadlines:
		return slices.Sorted(slices.Values(slices.Concat(c.stated(f.Target), c.synced(f.Target, g.fsync))))
	}
	return nil
}

// repeats reports whether a fault of kind k at opening o (a place where the fault can start) would add nothing new to
// the current plan. There are two such cases. First, it would only prolong the plan's last fault. Second, both faults
// strike the same message, and kind k does not come after the last fault's kind in the order in which kinds are tried.
func (g *grower) repeats(k nemesis.Kind, o *opening) bool {
	if len(g.faults) == 0 {
		return false
	}
	last, kind := &g.from.last, g.faults[len(g.faults)-1].Kind
	switch {
	case o.target != last.target || o.peer != last.peer || o.number != last.number || o.point != last.point ||
		o.pass != last.pass:
		return false
	case o.number > 0:
		return k.Placement().Order <= kind.Placement().Order
	}
	return k == kind && (!o.isInterval() || o.since == g.from.at-1)
}

// place tries a fault at an opening (a place where it can start), with each possible end time or size.
func (g *grower) place(f nemesis.Fault, o *opening) error {
	if g.v.Options.Requests {
		return g.placeOnce(f, o)
	}
	clear(g.seen)
	how := f.Kind.Placement()
	switch how.At {
	case nemesis.AtReplies:
		f.Target, f.Peer, f.Number = o.peer, o.target, o.number
	case nemesis.AtMessages:
		f.Target, f.Peer, f.Number = o.target, o.peer, o.number
	case nemesis.AtLinks:
		f.Left, f.Right, f.OneWay = []sim.ProcessID{o.target}, []sim.ProcessID{o.peer}, true
	}
	switch {
	case ruledOut(g.v.Scenario, g.subjects.Names, f):
		return nil
	case how.Sized:
		for _, f.By = range g.jumps(o) {
			if err := g.forGood(f, o); err != nil || g.found != nil {
				return err
			}
		}
		return nil
	case !hasEnd(&f):
		return g.forGood(f, o)
	}
	return g.lasting(f, o)
}

// forGood tries a fault that never ends.
func (g *grower) forGood(f nemesis.Fault, o *opening) error {
	if _, err := g.try(g.fault(f, o, o.at, never), o, o.at, o.stands(o.at), false); err != nil || g.found != nil {
		return err
	}
	return g.early(f, o)
}

// early tries a fault that never ends, at the first instant of its opening (the place where it can start). For
// deadlock-freedom, the start matters: the law requires a period in which the faults do not change, and this period
// begins when such a fault strikes.
func (g *grower) early(f nemesis.Fault, o *opening) error {
	if !o.isInterval() || o.since+1 == o.at {
		return nil
	}
	_, err := g.try(g.fault(f, o, o.since+1, never), o, o.since+1, 0, false)
	return err
}

// lasting tries a fault that can end, with each possible end time. To find the possible end times, it first runs the
// plan with a fault that never ends. If the fault must end, or if the scenario excludes an endless one, that fault ends
// g.beyond after its start.
func (g *grower) lasting(f nemesis.Fault, o *opening) error {
	last := o.at + g.beyond
	endless := last
	if canLast(&f) && !excluded(g.v.Scenario, g.subjects.Names, f) {
		endless = never
	}
	c, err := g.try(g.fault(f, o, o.at, endless), o, o.at, o.stands(o.at), true)
	if err != nil || g.found != nil || c == nil {
		return err
	}
	list := g.ends(c, &f, o, last)
	if endless == never {
		if err := g.early(f, o); err != nil || g.found != nil {
			return err
		}
	}
	for _, end := range list {
		at, allowed := g.latest(f, o, end)
		if end == endless || !allowed {
			continue
		}
		if _, err := g.try(g.fault(f, o, at, end), o, at, o.stands(at), false); err != nil || g.found != nil {
			return err
		}
	}
	return nil
}

// ends returns the end times to try for fault f if it starts at opening o (a place where it can start). All of them are
// before last. c is the course of a run in which the fault does not end before last.
func (g *grower) ends(c *course, f *nemesis.Fault, o *opening, last sim.Time) []sim.Time {
	travel := g.travels[g.assignment]
	marks := c.marks(o.at, last)
	for _, x := range g.v.Scenario.Mix.Without {
		if x.Kind == f.Kind && x.Within > 0 { // add the earliest restarts that the exclusion allows
			marks = append(marks, mark{o.since + history.Of(x.Within), f.Target, true},
				mark{o.at + history.Of(x.Within) + 1, f.Target, false})
		}
	}
	process, late, first := f.Target, sim.Time(0), o.at
	switch f.Kind.Placement().At {
	case nemesis.AtMessages: // a fault of one message ends when the message arrives
		process, first = f.Peer, o.at+travel.of(f.Target, f.Peer)
	case nemesis.AtLinks: // delayed messages arrive some time after the end of the fault
		process, late = f.Right[0], travel.of(f.Left[0], f.Right[0])
	}
	list := ends(marks, process, travel)
	for i := range list {
		list[i] -= late
	}
	list = slices.DeleteFunc(list, func(t sim.Time) bool { return t <= first || t >= last })
	if restarts(f) && o.isInterval() { // also try a restart before any process notices that the server was down
		list = append([]sim.Time{o.at - 1}, list...)
	}
	return append(list, last)
}

// latest returns the latest instant of an opening (a place where a fault can start) at which fault f may start if it
// ends at the given time. It skips starts that the scenario excludes. ok is false if there is no such instant.
func (g *grower) latest(f nemesis.Fault, o *opening, end sim.Time) (at sim.Time, ok bool) {
	at = min(o.at, end-1)
	for _, x := range g.v.Scenario.Mix.Without {
		if x.Within > 0 && x.Covers(g.fault(f, o, at, end), g.subjects.Names) {
			at = end - history.Of(x.Within)
		}
	}
	ok = at == o.at || o.isInterval() && at > o.since
	return at, ok && !excluded(g.v.Scenario, g.subjects.Names, g.fault(f, o, at, end))
}

// fault returns f with the given start and end.
func (g *grower) fault(f nemesis.Fault, o *opening, at, end sim.Time) nemesis.Fault {
	if f.Kind.Has(nemesis.FieldTrigger) {
		f.Trigger = o.trigger(at)
	}
	d := (end - at).Duration()
	switch {
	case f.Kind.Placement().At == nemesis.AtMessages:
		f.By = d - g.travels[g.assignment].of(f.Target, f.Peer).Duration()
	case end == never:
	case f.Kind.Has(nemesis.FieldFor):
		f.For = d
	case f.Kind.Has(nemesis.FieldRestart):
		f.Restart = d
	}
	return f
}
