package search

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// runsLine compares the results for a law or a metric, over all runs, with what the scenario expects.
type runsLine struct {
	single.ExpectLine
	got string // the result, in the words of the scenario file
	how string // text that follows the verdict, such as " in 10 of 10 runs"
}

// runsLines has one line for each law and one for each metric that the scenario names.
type runsLines []runsLine

// expected returns only the part of each line that compares the result with the expectation.
func (all runsLines) expected() (lines []single.ExpectLine) {
	for _, l := range all {
		lines = append(lines, l.ExpectLine)
	}
	return lines
}

// assess returns a law's assessment for the table of laws.
func (all runsLines) assess(law campaign.Law) campaign.Assessment {
	l := &all[slices.IndexFunc(all, func(l runsLine) bool { return l.Name == string(law.Law) })]
	is := campaign.Assessment{Result: l.Standing.Mark()}
	if l.OK() && l.Outcome == checker.Undecided {
		is.Result = document.Undecided
	}
	if l.Compared() && l.Standing.Result != document.Undecided {
		is.Words.Words = l.Stands()
	}
	if !l.OK() {
		is.Words.Tone = document.Bad
	}
	return is
}

// lines compares the results with what the scenario expects, for each law and for each metric that the scenario names.
func (r *RunsReport) lines() (lines runsLines) {
	of := " of " + text.CountGrouped(r.judged(), "run")
	for _, l := range r.Laws {
		otherwise := r.deviation(string(l.Law), of)
		line := runsLine{ExpectLine: single.LawLine(r.Subject, l.Law, l.Counts, otherwise != "")}
		in := l.Violated
		switch {
		case l.Violated > 0:
			line.Outcome = checker.Violated
		case line.Standing.Result == document.Undecided, l.Undecided > 0 && l.Holds == 0:
			line.Outcome, in = checker.Undecided, l.Undecided
		case l.Holds > 0:
			line.Outcome, in = checker.Holds, l.Holds
		default:
			in = l.Unchecked
		}
		line.got = cmp.Or(otherwise, line.Outcome.String())
		line.how = " in " + text.Grouped(in) + of
		if line.Outcome == checker.Violated {
			line.how = ": " + r.causes(l.Law, of)
		}
		lines = append(lines, line)
	}
	for _, b := range r.Subject.Expect.Metrics {
		otherwise := r.deviation(b.Name, of)
		line := runsLine{ExpectLine: single.MetricLine(b, otherwise != ""),
			got: cmp.Or(otherwise, "in "+text.Grouped(r.judged())+of)}
		line.how = ": " + line.got
		lines = append(lines, line)
	}
	return lines
}

// deviation says in how many runs the result for a law or metric was not as expected, and how it differed. It returns
// "" if it was always as expected.
func (r *RunsReport) deviation(name, of string) string {
	var ways []string
	for i := range r.Campaign.Groups {
		if g := &r.Campaign.Groups[i]; g.Name == name {
			ways = append(ways, fmt.Sprintf("%s in %s%s, first with seed %d", got(g), text.Grouped(g.Runs), of,
				g.First))
		}
	}
	return strings.Join(ways, "; ")
}

// causes lists the causes of a law's violations, with the number of runs for each.
func (r *RunsReport) causes(law checker.Law, of string) string {
	var ways []string
	for _, f := range r.Findings {
		if f.Law == law {
			ways = append(ways, fmt.Sprintf("%s in %s%s", f.Cause, text.Grouped(f.Runs), of))
		}
	}
	return strings.Join(ways, "; ")
}

// suite returns one test case for each law, for each metric that the scenario names, and for each reason why the result
// is undecided.
func (r *RunsReport) suite(title *document.Title, lines runsLines) document.Suite {
	s := document.Suite{Name: "run " + r.Scenario, Verdict: title.Verdict, Headline: title.Headline, Note: r.idle(),
		Repeat: r.Repeat}
	for i := range lines {
		c := lines[i].Case(r.Scenario, lines[i].got, lines[i].how)
		if run := r.shows(&c); run != nil {
			c.Story = run.Story(c.Name)
		}
		s.Cases = append(s.Cases, c)
	}
	s.Cases = append(s.Cases, document.InterruptedCases(r.Scenario, r.Interrupted)...)
	s.Cases = append(s.Cases, document.OpenCases(r.Scenario, r.open())...)
	return s
}

// shows returns a run that shows why the result is undecided or differs from the expectation. It returns nil if there
// is no such run.
func (r *RunsReport) shows(c *document.Case) *single.Run {
	seed := r.Campaign.FirstUndecided
	switch c.Result {
	case document.Failed:
		// Loop backward, so that the most frequent group, which is the first in the list, comes last.
		for _, g := range slices.Backward(r.Campaign.Groups) {
			if g.Name == c.Name {
				seed = g.First
			}
		}
	case document.Passed, document.NotJudged:
		return nil
	}
	for _, run := range r.Shown {
		if run.Seed == seed {
			return run
		}
	}
	return nil
}
