// Package advise finds out by experiment which change repairs a lock. It tries every single change that the scenario
// format allows for the lock, and the most promising pairs of changes, under the faults that broke the lock.
//
// A promise is a law that the lock is supposed to uphold. A change mends a broken law if the law holds under the faults
// that broke it and is not broken in two more trials. One trial uses the same faults on other servers (if the change
// replaces or adds servers). The other uses fresh random faults of the same kinds. So a change does not mend anything
// if it merely alters the random choices, or if it adds a server that no fault names.
//
// A change is rejected if it breaks a promise that the lock kept before, under the same faults or under random faults
// of all kinds. It is also rejected if some promise is no longer exercised by any run, or if clients give up on locks
// that they acquired without the change. Otherwise, a lock that nobody can acquire would seem to keep every promise.
// Violations that no lock can prevent do not count against a change, but they are reported.
//
// Most changes fail early. Of the changes that seem to keep every promise, the best are confirmed under many more fresh
// faults. Only a confirmed change is reported to keep every promise.
//
// If the file lists faults and has no mix, the advice is about the promises that these faults break. If the lock breaks
// without any faults, the advice is about the promises broken that way. For any other file, it is about all promises.
//
// Goals: every change that is advised has been tried. Changes come from the format's tables, so a setting that is added
// to the format is tried without any change to this package. Non-goals: how much effort a change takes, and changes to
// what the clients do, because these are not changes to the lock.
package advise

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// Options determine how many runs the search for advice performs.
type Options struct {
	From uint64 // the first seed
	// Seeds is the number of random plans for the exploration, at least 1. It is also the number of fresh plans under
	// which each change is tried. A change that seems to keep every promise is confirmed under 50 times as many
	// additional plans (see confirming).
	Seeds int
	// Budget is the processor time after which the search ends. 0 means no limit. Spent returns the processor time used
	// so far, and must be set if there is a budget.
	Budget time.Duration
	Spent  func() time.Duration
	// Crew performs the runs. Its Hands are workers created by NewWorker.
	campaign.Crew
}

// confirming is how many fresh plans confirm a change, as a multiple of Options.Seeds.
const confirming = 50

// Advice is the result of a search: what was tried, and how well each change worked.
type Advice struct {
	Seeds  int           // as in the Options
	Budget time.Duration // as in the Options
	// Own is set if the lock breaks under its file's own faults, or without any faults. If not, the plans that broke it
	// are random.
	Own      bool
	Explored int            // number of random plans that were run to find some that break the lock
	Plans    []nemesis.Plan // the plans that broke the lock, after shrinking
	Promised []checker.Law  // laws that a change must keep
	Broken   []checker.Law  // the laws of Promised that the lock breaks, in the same order
	Base     *Tried         // the unchanged lock
	Mending  []*Tried       // changes that mend a law, best first
	Singles  int            // number of changes that were tried alone
	Pairs    int            // number of pairs of changes that were tried
	// ByNature contains the broken laws that no sound change mends because no lock can uphold them, each with the
	// reason.
	ByNature map[checker.Law]string
	// UntriedSingles and UntriedPairs count the changes and pairs that were not tried because the search was
	// interrupted or its budget ran out. If some single changes were not tried, the list of pairs is not known.
	UntriedSingles, UntriedPairs int
	// Interrupted is set if ctx ended before everything had been tried. OutOfBudget is set if the budget ran out before
	// that.
	Interrupted, OutOfBudget bool

	subject *subject
	rounds  int      // number of rounds of confirmations
	open    []string // why an exploration that broke no promise is undecided, one sentence each
}

