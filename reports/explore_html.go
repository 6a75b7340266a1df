package reports

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/page"
	"github.com/fencepost-sim/fencepost/reports/phrase"
	"github.com/fencepost-sim/fencepost/reports/report"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/expect"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/tally"
)

// html writes an exploration as one self-contained page. pages are the files of the findings' own pages, in their
// order, relative to this one. The error is w's.
func (e *Exploration) html(w io.Writer, pagesOf []string) error {
	frame, err := page.New(fmt.Sprintf("%s, %s: %s", e.Scenario, e.size(), e.standing()))
	if err != nil {
		return err
	}
	d := explorePage{Scenario: e.Scenario, Summary: e.Subject.Summary, Standing: e.standing(), Class: "open",
		Size: e.size(), Open: e.open(), Notes: e.Doubts(), Repeat: e.Repeat, Frame: frame,
		Tally: tallyOnPage{Rated: true}}
	switch standing, _ := e.Standing(e.Subject); standing {
	case expect.Otherwise:
		d.Class = "bad"
	case expect.AsExpected:
		d.Class = "good"
	}
	for _, g := range e.byPlan() {
		d.Groups = append(d.Groups,
			exploreGroup{Headline: g.headline(), Aside: !g.Findings[0].Promised, Plan: g.Findings[0].Run.Plan,
				Stories: g.stories(pagesOf)})
	}
	if slices.ContainsFunc(d.Groups, func(g exploreGroup) bool { return g.mentionsProbe() }) {
		d.Probe = report.ProbeIs
	}
	if e.Interrupted {
		d.Stopped = report.Interruption
	}
	d.Tally.Rows = lawRows(e.Laws, e.Subject)
	add := func(name string, f tally.Fault) {
		if f.Drawn > 0 {
			d.FaultRows = append(d.FaultRows,
				faultRow{name, phrase.Grouped(f.Drawn), phrase.Grouped(f.Struck), phrase.Grouped(f.Met), share(f)})
		}
	}
	for _, f := range e.Faults {
		add(f.Kind.String(), f)
	}
	add("all", e.allFaults())
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

// tallyOnPage counts how laws came out. Rated says that the runs are a sample, of which a rate of violations can be
// told.
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
	Law, Cause, Size, Explanation, Remedy, Repeat, Page string
	Trials                                              []checker.Trial
}

func (g *exploreGroup) mentionsProbe() bool {
	return report.MentionsProbe(g.Headline) ||
		slices.ContainsFunc(g.Stories, func(s exploreStory) bool { return report.MentionsProbe(s.Explanation) })
}

func (g *planGroup) stories(pagesOf []string) []exploreStory {
	var all []exploreStory
	for k, f := range g.Findings {
		s := exploreStory{Law: string(f.Law), Cause: f.Cause.String(), Size: f.size(), Repeat: f.Run.Repeat}
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

// lawRows are the rows of laws on a page.
func lawRows(laws tally.Laws, s *scenarios.Scenario) (rows []lawRow) {
	for _, l := range promised(laws, s) {
		rows = append(rows, l.row())
	}
	return rows
}

func (l *toldLaw) row() lawRow {
	mark, _ := l.sign()
	r := lawRow{Class: "unchecked", Sign: mark, Law: string(l.Law.Law), Held: phrase.Grouped(l.Holds),
		Broken:    phrase.Grouped(l.Violated),
		Undecided: phrase.Grouped(l.Undecided), Unchecked: phrase.Grouped(l.Unchecked), Rate: l.rate()}
	switch {
	case l.Violated > 0 && l.Promised:
		r.Class = "violated"
	case l.Violated == 0 && l.Holds > 0:
		r.Class = "holds"
	}
	return r
}

// share is how many of all that were drawn struck while the lock was held or asked for.
func share(f tally.Fault) string {
	if f.Drawn == 0 {
		return ""
	}
	return strconv.Itoa(100*f.Met/f.Drawn) + " %"
}

// allFaults sums up.
func (e *Exploration) allFaults() (all tally.Fault) {
	all.Drawn, all.Struck, all.Met = e.Drawn()
	return all
}

// size says how many plans were run.
func (e *Exploration) size() string {
	what := fmt.Sprintf("%s from %d", phrase.CountGrouped(e.Done, "random plan"), e.From)
	if e.Shard != search.Whole {
		what += ", shard " + e.Shard.String()
	}
	return what
}
