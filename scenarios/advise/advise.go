// Package advise finds out by trying which change saves a lock: every single change that the format offers for it, and
// the best pairs, against the faults that broke it.
//
// A change mends a law if the law holds under the faults that broke it, and fresh faults like them do not break it in
// that way either: one that merely moves the draws is no cure. Nor is one that breaks another promise that the lock
// kept before, be it under those faults or under random faults of all kinds; nor one under which a promise is no longer
// seen to be kept, or clients give up: a lock that nobody gets keeps nothing.
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
	"github.com/fencepost-sim/fencepost/scenarios/parallel"
	"github.com/fencepost-sim/fencepost/scenarios/tally"
)

// Options say how much is tried.
type Options struct {
	From  uint64 // the first seed
	Seeds int    // random plans to explore with, and as many fresh ones for each change; at least 1
	parallel.Crew
}

// Advice is what was tried, and what came of it.
type Advice struct {
	Own      bool                   // the scenario's own faults broke it; otherwise Plans
	Explored int                    // random plans that were run to find those that break it
	Plans    []nemesis.Plan         // that broke the lock, cut down
	Promised []checker.Law          // that a change must keep
	Broken   []checker.Law          // of these, in their order
	Base     *Tried                 // the lock as it is
	Mending  []*Tried               // the changes that mend something, best first
	Singles  int                    // changes tried alone
	Pairs    int                    // pairs tried
	ByNature map[checker.Law]string // broken laws that no change keeps without breaking another, and why none can
	// Interrupted is set if ctx was done before all was tried.
	Interrupted bool

	subject *subject
}

// Tried is a lock with some changes, and what became of its promises.
type Tried struct {
	Changes []Change // one or two; none for the lock as it is
	Given   Trial    // under the faults that broke it
	Fresh   Trial    // under random faults of the same mix
	Others  Trial    // under random faults of all kinds, where these are others
	// Everyday is what became of it under a few faults that befall every lock, one trial each.
	Everyday []Trial
	Mended   []checker.Law
	Left     []checker.Law   // broken still
	Anew     []tally.Finding // other promises that it breaks; without a cause, that are not seen to be kept
	// Otherwise is what else breaks the mended laws under fresh faults, of the lock as it is as well.
	Otherwise tally.Findings
	GivesUp   bool     // clients give up where they got the lock before
	Spared    []string // faults that have nothing to strike any more
	Cost      Cost

	scenario *scenarios.Scenario
	unfit    bool // the format does not take it
}

// Trial is how many runs came out.
type Trial struct {
	Runs     int
	Laws     tally.Laws // in the order of checker.Laws
	Findings tally.Findings
	GivenUp  int // acquires that did not get the lock
}

// Violated is in how many runs a law was broken.
func (t *Trial) Violated(l checker.Law) int { return t.Laws.Of(l).Violated }

// keeps reports whether a law was seen and never broken.
func (t *Trial) keeps(l checker.Law) bool {
	of := t.Laws.Of(l)
	return of.Holds > 0 && of.Violated+of.Undecided == 0
}

// Keeps reports whether a lock with these changes keeps every promise, but for what no change can.
func (a *Advice) Keeps(t *Tried) bool {
	return t.sound() && !slices.ContainsFunc(t.Left, func(l checker.Law) bool { return a.ByNature[l] == "" })
}

// sound reports whether the changes break nothing that was whole.
func (t *Tried) sound() bool { return len(t.Anew) == 0 && !t.GivesUp }

// Saved reports whether nothing was broken, or some change keeps every promise. The best comes first.
func (a *Advice) Saved() bool {
	return len(a.Broken) == 0 || len(a.Mending) > 0 && a.Keeps(a.Mending[0])
}

// Try finds out what saves s. When ctx is done it says what it has found by then. An error is a failure of Fencepost's
// own, or says that the mix of s can draw nothing.
func Try(ctx context.Context, s *scenarios.Scenario, o Options) (*Advice, error) {
	b, err := newSubject(s, o)
	if err != nil {
		return nil, err
	}
	a := &Advice{subject: b, Own: b.own, Promised: b.promised, ByNature: map[checker.Law]string{}}
	if !b.own {
		if a.Explored, err = b.explore(ctx); err != nil {
			return nil, err
		}
	}
	if a.Base, err = b.asItIs(ctx); err != nil {
		return nil, err
	}
	a.Broken, a.Plans = b.broken, b.plans
	if len(a.Broken) > 0 && ctx.Err() == nil {
		err = a.tryAll(ctx)
	}
	a.Interrupted = ctx.Err() != nil
	return a, err
}

