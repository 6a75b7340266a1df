// Package verify tries every placement of few faults in a small scenario.
//
// Goals: what it says holds has been tried, and it says what that is: which kinds of faults, for which delays, with
// which starts and ends, and for how much each schedule stands. A reduction leaves nothing out that could come out
// otherwise, or is named; of what it leaves out random placements are tried. What ended early is undecided. The result
// does not depend on the number of workers.
// Non-goals: large scenarios; making a counterexample small that was found at random: package search does.
package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// MaxFaults is the most faults that one placement of a verification may have. What four would take nobody waits for.
const MaxFaults = 3

// Options bound a verification. As JSON they are what a worker needs of them.
type Options struct {
	Faults     int            // the most in one placement, 0 to MaxFaults
	Kinds      []nemesis.Kind // of faults that ScopeOf has tried; none: all of these
	Delays     int            // assignments of delays, from 1; a scenario may allow fewer
	Orders     bool           // each also with two other orders of what arrives at once
	AllEnds    bool           // also with more than one fault: each end of the earlier ones, not one for each story
	KeepFaults bool           // the scenario's own faults strike in every run; they do not count
	Seed       uint64         // of back-offs and owner values
	Budget     int            // runs after which it ends; 0: none. What is under way then is finished
	// Requests tries each single fault of one run, that of Seed without faults, with the delays that it draws. Faults
	// is 1 then, and Delays, Orders and AllEnds are not set.
	Requests bool
	// Crew is notified how many parts of the placements with so many faults are tried.
	campaign.Crew `json:"-"`
	// Hands have workers of NewWorker try the placements; nil: the crew does.
	Hands campaign.Hands `json:"-"`
}

// Scenario tries every placement of up to o.Faults faults, the fewest first, and stops at the first that breaks a
// promised law. Of kinds of which not every placement is tried, it then tries random ones with as many faults, which
// claim no more than their number does. What "holds" claims besides is this.
//
// For the assignments of delays in the result, in which each link has one fixed delay and back-offs are those of the
// seed; for the kinds of faults in the result; for the laws that the scenario promises: no placement breaks one. A
// placement is up to o.Faults faults, each with a start, a target and an end.
//
// Starts are all there are: every instant of true time from the beginning to the end of the work, each message, and
// each passing of a named point by the client that it strikes. They are reduced, but nothing is lost. Between two acts
// of a process (it takes a message or a wake-up, or goes on with a task) nothing reads or changes what it is, so that a
// fault that strikes it anywhere between them and ends at the same absolute time gives the same run; only the fault's
// own records move, and the probe, which waits until all is over. Of each interval one start is tried: the last, since
// a law that excuses what a fault disturbs excuses least then. A fault that is over as it strikes (a jump, a crash for
// good) is tried at the first instant as well, since a law that asks for calm asks it from then on. What changes unseen
// cuts the interval: writes that become durable by time alone, for a loss of power; the last moment to be noticed in
// time, for a server that hangs up on its clients; the end of a validity counted on a wall clock, for a jump of that
// clock. One thing is not reduced: a jump can make a server fsync, and where the end of that falls among its acts, and
// among its crashes, is tried for one start of an interval only. A fault that strikes another process than the one that
// passes a point strikes between two acts of its own, and is among these.
//
// Ends are not all there are, but those at which something changes in the run in which the fault goes on: whatever any
// process records (a key comes or goes, a lock is granted or given back, the resource accepts or refuses), the next act
// of each process, each key's expiry and each end of a stated validity; such that the target's next message, or what it
// does at once, comes just before that, and around expiries and validities also just after; and beyond them all, the
// longest TTL, hold and back-off and a second later. A crash for good, or a cut without an end, never ends. A jump goes
// so far that each deadline that hangs on the clock just ends, or just does not, before each later act; and beyond all,
// either way. Such deadlines are those of the keys on a server, and of a client that reads its wall clock those of its
// validities, of the keys that it sets and of its patience.
//
// Of several faults each strikes at or after the one before. The later one's starts and ends are those of the run with
// the earlier ones. Of the ends of the earlier one that lead to the same story (each process records the same in the
// same order, and so do those who enter and leave sections) one is taken further, or all with o.AllEnds.
//
// With o.Requests it tries each single fault of one run of s: that of o.Seed without faults (or with those of s, if
// they are kept). Delays are those that the seed draws. Starts are those above, but a fault is named by the message
// that its target has sent or taken last, where there is one, and of a point in time there is no first instant. Each
// request and each answer is lost once. Ends are one for each class of them: see thresholds. Nothing is tried at
// random: what is not enumerated is not tried. Two faults at once, and other seeds, are not either.
//
// An error says that no fault can be tried, or not those of o.Kinds, or is a failure of Fencepost's or a lock's own
// code.
func Scenario(ctx context.Context, s *scenarios.Scenario, o Options) (*Verification, error) {
	v, err := begun(s, o)
	if err != nil {
		return nil, err
	}
	level := make([]branch, len(v.Assignments))
	for i := range level {
		level[i] = branch{assignment: i, stands: 1}
	}
	for n := 0; n <= o.Faults && !v.over(); n++ {
		if level, err = v.tryAll(ctx, n, level); err != nil {
			return nil, err
		}
		if n > 0 && !v.over() {
			err = v.sample(ctx, n)
		}
		if err != nil {
			return nil, err
		}
	}
	return v, nil
}

