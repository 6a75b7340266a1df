package reports

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/page"
	"github.com/fencepost-sim/fencepost/reports/phrase"
)

// ExploreHTML writes an exploration as one self-contained page. pages are the files of the findings' own pages, in their
// order, relative to this one. The error is w's.
func ExploreHTML(w io.Writer, e *Exploration, pagesOf []string) error {
	frame, err := page.New(fmt.Sprintf("%s, %s: %s", e.Scenario, e.size(), e.standing()))
	if err != nil {
		return err
	}
	d := explorePage{Scenario: e.Scenario, Summary: e.Summary, Standing: e.standing(), Class: "open", Size: e.size(), Open: e.Open,
		Notes: e.Notes, Repeat: e.Repeat, Frame: frame,
		Tally: tallyOnPage{Rated: true}}
	switch {
	case e.Broken:
		d.Class = "bad"
	case e.OK:
		d.Class = "good"
	}
	for _, g := range e.byPlan() {
		d.Groups = append(d.Groups, exploreGroup{Headline: g.Headline(), Aside: !g.Findings[0].Promised, Plan: g.Findings[0].Run.Plan,
			Stories: g.stories(pagesOf)})
	}
	if slices.ContainsFunc(d.Groups, func(g exploreGroup) bool { return g.mentionsProbe() }) {
		d.Probe = probeIs
	}
	if e.Interrupted {
		d.Stopped = interruption
	}
	for i := range e.Laws {
		d.Tally.Rows = append(d.Tally.Rows, e.Laws[i].row())
	}
	for _, f := range append(e.Faults, e.allFaults()) {
		if f.Drawn > 0 {
			d.FaultRows = append(d.FaultRows, faultRow{f.Kind, phrase.Grouped(f.Drawn), phrase.Grouped(f.Struck), phrase.Grouped(f.Met), f.share()})
		}
	}
	return page.Write(w, "explore.html", d)
}

// explorePage is what the template shows.
type explorePage struct {
	Scenario, Summary, Standing, Class, Size, Stopped, Repeat, Probe string
	Tally                                                            tallyOnPage
	FaultRows                                                        []faultRow
	Groups                                                           []exploreGroup
	Open, Notes                                                      []string
	page.Frame
}

// tallyOnPage counts how laws came out. Rated says that the runs are a sample, of which a rate of violations can be told.
type tallyOnPage struct {
	Rows  []lawRow
	Rated bool
}

type lawRow struct{ Class, Sign, Law, Held, Broken, Undecided, Unchecked, Rate string }

type faultRow struct{ Kind, Drawn, Struck, Met, Share string }

// exploreGroup is what one smallest plan breaks.
type exploreGroup struct {
	Headline string
	Aside    bool // nothing that was promised
	Plan     []string
	Stories  []exploreStory
}

type exploreStory struct {
	*ExploredFinding
	Size, Explanation, Remedy, Repeat, Page string
	Trials                                  []checker.Trial
}

func (g *exploreGroup) mentionsProbe() bool {
	return mentionsProbe(g.Headline) || slices.ContainsFunc(g.Stories, func(s exploreStory) bool { return mentionsProbe(s.Explanation) })
}

func (g *planGroup) stories(pagesOf []string) []exploreStory {
	var all []exploreStory
	for k, f := range g.Findings {
		s := exploreStory{ExploredFinding: f, Size: f.size(), Repeat: f.Run.Repeat}
		if g.at[k] < len(pagesOf) {
			s.Page = pagesOf[g.at[k]]
		}
		if told := f.finding(); told != nil {
			s.Explanation, s.Remedy, s.Trials = told.Explanation, told.Remedy, told.Trials
		}
		all = append(all, s)
	}
	return all
}

func (l *ExploredLaw) row() lawRow {
	mark, _ := l.sign()
	r := lawRow{Class: "unchecked", Sign: mark, Law: l.Law, Held: phrase.Grouped(l.Holds), Broken: phrase.Grouped(l.Violated),
		Undecided: phrase.Grouped(l.Undecided), Unchecked: phrase.Grouped(l.Unchecked), Rate: l.rate()}
	switch {
	case l.Violated > 0 && l.Promised:
		r.Class = "violated"
	case l.Violated == 0 && l.Holds > 0:
		r.Class = "holds"
	}
	return r
}

// share is how many of all that were drawn met a lock in use.
func (f ExploredFault) share() string {
	if f.Drawn == 0 {
		return ""
	}
	return strconv.Itoa(100*f.Met/f.Drawn) + " %"
}

// allFaults sums up.
func (e *Exploration) allFaults() ExploredFault {
	sum := ExploredFault{Kind: "all"}
	for _, f := range e.Faults {
		sum.Drawn, sum.Struck, sum.Met = sum.Drawn+f.Drawn, sum.Struck+f.Struck, sum.Met+f.Met
	}
	return sum
}

// size says how many plans were run.
func (e *Exploration) size() string {
	what := fmt.Sprintf("%s from %d", phrase.CountGrouped(e.Runs, "random plan"), e.From)
	if e.Shard != "" {
		what += ", shard " + e.Shard
	}
	return what
}