// tryAll tries single changes, then pairs.
func (a *Advice) tryAll(ctx context.Context) error {
	var singles [][]Change
	for _, c := range a.subject.changes() {
		singles = append(singles, []Change{c})
	}
	tried, err := a.try(ctx, "changes", singles, nil)
	if err != nil {
		return err
	}
	alone := map[string]*Tried{}
	for _, t := range tried {
		if alone[t.Changes[0].String()] = t; !t.unfit {
			a.Singles++
		}
		if len(t.Mended) > 0 {
			a.Mending = append(a.Mending, t)
		}
	}
	pairs, err := a.try(ctx, "pairs", a.pairs(tried), alone)
	if err != nil {
		return err
	}
	for _, t := range pairs {
		if t.unfit {
			continue
		}
		a.Pairs++
		if len(t.Mended) > 0 && t.better(alone[t.Changes[0].String()]) && t.better(alone[t.Changes[1].String()]) {
			a.Mending = append(a.Mending, t)
		}
	}
	a.judgeNature()
	slices.SortStableFunc(a.Mending, a.compare)
	return nil
}

// try tries each of a list of changes; alone is what came of their parts. What an interruption left out is left out.
func (a *Advice) try(ctx context.Context, what string, list [][]Change, alone map[string]*Tried) ([]*Tried, error) {
	var all []*Tried
	b := a.subject
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
	_, err := parallel.Do(ctx, b.options.Crew, what, len(list), func() func(int) (*Tried, error) {
		return func(job int) (*Tried, error) { return b.try(ctx, a.Base, list[job], wanted(list[job])) }
	}, func(_ int, t *Tried) error {
		if t != nil {
			all = append(all, t)
		}
		return nil
	})
	return all, err
}

// pairs are those that may be worth more than their parts: another protocol with what the format takes only then, two
// changes that each mend something, and if nothing keeps all promises alone, what mends something with all else.
func (a *Advice) pairs(tried []*Tried) (list [][]Change) {
	whole := func(t *Tried) bool { return len(t.Left) == 0 && t.sound() }
	helps := func(t *Tried) bool { return len(t.Mended) > 0 }
	needed := !slices.ContainsFunc(tried, whole)
	for i, t := range tried {
		for k, u := range tried {
			x, y := t.Changes[0], u.Changes[0]
			fits := x.Protocol != "" && u.unfit && !t.unfit
			both := helps(t) && helps(u) && i < k
			some := needed && helps(t) && !helps(u) && !u.unfit
			switch {
			case whole(t) || whole(u) || x.Key == y.Key || !fits && !both && !some:
			case y.Protocol != "":
				list = append(list, []Change{y, x})
			default:
				list = append(list, []Change{x, y})
			}
		}
	}
	return list
}

// better reports whether a pair comes to more than one of its parts alone.
func (t *Tried) better(part *Tried) bool {
	if part == nil || part.unfit || len(t.Mended) > len(part.Mended) {
		return true
	}
	return len(t.Mended) == len(part.Mended) && len(t.Anew) < len(part.Anew)
}

// natures are what no lock of a kind can keep.
var natures = []struct {
	law   checker.Law // empty: any
	cause checker.CauseKind
	why   string
}{
	{checker.MutualExclusion, checker.HolderOutlivedLease,
		"a lease ends whether or not its holder notices, and a lock " +
			"without a lease is never free again once its holder has crashed"},
	{"", checker.NoQuorumLeft, "no lock service survives the loss of its quorum"},
}

// byNature says why no lock of a kind can keep a law from being broken for some cause; empty if one can, or if the
// scenario promises the law in so many words.
func (b *subject) byNature(law checker.Law, cause checker.CauseKind) string {
	for _, n := range natures {
		if (n.law == "" || n.law == law) && n.cause == cause && !b.stated {
			return n.why
		}
	}
	return ""
}

// judgeNature notes the broken laws that no change keeps without breaking another, where that lies in the nature of
// locks.
func (a *Advice) judgeNature() {
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
			if why = a.subject.byNature(law, f.Cause.Kind); why == "" {
				break
			}
		}
		if why != "" {
			a.ByNature[law] = why
		}
	}
}

// compare puts those first that keep every promise, the cheapest first; then those that come nearest to it.
func (a *Advice) compare(t, u *Tried) int {
	open := func(t *Tried) int {
		if t.GivesUp {
			return len(t.Left) + len(t.Anew) + 1
		}
		return len(t.Left) + len(t.Anew)
	}
	nearness := cmp.Compare(open(t), open(u))
	if a.Keeps(t) != a.Keeps(u) {
		nearness = -1
		if a.Keeps(u) {
			nearness = 1
		}
	}
	base := a.Base.Cost
	return cmp.Or(nearness,
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

// Doubts say why it is no news that nothing is broken, in a sentence each.
func (a *Advice) Doubts() (list []string) {
	seen := false
	for _, law := range a.Promised {
		of := a.Base.Given.Laws.Of(law)
		seen = seen || of.Holds > 0
		if of.Undecided > 0 {
			list = append(list, fmt.Sprintf("%s could not be told in %d of %d runs", law, of.Undecided,
				a.Base.Given.Runs))
		}
	}
	if !seen && a.Own {
		list = append(list, "no run exercised any of the promises")
	}
	return list
}
