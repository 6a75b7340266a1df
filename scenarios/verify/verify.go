// Package verify tries every placement of a small number of faults in a small scenario.
//
// Terms: a placement is a set of faults, each with a target, a start and an end. An opening is a place in a run where a
// fault can start: a message, a point in a client's code, or an interval of time. A schedule is a plan that was run and
// judged. It represents all placements that are known to have the same outcome.
//
// Goals: the report says what a result of "holds" covers: which kinds of faults, which message delays, which starts and
// ends, and how many placements each schedule represents. A reduction leaves out only placements that cannot have a
// different outcome. If a reduction is not exact, the report says so. Kinds of faults that cannot be enumerated are
// tried in random placements. A verification that ended early is undecided. The result does not depend on the number of
// workers. Non-goals: large scenarios; shrinking a counterexample that was found at random (package search does that).
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

// MaxFaults is the maximum number of faults in one placement. Four would take too long.
const MaxFaults = 3

// Options set the limits of a verification. Their JSON form contains all options that a worker needs.
type Options struct {
	Faults int            // maximum number of faults in one placement, 0 to MaxFaults
	Kinds  []nemesis.Kind // kinds of faults to try, out of those in ScopeOf; empty: all of them
	Delays int            // number of delay assignments, at least 1; a scenario may allow fewer
	Orders bool           // also try each assignment with two other orders of simultaneous arrivals
	// with several faults: combine the next fault with every end of an earlier fault, not only with ends that lead to
	// different sequences of events
	AllEnds    bool
	KeepFaults bool   // the scenario's own faults strike in every run and are not counted
	Seed       uint64 // seed of back-offs and owner values
	Budget     int    // maximum number of runs; started work is still finished; 0: no limit
	// Requests makes the verification try each single fault in one run, which has the seed Seed and the delays drawn
	// from it. Faults must be 1, and Delays, Orders and AllEnds must not be set.
	Requests bool
	// Crew tries the placements. Its Hands are workers created by NewWorker. For each number of faults, its Progress
	// function is called with the number of positions (jobs) that are done.
	campaign.Crew `json:"-"`
}