// Tried is the lock with some changes, and the results of its trials.
type Tried struct {
	Changes []Change // one or two changes; none for the unchanged lock
	Given   Trial    // under the faults that broke the unchanged lock
	// Elsewhere counts the runs with the same faults on other servers, if the changes replace or add servers.
	Elsewhere Trial
	Fresh     Trial // under random faults of the same kinds
	Others    Trial // under random faults of all kinds, if Fresh does not cover them
	// Everyday contains one trial for each of the plans that every lock must survive. The first of them has no faults.
	Everyday []Trial
	// Mended lists the broken laws that the changes mend.
	Mended []checker.Law
	Left   []checker.Law // the broken laws that the changes do not mend
	New    []Breach      // one breach for each promise that the unchanged lock kept and the changed lock breaks
	// Known contains the breaches in Given, Elsewhere and Fresh that do not count as new, because either the unchanged
	// lock has them too, or no lock can prevent them.
	Known   []Breach
	GivesUp bool     // clients give up more often than with the unchanged lock
	Spared  []string // faults that no longer have a target
	Cost    Cost

	scenario *scenarios.Scenario
	unfit    bool // the format rejects these changes, or the clients' program fails with them even without faults
	// How many plans have been run so far: plans that broke the lock, the same plans on other servers, and fresh plans.
	given, moved, met int
}

// Breach is one way in which a promise is broken.
type Breach struct {
	campaign.Finding        // without a cause if the runs no longer show that the law holds (see newBreach)
	Of               int    // number of runs; the promise was broken in Finding.Runs of them
	Nature           string // why no lock can keep the promise; empty if some lock can
}

// Trial counts the outcomes of a series of runs.
type Trial struct {
	Runs     int
	Laws     campaign.Laws // in the order of checker.Laws
	Findings campaign.Findings
	GivenUp  int // number of acquires that failed
}

// wasMet returns the total number of runs in three of t's trials: under the faults that broke the unchanged lock, under
// the same faults on other servers, and under fresh faults.
func (t *Tried) wasMet() int { return t.Given.Runs + t.Elsewhere.Runs + t.Fresh.Runs }

// violated returns the number of runs in which a law was violated.
func (t *Trial) violated(l checker.Law) int { return t.Laws.Of(l).Violated }

// keeps reports whether a law held in at least one run and was never violated or undecided.
func (t *Trial) keeps(l checker.Law) bool {
	of := t.Laws.Of(l)
	return of.Holds > 0 && of.Violated+of.Undecided == 0
}

// keeps reports whether it has been confirmed that the changes keep every promise that a lock can keep.
func (a *Advice) keeps(t *Tried) bool { return a.confirmed(t) && a.seemsToKeep(t) }

// confirmed reports whether a change has been run under enough fresh plans to confirm it.
func (a *Advice) confirmed(t *Tried) bool { return t.met >= (1+confirming)*a.Seeds }

// seemsToKeep is like keeps, but judges by the runs so far, even if the changes are not confirmed.
func (a *Advice) seemsToKeep(t *Tried) bool {
	return t.sound() && !slices.ContainsFunc(t.Left, func(l checker.Law) bool { return a.ByNature[l] == "" }) &&
		!slices.ContainsFunc(t.Known, a.counts)
}

// counts reports whether a breach counts against a change. It does if some lock can prevent the breach and the advice
// is about the law that was broken.
func (a *Advice) counts(b Breach) bool { return b.Nature == "" && a.asks(b.Law) }

// asks reports whether the advice is about a law. If the lock breaks under its file's own faults, the advice is only
// about the laws that these faults break. Otherwise, it is about all laws.
func (a *Advice) asks(l checker.Law) bool { return !a.Own || slices.Contains(a.Broken, l) }

// sound reports whether the changes do not break any additional promise, and do not make clients give up on locks that
// they acquired without the changes.
func (t *Tried) sound() bool { return len(t.New) == 0 && !t.GivesUp }

// unkept counts a change's shortcomings: each law that does not hold, and one more if clients give up.
func (a *Advice) unkept(t *Tried) int {
	laws := slices.Clone(t.Left)
	for _, b := range t.Known {
		if a.counts(b) && !slices.Contains(laws, b.Law) {
			laws = append(laws, b.Law)
		}
	}
	n := len(laws) + len(t.New)
	if t.GivesUp {
		n++
	}
	return n
}

