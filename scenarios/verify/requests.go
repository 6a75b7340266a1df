package verify

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/sim"
)

// messageOf returns the request at opening o, or the request whose answer is at o. answer is true if o is at the
// answer. ok is false if o is not at a request or an answer.
func (c *course) messageOf(o *opening) (r *nemesis.Sent, answer, ok bool) {
	for i := range c.sent {
		switch r := &c.sent[i]; {
		case r.Client == o.target && r.Server == o.peer && r.Number == o.number:
			return r, false, true
		case r.Client == o.peer && r.Server == o.target && r.AnswerNumber == o.number:
			return r, true, true
		}
	}
	return nil, false, false
}

// named returns those of the openings at which a request or an answer is sent or received. Only these can be named.
func (g *grower) named(all []opening) []opening {
	return slices.DeleteFunc(all, func(o opening) bool {
		_, _, ok := g.parent.messageOf(&o)
		return !ok
	})
}

// messageAt returns a trigger for a message that p sends or receives at the given instant. If peer is not empty, the
// message must be between p and peer. If there are several such messages, the trigger is for the last one.
func (c *course) messageAt(p, peer sim.ProcessID, at sim.Time) (t nemesis.Trigger, ok bool) {
	for i := range c.sent {
		r := &c.sent[i]
		other := r.Server
		if r.Server == p {
			other = r.Client
		}
		if r.Client != p && r.Server != p || peer != "" && other != peer {
			continue
		}
		both := peer != ""
		for _, end := range []struct {
			is             bool // p acts when this end sends or receives; with a peer, true only for sending
			at             sim.Time
			answer, leaves bool
		}{
			{both || r.Client == p, r.Left, false, true}, {!both && r.Server == p, r.Arrived, false, false},
			{both || r.Server == p, r.Answered, true, true}, {!both && r.Client == p, r.Taken, true, false},
		} {
			if end.is && end.at == at && (end.at > 0 || end.leaves && !end.answer) {
				t, ok = nemesis.Trigger{Message: r.Message(end.answer), SaidAt: end.leaves}, true
			}
		}
	}
	return t, ok
}

// afterAnswers returns openings at which client p has received an answer and is about to send its next message at the
// same instant. A fault can start between these two messages.
func (c *course) afterAnswers(p sim.ProcessID) (list []opening) {
	for i := range c.sent {
		r := &c.sent[i]
		if r.Client != p || r.Taken == 0 {
			continue
		}
		if last, _ := c.messageAt(p, "", r.Taken); last.Message != r.Message(true) {
			answer := r.Message(true)
			answer.Of = ""
			list = append(list, opening{target: p, answer: answer, since: r.Taken, at: r.Taken})
		}
	}
	return list
}

// placeOnce tries fault f at opening o, with each end or size that may make a difference to the outcome.
func (g *grower) placeOnce(f nemesis.Fault, o *opening) error {
	p := g.placing(f, o)
	for _, f := range p.faults {
		c, err := g.try(f, o, p.at, 1, false)
		if err != nil || g.found != nil {
			return err
		}
		if !p.lasts || c == nil {
			continue
		}
		for _, f := range g.shorter(c, p) {
			if _, err := g.try(f, o, p.at, 1, false); err != nil || g.found != nil {
				return err
			}
		}
	}
	return nil
}

// placing lists the versions of a fault to try at one point in a run.
type placing struct {
	*opening
	faults []nemesis.Fault // faults that follow from the run without them
	at     sim.Time        // when the faults strike; if they delay a message, when it would arrive without them
	last   sim.Time        // the latest end to try
	lasts  bool            // faults has one element, and shorter versions of it follow from its run
}