// Scenario tries every placement of up to o.Faults faults, beginning with those that have the fewest. It stops at the
// first placement that breaks a promised law. If some placements of a kind of fault cannot be enumerated, it then tries
// random ones with the same number of faults. Random placements only bound how often such placements break a promise.
// For the enumerated kinds, the result "holds" means the following.
//
// Claim: no placement breaks a law that the scenario promises. A placement consists of up to o.Faults faults, each with
// a start, a target and an end. The claim covers the kinds of faults and the delay assignments that the result lists.
// In an assignment, each link has one fixed delay; back-offs are drawn from the seed.
//
// Starts: the claim covers every start. A fault can start at any instant of true time from the beginning to the end of
// the work, at any message, and whenever the client that the fault strikes passes a named point.
//
// Not every start has to be tried. A process acts when it handles a message or a wake-up, or when it continues a task.
// Between two actions of a process, nothing reads or changes its state. Therefore all faults that strike the process
// between the same two actions, and end at the same absolute time, give the same run. Only two things happen at other
// times: the fault itself is recorded, and the probe (see history.Probe) acts, but only after everything else is over.
// One start in each such interval is tried: the last one, because a law that excuses the effects of a fault then
// excuses the fewest of them. A fault without a duration (a jump, a crash without a restart) is also tried at the first
// instant of the interval, because a law that requires a period without faults measures that period from the fault.
//
// If the state changes between two actions, the change divides the interval. For a power failure, these changes occur
// when writes become durable just because time passes. For a server that closes its clients' connections, the interval
// is divided at the last moment when a client can learn of this before sending its next request. For a wall-clock jump,
// it is divided at the end of a validity that is measured on that clock. A jump or the removal of a key can make a
// server fsync, so the interval is also divided at the last moment from which the fsync ends before the next action.
// The reduction is inexact in one case: of the starts after that moment, only one is tried, although the fsync may end
// before or after other actions and crashes. A fault that strikes when another process passes a point strikes between
// two actions of its target, so the starts above include it.
//
// Ends: only some ends are tried. They are derived from the run in which the fault never ends, and from the instants at
// which something changes in that run: each record of a process (a key appears or disappears, a lock is granted or
// released, the resource accepts or refuses), the next action of each process, the expiry of each key, and the end of
// each validity that was reported to a client. For each such instant, an end is chosen so that the target's next
// message, or its next action, comes just before it. For expiries and validities, a second end is chosen so that the
// message or action comes just after it. One more end comes after the fault's start by more than any client's TTL,
// patience, back-off and hold together; no later end is tried. A crash or a cut without an end never ends.
//
// Sizes: a jump is tried with several sizes, both forward and back. For each deadline on that clock and each later
// action, one size makes the two change places: the deadline then passes just before the action, or just after it. One
// more size in each direction goes beyond all deadlines. A server's deadlines are the expiries of its keys. The
// deadlines of a client that reads its wall clock are its validities, the expiries of the keys that it sets, and the
// end of its patience.
//
// Several faults: each fault strikes at the same time as the one before it, or later. A later fault's starts and ends
// are taken from the run with the earlier faults. If several ends of an earlier fault lead to the same sequence of
// events, the next fault is added to only one of them, or to all with o.AllEnds. Two sequences are the same if each
// process records the same events in the same order, and processes enter and leave sections in the same order.
//
// With o.Requests, Scenario tries each single fault in one run of s. This is the run of o.Seed without faults, or with
// s's own faults if they are kept. The delays are drawn from the seed. Starts are as above, with two differences. A
// fault refers to the last message that its target sent or received, if there is one. A fault that refers to a point in
// time is not tried at the first instant. Each request and each answer is lost once. One end is tried for each class of
// ends (see thresholds). Nothing is tried at random. Kinds that are not enumerated, two faults at once, and other seeds
// are not tried.
//
// Scenario returns an error if the options contradict each other, or if no fault can be tried, either at all or among
// o.Kinds. It also returns an error if Fencepost's or the lock's code fails.
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

// begun returns a verification whose scope and delay assignments are set, but that has not performed any runs yet.
func begun(s *scenarios.Scenario, o Options) (*Verification, error) {
	if s.OfPrograms() && !o.Requests {
		return nil, errPrograms
	}
	if o.Requests && (o.Faults != 1 || o.Delays > 1 || o.Orders || o.AllEnds) {
		return nil, errOneRun
	}
	all := ScopeOf(s)
	if o.Requests {
		all = all.Enumerated()
	}
	v := &Verification{Scenario: s, Options: o, Scope: all.restrictedTo(o.Kinds)}
	for _, k := range o.Kinds {
		if !all.Tries(k) {
			return nil, fmt.Errorf("%w: %s is not tried: %s", errNoKind, k, all.WhyNot(k))
		}
	}
	if o.Faults > 0 && len(v.Scope.Every)+len(v.Scope.Random) == 0 {
		return nil, fmt.Errorf("%w: no kind of fault can be tried: %s", errNoKind, all.whyNothing())
	}
	for _, r := range v.Scope.Random {
		v.Random = append(v.Random, Sample{r, newTally(s.Promise.Laws)})
	}
	var err error
	v.Assignments, err = assign(s, &o)
	return v, err
}

// errNoKind is returned, with the reason, if there is no fault to try, or if a kind in the options cannot be tried.
var errNoKind = errors.New("there is nothing to verify")

// errOneRun is returned if Options.Requests is combined with more than one fault, or with Delays, Orders or AllEnds.
var errOneRun = errors.New("with --requests, single faults are tried in one run, " +
	"with the delays and the order of that run: remove --faults, --delays, --orders and --all-ends")

