package reports

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// toldLaw counts how a law came out that a scenario promises, or does not.
type toldLaw struct {
	campaign.Law
	Promised bool
	// Line compares it with what the scenario expects; nil where it is held to what is promised.
	Line *single.ExpectLine
}

// promised says of each law whether the scenario promises it.
func promised(laws campaign.Laws, s *scenarios.Scenario) (all []toldLaw) {
	for _, l := range laws {
		all = append(all, toldLaw{l, slices.Contains(s.Promise.Laws, l.Law), nil})
	}
	return all
}

// LawTable is the block that says of random runs how each law came out.
type LawTable struct {
	Laws    campaign.Laws
	Promise checker.Promise
}

// Text writes the table.
func (b LawTable) Text(p *text.Writer) {
	lawTable(p, promised(b.Laws, &scenarios.Scenario{Promise: b.Promise}), rated)
}

// HTML writes nothing.
func (LawTable) HTML(*html.Writer) {}

// lawColumn is a number that the table has for each law.
type lawColumn struct {
	title string
	end   int // where the title ends, and each number under it
	of    func(*toldLaw) int
}

// lawColumns are the columns with numbers, from left to right, in the tables of explore, verify and run --seeds.
var lawColumns = []lawColumn{
	{"held", 28, func(l *toldLaw) int { return l.Holds }},
	{"broken", 36, func(l *toldLaw) int { return l.Violated }},
	{"undecided", 46, func(l *toldLaw) int { return l.Undecided }},
	{"unchecked", 56, func(l *toldLaw) int { return l.Unchecked }},
}

// lawNote is the last column of the table, in words.
type lawNote struct {
	title string
	of    func(*toldLaw) string
}

// How often random faults break a law, and how the runs of many seeds compare with what is expected.
var (
	rated    = &lawNote{"share of runs", (*toldLaw).rate}
	compared = &lawNote{"came out", (*toldLaw).comparison}
)

// lawTable counts how each law came out; last may be nil.
func lawTable(p *text.Writer, laws []toldLaw, last *lawNote) {
	head, from := new(text.Line).Add(text.Bold, "law"), lawColumns[len(lawColumns)-1].end+2
	for _, c := range lawColumns {
		head.To(c.end-text.Cells(c.title)).Add(text.Plain, c.title)
	}
	if last != nil {
		head.To(from).Add(text.Plain, last.title)
	}
	p.Put(head)
	for i := range laws {
		l := &laws[i]
		mark, tone := l.sign()
		ln := new(text.Line).Add(text.Plain, " ").Add(tone, mark).Add(text.Plain, " ").Add(text.Bold, string(l.Law.Law))
		for _, c := range lawColumns {
			ln.Right(c.end, text.Grouped(c.of(l)))
		}
		if last != nil {
			words := last.of(l)
			ln.To(min(from, p.Width()-text.Cells(words))).Add(l.tone(), words)
		}
		p.Put(ln)
	}
}

// sign is the mark of a law: a promise or an expectation broken or kept, no promise, or nothing seen.
func (l *toldLaw) sign() (string, text.Style) {
	switch {
	case l.Line != nil && l.Line.Outcome == checker.Undecided && l.Line.OK():
		return "?", text.Yellow
	case l.Line != nil:
		sign := l.Line.Standing.Sign()
		return sign, document.Tones[sign]
	case l.Breaks() > 0 && l.Promised:
		return "✗", text.Red
	case l.Violated > 0:
		return "·", text.Plain
	case l.Holds > 0:
		return "✓", text.Green
	}
	return "–", text.Plain
}

// tone is that of the words about a law: red where it should not have been broken.
func (l *toldLaw) tone() text.Style {
	if l.Line == nil && l.Breaks() > 0 && l.Promised || l.Line != nil && !l.Line.OK() {
		return text.Red
	}
	return text.Plain
}

// comparison says whether a law that the scenario names came out as it expects.
func (l *toldLaw) comparison() string {
	if !l.Line.Compared() || l.Line.Standing.Result == document.Undecided {
		return ""
	}
	return l.Line.Stands()
}

// rate is the share of the runs that exercised the law in which a promise of it was broken, or it was broken at all if
// none was, or below what that share lies.
func (l *toldLaw) rate() string {
	share := func(n int) string { return text.Percentage(float64(n) / float64(l.Exercised())) }
	switch {
	case l.Breaks() > 0 && l.Promised:
		return share(l.Breaks())
	case l.Violated > 0:
		return share(l.Violated) + ", " + document.NotPromised
	case l.Holds > 0:
		return "< " + text.Percentage(campaign.UpperBound(l.Exercised())) + " (95 % sure)"
	}
	return ""
}
