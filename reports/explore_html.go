package reports

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// html writes an exploration as one self-contained page. pages are the files of the findings' own pages, in their
// order, relative to this one. The error is w's.
func (e *Exploration) html(w io.Writer, pagesOf []string) error {
	frame, err := html.New(fmt.Sprintf("%s, %s: %s", e.Scenario, e.size(), e.standing().Words()))
	if err != nil {
		return err
	}
	d := explorePage{Scenario: e.Scenario, Summary: e.Subject.Summary, Standing: e.standing().Words(),
		Class: e.standing().Tone().Class(), Size: e.size(), Open: e.open(), Notes: e.Doubts(), Repeat: e.Repeat, Frame: frame,
		Tally: tallyOnPage{Last: rated.title}}
	for _, g := range e.byPlan() {
		d.Groups = append(d.Groups,
			exploreGroup{Headline: g.headline(), Aside: !g.Findings[0].Promised, Plan: g.Findings[0].Run.Plan,
				Stories: g.stories(pagesOf)})
	}
	if slices.ContainsFunc(d.Groups, func(g exploreGroup) bool { return g.mentionsProbe() }) {
		d.Probe = document.ProbeIs
	}
	if e.Interrupted {
		d.Stopped = document.Interruption
	}
	d.Tally.Rows = lawRows(promised(e.Laws, e.Subject), rated)
	add := func(name string, f campaign.Fault) {
		if f.Drawn > 0 {
			d.FaultRows = append(d.FaultRows,
				faultRow{name, text.Grouped(f.Drawn), text.Grouped(f.Struck), text.Grouped(f.Met), share(f)})
		}
	}
	for _, f := range e.Faults {
		add(f.Kind.String(), f)
	}
	add("all", e.allFaults())
	return html.Write(w, "explore.html", d)
}

// explorePage is what the template shows.
type explorePage struct {
	Scenario, Summary, Standing, Class, Size, Stopped, Repeat, Probe string
	Tally                                                            tallyOnPage
	FaultRows                                                        []faultRow
	Groups                                                           []exploreGroup
	Open, Notes                                                      []string
	html.Frame
}

// tallyOnPage counts how laws came out.
type tallyOnPage struct {
	Rows []lawRow
	Last string // the title of the last column; empty if there is none
}

type lawRow struct{ Class, Sign, Law, Held, Broken, Undecided, Unchecked, Last string }

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
	return document.MentionsProbe(g.Headline) ||
		slices.ContainsFunc(g.Stories, func(s exploreStory) bool { return document.MentionsProbe(s.Explanation) })
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
func lawRows(laws []toldLaw, last *lawNote) (rows []lawRow) {
	for i := range laws {
		rows = append(rows, laws[i].row())
		if last != nil {
			rows[i].Last = last.of(&laws[i])
		}
	}
	return rows
}

func (l *toldLaw) row() lawRow {
	mark, tone := l.sign()
	r := lawRow{Class: "unchecked", Sign: mark, Law: string(l.Law.Law), Held: text.Grouped(l.Holds),
		Broken:    text.Grouped(l.Violated),
		Undecided: text.Grouped(l.Undecided), Unchecked: text.Grouped(l.Unchecked)}
	switch tone {
	case text.Red:
		r.Class = "violated"
	case text.Green:
		r.Class = "holds"
	case text.Yellow:
		r.Class = "undecided"
	}
	if l.Line != nil && !l.Line.OK() {
		r.Class += " unexpected"
	}
	return r
}

// share is how many of all that were drawn struck while the lock was held or asked for.
func share(f campaign.Fault) string {
	if f.Drawn == 0 {
		return ""
	}
	return strconv.Itoa(100*f.Met/f.Drawn) + " %"
}

// allFaults sums up.
func (e *Exploration) allFaults() (all campaign.Fault) {
	all.Drawn, all.Struck, all.Met = e.Drawn()
	return all
}

// size says how many plans were run.
func (e *Exploration) size() string {
	what := fmt.Sprintf("%s from %d", text.CountGrouped(e.Done, "random plan"), e.From)
	if e.Shard != search.Whole {
		what += ", shard " + e.Shard.String()
	}
	return what
}