// saved reports whether there is nothing left to repair: the lock was never broken, or a change keeps every promise.
// Mending is sorted, so only its first element needs to be checked.
func (a *Advice) saved() bool {
	return len(a.Broken) == 0 || len(a.Mending) > 0 && a.keeps(a.Mending[0])
}

// Try finds out which changes repair s. If ctx ends, Try returns what it has found so far. An error means that
// Fencepost itself failed, or that s's mix cannot produce any faults.
func Try(ctx context.Context, s *scenarios.Scenario, o Options) (*Advice, error) {
	b, err := newSubject(s, o)
	if err != nil {
		return nil, err
	}
	all, searching, budget := o.budget(ctx)
	defer budget.endConfirm()
	b.budget = budget
	if !b.own && !b.mixed {
		if err = b.withoutFaults(all); err != nil {
			return nil, err
		}
	}
	a := &Advice{subject: b, Seeds: o.Seeds, Budget: o.Budget, Own: b.own, Promised: b.promised.Laws,
		ByNature: map[checker.Law]string{}}
	if !b.own {
		if a.Explored, a.open, err = b.explore(all); err != nil {
			return nil, err
		}
	}
	a.Base = &Tried{scenario: b.patient(*b.scenario)}
	err = a.perform(all, "as it is", 0, []job{{Task: asIs}}, []*Tried{a.Base}, func(_ int, t *Tried) { b.breaks(t) })
	if err != nil {
		return nil, err
	}
	a.Broken, a.Plans = b.broken, b.plans
	if len(a.Broken) > 0 {
		err = a.tryAll(all, searching)
	}
	if !a.complete() {
		a.Interrupted, a.OutOfBudget = ctx.Err() != nil, ctx.Err() == nil
	}
	return a, err
}

// complete reports whether everything was tried.
func (a *Advice) complete() bool {
	if !a.Own && a.Explored < a.Seeds || a.Base.Given.Runs < len(a.Plans) {
		return false
	}
	return a.UntriedSingles+a.UntriedPairs == 0 && len(a.unconfirmed()) == 0
}

// tryAll tries single changes and then pairs of changes. After each of these two steps, it confirms the best changes.
func (a *Advice) tryAll(ctx, searching context.Context) error {
	var singles [][]Change
	for _, c := range a.subject.changes() {
		singles = append(singles, []Change{c})
	}
	tried, err := a.try(searching, "changes", singles, nil)
	if err != nil {
		return err
	}
	a.UntriedSingles = len(singles) - len(tried)
	alone := map[string]*Tried{}
	for _, t := range tried {
		if alone[t.Changes[0].String()] = t; !t.unfit {
			a.Singles++
		}
		if len(t.Mended) > 0 {
			a.Mending = append(a.Mending, t)
		}
	}
	if err = a.confirm(ctx); err != nil {
		return err
	}
	list := a.pairs(tried)
	pairs, err := a.try(searching, "pairs", list, alone)
	if err != nil {
		return err
	}
	a.UntriedPairs = len(list) - len(pairs)
	for _, t := range pairs {
		if t.unfit {
			continue
		}
		a.Pairs++
		if len(t.Mended) > 0 && a.better(t, alone[t.Changes[0].String()]) &&
			a.better(t, alone[t.Changes[1].String()]) {
			a.Mending = append(a.Mending, t)
		}
	}
	return a.confirm(ctx)
}

// Confirmed is how many changes at the start of Mending are tested again under new random plans, if they seem to keep
// every promise.
const Confirmed = 3

