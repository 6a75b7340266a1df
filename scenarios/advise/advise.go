// Package advise finds out by trying which change saves a lock: every single change that the format offers for it, and
// the best pairs, against the faults that broke it.
//
// A change mends a law if the law holds under the faults that broke it, whichever of the servers they strike if the
// change brings others or more of them, and if fresh faults like them do not break it either: one that merely moves the
// draws, or adds a server that no fault names, is no cure. Nor is one that breaks another promise that the lock kept
// before, be it under those faults or under random faults of all kinds; nor one under which a promise is no longer seen
// to be kept, or clients give up: a lock that nobody gets keeps nothing. Only what no lock can keep is excepted, and
// counted.
//
// Most changes fail soon. The best that seem to keep every promise are confirmed under many more fresh faults, and no
// other is said to keep them.
//
// A file that lists faults asks about the promises that these break, one that breaks without any fault about those, and
// any other about all.
//
// Goals: no advice that was not tried; the changes come from the tables of the format, so that a new key is tried
// without a line here. Non-goals: what a change costs those who carry it out; changes of what the clients do, which no
// lock can make.
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

// Options say how much is tried.
type Options struct {
	From uint64 // the first seed
	// Seeds is how many random plans to explore with, and how many fresh ones for each change; at least 1. A change
	// that seems to keep every promise meets confirming times as many more.
	Seeds int
	// Budget is the processor time after which the search ends; 0: no limit. Spent returns the processor time used so
	// far, and must be set if there is a budget.
	Budget time.Duration
	Spent  func() time.Duration
	campaign.Crew
}

// confirming is how many times as many fresh plans confirm what seems to keep every promise.
const confirming = 50

// Advice is what was tried, and what came of it.
type Advice struct {
	Seeds    int                    // as in the Options
	Budget   time.Duration          // as in the Options
	Own      bool                   // its own faults broke it, or it breaks without any; otherwise Plans
	Explored int                    // random plans that were run to find those that break it
	Plans    []nemesis.Plan         // that broke the lock, cut down
	Promised []checker.Law          // that a change must keep
	Broken   []checker.Law          // of these, in their order
	Base     *Tried                 // the lock as it is
	Mending  []*Tried               // the changes that mend something, best first
	Singles  int                    // changes tried alone
	Pairs    int                    // pairs tried
	ByNature map[checker.Law]string // broken laws that no change keeps without breaking another, and why none can
	// UntriedSingles and UntriedPairs count what an interruption or the end of the budget left out. If it left out
	// single changes, it is not known which pairs there are.
	UntriedSingles, UntriedPairs int
	// Interrupted is set if ctx was done before all was tried, and OutOfBudget if the budget ended before.
	Interrupted, OutOfBudget bool

	subject *subject
}

// Tried is a lock with some changes, and what became of its promises.
type Tried struct {
	Changes []Change // one or two; none for the lock as it is
	Given   Trial    // under the faults that broke it
	// Elsewhere is under the same faults on other servers, where the changes bring others or more of them.
	Elsewhere Trial
	Fresh     Trial // under random faults of the same kinds
	Others    Trial // under random faults of all kinds, where these are others
	// Everyday is what became of it under a few faults that befall every lock, one trial each.
	Everyday []Trial
	Mended   []checker.Law
	Left     []checker.Law // broken still
	Anew     []Breach      // other promises that it breaks, one way each
	// Otherwise is what breaks promises as before, or what no lock can keep: under all faults but those of other kinds.
	Otherwise []Breach
	GivesUp   bool     // clients give up where they got the lock before
	Spared    []string // faults that have nothing to strike any more
	Cost      Cost

	scenario *scenarios.Scenario
	unfit    bool // the format does not take it
	// how many plans it has met: of the given ones, of those elsewhere, and fresh ones
	given, moved, met int
}

// Breach is a way in which a promise is broken.
type Breach struct {
	campaign.Finding        // without a cause: the law is no longer seen to hold
	Of               int    // how many runs there were
	Nature           string // why no lock keeps it; empty if one may
}

