package single

import (
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/reports/timeline"
)

// HTML writes the report of one run as one self-contained page: it loads nothing, and shows everything but the zoom
// without its script. views lead to files that lie beside it. The error is w's.
func (run *Run) HTML(w io.Writer, views []View) error {
	d, err := NewPage(run, views)
	if err != nil {
		return err
	}
	run.unseen = append(slices.Clip(d.Unseen), d.chart.Notes...)
	return html.Write(w, "run.html", d)
}

// Page is what the page's template shows.
type Page struct {
	Run      *Run
	Standing string
	What     string // the seed, or the reading
	Headline string // what came of the run, in a sentence
	Probe    string // what the probe is, where the page mentions it; else empty
	Intent   string // what the scenario expects, and whether that came out; may be empty
	Idle     string // which faults can have had no effect; may be empty
	Plan     []planLine
	Class    string // of the standing: good, bad, open
	Laws     []lawLine
	Checks   []ExpectLine // expectations of metrics
	Stories  []LawStory
	Metrics  []metricLine
	Views    []View
	Unseen   []string // which views are left out, a sentence each
	Facts    []document.Fact
	Timeline template.HTML
	lanes    *timeline.Lanes
	chart    *timeline.Chart
	html.Frame
}

type lawLine struct {
	Name, Sign, Class, Outcome, Cause, Explanation, Judges string
	View                                                   string // where what a judge saw is drawn; may be empty
	Expect                                                 *ExpectLine
}

// LawStory tells on a page how a law came out, and what shows it.
type LawStory struct {
	Law, Cause, Explanation, Judges, Remedy string
	Trials                                  []checker.Trial
	Witness                                 []WitnessLine
}

// WitnessLine is an event of the witness: its number in the picture, its position in the history, when, and in words.
type WitnessLine struct {
	Number, Pos int
	Time, Words string
}

type metricLine struct{ Name, Value, Alarm string }

// NewPage fills in what the template of a run's page shows, or that of another page of which the run is a part.
func NewPage(run *Run, views []View) (*Page, error) {
	frame, err := html.New(fmt.Sprintf("%s, %s: %s", run.Scenario, run.what(), run.words()))
	if err != nil {
		return nil, err
	}
	frame.Script += timeline.Script
	d := &Page{
		Run: run, Standing: run.words(), What: run.what(), Class: run.standing().Class(), Views: views,
		Unseen:   run.unseen,
		Headline: run.Headline(), Intent: Intent(run.Expected, run.OK), Idle: run.idle(), Plan: run.planned(),
		lanes: run.Lanes(), Frame: frame,
	}
	d.chart = d.lanes.Chart()
	if d.Timeline, err = d.chart.HTML(); err != nil {
		return nil, err
	}
	d.verdict(run)
	d.facts(run)
	if d.mentionsProbe() {
		d.Probe = document.ProbeIs
	}
	for _, m := range run.Metrics {
		d.Metrics = append(d.Metrics, metricLine{m.Name, value(m), alarm(m)})
	}
	return d, nil
}

// mentionsProbe reports whether anything that the page says speaks of the probe.
func (d *Page) mentionsProbe() bool {
	texts := []string{d.Headline}
	for i := range d.Laws {
		texts = append(texts, d.Laws[i].Explanation)
	}
	for i := range d.Stories {
		texts = append(texts, d.Stories[i].Explanation)
		for _, w := range d.Stories[i].Witness {
			texts = append(texts, w.Words)
		}
	}
	return d.chart.Shows(history.Probe) || slices.ContainsFunc(texts, document.MentionsProbe)
}

func (d *Page) verdict(run *Run) {
	laws := map[string]bool{}
	for _, f := range run.Findings() {
		laws[string(f.Law)] = true
		mark, _ := sign(f.Outcome)
		line := lawLine{Name: string(f.Law), Sign: mark, Class: f.Outcome.String(), Outcome: f.Outcome.String(),
			Judges: f.Judges.String(), Expect: run.expectation(string(f.Law))}
		if i := slices.IndexFunc(d.Views, func(v View) bool { return v.shows(&f) }); i >= 0 {
			line.View = d.Views[i].Href
		}
		if f.Outcome == checker.Violated {
			line.Cause = f.Cause.String()
			d.Stories = append(d.Stories, d.story(&f))
		} else {
			line.Explanation = f.Explanation
		}
		d.Laws = append(d.Laws, line)
	}
	for _, e := range run.Expected {
		if !laws[e.Name] {
			d.Checks = append(d.Checks, e)
		}
	}
}

func (d *Page) story(f *checker.Finding) LawStory {
	s := LawStory{Law: string(f.Law), Cause: f.Cause.String(), Explanation: f.Explanation, Judges: f.Judges.String(),
		Remedy: f.Remedy, Trials: f.Trials}
	for _, told := range d.lanes.Told(f.Witness) {
		s.Witness = append(s.Witness,
			WitnessLine{Number: d.chart.Number(told.Pos), Pos: told.Pos, Time: d.lanes.Instant(told.At),
				Words: told.Words})
	}
	return s
}

func (d *Page) facts(run *Run) {
	if run.Recording != nil {
		d.Facts = append(d.Facts, run.recordedFacts()...)
		for _, note := range run.Notes {
			d.Facts = append(d.Facts, document.Fact{Name: "note", Value: note})
		}
		return
	}
	h := run.Recorded()
	add := func(name, value string) {
		if value != "" {
			d.Facts = append(d.Facts, document.Fact{Name: name, Value: value})
		}
	}
	add("seed", strconv.FormatUint(run.Seed, 10))
	add("digest", run.Digest)
	took := text.Instant(history.Of(run.Simulated))
	if run.real() {
		add("events", fmt.Sprintf("%d in the history", len(h.Events)))
		add("real time", took)
	} else {
		add("events", fmt.Sprintf("%d simulated, %d in the history", run.Events, len(h.Events)))
		add("true time", took)
	}
	for _, note := range run.Notes {
		add("note", note)
	}
	add("source", run.Source)
}
