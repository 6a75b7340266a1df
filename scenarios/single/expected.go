package single

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// Expectation is the required outcome for a law or metric: a format.Law, a format.Bound, Promised or Unbroken. String
// returns it as worded in the scenario. A nil Expectation requires nothing.
type Expectation fmt.Stringer

// implied is the expectation for a law that the scenario does not mention.
type implied string

// String returns the expectation in words.
func (e implied) String() string { return string(e) }

// The expectations for laws that the scenario does not mention.
const (
	// the scenario promises that the law holds; used when a run is checked against its promise
	Promised implied = "promised"
	Unbroken implied = "not violated" // used if the scenario has expectations for other laws or metrics
)

// ExpectLine compares the outcome for a law or metric, in one run or many, with what the scenario expects.
type ExpectLine struct {
	Name     string // name of the law or metric
	Expected Expectation
	Outcome  checker.Outcome // outcome of a law; for many runs, the most informative one
	Standing document.Standing
}

// OK reports whether the outcome agrees with the expectation, or at least does not contradict it.
func (e *ExpectLine) OK() bool { return e.Standing.Result != document.Failed }

// Stands says in a few words how the outcome compares with the expectation. For an undecided law, it returns
// "expected".
func (e *ExpectLine) Stands() string {
	switch {
	case e.Standing.Excused:
		return document.NotPromised
	case e.Standing.Promise:
		return Promised.String()
	case e.Standing.Result == document.Passed:
		return document.AsExpected
	case !e.OK():
		return document.NotExpected
	}
	return "expected"
}

// Compared reports whether there is a comparison to show: the scenario either has an expectation or excuses the
// outcome.
func (e *ExpectLine) Compared() bool { return e != nil && (e.Expected != nil || e.Standing.Excused) }

// Case returns the line as a test case in a CI report, without the explanation of a violation. got is the outcome as
// worded in the scenario. how, which may be empty, is appended to the verdict, such as ": holder outlived its lease
// (pause)" or " in 10 of 10 runs".
func (e *ExpectLine) Case(group, got, how string) document.Case {
	c := document.Case{Group: group, Name: e.Name, Result: e.Standing.Result, Broken: e.Standing.Broken,
		Message: e.Standing.Words()}
	switch {
	case c.Result == document.NotJudged:
		c.Message = got + how
	case c.Result == document.Failed && e.Expected != nil:
		c.Message += fmt.Sprintf(": expected %s, got %s", e.Expected, got)
	default:
		c.Message += how
	}
	return c
}

// Named reports whether the scenario has any expectations.
func Named(lines []ExpectLine) bool {
	return slices.ContainsFunc(lines, func(e ExpectLine) bool { return e.Expected != nil })
}

// Intent compares the outcomes with what the scenario promises and expects. It names the promises or expectations that
// were not met. If all of them were met and ok is set, it says what was expected. In either case, it also names the
// laws that were broken but are not promised. It returns "" if there is nothing to say.
func Intent(lines []ExpectLine, ok bool) string {
	var broken, kept, figures, otherwise, unkept, excused []string
	for i := range lines {
		e := &lines[i]
		switch expected := e.Expected.(type) {
		case format.Law:
			if expected.Outcome == checker.Violated {
				broken = append(broken, e.Name)
			} else if expected.Outcome == checker.Holds {
				kept = append(kept, e.Name)
			}
		case format.Bound:
			figures = append(figures, e.Name+" "+expected.String())
		}
		switch {
		case e.Standing.Excused:
			excused = append(excused, e.Name)
		case !e.OK() && e.Standing.Promise:
			unkept = append(unkept, e.Name)
		case !e.OK() && e.Expected != nil:
			otherwise = append(otherwise, e.Name)
		}
	}
	aside := ""
	if len(excused) > 0 {
		aside = text.Join(excused, " and ") + " is broken " + checker.Excuse + "."
	}
	apart := func(words string) string { return strings.TrimSpace(words + " " + aside) }
	switch {
	case len(unkept) > 0:
		return apart("Not as promised: " + text.Join(unkept, " and ") + ".")
	case len(otherwise) > 0:
		return apart("Not as expected: " + text.Join(otherwise, " and ") + ".")
	}
	var parts []string
	if len(broken) > 0 {
		parts = append(parts, text.Join(broken, " and ")+" broken")
	}
	if len(kept) > 0 {
		parts = append(parts, text.Join(kept, " and ")+" kept")
	}
	parts = append(parts, figures...)
	if len(parts) == 0 || !ok {
		return aside
	}
	return apart("Came out as the file expects: " + strings.Join(parts, ", ") + ".")
}

// LawLine compares a law's outcomes, counted over one or more runs, with what a scenario expects. missed says whether
// any of them contradicted the expectation. The caller sets Outcome.
func LawLine(s *scenarios.Scenario, law checker.Law, came campaign.Counts, missed bool) ExpectLine {
	line := ExpectLine{Name: string(law), Standing: document.Standing{Result: document.Passed,
		Broken: came.Violated > 0, Held: came.Violated == 0 && came.Holds > 0}}
	e, named := s.Expect.Laws[law]
	switch {
	case named:
		line.Expected = e
	case came.Violated > 0 && came.Breaks() == 0:
		line.Standing.Excused = true
	case came.Violated > 0 && len(s.Expect.Laws)+len(s.Expect.Metrics) > 0:
		line.Expected = Unbroken
	}
	line.Standing.Named = line.Expected != nil
	switch {
	case missed:
		line.Standing.Result = document.Failed
	case named && !e.Any && came.Undecided > 0:
		line.Standing.Result = document.Undecided
	case came.Exercised() == 0:
		line.Standing.Result = document.NotJudged
	}
	return line
}

// MetricLine compares a metric with the bound that a scenario expects. missed says whether the metric was out of bounds
// in any of the runs.
func MetricLine(b format.Bound, missed bool) ExpectLine {
	line := ExpectLine{Name: b.Name, Expected: b, Standing: document.Standing{Result: document.Passed, Named: true}}
	if missed {
		line.Standing.Result = document.Failed
	}
	return line
}

// expectLines returns a line for each law, and for each metric that the scenario names.
func expectLines(s *scenarios.Scenario, j *format.Judgment) (lines []ExpectLine) {
	missed := map[string]bool{}
	for _, m := range j.Mismatches {
		missed[m.Name] = true
	}
	for _, law := range checker.Laws {
		f, came := j.Verdict.Of(law), campaign.Counts{}
		came.Count(f.Outcome)
		if s.Promise.ExcusesAll(&f) {
			came.Excused = came.Violated
		}
		line := LawLine(s, law, came, missed[string(law)])
		line.Outcome = f.Outcome
		lines = append(lines, line)
	}
	for _, b := range s.Expect.Metrics {
		lines = append(lines, MetricLine(b, missed[b.Name]))
	}
	return lines
}

// expectation returns the ExpectLine for a law or metric, or nil if there is none.
func (r *Run) expectation(name string) *ExpectLine {
	for i := range r.Expected {
		if r.Expected[i].Name == name {
			return &r.Expected[i]
		}
	}
	return nil
}