// placing returns the versions of fault f to try at opening o. It derives them from the run without f.
func (g *grower) placing(f nemesis.Fault, o *opening) (p *placing) {
	how := f.Kind.Placement()
	p = &placing{opening: o, at: o.at}
	switch how.At {
	case nemesis.AtReplies, nemesis.AtMessages:
		if r, answer, ok := g.parent.messageOf(o); ok {
			f = r.Strike(f, answer)
			if p.at = r.Arrived; answer {
				p.at = r.Taken
			}
			p.at = max(p.at, o.at)
		} else {
			f.Target, f.Peer, f.Number = o.target, o.peer, o.number
		}
	case nemesis.AtLinks:
		f.Left, f.Right, f.OneWay = []sim.ProcessID{o.target}, []sim.ProcessID{o.peer}, true
		p.trigger(g, &f)
	default:
		p.trigger(g, &f)
	}
	p.last = p.at + g.beyond
	names := g.subjects.Names
	switch {
	case ruledOut(g.v.Scenario, names, f):
		return p
	case how.Sized:
		for _, f.By = range g.sizes(p) {
			p.faults = append(p.faults, f)
		}
		return p
	case !hasEnd(&f):
		p.faults = append(p.faults, f)
		return p
	}
	p.lasts = true
	if canLast(&f) && !excluded(g.v.Scenario, names, f) {
		p.faults = append(p.faults, f)
	} else {
		p.faults = append(p.faults, lasting(f, g.beyond.Duration()))
	}
	return p
}

// trigger sets the place at which f strikes, which is p's opening. If the opening is an interval, f strikes at its
// beginning. If the target sends or receives messages at that instant, f strikes right after the last of them that a
// trigger can identify.
func (p *placing) trigger(g *grower, f *nemesis.Fault) {
	f.Trigger = p.opening.trigger(p.opening.at)
	if !p.isInterval() {
		return
	}
	if t, ok := g.parent.messageAt(p.target, p.peer, p.since); ok {
		if slices.Contains(f.On(), t.Message.Of) {
			t.Message.Of = ""
		}
		f.Trigger, p.at = t, p.since
	}
}

// lasting returns f with its duration, restart delay or message delay, depending on f's kind, set to d.
func lasting(f nemesis.Fault, d time.Duration) nemesis.Fault {
	switch {
	case f.Kind.Has(nemesis.FieldFor):
		f.For = d
	case f.Kind.Has(nemesis.FieldRestart):
		f.Restart = d
	default:
		f.By = d
	}
	return f
}

// shorter returns shorter versions of the fault in p. c contains the events and moments of the run with the fault's
// longest version.
func (g *grower) shorter(c *course, p *placing) (list []nemesis.Fault) {
	f := p.faults[0]
	points := g.thresholds(c, p)
	for _, x := range g.v.Scenario.Mix.Without {
		if x.Kind == f.Kind && x.Within > 0 {
			points = append(points, p.at+history.Of(x.Within))
		}
	}
	if f.For == 0 && f.Restart == 0 && f.By == 0 {
		points = append(points, p.last)
	}
	for _, d := range durationsBetween(points, p.at, g.slowest.Duration()/4) {
		if f := lasting(f, d); !excluded(g.v.Scenario, g.subjects.Names, f) {
			list = append(list, f)
		}
	}
	return list
}

// thresholds returns the instants at which it may matter whether a fault has already ended. It finds them in a run in
// which the fault never ends: they are the times at which keys expire, the target's next action, client timeouts that
// the fault may outlast, and each client's next section. If several instants are closer together than a message's
// travel time, thresholds returns only the first and the last of them.
func (g *grower) thresholds(c *course, p *placing) []sim.Time {
	list := g.lapses(c, p.at)
	for i := range list {
		list = append(list, list[i]-g.slowest) // a message sent just before this instant arrives after the expiry
	}
	list = append(list, c.nextSections(p.at)...)
	list = append(list, p.opening.at) // the target's next action
	for i := range g.v.Scenario.Clients {
		list = append(list, p.opening.at+history.Of(g.v.Scenario.Clients[i].Lock.Timeout))
	}
	list = slices.DeleteFunc(list, func(t sim.Time) bool { return t <= p.at || t >= p.last })
	slices.Sort(list)
	var ends []sim.Time
	for i, t := range list {
		if i == 0 || i == len(list)-1 || t-list[i-1] > g.slowest || list[i+1]-t > g.slowest {
			ends = append(ends, t)
		}
	}
	return ends
}