// begun is a verification that knows what is to be tried.
func begun(s *scenarios.Scenario, o Options) (*Verification, error) {
	if o.Requests && (o.Faults != 1 || o.Delays > 1 || o.Orders || o.AllEnds) {
		return nil, errOneRun
	}
	all := ScopeOf(s)
	if o.Requests {
		all = all.Enumerated()
	}
	v := &Verification{Scenario: s, Options: o, Scope: all.only(o.Kinds)}
	impossible := slices.ContainsFunc(o.Kinds, func(k nemesis.Kind) bool { return !all.Tries(k) })
	if impossible || o.Faults > 0 && len(v.Scope.Every)+len(v.Scope.Random) == 0 {
		return nil, errNoKind
	}
	for _, r := range v.Scope.Random {
		v.Random = append(v.Random, Sample{r, newTally(s.Promise.Laws)})
	}
	var err error
	v.Assignments, err = assign(s, &o)
	return v, err
}

// errNoKind reports a verification that could try no fault, or not those that it was asked for.
var errNoKind = errors.New("no kind of faults can be tried: the scenario's mix draws none that it promises to " +
	"survive and that makes a difference")

// errOneRun reports a verification of one run with more than that.
var errOneRun = errors.New("each single fault of one run is tried with one fault, with the delays and the order of " +
	"that run: leave faults, delays, orders and all-ends out")

// Reasons to stop that are no failures.
var (
	errFound  = errors.New("a counterexample was found")
	errBudget = errors.New("the budget is used up")
)

// over reports whether nothing more is to be tried.
func (v *Verification) over() bool { return v.Found != nil || v.Ending != campaign.Complete }

// tryAll tries all placements of n faults: those of a level, which have one fault fewer, and one more. It returns those
// from which the next level goes on.
func (v *Verification) tryAll(ctx context.Context, n int, level []branch) (next []branch, err error) {
	v.Lengths = append(v.Lengths, LengthTally{Faults: n, Tally: newTally(v.Scenario.Promise.Laws),
		Kinds: make([]KindTally, len(v.Scope.Every))})
	length, st := &v.Lengths[n], &stage{Faults: n, Level: level}
	length.Whole, err = v.do(ctx, st, func(position int, g *growth) {
		next = append(next, g.next...)
		if v.Missed == nil {
			v.Missed = g.missed
		}
		_, kind, _ := v.split(st, position)
		length.add(kind, &g.Tally)
	})
	if n == 0 {
		next = level
	}
	return next, err
}

