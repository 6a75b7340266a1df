package reports

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/headline"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// Worth are the seeds of the runs worth showing, the most telling first: of each way in which runs came out otherwise
// than expected the first, the gravest way first; else the first that is undecided. There are none if all came out as
// expected.
func Worth(r *search.Runs) (seeds []uint64) {
	groups := slices.Clone(r.Campaign.Groups)
	slices.SortStableFunc(groups, func(a, b format.Group) int {
		return cmp.Compare(checker.Law(a.Name).Gravity(), checker.Law(b.Name).Gravity())
	})
	for _, g := range groups {
		if !slices.Contains(seeds, g.First) {
			seeds = append(seeds, g.First)
		}
	}
	if len(seeds) == 0 && r.Campaign.Undecided > 0 {
		seeds = append(seeds, r.Campaign.FirstUndecided)
	}
	return seeds
}

// Samples are the seeds of runs of which the first that can be judged stands for all, where all came out as expected:
// one that breaks the gravest law, if some do.
func Samples(r *search.Runs) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		if len(r.Findings) > 0 {
			yield(slices.MinFunc(r.Findings, func(a, b campaign.Finding) int {
				return cmp.Or(cmp.Compare(a.Law.Gravity(), b.Law.Gravity()),
					cmp.Compare(a.First, b.First))
			}).First)
			return
		}
		for i := range r.Done {
			if !yield(r.Seed(i)) {
				return
			}
		}
	}
}

// standing is how the runs stand to what their scenario expects.
func (m *Many) standing() document.Standing {
	lines := m.lines()
	s := document.Standing{Result: m.Standing(), Named: single.Named(lines), Excused: true}
	for i, l := range m.Laws {
		s.Broken, s.Held = s.Broken || l.Violated > 0, s.Held || l.Holds > 0
		s.Excused = s.Excused && (l.Violated == 0 || lines[i].Standing.Excused)
	}
	s.Held, s.Excused = s.Held && !s.Broken, s.Excused && s.Broken
	return s
}

// judged is how many runs were.
func (m *Many) judged() int { return m.Done - m.Failed.Runs }

// headline says what happened: how often the gravest law was broken, and how in the most instructive run.
func (m *Many) headline() string {
	run, _ := m.telling()
	if run == nil {
		return "Nothing was checked."
	}
	law := run.Gravest()
	if law == "" {
		return text.CountGrouped(m.judged(), "run") + ": " + headline.Of(run.Recorded(), m.verdict())
	}
	return fmt.Sprintf("In %s of %s %s was broken. Seed %d: %s", text.Grouped(m.Laws.Of(law).Violated),
		text.CountGrouped(m.judged(), "run"), law, run.Seed, run.Headline())
}

// verdict is that of all runs together: a law holds if it holds in some and none has more to say.
func (m *Many) verdict() (v checker.Verdict) {
	for _, l := range m.Laws {
		f := checker.Finding{Law: l.Law}
		switch {
		case l.Violated > 0:
			f.Outcome = checker.Violated
		case l.Undecided > 0:
			f.Outcome = checker.Undecided
		case l.Holds > 0:
			f.Outcome = checker.Holds
		}
		v.Findings = append(v.Findings, f)
	}
	return v
}

// opening is what the report begins with.
func (m *Many) opening() single.Opening {
	standing, lines := m.standing(), m.lines()
	ok := standing.Result == document.Passed
	return single.Opening{Name: m.Scenario, What: m.size(), Words: standing.Words(), Tone: standing.Tone(),
		Headline: m.headline(), Summary: m.Subject.Summary, Intent: single.Intent(lines, ok), OK: ok,
		Idle: m.idle()}
}

// idle says which faults can have had no effect in any run.
func (m *Many) idle() string {
	never, vain := 0, 0
	for _, f := range m.Plan {
		switch {
		case m.judged() == 0:
		case f.Struck == 0:
			never++
		case f.Met == 0:
			vain++
		}
	}
	return single.IdleFaults(never, vain, len(m.Plan))
}

// lines hold each law, and each metric that the scenario names, against its expectation.
func (m *Many) lines() (lines []single.ExpectLine) {
	for _, l := range m.Laws {
		line := single.LawLine(m.Subject, l.Law, l.Counts, m.otherwise(string(l.Law)) != "")
		switch {
		case l.Violated > 0:
			line.Outcome = checker.Violated
		case line.Standing.Result == document.Undecided, l.Undecided > 0 && l.Holds == 0:
			line.Outcome = checker.Undecided
		case l.Holds > 0:
			line.Outcome = checker.Holds
		}
		lines = append(lines, line)
	}
	for _, b := range m.Subject.Expect.Metrics {
		lines = append(lines, single.MetricLine(b, m.otherwise(b.Name) != ""))
	}
	return lines
}

// of ends a count of runs.
func (m *Many) of() string { return " of " + text.CountGrouped(m.judged(), "run") }

// cameOut says how a law or metric came out, in the words of the scenario, and what follows the verdict on it.
func (m *Many) cameOut(line *single.ExpectLine) (got, how string) {
	law := checker.Law(line.Name)
	got = m.otherwise(line.Name)
	if !slices.Contains(checker.Laws, law) {
		got = cmp.Or(got, "in "+text.Grouped(m.judged())+m.of())
		return got, ": " + got
	}
	counts := m.Laws.Of(law)
	in := map[checker.Outcome]int{checker.Holds: counts.Holds, checker.Undecided: counts.Undecided,
		checker.Unchecked: counts.Unchecked}[line.Outcome]
	how = " in " + text.Grouped(in) + m.of()
	if line.Outcome == checker.Violated {
		how = ": " + m.causes(law)
	}
	return cmp.Or(got, line.Outcome.String()), how
}

// otherwise says how, and how often, a law or metric came out otherwise than expected; empty if it never did.
func (m *Many) otherwise(name string) string {
	var ways []string
	for i := range m.Campaign.Groups {
		if g := &m.Campaign.Groups[i]; g.Name == name {
			ways = append(ways, fmt.Sprintf("%s in %s%s, first with seed %d", came(g), text.Grouped(g.Runs), m.of(),
				g.First))
		}
	}
	return strings.Join(ways, "; ")
}

// causes says by which causes, and how often, a law was broken.
func (m *Many) causes(law checker.Law) string {
	var ways []string
	for _, f := range m.Findings {
		if f.Law == law {
			ways = append(ways, fmt.Sprintf("%s in %s%s", f.Cause, text.Grouped(f.Runs), m.of()))
		}
	}
	return strings.Join(ways, "; ")
}

// shows is the run that shows how something came out otherwise, or why it is undecided; nil if there is none.
func (m *Many) shows(c *document.Case) *single.Run {
	seed := m.Campaign.FirstUndecided
	if c.Result == document.Failed {
		seed = m.first(c.Name)
	}
	for _, run := range m.Shown {
		if run.Seed == seed && (c.Result == document.Failed || c.Result == document.Undecided) {
			return run
		}
	}
	return nil
}

// first is the lowest seed with which a law or metric came out otherwise in the most frequent way.
func (m *Many) first(name string) uint64 {
	for _, g := range m.Campaign.Groups {
		if g.Name == name {
			return g.First
		}
	}
	return 0
}

// lawsCompared are the laws, each with how it compares with what is expected.
func (m *Many) lawsCompared() (all []toldLaw) {
	lines := m.lines()
	for i, l := range m.Laws {
		all = append(all, toldLaw{Law: l, Line: &lines[i]})
	}
	return all
}