// lapses returns the times after the given instant at which keys expire, or at which a lock's validity ends without a
// release.
func (g *grower) lapses(c *course, at sim.Time) (list []sim.Time) {
	type place struct {
		server sim.ProcessID
		key    history.Lock
	}
	until := map[place]sim.Time{}
	granted := map[history.Attempt]sim.Time{}
	var attempts []history.Attempt
	for i := range c.events {
		e := &c.events[i]
		key := place{e.Process, e.Lock}
		switch {
		case e.F == history.KeySet, e.F == history.KeyProlonged:
			until[key] = e.Until
		case e.F == history.KeyGone && until[key] <= e.Time:
			list = append(list, until[key])
		case e.Grant != nil:
			if _, known := granted[e.Attempt]; !known {
				attempts = append(attempts, e.Attempt)
			}
			granted[e.Attempt] = e.Grant.Until
		case e.F == history.Release && e.Type == history.Invoke && e.Time < granted[e.Attempt]:
			granted[e.Attempt] = 0
		}
	}
	for _, a := range attempts {
		list = append(list, granted[a])
	}
	return slices.DeleteFunc(list, func(t sim.Time) bool { return t <= at || t == history.Never })
}

// nextSections finds each client's next critical section after the given instant. It returns three times for each
// section, in one list for all clients: when its keys are set, when it begins, and when its release is called.
func (c *course) nextSections(at sim.Time) (list []sim.Time) {
	next := map[sim.ProcessID]history.Attempt{}
	for i := range c.events {
		e := &c.events[i]
		if _, known := next[e.Process]; !known && e.Time > at && e.F == history.Acquire && e.Type == history.OK &&
			e.Process != history.Probe {
			next[e.Process] = e.Attempt
			list = append(list, e.Time)
		}
	}
	for i := range c.events {
		e := &c.events[i]
		switch e.F {
		case history.KeySet:
			client, _, _ := strings.Cut(string(e.By), "/")
			if e.By != "" && e.By == next[sim.ProcessID(client)] {
				list = append(list, e.Time)
			}
		case history.Release:
			if e.Type == history.Invoke && e.Attempt == next[e.Process] {
				list = append(list, e.Time)
			}
		}
	}
	return list
}

// sizes returns the sizes of the clock jumps to try: forward jumps that pass zero, one, two and so on of the deadlines
// that depend on the clock, and backward jumps of the same sizes.
func (g *grower) sizes(p *placing) []time.Duration {
	var points []sim.Time
	for _, d := range g.deadlines(p.opening) {
		if d.at > p.at && d.at < p.last {
			points = append(points, d.at)
		}
	}
	beyond := g.beyond.Duration()
	list := append(durationsBetween(points, p.at, g.slowest.Duration()/4), beyond)
	for _, d := range list {
		list = append(list, -d)
	}
	return list
}

// durationsBetween returns durations for a fault that starts at from. The points divide the time after from into
// intervals. For each interval that ends with a point, there is one duration, and with it the fault ends inside that
// interval, shortly (at most soon) after the interval's beginning.
func durationsBetween(points []sim.Time, from sim.Time, soon time.Duration) (list []time.Duration) {
	slices.Sort(points)
	lo := from
	for _, hi := range slices.Compact(points) {
		if d := roundest((lo - from).Duration(), (hi - from).Duration(), soon); d > 0 {
			list = append(list, d)
		}
		lo = hi
	}
	return list
}

// roundest returns the roundest duration d with lo < d < hi and d <= lo+soon, or 0 if there is none. It uses the
// largest power of ten that has a multiple in this range, and returns the smallest such multiple.
func roundest(lo, hi, soon time.Duration) time.Duration {
	for step := 10 * time.Second; step > 0; step /= 10 {
		if d := (lo/step + 1) * step; d < hi && (d <= lo+soon || step == 1) {
			return d
		}
	}
	return 0
}

// Claim describes what was enumerated in one run.
type Claim struct {
	Kinds   []nemesis.Kind
	Tallies []KindTally // one for each kind in Kinds
	Untried []Reason
}

// single describes what was enumerated in one run.
func (v *Verification) single() document.Facts {
	c := Claim{Kinds: v.Scope.Every, Tallies: v.byKind()}
	return c.Facts()
}

// Facts says what was enumerated, and what was not tried.
func (c *Claim) Facts() (all document.Facts) {
	for i, t := range c.Tallies {
		all = append(all, document.Fact{Name: c.Kinds[i].String(), Value: enumerated(c.Kinds[i], t.Starts,
			t.Schedules)})
	}
	all = append(all, document.Fact{Name: "ends", Value: classes}, document.Fact{Name: "not tried",
		Value: "two faults at once, and other seeds"})
	for _, r := range c.Untried {
		all = append(all, document.Fact{Name: "untried", Value: r.Kind.String() + ": " + r.Why})
	}
	return all
}

