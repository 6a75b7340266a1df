// Package verify tries every placement of a small number of faults in a small scenario.
//
// Terms: a placement is a set of faults, each with a target, a start and an end. An opening is a place in a run where a
// fault can start: a message, a point in a client's code, or an interval of time. A schedule is a plan that was run and
// judged. It represents all placements that are known to have the same outcome.
//
// Goals: the result "holds" is based on what was tried, and the report says what that was: which kinds of faults, which
// message delays, which starts and ends, and how many placements each schedule represents. A reduction leaves out only
// placements that cannot give a different outcome. Where it may leave out others, the report says so. Kinds that cannot
// be enumerated are tried in random placements. A verification that ended early is undecided. The result does not
// depend on the number of workers. Non-goals: large scenarios; shrinking a counterexample that was found at random
// (package search does that).
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

// Options set the limits of a verification. Their JSON form contains everything about them that a worker needs to know.
type Options struct {
	Faults int            // maximum number of faults in one placement, 0 to MaxFaults
	Kinds  []nemesis.Kind // kinds of faults to try, out of those in ScopeOf; empty: all of them
	Delays int            // number of delay assignments, from 1; a scenario may allow fewer
	Orders bool           // also try each assignment with two other orders of simultaneous arrivals
	// with several faults: add a fault for all ends of an earlier one, not only for distinct ones
	AllEnds    bool
	KeepFaults bool   // the scenario's own faults strike in every run and are not counted
	Seed       uint64 // seed of back-offs and owner values
	Budget     int    // maximum number of runs; started work is still finished; 0: no limit
	// Requests makes the verification try each single fault in one run: the fault-free run of Seed, with the delays
	// that the seed draws. Faults must then be 1, and Delays, Orders and AllEnds must not be set.
	Requests bool
	// Crew runs the placements if Hands is nil. While it works, it is told how many parts have been tried for each
	// number of faults.
	campaign.Crew `json:"-"`
	// Hands distributes the placements to workers created by NewWorker. If it is nil, the crew tries them in this
	// process.
	Hands campaign.Hands `json:"-"`
}

// Scenario tries every placement of up to o.Faults faults, the placements with the fewest faults first. It stops at the
// first placement that breaks a promised law. For kinds whose placements are not all enumerated, it then tries random
// placements with the same number of faults. These support only a claim about the rate at which such placements break a
// promise. For the enumerated kinds, "holds" claims the following.
//
// The claim is that no placement breaks a law that the scenario promises. A placement is up to o.Faults faults, each
// with a start, a target and an end. The claim is made for the kinds of faults and the assignments of delays that the
// result lists. In an assignment, each link has one fixed delay; back-offs are drawn from the seed.
//
// Starts: all of them are covered. These are every instant of true time from the beginning to the end of the work, each
// message, and each passing of a named point by the client that the fault strikes.
//
// They are reduced without loss. A process acts when it handles a message or a wake-up, or continues a task. Between
// two actions of a process, nothing reads or changes its state. Therefore a fault that strikes the process anywhere
// between them, and ends at the same absolute time, gives the same run. Only the records of the fault itself move, and
// so does the probe, which waits until everything is over. One start of each such interval is tried: the last one,
// because a law that excuses the effects of a fault excuses least then. A fault that is over when it strikes (a jump, a
// crash without a restart) is also tried at the first instant, because a law that requires a period without faults
// counts it from then on.
//
// If the state changes between actions, the change divides the interval. For a power failure, these are the times at
// which writes become durable merely because time passes. For a server that closes its clients' connections, it is the
// last moment at which the clients notice in time. For a jump of a wall clock, it is the end of a validity counted on
// that clock. In one case the reduction is not exact: a jump can make a server fsync, and whether the fsync ends before
// or after the server's actions and crashes is tried for only one start of an interval. If a fault strikes when another
// process passes a point, it strikes between two actions of its target, so the starts above include it.
//
// Ends: not all of them are tried, but those at which something changes in the run in which the fault never ends. These
// changes are all records of any process (a key appears or disappears, a lock is granted or released, the resource
// accepts or refuses), the next action of each process, each key's expiry and each end of a stated validity. The end is
// chosen such that the target's next message, or its next action, comes just before that instant. For expiries and
// validities, another end is chosen such that it comes just after. One more end lies beyond all of these, by the
// longest TTL, hold and back-off and a second. A crash or a cut without an end never ends.
//
// A jump is tried with the sizes after which a deadline on that clock has just passed, or has just not passed, before
// each later action, and with one size beyond all of them, forward and back. The deadlines are the expiries of the keys
// on a server. For a client that reads its wall clock, they are its validities, the expiries of the keys that it sets,
// and the end of its patience.
//
// With several faults, each strikes later than the one before it or at the same time. The starts and ends of a later
// fault are taken from the run with the earlier faults. If several ends of an earlier fault lead to the same sequence
// of events, a further fault is added for only one of them, or for all with o.AllEnds. Two sequences are the same if
// each process records the same events in the same order, and processes enter and leave sections in the same order.
//
// With o.Requests, Scenario tries each single fault in one run of s: the run of o.Seed without faults, or with the
// faults of s if they are kept. The delays are drawn from the seed. Starts are as above, with two differences. A fault
// is named by the last message that its target sent or received, if there is one. A fault named by a point in time is
// not tried at the first instant. Each request and each answer is lost once. One end is tried for each class of ends
// (see thresholds). Nothing is tried at random. Kinds that are not enumerated are not tried, and neither are two faults
// at once or other seeds.
//
// Scenario returns an error if no fault can be tried, or no fault of o.Kinds, and if the code of Fencepost or of the
// lock fails.
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