// confirm sorts the changes and runs the first ones under many more fresh plans. It repeats this until the first ones
// need no more runs (see unconfirmed).
func (a *Advice) confirm(ctx context.Context) error {
	for ; ; a.rounds++ {
		a.rank()
		list := a.unconfirmed()
		if len(list) == 0 || ctx.Err() != nil {
			return nil
		}
		// The unchanged lock runs under the same faults. If it breaks a promise too, that breach does not count against
		// a change.
		nothing := func(int, *Tried) {}
		err := a.perform(ctx, "as it is, confirmed", a.rounds, []job{{Task: confirmBase, Tried: a.Base.sent()}},
			[]*Tried{a.Base}, nothing)
		if err != nil {
			return err
		}
		var jobs []job
		for _, t := range list {
			jobs = append(jobs, job{Task: confirmThem, Tried: t.sent()})
		}
		if err := a.perform(ctx, "confirmed", a.rounds, jobs, list, nothing); err != nil {
			return err
		}
		for _, t := range a.Mending {
			a.subject.judge(a.Base, t)
		}
		a.Mending = slices.DeleteFunc(a.Mending, func(t *Tried) bool { return len(t.Mended) == 0 })
	}
}

// rank sorts the changes, best first.
func (a *Advice) rank() {
	a.judgeNature()
	slices.SortStableFunc(a.Mending, a.compare)
}

// unconfirmed returns the changes that have yet to be confirmed: the best one and all others that seem to keep every
// promise, but only among the first Confirmed elements of Mending.
func (a *Advice) unconfirmed() (list []*Tried) {
	for i, t := range a.Mending[:min(Confirmed, len(a.Mending))] {
		if !a.confirmed(t) && (i == 0 || a.seemsToKeep(t)) {
			list = append(list, t)
		}
	}
	return list
}

// try tries each element of a list of changes. If the elements are pairs, singles contains the single changes' results
// by name. If ctx ends, try returns only the results before the first unfinished element.
func (a *Advice) try(ctx context.Context, what string, list [][]Change, singles map[string]*Tried) ([]*Tried, error) {
	b := a.subject
	wanted := func(changes []Change) []checker.Law {
		more := slices.DeleteFunc(slices.Clone(b.broken), func(l checker.Law) bool {
			return slices.ContainsFunc(changes, func(c Change) bool {
				part := singles[c.String()]
				return part != nil && slices.Contains(part.Mended, l)
			})
		})
		if len(more) == 0 {
			return b.broken
		}
		return more
	}
	var tried, all []*Tried
	var jobs []job
	for _, changes := range list {
		t := &Tried{Changes: changes, Left: b.broken}
		tried = append(tried, t)
		jobs = append(jobs, job{tryThem, t.sent(), wanted(changes)})
	}
	cut := false
	err := a.perform(ctx, what, 0, jobs, tried, func(_ int, t *Tried) {
		if cut = cut || t == nil; cut {
			return
		}
		if !t.unfit {
			b.judge(a.Base, t)
		}
		all = append(all, t)
	})
	return all, err
}

// pairs lists the pairs of changes that may achieve more than either change alone:
//   - another protocol, and a change that the format accepts only under that protocol
//   - two changes that each mend a law
//   - if no single change keeps every promise: a change that mends a law, and any other change
//   - if only protocol changes keep every promise: a change that mends a law, and any other change, if neither of
//     them changes the protocol
//
// It omits pairs in which one change alone seems to keep every promise, and pairs that change the same key.
func (a *Advice) pairs(tried []*Tried) (list [][]Change) {
	helps := func(t *Tried) bool { return len(t.Mended) > 0 }
	stays := func(t *Tried) bool { return t.Changes[0].Protocol == "" }
	needed := !slices.ContainsFunc(tried, a.seemsToKeep)
	neededHere := !slices.ContainsFunc(tried, func(t *Tried) bool { return a.seemsToKeep(t) && stays(t) })
	for i, t := range tried {
		for k, u := range tried {
			x, y := t.Changes[0], u.Changes[0]
			fits := x.Protocol != "" && u.unfit && !t.unfit
			both := helps(t) && helps(u) && i < k
			some := (needed || neededHere && stays(t) && stays(u)) && helps(t) && !helps(u) && !u.unfit
			switch {
			case x.Key == y.Key || a.seemsToKeep(t) || a.seemsToKeep(u) || !fits && !both && !some:
			case y.Protocol != "":
				list = append(list, []Change{y, x})
			default:
				list = append(list, []Change{x, y})
			}
		}
	}
	return list
}