// errPrograms is returned if the clients are programs but Options.Requests is not set.
var errPrograms = errors.New("clients that are programs can be verified only in a single run, " +
	"because a program may read its clock between two messages: add --requests")

// Errors that stop a stage but do not indicate a failure.
var (
	errFound  = errors.New("a counterexample was found")
	errBudget = errors.New("the budget is used up")
)

// over reports whether the search is finished.
func (v *Verification) over() bool { return v.Found != nil || v.Ending != campaign.Complete }

// tryAll tries all placements of n faults. It adds one fault to each placement in level, all of which have n-1 faults.
// It returns the placements to which another fault can be added.
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

// do runs a stage's jobs on this process's workers, or through Options.Hands if that is set. It calls visit with each
// job's result, in order of position. It stops when a counterexample is found or the budget is used up. It reports
// whether all jobs were completed.
func (v *Verification) do(ctx context.Context, st *stage, visit func(position int, g *growth)) (whole bool, err error) {
	cut, size := false, v.size(st)
	done, err := v.work(ctx, st).Do(ctx, v.Options.Crew, func(position int, g *growth) error {
		cut = cut || g.cut
		if g.lost != "" {
			v.lose(st, position, g.lost)
		}
		visit(position, g)
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

// Verification is the result of trying the placements.
type Verification struct {
	Scenario    *scenarios.Scenario
	Options     Options
	Scope       Scope // contains only the kinds in the options
	Assignments []Assignment
	Lengths     []LengthTally // results of all enumerated placements, indexed by the number of faults, from 0
	Random      []Sample      // in the order of Scope.Random
	Found       *Counterexample
	// Missed lists the messages that the scenario's own faults refer to but that were not sent in a run without other
	// faults. If messages were missing under several delay assignments, it lists those that were missing under the
	// first.
	Missed []nemesis.Missed
	Lost   []Loss          // positions that should have been tried but gave no result
	Ending campaign.Ending // why the search for a counterexample ended
}

// Counterexample is a placement that breaks a promised law. No enumerated placement with fewer faults and the same
// delays breaks a promised law.
type Counterexample struct {
	Plan       nemesis.Plan
	Assignment int  // index into Verification.Assignments
	AtRandom   bool // found among the random placements
	Law        checker.Law
	Cause      checker.Cause
}

// orEnded returns the end of a sentence about why laws are undecided. The result is empty unless the clients are
// programs.
func orEnded(s *scenarios.Scenario) string {
	if s.OfPrograms() {
		return ", or a client ended before it had finished its work"
	}
	return ""
}

// laws returns each promised law's outcomes over all schedules.
func (v *Verification) laws() campaign.Laws { return v.sum().Laws }

// runs returns the number of runs, including those made only to find where faults can strike.
func (v *Verification) runs() int { return v.sum().Runs }

// byKind counts the enumerated placements by the kind of their last fault, in the order of Scope.Every.
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

// own returns the scenario's own faults if they strike in every run, and nil otherwise.
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

// Standing returns the overall result of the verification. It is Failed if there is a counterexample. It is Undecided
// if the verification ended early, if results were lost, if a promised law was undecided in some schedule, if no
// schedule exercised a law that must be exercised, or if none exercised any promised law. In that case, open lists the
// reasons, in one sentence each.
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
			open = append(open, fmt.Sprintf("%s was undecided in %d schedules, "+
				"which reached their limit before it could be decided%s", t.Law,
				t.Undecided, orEnded(v.Scenario)))
		case t.Exercised() == 0 && slices.Contains(v.Scenario.Shown, t.Law):
			open = append(open, fmt.Sprintf("%s must be kept, but no schedule was able to test it", t.Law))
		}
		exercised = exercised || t.Exercised() > 0
	}
	if !exercised {
		open = append(open, "no schedule was able to test any promised law")
	}
	if len(open) > 0 {
		return document.Undecided, open
	}
	return document.Passed, nil
}