// begun returns a verification with its scope and its assignments, but without any run.
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

// errNoKind is the error if no fault can be tried, or no fault of the kinds in the options.
var errNoKind = errors.New("no kind of fault can be tried: the scenario's mix includes no kind that the scenario " +
	"promises to survive and that makes a difference")

// errOneRun is the error if Options.Requests is combined with several faults, delays, orders or ends.
var errOneRun = errors.New("with requests, single faults are tried in one run, with the delays and the order of " +
	"that run: leave faults, delays, orders and all-ends out")

// errPrograms is the error if the clients are programs and the verification would consist of more than one run.
var errPrograms = errors.New("clients that are programs can be verified only in a single run, because a program may " +
	"read its clock between two messages: add --requests")

// These are reasons to stop a stage that are not failures.
var (
	errFound  = errors.New("a counterexample was found")
	errBudget = errors.New("the budget is used up")
)

// over reports whether the search is finished.
func (v *Verification) over() bool { return v.Found != nil || v.Ending != campaign.Complete }

// tryAll tries all placements of n faults, by adding one fault to each placement of level. It returns the placements
// for the next level.
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

// do runs a stage with the crew or with Options.Hands, and calls count with the result of each position, in order. It
// stops when a counterexample is found or the budget is used up. It reports whether all positions were completed.
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

// Verification is the result of trying the placements.
type Verification struct {
	Scenario    *scenarios.Scenario
	Options     Options
	Scope       Scope // contains only the kinds in the options
	Assignments []Assignment
	Lengths     []LengthTally // results of all enumerated placements, indexed by the number of faults, from 0
	Random      []Sample      // in the order of Scope.Random
	Found       *Counterexample
	// Missed lists the messages that the scenario's own faults name, but that were never sent in a run without other
	// faults. They are taken from the first assignment in which a message was missing.
	Missed []nemesis.Missed
	Lost   []Loss          // positions that should have been tried but gave no result
	Ending campaign.Ending // why the search for a counterexample ended
}

// Counterexample is a placement that breaks a promised law. With the same delays, no placement with fewer faults of the
// enumerated kinds breaks a promised law.
type Counterexample struct {
	Plan       nemesis.Plan
	Assignment int  // index into Verification.Assignments
	AtRandom   bool // found among the random placements
	Law        checker.Law
	Cause      checker.Cause
}

// orEnded returns the last part of the sentence that says why laws are undecided.
func orEnded(s *scenarios.Scenario) string {
	if s.OfPrograms() {
		return ", or a client ended before it had finished its work"
	}
	return ""
}

// laws returns the outcomes of each promised law in all schedules together.
func (v *Verification) laws() campaign.Laws { return v.sum().Laws }

// runs returns the number of runs, including those that only served to find where faults can strike.
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

// own returns the scenario's own faults if they strike in every run, and otherwise nil.
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
// if the verification ended early, if results were lost, if a promised law was undecided in some schedule, or if no
// schedule exercised a law that must be exercised. In this case open gives the reasons, one sentence each.
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
			open = append(open, fmt.Sprintf("%s was undecided in %d schedules that reached their limit first%s", t.Law,
				t.Undecided, orEnded(v.Scenario)))
		case t.Exercised() == 0 && slices.Contains(v.Scenario.Shown, t.Law):
			open = append(open, fmt.Sprintf("%s must be kept, but no schedule exercised it", t.Law))
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
