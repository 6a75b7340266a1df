package sweep

import (
	"fmt"
	"html/template"
	"io"
	"strconv"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/reports/timeline"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// html writes a sweep as one self-contained page: the assertions, the map of each law, its edges in
// words, and the story of each failure. The error is w's.
func (s *Report) html(w io.Writer) error {
	frame, err := html.New(s.Scenario.Name+", sweep: "+s.standing(), "sweep.css")
	if err != nil {
		return err
	}
	d := &sweepPage{Scenario: s.Scenario.Name, Summary: s.Scenario.Summary, Faults: s.Faults(), Notes: s.notes(),
		Repeat: s.Repeat, Frame: frame, Standing: s.standing(), Size: s.size()}
	for _, law := range s.Laws {
		d.Maps = append(d.Maps, s.mapOnPage(LawOf(s.Sweep, law)))
	}
	if s.Interrupted {
		d.Stopped = document.Interruption
	}
	d.claims(s)
	d.facts(s)
	return html.Write(w, "sweep.html", d)
}

// sweepPage is what the template shows.
type sweepPage struct {
	Scenario, Summary, Repeat string
	Faults, Notes             []string
	Standing, Class, Size     string // the class is good, bad or open; empty if nothing was asserted
	Stopped                   string
	Claims                    []claimOnPage
	Maps                      []mapOnPage
	Stories                   []sweepStory
	Facts                     []document.Fact
	html.Frame
}

// claimOnPage is an assertion; its class is that of a law that came out so.
type claimOnPage struct{ Sign, Class, Text, Why string }

// mapOnPage is a law.
type mapOnPage struct {
	Law    string
	Wide   template.HTML   // the picture for a desktop
	Narrow template.HTML   // and for a phone
	Lines  []document.Fact // where it is safe, by the value of the other axis
	Notes  []string
	Causes []string
	// Repeats show how the law is broken next to its edges.
	Repeats []string
}

// sweepStory tells the run that shows how an assertion fails.
type sweepStory struct {
	Text   string
	Law    lawStory
	Plan   []string
	Seed   uint64
	Repeat string
}

// claims tells the assertions, and the stories of those that failed.
func (d *sweepPage) claims(s *Report) {
	d.Class = [...]string{"", "good"}[min(len(s.Asserted), 1)]
	for i := range s.Asserted {
		a := &s.Asserted[i]
		c := claimOnPage{Sign: result(a).Sign(), Text: a.Text, Class: "holds", Why: s.why(a)}
		switch {
		case a.Standing == document.Failed:
			c.Class, d.Class = "violated", "bad"
		case a.Standing != document.Passed:
			c.Class = "undecided"
			if d.Class != "bad" {
				d.Class = "open"
			}
		}
		d.Claims = append(d.Claims, c)
		if run := s.Shown[i]; run != nil {
			d.Stories = append(d.Stories, storyAgainst(a, run))
		}
	}
}

type lawStory struct {
	Law, Cause, Explanation, Remedy string
	Witness                         []timeline.WitnessLine
}

// storyAgainst tells what happened in the run that shows how an assertion fails.
func storyAgainst(a *Asserted, run *single.Run) sweepStory {
	s := sweepStory{Text: a.Text, Plan: run.Plan, Seed: run.Seed, Repeat: run.Repeat}
	f := run.Verdict.Of(a.Law)
	s.Law = lawStory{Law: string(a.Law), Cause: f.Outcome.String(), Explanation: f.Explanation, Remedy: f.Remedy}
	if f.Outcome == checker.Violated {
		s.Law.Cause = f.Cause.String()
	}
	for i, told := range run.Lanes().Describe(f.Witness) {
		s.Law.Witness = append(s.Law.Witness, timeline.WitnessLine{Number: i + 1, Pos: told.Pos,
			Time: text.Instant(told.At), Words: told.Words})
	}
	return s
}

// mapOnPage draws one law.
func (s *Report) mapOnPage(l *Law) mapOnPage {
	picture := Map{Sweep: s.Sweep, Scenario: s.Scenario.Name, Law: l}
	m := mapOnPage{Law: string(l.Law), Wide: template.HTML(picture.wide()),
		Narrow: template.HTML(picture.narrow())}
	for i := range l.Lines {
		along := &l.Lines[len(l.Lines)-1-i] // the highest first, as on the map
		name := s.Axes[along.Axis].Name
		if along.Other != nil {
			name = s.Axes[1-along.Axis].Name + " " + along.Other.Text
		}
		m.Lines = append(m.Lines, document.Fact{Name: name, Value: along.Words("")})
		if !along.Monotone() {
			m.Notes = append(m.Notes, s.place(along)+turnsTwice)
		}
	}
	for _, e := range l.Edges {
		if again := s.Repeats[e]; again != "" {
			m.Repeats = append(m.Repeats, again)
		}
	}
	for _, c := range causes(l) {
		m.Causes = append(m.Causes,
			fmt.Sprintf("✗ %s: in %s at %s", c.cause, text.Count(c.runs, "run"), text.Count(c.points, "point")))
	}
	for _, c := range problems(l) {
		m.Causes = append(m.Causes, fmt.Sprintf("– %s: at %s", c.cause, text.Count(c.points, "point")))
	}
	return m
}

func (d *sweepPage) facts(s *Report) {
	names := []string{"varied"}
	if len(s.Axes) == 2 {
		names = []string{"across", "upwards"}
	}
	for i, name := range names {
		d.Facts = append(d.Facts, document.Fact{Name: name, Value: s.varied(i)})
	}
	for _, fixed := range s.With() {
		d.Facts = append(d.Facts, document.Fact{Name: "with", Value: fixed})
	}
	runs, _ := s.Made()
	d.Facts = append(d.Facts, document.Fact{Name: "runs", Value: strconv.Itoa(runs)},
		document.Fact{Name: "safe means", Value: s.meaning()})
}
