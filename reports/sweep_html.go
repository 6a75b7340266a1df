package reports

import (
	"fmt"
	"html/template"
	"image/color"
	"io"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/page"
	"github.com/fencepost-sim/fencepost/reports/phrase"
)

// SweepHTML writes a sweep as one self-contained page: the assertions, the map of each law, its edges in
// words, and the story of each failure. The error is w's.
func SweepHTML(w io.Writer, s *Sweep) error {
	frame, err := page.New(s.Scenario+", sweep: "+s.standing(), "sweep.css")
	if err != nil {
		return err
	}
	d := &sweepPage{Sweep: s, Frame: frame, Standing: s.standing(),
		Size: phrase.Count(s.Points, "point") + ", " + phrase.Count(s.Seeds, "seed") + " each"}
	for i := range s.Laws {
		d.Maps = append(d.Maps, s.mapOnPage(&s.Laws[i]))
	}
	if s.Interrupted {
		d.Stopped = interruption
	}
	d.claims()
	d.facts()
	return page.Write(w, "sweep.html", d)
}

// sweepPage is what the template shows.
type sweepPage struct {
	*Sweep
	Standing, Class, Size string // the class is good, bad or open; empty if nothing was asserted
	Stopped               string
	Claims                []claimOnPage
	Maps                  []mapOnPage
	Stories               []sweepStory
	Facts                 []fact
	page.Frame
}

// claimOnPage is an assertion; its class is that of a law that came out so.
type claimOnPage struct{ Sign, Class, Text, Why string }

// mapOnPage is a law.
type mapOnPage struct {
	Law    string
	Wide   template.HTML // the picture for a desktop
	Narrow template.HTML // and for a phone
	Lines  []fact        // where it is safe, by the value of the other axis
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
func (d *sweepPage) claims() {
	d.Class = [...]string{"", "good"}[min(len(d.Assertions), 1)]
	for i := range d.Assertions {
		a := &d.Assertions[i]
		c := claimOnPage{Sign: a.Result.sign(), Text: a.Text, Class: "holds", Why: a.why()}
		switch {
		case a.Result == Failed:
			c.Class, d.Class = "violated", "bad"
		case a.Result != Passed:
			c.Class = "undecided"
			if d.Class != "bad" {
				d.Class = "open"
			}
		}
		d.Claims = append(d.Claims, c)
		if a.Run != nil {
			d.Stories = append(d.Stories, a.story())
		}
	}
}

// story tells what happened in the run that shows the failure.
func (a *SweepAssertion) story() sweepStory {
	s := sweepStory{Text: a.Text, Plan: a.Run.Plan, Seed: a.Run.Seed, Repeat: a.Run.Repeat}
	f := a.Run.Verdict.Of(a.Law)
	s.Law = lawStory{Law: string(a.Law), Cause: f.Outcome.String(), Explanation: f.Explanation, Remedy: f.Remedy}
	if f.Outcome == checker.Violated {
		s.Law.Cause = f.Cause.String()
	}
	for i, told := range a.Run.lanes().Told(f.Witness) {
		s.Law.Witness = append(s.Law.Witness, witnessLine{i + 1, told.Pos, phrase.Instant(told.At), told.Words})
	}
	return s
}

// pageInks names the colours of a picture by the page's own, which differ by theme.
var pageInks = func() *strings.Replacer {
	var pairs []string
	for _, ink := range []struct {
		is   color.Color
		name string
	}{{safeInk, "safe"}, {safeField, "safe-field"}, {badInk, "broken"}, {badField, "broken-field"}, {openInk, "open"}, {openField, "open-field"},
		{edgeInk, "edge"}, {claimInk, "claim"}, {softInk, "soft"}, {plotGround, "ground"}} {
		r, g, b, _ := ink.is.RGBA()
		pairs = append(pairs, fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8), "var(--map-"+ink.name+")")
	}
	return strings.NewReplacer(pairs...)
}()

// mapOnPage draws one law.
func (s *Sweep) mapOnPage(l *SweepLaw) mapOnPage {
	onPage := func(f frame) template.HTML { return template.HTML(pageInks.Replace(sweepSVG(s, l, f))) }
	m := mapOnPage{Law: string(l.Law), Wide: onPage(onDesktop), Narrow: onPage(onPhone)}
	for i := range l.Lines {
		along := &l.Lines[len(l.Lines)-1-i] // the highest first, as on the map
		name := s.Axes[along.Axis].Name
		if along.Other != "" {
			name = s.Axes[1-along.Axis].Name + " " + along.Other
		}
		m.Lines = append(m.Lines, fact{name, along.words("")})
		if !along.monotone() {
			m.Notes = append(m.Notes, along.place(s)+turnsTwice)
		}
	}
	for i := range l.Edges {
		if again := l.Edges[i].Repeat; again != "" {
			m.Repeats = append(m.Repeats, again)
		}
	}
	for _, c := range l.causes() {
		m.Causes = append(m.Causes, fmt.Sprintf("✗ %s: in %s at %s", c.cause, phrase.Count(c.runs, "run"), phrase.Count(c.points, "point")))
	}
	for _, c := range l.problems() {
		m.Causes = append(m.Causes, fmt.Sprintf("– %s: at %s", c.cause, phrase.Count(c.points, "point")))
	}
	return m
}

func (d *sweepPage) facts() {
	names := []string{"varied"}
	if len(d.Axes) == 2 {
		names = []string{"across", "upwards"}
	}
	for i, name := range names {
		d.Facts = append(d.Facts, fact{name, d.Axes[i].words()})
	}
	for _, fixed := range d.with() {
		d.Facts = append(d.Facts, fact{"with", fixed})
	}
	d.Facts = append(d.Facts, fact{"runs", strconv.Itoa(d.Runs)}, fact{"safe means", d.meaning()})
}