// Trial is how many runs came out.
type Trial struct {
	Runs     int
	Laws     campaign.Laws // in the order of checker.Laws
	Findings campaign.Findings
	GivenUp  int // acquires that did not get the lock
}

// wasMet is how many runs there were under the faults that broke the lock as it is, there and elsewhere, and fresh
// ones.
func (t *Tried) wasMet() int { return t.Given.Runs + t.Elsewhere.Runs + t.Fresh.Runs }

// violated is in how many runs a law was broken.
func (t *Trial) violated(l checker.Law) int { return t.Laws.Of(l).Violated }

// keeps reports whether a law was seen and never broken.
func (t *Trial) keeps(l checker.Law) bool {
	of := t.Laws.Of(l)
	return of.Holds > 0 && of.Violated+of.Undecided == 0
}

// keeps reports whether a lock with these changes keeps every promise, but for what no change can: it is confirmed.
func (a *Advice) keeps(t *Tried) bool { return a.confirmed(t) && a.seemsToKeep(t) }

// confirmed reports whether a change has met all the fresh plans that there are.
func (a *Advice) confirmed(t *Tried) bool { return t.met >= (1+confirming)*a.Seeds }

// seemsToKeep reports the same of what was tried so far.
func (a *Advice) seemsToKeep(t *Tried) bool {
	return t.sound() && !slices.ContainsFunc(t.Left, func(l checker.Law) bool { return a.ByNature[l] == "" }) &&
		!slices.ContainsFunc(t.Otherwise, a.counts)
}

// counts reports whether a breach tells against a change: some lock may keep the promise, and it is asked about. The
// faults of a file ask about the promises that they break, and its mix about all.
func (a *Advice) counts(b Breach) bool { return b.Nature == "" && a.asks(b.Law) }

func (a *Advice) asks(l checker.Law) bool { return !a.Own || slices.Contains(a.Broken, l) }

// sound reports whether the changes break nothing that was whole.
func (t *Tried) sound() bool { return len(t.Anew) == 0 && !t.GivesUp }

// unkept counts what is not as it should be: laws, and that clients give up.
func (a *Advice) unkept(t *Tried) int {
	laws := slices.Clone(t.Left)
	for _, b := range t.Otherwise {
		if a.counts(b) && !slices.Contains(laws, b.Law) {
			laws = append(laws, b.Law)
		}
	}
	n := len(laws) + len(t.Anew)
	if t.GivesUp {
		n++
	}
	return n
}

// saved reports whether nothing was broken, or some change keeps every promise. The best comes first.
func (a *Advice) saved() bool {
	return len(a.Broken) == 0 || len(a.Mending) > 0 && a.keeps(a.Mending[0])
}