// do has a stage made, by the crew or by other hands, and counts what each position has brought, in their order, up to
// a counterexample or the end of the budget. It reports whether all was done.
func (v *Verification) do(ctx context.Context, st *stage, count func(position int, g *growth)) (whole bool, err error) {
	cut, size := false, v.size(st)
	make := v.byCrew
	if v.Options.Hands != nil {
		make = v.byHands
	}
	done, err := make(ctx, st, func(position int, g *growth) error {
		cut = cut || g.cut
		if g.lost != "" {
			v.lose(st, position, g.lost)
		}
		count(position, g)
		switch {
		case g.found != nil:
			v.Found = g.found
			return errFound
		case v.Options.Budget > 0 && v.runs() >= v.Options.Budget && position+1 < size:
			return errBudget
		}
		return nil
	})
	finished := done == size && !cut
	switch {
	case errors.Is(err, errFound):
	case errors.Is(err, errBudget):
		v.Ending = campaign.OutOfRuns
	case ctx.Err() != nil && !finished:
		v.Ending = campaign.EndingBy(ctx)
	default:
		return finished && !v.lost(st), err
	}
	return false, nil
}

// Verification is what came of trying placements.
type Verification struct {
	Scenario    *scenarios.Scenario
	Options     Options
	Scope       Scope // of the kinds that the options name; the others are in none of its lists
	Assignments []Assignment
	Lengths     []LengthTally // of all placements, by the number of faults, from none
	Random      []Sample      // of kinds in the order of Scope.Random
	Found       *Counterexample
	// Missed are the messages that the scenario's own faults name and that never came in a run without others, with the
	// first of the assignments where some did not.
	Missed []nemesis.Missed
	Lost   []Loss          // of what had to be tried before the end
	Ending campaign.Ending // of what was to be tried, up to the first counterexample
}

// Counterexample is a placement that breaks a promised law. No shorter one of the kinds that are enumerated does, for
// the same delays.
type Counterexample struct {
	Plan       nemesis.Plan
	Assignment int  // of Verification.Assignments
	AtRandom   bool // it is one of the random placements
	Law        checker.Law
	Cause      checker.Cause
}

// laws is how each promised law came out, over all schedules.
func (v *Verification) laws() campaign.Laws { return v.sum().Laws }

// runs is how many were made, those included that were only looked at for where faults can strike.
func (v *Verification) runs() int { return v.sum().Runs }

// byKind counts what was enumerated of each kind of Scope.Every, as the last fault of a placement.
func (v *Verification) byKind() []KindTally {
	sums := make([]KindTally, len(v.Scope.Every))
	for _, l := range v.Lengths {
		for i, k := range l.Kinds {
			sums[i].Starts += k.Starts
			sums[i].Schedules += k.Schedules
		}
	}
	return sums
}

// own are the scenario's own faults, if they strike in every run.
func (v *Verification) own() []nemesis.Fault {
	if !v.Options.KeepFaults {
		return nil
	}
	return v.Scenario.Faults
}

func (v *Verification) sum() *Tally {
	sum := newTally(v.Scenario.Promise.Laws)
	for i := range v.Lengths {
		sum.add(&v.Lengths[i].Tally)
	}
	for i := range v.Random {
		sum.add(&v.Random[i].Tally)
	}
	return &sum
}

// Standing sums the verification up: Otherwise if there is a counterexample; NotDecidable if it ended early, if
// something was lost, if a promised law was undecided in some schedule, or if nothing exercised a law that must be.
// open says why it is not decidable, in a sentence each.
func (v *Verification) Standing() (standing document.Result, open []string) {
	if v.Found != nil {
		return document.Failed, nil
	}
	switch v.Ending {
	case campaign.OutOfRuns:
		open = append(open, "the budget of runs is used up")
	case campaign.OutOfTime:
		open = append(open, "its time was over")
	case campaign.Interrupted:
		open = append(open, "it was interrupted")
	}
	for i := range v.Lost {
		open = append(open, v.Lost[i].String())
	}
	exercised := false
	for _, t := range v.laws() {
		switch {
		case t.Undecided > 0:
			open = append(open, fmt.Sprintf("%s was undecided in %d schedules: their limit came first", t.Law,
				t.Undecided))
		case t.Exercised() == 0 && slices.Contains(v.Scenario.Shown, t.Law):
			open = append(open, fmt.Sprintf("%s is to be kept, but no schedule exercised it", t.Law))
		}
		exercised = exercised || t.Exercised() > 0
	}
	if !exercised {
		open = append(open, "no schedule exercised any promised law")
	}
	if len(open) > 0 {
		return document.Undecided, open
	}
	return document.Passed, nil
}