// better reports whether a pair of changes breaks fewer promises than one of the two alone.
func (a *Advice) better(t, part *Tried) bool {
	return part == nil || part.unfit || a.unkept(t) < a.unkept(part)
}

// judgeNature examines the broken laws that no sound change mends. It records a law in ByNature if no lock can prevent
// any of the ways in which the unchanged lock broke it.
func (a *Advice) judgeNature() {
	clear(a.ByNature)
	for _, law := range a.Broken {
		kept := func(t *Tried) bool { return slices.Contains(t.Mended, law) && t.sound() }
		if slices.ContainsFunc(a.Mending, kept) {
			continue
		}
		why := ""
		for _, f := range a.Base.Given.Findings {
			if f.Law != law {
				continue
			}
			if why, _ = a.subject.byNature(f); why == "" {
				break
			}
		}
		if why != "" {
			a.ByNature[law] = why
		}
	}
}

// compare orders two changes, the better one first. Changes that seem to keep every promise come before all others,
// sorted by cost. Among the others, those that leave the fewest laws broken come first. A lock that stays held forever
// after its holder has crashed counts as the most expensive.
func (a *Advice) compare(t, u *Tried) int {
	nearness := cmp.Compare(a.unkept(t), a.unkept(u))
	if a.seemsToKeep(t) != a.seemsToKeep(u) {
		nearness = -1
		if a.seemsToKeep(u) {
			nearness = 1
		}
	}
	base := a.Base.Cost
	endless := func(t *Tried) int {
		if t.Cost.Lease == forever && base.Lease != forever {
			return 1
		}
		return 0
	}
	return cmp.Or(nearness, cmp.Compare(endless(t), endless(u)),
		cmp.Compare(max(0, t.Cost.Acquire-base.Acquire).Round(costStep),
			max(0, u.Cost.Acquire-base.Acquire).Round(costStep)),
		cmp.Compare(max(0, t.Cost.Requests-base.Requests), max(0, u.Cost.Requests-base.Requests)),
		cmp.Compare(max(0, t.Cost.Servers-base.Servers), max(0, u.Cost.Servers-base.Servers)),
		cmp.Compare(max(0, t.Cost.Lease-base.Lease), max(0, u.Cost.Lease-base.Lease)),
		cmp.Compare(protocols(t), protocols(u)), cmp.Compare(len(t.Changes), len(u.Changes)),
		cmp.Compare(len(t.Known), len(u.Known)), cmp.Compare(t.Cost.Requests, u.Cost.Requests))
}

// costStep is the difference in acquire time below which two costs count as equal.
const costStep = 100 * time.Microsecond

// protocols counts the changes that switch to another protocol.
func protocols(t *Tried) (n int) {
	for _, c := range t.Changes {
		if c.Protocol != "" {
			n++
		}
	}
	return n
}

// String returns the changes as scenario file lines, such as "resource.writes: compare-and-set".
func (t *Tried) String() string {
	var parts []string
	for _, c := range t.Changes {
		parts = append(parts, c.String())
	}
	if len(parts) == 0 {
		return "as it is"
	}
	return strings.Join(parts, ", ")
}

// String returns the change as a scenario file line, such as "resource.writes: compare-and-set".
func (c *Change) String() string { return fmt.Sprintf("%s: %s", c.Key, c.Value) }

// doubts explains why a search that did not break any promises proves little, with one sentence per reason.
func (a *Advice) doubts() []string {
	list, seen := slices.Clone(a.open), false
	for _, law := range a.Promised {
		of := a.Base.Given.Laws.Of(law)
		seen = seen || of.Holds > 0
		if of.Undecided > 0 {
			list = append(list, fmt.Sprintf("%s was undecided in %d of %d runs", law, of.Undecided,
				a.Base.Given.Runs))
		}
	}
	if !seen && a.Own {
		list = append(list, "no run was able to test any of the promises")
	}
	return list
}
