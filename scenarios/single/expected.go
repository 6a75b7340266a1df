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

// ExpectLine compares one law or metric, of one run or of many, with what the scenario expects of it.
type ExpectLine struct {
	Name     string // of a law or of a metric
	Expected string // as the scenario says it: "holds", "violated by …"; empty if it names nothing of the kind
	Got      string // in the same words; of a metric its value
	How      string // follows the verdict: ": holder outlived its lease (pause)", " in 10 of 10 runs"; may be empty
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
		return Promised
	case e.Standing.Result == document.Passed:
		return document.AsExpected
	case !e.OK():
		return document.NotExpected
	}
	return "expected"
}

// Case is what a CI system counts of it, without a story.
func (e *ExpectLine) Case(group string) document.Case {
	c := document.Case{Group: group, Name: e.Name, Result: e.Standing.Result, Broken: e.Standing.Broken,
		Message: e.Standing.Words()}
	switch {
	case c.Result == document.NotJudged:
		c.Message = e.Got + e.How
	case c.Result == document.Failed && e.Expected != "":
		c.Message += fmt.Sprintf(": expected %s, got %s", e.Expected, e.Got)
	default:
		c.Message += e.How
	}
	return c
}

// Named reports whether the scenario names anything that must come out.
func Named(lines []ExpectLine) bool {
	return slices.ContainsFunc(lines, func(e ExpectLine) bool { return e.Expected != "" })
}

// Intent says that all came out as the scenario expects, and what that is, or what came out otherwise, and what was
// broken that is not promised. It is empty for a scenario that names nothing.
func Intent(lines []ExpectLine, ok bool) string {
	var broken, kept, figures, otherwise, unkept, excused []string
	for i := range lines {
		e := &lines[i]
		law := slices.Contains(checker.Laws, checker.Law(e.Name))
		switch {
		case e.Standing.Excused:
			excused = append(excused, e.Name)
		case !e.OK() && e.Standing.Promise:
			unkept = append(unkept, e.Name)
		case !e.OK() && e.Expected != "":
			otherwise = append(otherwise, e.Name)
		case law && strings.HasPrefix(e.Expected, checker.Violated.String()):
			broken = append(broken, e.Name)
		case law && e.Expected == checker.Holds.String():
			kept = append(kept, e.Name)
		case !law:
			figures = append(figures, e.Name+" "+e.Expected)
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

// LawLine compares how a law came out in some runs with what a scenario expects of it. Got and How are left to whoever
// knows them. missed says that it came out otherwise in one of the runs.
func LawLine(s *scenarios.Scenario, law checker.Law, came campaign.Counts, missed bool) ExpectLine {
	line := ExpectLine{Name: string(law), Standing: document.Standing{Result: document.Passed,
		Broken: came.Violated > 0, Held: came.Violated == 0 && came.Holds > 0}}
	e, named := s.Expect.Laws[law]
	switch {
	case named:
		line.Expected = e.String()
	case came.Violated > 0 && came.Breaks() == 0:
		line.Standing.Excused = true
	case came.Violated > 0 && len(s.Expect.Laws)+len(s.Expect.Metrics) > 0:
		line.Expected = "not violated"
	}
	line.Standing.Named = line.Expected != ""
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

// MetricLine does so for a metric, whose value, or values, got states.
func MetricLine(b format.Bound, got string, missed bool) ExpectLine {
	line := ExpectLine{Name: b.Name, Expected: b.Text, Got: got, How: ": " + got,
		Standing: document.Standing{Result: document.Passed, Named: true}}
	if missed {
		line.Standing.Result = document.Failed
	}
	return line
}
