package single_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/reports/reporttest"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/single"
	"github.com/fencepost-sim/fencepost/scenarios/single/singletest"
)

// render returns a run's main page, which is its last page.
func render(t *testing.T, run *single.Run) (page string) {
	t.Helper()
	for _, p := range run.Document().Pages("folder/page.html") {
		var b strings.Builder
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
		page = b.String()
	}
	return page
}

func TestPageIsWellFormedAndLoadsNothing(t *testing.T) {
	for _, r := range testkit.Sample(t, singletest.Runs) {
		if err := reporttest.Page(render(t, r.Run())); err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
	}
}

func TestWitnessStandsInThePictureAndInTheStory(t *testing.T) {
	for _, r := range singletest.Runs {
		run := r.Run()
		got := render(t, run)
		for _, f := range run.Verdict.Findings {
			for _, pos := range f.Witness {
				if !strings.Contains(got, fmt.Sprintf(`id="event-%d"`, pos)) {
					t.Errorf("%s: event %d has no number in the picture", r.Name, pos)
				}
				if !strings.Contains(got, fmt.Sprintf(`<li data-ev="%d"`, pos)) {
					t.Errorf("%s: event %d is not in the story", r.Name, pos)
				}
			}
		}
	}
}

func TestTextCannotBecomeMarkup(t *testing.T) {
	const evil = `"></title><img src=x onerror=alert(1)><script>alert(1)</script>`
	run := singletest.Kleppmann()
	run.Scenario, run.Summary, run.Source, run.Repeat, run.Plan = evil, evil, evil, evil, []string{evil}
	h := *run.History
	for i := range h.Events {
		if h.Events[i].Value != "" {
			h.Events[i].Value = evil
		}
		h.Events[i].Lock = evil
	}
	run.Verdict.Findings[1].Explanation = evil
	run.Verdict.Findings[1].Remedy = evil
	run.Expected[0].Expected = format.Bound{Text: evil}
	got := render(t, run)
	if n := strings.Count(got, "<script"); n != 1 {
		t.Errorf("%d scripts", n)
	}
	if strings.Contains(got, "<img") || strings.Contains(got, "javascript:") {
		t.Error("text became markup")
	}
	if !regexp.MustCompile(`<a href="page-[^"<>:]+-sections.html">porcupine: [^<>]*sections of `).MatchString(got) {
		t.Error("the link to porcupine's view is lost")
	}
}

func TestPageIsTheSameEveryTime(t *testing.T) {
	for _, r := range singletest.Runs {
		first, second := render(t, r.Run()), render(t, r.Run())
		if first != second {
			t.Errorf("%s: two pages of one run differ", r.Name)
		}
	}
}