// Try finds out what saves s. When ctx is done it says what it has found by then. An error is a failure of Fencepost's
// own, or says that the mix of s can draw nothing.
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
		if a.Explored, err = b.explore(all); err != nil {
			return nil, err
		}
	}
	if a.Base, err = b.asItIs(all); err != nil {
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

// complete reports whether all was tried that is to be tried.
func (a *Advice) complete() bool {
	if !a.Own && a.Explored < a.Seeds || a.Base.Given.Runs < len(a.Plans) {
		return false
	}
	return a.UntriedSingles+a.UntriedPairs == 0 && len(a.unconfirmed()) == 0
}

// tryAll tries single changes, then pairs, and confirms the best of them.
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

// Confirmed is how many changes are confirmed, if they seem to keep every promise: the first of Mending.
const Confirmed = 3

// confirm puts the changes in order, and holds the first ones to many more fresh plans, until the order stays.
func (a *Advice) confirm(ctx context.Context) error {
	for {
		a.rank()
		list := a.unconfirmed()
		if len(list) == 0 || ctx.Err() != nil {
			return nil
		}
		// the lock as it is meets the same faults, so that what it breaks as well is not held against a change
		err := a.subject.worker(a.Base).fresh(ctx, (1+confirming)*a.Seeds, func() bool { return false })
		if err != nil {
			return err
		}
		_, err = campaign.Do(ctx, a.subject.options.Crew, "confirmed", len(list), func() func(int) (*Tried, error) {
			return func(job int) (*Tried, error) { return list[job], a.subject.confirm(ctx, a, list[job]) }
		}, func(int, *Tried) error { return nil })
		if err != nil {
			return err
		}
		for _, t := range a.Mending {
			a.subject.judge(a.Base, t)
		}
		a.Mending = slices.DeleteFunc(a.Mending, func(t *Tried) bool { return len(t.Mended) == 0 })
	}
}

// rank puts the changes in order.
func (a *Advice) rank() {
	a.judgeNature()
	slices.SortStableFunc(a.Mending, a.compare)
}

// unconfirmed lists the changes among the first that are still to be confirmed: the best, and others that seem to keep
// every promise.
func (a *Advice) unconfirmed() (list []*Tried) {
	for i, t := range a.Mending[:min(Confirmed, len(a.Mending))] {
		if !a.confirmed(t) && (i == 0 || a.seemsToKeep(t)) {
			list = append(list, t)
		}
	}
	return list
}

// try tries each of a list of changes; alone is what came of their parts. When ctx is done, the results end with the
// first change that was not finished.
func (a *Advice) try(ctx context.Context, what string, list [][]Change, alone map[string]*Tried) ([]*Tried, error) {
	var all []*Tried
	b, cut := a.subject, false
	wanted := func(changes []Change) []checker.Law {
		more := slices.DeleteFunc(slices.Clone(b.broken), func(l checker.Law) bool {
			return slices.ContainsFunc(changes, func(c Change) bool {
				part := alone[c.String()]
				return part != nil && slices.Contains(part.Mended, l)
			})
		})
		if len(more) == 0 {
			return b.broken
		}
		return more
	}
	_, err := campaign.Do(ctx, b.options.Crew, what, len(list), func() func(int) (*Tried, error) {
		return func(job int) (*Tried, error) { return b.try(ctx, a.Base, list[job], wanted(list[job])) }
	}, func(_ int, t *Tried) error {
		if cut = cut || t == nil; !cut {
			all = append(all, t)
		}
		return nil
	})
	return all, err
}

// pairs are those that may be worth more than their parts: another protocol with what the format takes only then, two
// changes that each mend something, and if nothing keeps all promises alone, what mends something with all else. Where
// only another protocol keeps them, that is done with the protocol that there is.
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

// better reports whether a pair achieves more than one of its parts alone.
func (a *Advice) better(t, part *Tried) bool {
	return part == nil || part.unfit || a.unkept(t) < a.unkept(part)
}

// judgeNature notes the broken laws that no change keeps without breaking another, where that lies in the nature of
// locks.
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

// compare orders what was tried. Changes that keep every promise come first, the cheapest first; then those that come
// nearest to it. A lock that a crashed holder keeps for ever counts as the most expensive.
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
		cmp.Compare(len(t.Otherwise), len(u.Otherwise)), cmp.Compare(t.Cost.Requests, u.Cost.Requests))
}

// costStep is what acquire times must differ by to count as different.
const costStep = 100 * time.Microsecond

// protocols is how many of the changes are another protocol.
func protocols(t *Tried) (n int) {
	for _, c := range t.Changes {
		if c.Protocol != "" {
			n++
		}
	}
	return n
}

// String gives the changes as a file states them: "resource.writes: compare-and-set".
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

// String gives "resource.writes: compare-and-set".
func (c *Change) String() string { return fmt.Sprintf("%s: %s", c.Key, c.Value) }

// doubts say why it is no news that nothing is broken, in a sentence each.
func (a *Advice) doubts() (list []string) {
	seen := false
	for _, law := range a.Promised {
		of := a.Base.Given.Laws.Of(law)
		seen = seen || of.Holds > 0
		if of.Undecided > 0 {
			list = append(list, fmt.Sprintf("%s was undecided in %d of %d runs", law, of.Undecided,
				a.Base.Given.Runs))
		}
	}
	if !seen && a.Own {
		list = append(list, "no run exercised any of the promises")
	}
	return list
}