// classes tells the reader that only one end time was tried for each class of end times.
const classes = "One for each class. " +
	"A class is the time between two successive instants that matter in the run with the longest fault. " +
	"The instants that matter are: each later expiry and each end of a validity period; " +
	"each of these minus the time that a message takes; the timeout of a client; " +
	"the next action of the target; the next critical section of each client, from setting its keys to its release; " +
	"and the shortest restart that the scenario does not exclude. " +
	"If two instants are closer together than the time that one message takes, they count as one. " +
	"The last class begins after all of them."

// enumerated returns a phrase that says what was enumerated for faults of kind k. starts is the number of starts tried,
// and schedules is the number of runs.
func enumerated(k nemesis.Kind, starts, schedules int) string {
	runs := text.CountGrouped(schedules, "run")
	switch k.Placement().At {
	case nemesis.AtReplies:
		return fmt.Sprintf("each of %s requests and replies lost once: %s", text.Grouped(starts), runs)
	case nemesis.AtMessages:
		return fmt.Sprintf("each of %s messages delayed past each threshold: %s", text.Grouped(starts), runs)
	case nemesis.AtLinks:
		return fmt.Sprintf("%s: each direction of each connection, after each of its messages. "+
			"With each class of lengths, these are %s", text.CountGrouped(starts, "start"), runs)
	}
	where := "after each of its events and at each named point that it passes"
	if k.Placement().AfterAnswers {
		where = "after each of its events, between a reply and the next request, and at each named point that it passes"
	}
	return fmt.Sprintf("%s: each process that the fault can affect, %s. With each class of ends, these are %s",
		text.CountGrouped(starts, "start"), where, runs)
}

// Singles enumerates the single faults that can be added to a fault-free run of a scenario with a given seed. Faults
// that start at the same place but end at different times form a group. The longest fault of a group is found in the
// fault-free run, and the others in the run with the longest one. Singles is not safe for concurrent use.
type Singles struct {
	Claim  Claim
	Digest sim.Digest // digest of the fault-free run
	grower *grower
	starts []start
}

// NewSingles performs the fault-free run, which does not include the scenario's own faults either, and finds where
// faults can strike.
func NewSingles(s *scenarios.Scenario, seed uint64) (*Singles, error) {
	v, err := begun(s, Options{Faults: 1, Requests: true, Seed: seed})
	if err != nil {
		return nil, err
	}
	all := &Singles{Claim: Claim{Kinds: v.Scope.Every, Untried: v.Scope.None}, grower: newGrower(context.Background(),
		v)}
	if err := all.grower.climb(&branch{}, false); err != nil {
		return nil, err
	}
	all.Digest = all.grower.parent.digest
	for _, k := range v.Scope.Every {
		list := slices.DeleteFunc(all.grower.starts(k), func(s start) bool {
			return len(all.grower.placing(s.fault, &s.opening).faults) == 0
		})
		all.starts = append(all.starts, list...)
		all.Claim.Tallies = append(all.Claim.Tallies, KindTally{Starts: len(list)})
	}
	return all, nil
}

// Longest returns, for each start, the longest fault or, for a clock jump, the first of its sizes.
func (s *Singles) Longest() []nemesis.Fault {
	list := make([]nemesis.Fault, len(s.starts))
	for i := range list {
		at := &s.starts[i]
		list[i] = s.grower.placing(at.fault, &at.opening).faults[0]
	}
	return list
}

// Try calls visit for every plan whose fault begins at the start with the given number, counted from 0. The plan with
// the longest fault comes first. visit gets the plan and a function that runs it. If visit returns an error, Try stops
// and returns this error.
func (s *Singles) Try(number int, visit func(p nemesis.Plan, run func() (scenarios.Result, error)) error) error {
	g, at := s.grower, &s.starts[number]
	p := g.placing(at.fault, &at.opening)
	try := func(f nemesis.Fault) (c course, err error) {
		err = visit(g.plan(&f), func() (result scenarios.Result, err error) {
			result, c, err = g.run(&f, false)
			return result, err
		})
		return c, err
	}
	for _, f := range p.faults {
		c, err := try(f)
		if err != nil {
			return err
		}
		if !p.lasts {
			continue
		}
		for _, f := range g.shorter(&c, p) {
			if _, err := try(f); err != nil {
				return err
			}
		}
	}
	return nil
}
