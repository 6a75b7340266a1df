// Package campaign performs many runs of a scenario on all cores and counts their results: each law's outcomes, the
// distinct violations, and whether the faults struck at all.
//
// Goals: the result is the same for any number of workers; a tally's size does not grow with the number of runs; parts
// that are counted separately can be added. Non-goals: what a single run shows (checker), and what a tally means
// (search, sweep, verify).
package campaign

import (
	"cmp"
	"math"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
)

// Counts contains the number of runs with each outcome.
type Counts struct {
	Holds     int `json:"holds"`
	Violated  int `json:"violated"`
	Undecided int `json:"undecided"`
	Unchecked int `json:"unchecked"`
	NotRun    int `json:"not_run,omitempty" doc:"runs skipped because of an interruption, if their number is known"`
	// Excused is the number of Violated runs that did not break a promise (see checker.Promise).
	Excused int `json:"not_promised,omitempty" doc:"number of violated runs in which no promise was broken"`
}

// Count adds one run's outcome.
func (c *Counts) Count(o checker.Outcome) {
	switch o {
	case checker.Holds:
		c.Holds++
	case checker.Violated:
		c.Violated++
	case checker.Undecided:
		c.Undecided++
	default:
		c.Unchecked++
	}
}

// add adds the counts from other runs.
func (c *Counts) add(more Counts) {
	c.Holds += more.Holds
	c.Violated += more.Violated
	c.Undecided += more.Undecided
	c.Unchecked += more.Unchecked
	c.NotRun += more.NotRun
	c.Excused += more.Excused
}

// Breaks returns the number of runs in which the law was violated with a cause that breaks a promise.
func (c Counts) Breaks() int { return c.Violated - c.Excused }

// Exercised returns the number of runs in which the law was exercised: it either held or was violated.
func (c Counts) Exercised() int { return c.Holds + c.Violated }

// Unknown returns the number of runs whose outcome is unknown.
func (c Counts) Unknown() int { return c.Undecided + c.Unchecked + c.NotRun }

// Sign returns a symbol for the counts: ✓ if the law held in every run, ✗ if it was violated in every run, ± if it was
// violated in some runs, and ? if it was never violated but did not hold in all runs.
func (c Counts) Sign() string {
	switch {
	case c.Violated > 0 && c.Holds+c.Unknown() == 0:
		return "✗"
	case c.Violated > 0:
		return "±"
	case c.Holds == 0 || c.Unknown() > 0:
		return "?"
	}
	return "✓"
}

// Law contains the counts for one law.
type Law struct {
	Law checker.Law `json:"law"`
	Counts
	// Guided contains the counts for runs whose plans depended on other runs. These counts say nothing about how rare a
	// violation is.
	Guided Counts `json:"guided,omitzero"`
}

// Free returns the counts minus those in Guided.
func (l Law) Free() Counts {
	c, g := l.Counts, l.Guided
	return Counts{c.Holds - g.Holds, c.Violated - g.Violated, c.Undecided - g.Undecided, c.Unchecked - g.Unchecked,
		c.NotRun - g.NotRun, c.Excused - g.Excused}
}

// Laws contains the counts for several laws, in a fixed order.
type Laws []Law

// NewLaws returns counts for the given laws, all zero.
func NewLaws(laws []checker.Law) Laws {
	list := make(Laws, len(laws))
	for i, law := range laws {
		list[i].Law = law
	}
	return list
}

// Count adds the outcomes in a verdict on the same laws. undecided reports whether any of them is undecided.
func (t Laws) Count(v checker.Verdict) (undecided bool) {
	for i := range v.Findings {
		t[i].Count(v.Findings[i].Outcome)
		undecided = undecided || v.Findings[i].Outcome == checker.Undecided
	}
	return undecided
}

// Excuse counts the violations in a verdict whose causes do not break a promise. Count must have counted the verdict
// first.
func (t Laws) Excuse(v checker.Verdict, p checker.Promise) {
	for i := range v.Findings {
		if p.ExcusesAll(&v.Findings[i]) {
			t[i].Excused++
		}
	}
}

// CountGuided counts the verdict on a run whose plan depended on other runs. Count and Excuse must have counted the
// verdict first.
func (t Laws) CountGuided(v checker.Verdict, p checker.Promise) {
	for i := range v.Findings {
		t[i].Guided.Count(v.Findings[i].Outcome)
		if p.ExcusesAll(&v.Findings[i]) {
			t[i].Guided.Excused++
		}
	}
}

// Of returns the counts for one law. They are all zero if the law is not in t.
func (t Laws) Of(law checker.Law) Counts {
	for i := range t {
		if t[i].Law == law {
			return t[i].Counts
		}
	}
	return Counts{}
}

// ByLaw returns the counts keyed by law.
func (t Laws) ByLaw() map[checker.Law]Counts {
	all := map[checker.Law]Counts{}
	for _, l := range t {
		all[l.Law] = l.Counts
	}
	return all
}

// Add adds the counts for the same laws in other runs.
func (t Laws) Add(more Laws) {
	for i := range t {
		t[i].Counts.add(more[i].Counts)
		t[i].Guided.add(more[i].Guided)
	}
}

// Finding counts the violations of one law with one cause.
type Finding struct {
	Law   checker.Law   `json:"law"`
	Cause checker.Cause `json:"cause"`
	Runs  int           `json:"runs"`
	First uint64        `json:"first"` // the lowest seed that shows it
}

// Findings lists the distinct violations. A run counts once for each combination of law and cause.
type Findings []Finding

// Count counts the violations in a seed's run.
func (t *Findings) Count(seed uint64, v checker.Verdict) {
	for b := range v.Breaches() {
		t.add(Finding{b.Law, b.Cause, 1, seed})
	}
}

// Add adds the findings from other runs. It then sorts all findings by first seed, then by law, then by cause.
func (t *Findings) Add(more Findings) {
	for _, f := range more {
		t.add(f)
	}
	slices.SortFunc(*t, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.First, b.First),
			slices.Index(checker.Laws, a.Law)-slices.Index(checker.Laws, b.Law),
			cmp.Compare(a.Cause.String(), b.Cause.String()))
	})
}

// add adds a finding. If the list already has one with the same law and cause, it combines the two.
func (t *Findings) add(f Finding) {
	for i := range *t {
		if g := &(*t)[i]; g.Law == f.Law && g.Cause == f.Cause {
			g.Runs += f.Runs
			g.First = min(g.First, f.First)
			return
		}
	}
	*t = append(*t, f)
}

// confidence is the probability that a rate is below its upper bound.
const confidence = 0.95

// UpperBound returns the highest failure rate per run at which the probability that n runs all pass is still 5%. This
// is 1 - 0.05^(1/n), about 3/n (the rule of three). With no runs it is 1, because nothing is known.
//
// It assumes that the runs are independent draws from one mix of faults. Runs with different seeds are independent,
// with one exception. Up to 16 plans target their faults at events from the same fault-free run. These plans share that
// run's random choices, and differ only in their faults. For violations that require rare random choices, they count as
// one draw, so the true bound may be up to 16 times as high. The bound applies only to this mix, and says nothing about
// faults that are not in it.
func UpperBound(n int) float64 {
	if n == 0 {
		return 1
	}
	return -math.Expm1(math.Log(1-confidence) / float64(n))
}

// OneIn returns the reciprocal of UpperBound, rounded down, for phrases like "fewer than one run in 300".
func OneIn(n int) int { return int(1 / UpperBound(n)) }
