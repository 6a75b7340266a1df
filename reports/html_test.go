package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

func render(t *testing.T, run *Run, links ...Link) string {
	t.Helper()
	var b strings.Builder
	if err := run.html(&b, links); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var script = regexp.MustCompile(`(?s)<script>.*?</script>`)

func TestPageIsWellFormed(t *testing.T) {
	for _, r := range runs {
		d := xml.NewDecoder(strings.NewReader(script.ReplaceAllString(render(t, r.run()), "")))
		d.Entity = xml.HTMLEntity
		for {
			_, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", r.name, err)
			}
		}
	}
}

// loads finds what a page would ask for.
var loads = regexp.MustCompile(`(?i)(?:href|src|action)="?https?:|\ssrc=|<link|@import|url\((?:[^#)]|#[^a-z])|<iframe|fetch\(|XMLHttp`)

func TestPageLoadsNothing(t *testing.T) {
	for _, r := range runs {
		if found := loads.FindString(render(t, r.run())); found != "" {
			t.Errorf("%s loads something: %q", r.name, found)
		}
	}
}

func TestWitnessStandsInThePictureAndInTheStory(t *testing.T) {
	for _, r := range runs {
		run := r.run()
		got := render(t, run)
		for pos := range witnesses(run) {
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
	got := render(t, run, Link{Text: evil, Href: "javascript:alert(1)"}, Link{Text: "mutex", Href: "mutex.html"})
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

func TestLongRunIsDrawnAroundItsWitness(t *testing.T) {
	run := long()
	for len(run.History.Events) <= mostEvents { // append what happened, an hour later, again and again
		for _, e := range run.History.Events[:1000] {
			e.Index = len(run.History.Events)
			e.Time += 3600e9
			run.History.Events = append(run.History.Events, e)
		}
	}
	got := render(t, run)
	if !strings.Contains(got, fmt.Sprintf("%d of %d events drawn", mostEvents, len(run.History.Events))) {
		t.Error("the page does not say what it leaves out")
	}
	for pos := range witnesses(run) {
		if !strings.Contains(got, fmt.Sprintf(`id="event-%d"`, pos)) {
			t.Errorf("event %d of the witness is left out", pos)
		}
	}
}

// Labels of faults that strike together must not cover each other, on a narrow page neither.
func TestFaultLabelsDoNotOverlap(t *testing.T) {
	x := newTale(2, 5)
	x.acquire(0.001, 0.012, 9, "client-1/1", 0, 1, 2, 3)
	for i := range 12 {
		x.at(1+0.01*float64(i)).fault(1, fmt.Sprintf("crash redis-%d losing everything at 1.%02ds, restart after 500ms", i%5+1, i), "redis-1")
	}
	x.at(20).client("client-1", "release", 1, "client-1/1")
	c := newChart(Arrange(&x.h), nil)
	type label struct{ y, from, to float64 }
	var seen []label
	for _, s := range c.Shapes {
		if s.Kind != "label" {
			continue
		}
		var at float64
		fmt.Sscan(s.X, &at)
		l := label{float64(s.Y), at, at + labelWidth(s.Label)}
		for _, o := range seen {
			if o.y == l.y && l.from < o.to && o.from < l.to {
				t.Errorf("labels overlap: %v and %v", o, l)
			}
		}
		seen = append(seen, l)
	}
	if len(seen) != 12 {
		t.Errorf("%d labels, want 12", len(seen))
	}
}

// As for the labels of faults: numbers of the witness stand clear of each other on the narrowest page.
func TestWitnessNumbersDoNotOverlap(t *testing.T) {
	for _, r := range runs[:5] {
		run := r.run()
		c := newChart(Arrange(run.history()), witnesses(run))
		if len(c.Pins) != len(witnesses(run)) {
			t.Errorf("%s: %d numbers for %d events", r.name, len(c.Pins), len(witnesses(run)))
		}
		for i, a := range c.Pins {
			for _, b := range c.Pins[:i] {
				gap := (c.scale.place(history.Time(a.A)) - c.scale.place(history.Time(b.A))) * narrow
				if a.Y == b.Y && gap < 17 {
					t.Errorf("%s: %d and %d overlap", r.name, b.Number, a.Number)
				}
			}
		}
	}
}
