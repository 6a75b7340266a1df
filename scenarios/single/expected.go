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

// Expectation is what must come out of a law or a metric: a format.Law, a format.Bound, Promised or Unbroken. It
// prints itself as the scenario says it. A nil one asks for nothing.
type Expectation fmt.Stringer

// implied is what is expected of a law that the scenario does not name.
type implied string

// String says it in words.
func (e implied) String() string { return string(e) }

// What is expected of a law that the scenario does not name.
const (
	Promised implied = "promised"     // by the scenario, to which a verification holds a run
	Unbroken implied = "not violated" // where the scenario names others
)

// ExpectLine compares one law or metric, of one run or of many, with what the scenario expects of it.
type ExpectLine struct {
	Name     string // of a law or of a metric
	Expected Expectation
	Outcome  checker.Outcome // of a law; of many runs the one that says most
	Standing document.Standing
}

// OK reports that it did not come out otherwise than expected.
func (e *ExpectLine) OK() bool { return e.Standing.Result != document.Failed }

// Stands says in words whether it came out as the scenario expects; "expected" alone where it is undecided.
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

// Compared reports whether there is anything to say of how it compares with what was expected.
func (e *ExpectLine) Compared() bool { return e != nil && (e.Expected != nil || e.Standing.Excused) }

// Case is what a CI system counts of it, without a story. got is what came out, in the words of the scenario, and how
// follows the verdict: ": holder outlived its lease (pause)", " in 10 of 10 runs". It may be empty.
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

// Named reports whether the scenario names anything that must come out.
func Named(lines []ExpectLine) bool {
	return slices.ContainsFunc(lines, func(e ExpectLine) bool { return e.Expected != nil })
}

// Intent says that all came out as the scenario expects, and what that is, or what came out otherwise, and what was
// broken that is not promised. It is empty for a scenario that names nothing.
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

// LawLine compares how a law came out in some runs with what a scenario expects of it. The Outcome is left to whoever
// knows it. missed says that it came out otherwise in one of the runs.
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

// MetricLine does so for a metric.
func MetricLine(b format.Bound, missed bool) ExpectLine {
	line := ExpectLine{Name: b.Name, Expected: b, Standing: document.Standing{Result: document.Passed, Named: true}}
	if missed {
		line.Standing.Result = document.Failed
	}
	return line
}

// expectLines compare each law, and each metric that the scenario names, with its expectation.
func expectLines(s *scenarios.Scenario, j *format.Judgement) (lines []ExpectLine) {
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

// expectation returns what was expected of the law or metric, or nil if nothing is known.
func (r *Run) expectation(name string) *ExpectLine {
	for i := range r.Expected {
		if r.Expected[i].Name == name {
			return &r.Expected[i]
		}
	}
	return nil
}
