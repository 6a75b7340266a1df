package reports

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/documenttest"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

func render(t *testing.T, run *single.Run, links ...single.View) string {
	t.Helper()
	var b strings.Builder
	if err := run.HTML(&b, links); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPageIsWellFormedAndLoadsNothing(t *testing.T) {
	for _, r := range runs {
		if err := documenttest.Page(render(t, r.run())); err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
	}
}

func TestWitnessStandsInThePictureAndInTheStory(t *testing.T) {
	for _, r := range runs {
		run := r.run()
		got := render(t, run)
		for _, pos := range witness(run) {
			if !strings.Contains(got, fmt.Sprintf(`id="event-%d"`, pos)) {
				t.Errorf("%s: event %d has no number in the picture", r.name, pos)
			}
			if !strings.Contains(got, fmt.Sprintf(`<li data-ev="%d"`, pos)) {
				t.Errorf("%s: event %d is not in the story", r.name, pos)
			}
		}
	}
}

func TestTextCannotBecomeMarkup(t *testing.T) {
	const evil = `"></title><img src=x onerror=alert(1)><script>alert(1)</script>`
	run := kleppmann()
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
	run.Expected[0].Expected = evil
	got := render(t, run, single.View{Link: document.Link{Text: evil, Href: "javascript:alert(1)"}},
		single.View{Link: document.Link{Text: "mutex", Href: "mutex.html"}})
	if n := strings.Count(got, "<script"); n != 1 {
		t.Errorf("%d scripts", n)
	}
	if strings.Contains(got, "<img") || strings.Contains(got, "javascript:") {
		t.Error("text became markup")
	}
	if !strings.Contains(got, `<a href="mutex.html">mutex</a>`) {
		t.Error("the link is lost")
	}
}

func TestPageIsTheSameEveryTime(t *testing.T) {
	for _, r := range runs {
		first, second := render(t, r.run()), render(t, r.run())
		if first != second {
			t.Errorf("%s: two pages of one run differ", r.name)
		}
	}
}
