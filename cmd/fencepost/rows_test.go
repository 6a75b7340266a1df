package main

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// eachReport calls change for scenarios in the catalog, runs them, and passes their reports to look. A full test uses
// every scenario, and other tests use only some of them.
func eachReport(t *testing.T, change func(*scenarios.Scenario), look func(s *scenarios.Scenario, run *single.Run)) {
	t.Helper()
	for i, name := range scenarios.Names() {
		if i%testkit.Size(12, 3, 1) != 0 {
			continue
		}
		s, err := scenarios.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		changed := *s
		change(&changed)
		result, err := scenarios.NewRunner(&changed).Run(changed.Plan(1))
		if err != nil {
			t.Fatal(err)
		}
		look(&changed, single.NewRun(&changed, result, changed.Judge(result)))
	}
}

// textAt returns a report's text for a terminal of the given width. Each run of white space becomes a single space.
func textAt(t *testing.T, run *single.Run, width int) string {
	t.Helper()
	var b strings.Builder
	if err := run.Document().Text(&b, document.TextOptions{Width: width}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

var tag = regexp.MustCompile(`<[^>]*>`)

// pageOf returns the body of a report's page up to its script, with its tags.
func pageOf(t *testing.T, report *document.Document) string {
	t.Helper()
	var b strings.Builder
	if err := report.HTML(&b, "page.html"); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(b.String(), "<body>")
	body, _, _ = strings.Cut(body, "<script>")
	return html.UnescapeString(body)
}

// TestWhatIsNotJudgedSaysWhy checks that each unchecked or undecided law comes with a reason, however narrow the
// terminal is.
func TestWhatIsNotJudgedSaysWhy(t *testing.T) {
	reasons := 0
	eachReport(t, func(*scenarios.Scenario) {}, func(s *scenarios.Scenario, run *single.Run) {
		for _, width := range []int{60, 80, 160} {
			text := textAt(t, run, width)
			for _, f := range run.Findings() {
				if f.Outcome != checker.Unchecked && f.Outcome != checker.Undecided {
					continue
				}
				if reasons++; f.Explanation == "" || !strings.Contains(text, f.Explanation) {
					t.Errorf("%s at %d columns: %s is %s, and %q is missing", s.Name, width, f.Law, f.Outcome,
						f.Explanation)
				}
			}
		}
	})
	if reasons < testkit.Size(25, 100, 100) {
		t.Errorf("only %d reasons", reasons)
	}
}

// TestAFaultThatDidNothingIsReported runs randomly drawn plans. A fault had no effect if it never struck, or if no
// affected client was holding or requesting a lock when it struck. The beginning of the report must give the number of
// such faults. The text, the page and the JSON must name each of them with the reason, and no other fault.
func TestAFaultThatDidNothingIsReported(t *testing.T) {
	seen, seed := map[bool]int{}, uint64(0)
	eachReport(t, func(s *scenarios.Scenario) {
		plans, err := search.NewPlans(s)
		if err != nil {
			t.Fatal(err)
		}
		seed++
		s.Faults = plans.Plan(seed).Faults
	}, func(s *scenarios.Scenario, run *single.Run) {
		object, report := run.Object(), run.Document()
		text, summary, page := textAt(t, run, 1000), string(document.Markdown(report.Suite)), pageOf(t, report)
		idle := 0
		for _, f := range campaign.PlannedIn(s.Faults, run.History) {
			inJSON := slices.ContainsFunc(object.Idle, func(o single.IdleFault) bool { return o.Fault == f.Line })
			inText := strings.Contains(text, f.Line+" ("+single.NeverStruck.String()) ||
				strings.Contains(text, f.Line+" ("+single.StruckInVain.String())
			inVain := f.Struck == 0 || f.Met == 0
			inPage := strings.Contains(page, f.Line+`</code> <span class="idle">`)
			if seen[inVain]++; inJSON != inVain || inText != inVain || inPage != inVain {
				t.Errorf("%s: %+v: JSON names it: %t, text: %t, page: %t", s.Name, f, inJSON, inText, inPage)
			}
			if inVain {
				idle++
			}
		}
		said := ""
		for _, note := range report.Notes {
			if note.Tone == document.Open {
				said = note.Words
			}
		}
		if said != "" != (idle > 0) || !strings.Contains(text, said) || !strings.Contains(page, said) ||
			!strings.Contains(summary, said) {
			t.Errorf("%s: %d faults did nothing, and the opening says %q", s.Name, idle, said)
		}
	})
	if least := testkit.Size(3, 10, 10); seen[true] < least || seen[false] < least {
		t.Errorf("only %v faults", seen)
	}
}

// TestNothingIsExpectedWithoutExpect removes the expectations from scenarios. Then no format of the report may mention
// an expectation. In a report with expectations, the line of a law that the scenario names must mention them. The line
// of another law may do so only if the law was violated.
func TestNothingIsExpectedWithoutExpect(t *testing.T) {
	expected := func(text string) bool { return strings.Contains(text, "expected") }
	bare := func(s *scenarios.Scenario) { s.Expect = format.All{} }
	eachReport(t, bare, func(s *scenarios.Scenario, run *single.Run) {
		report := run.Document()
		suite, page := string(document.Markdown(report.Suite)), tag.ReplaceAllString(pageOf(t, report), " ")
		if text := textAt(t, run, 80); expected(text) || expected(page) || expected(suite) {
			t.Errorf("%s expects nothing: %s", s.Name, text)
		}
	})
	eachReport(t, func(*scenarios.Scenario) {}, func(s *scenarios.Scenario, run *single.Run) {
		var b strings.Builder
		if err := run.Document().Text(&b, document.TextOptions{Width: 200}); err != nil {
			t.Fatal(err)
		}
		for _, f := range run.Findings() {
			law := fmt.Sprintf(" %-17s %s", f.Law, f.Outcome)
			_, row, _ := strings.Cut(b.String(), law)
			row, _, _ = strings.Cut(row, "\n")
			_, named := s.Expect.Laws[f.Law]
			if !expected(row) && named || f.Outcome != checker.Violated && expected(row) && !named {
				t.Errorf("%s: %s, named: %t, says %q", s.Name, f.Law, named, row)
			}
		}
	})
}
