package reports

import (
	"slices"

	"github.com/fencepost-sim/fencepost/reports/phrase"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/tally"
)

// toldLaw counts how a law came out that a scenario promises, or does not.
type toldLaw struct {
	tally.Law
	Promised bool
}

// promised says of each law whether the scenario promises it.
func promised(laws tally.Laws, s *scenarios.Scenario) (all []toldLaw) {
	for _, l := range laws {
		all = append(all, toldLaw{l, slices.Contains(s.Promise, l.Law)})
	}
	return all
}

// lawColumn is a number that the table tells of each law.
type lawColumn struct {
	title string
	end   int // where the title ends, and each number under it
	of    func(*toldLaw) int
}

// lawColumns are the columns with numbers, from left to right, in the tables of explore, verify and run --seeds.
var lawColumns = []lawColumn{
	{"held", 28, func(l *toldLaw) int { return l.Holds }},
	{"broken", 37, func(l *toldLaw) int { return l.Violated }},
	{"open", 44, func(l *toldLaw) int { return l.Undecided }},
	{"unseen", 52, func(l *toldLaw) int { return l.Unchecked }},
}

// lawTable counts how each law came out; last is the title of the column with the rate of violations, empty to leave it out.
func lawTable(p *page, laws []toldLaw, last string) {
	head, rate := new(line).add(bold, "law"), lawColumns[len(lawColumns)-1].end+2
	for _, c := range lawColumns {
		head.to(c.end-cells(c.title)).add(plain, c.title)
	}
	p.put(head.to(rate).add(plain, last))
	for i := range laws {
		l := &laws[i]
		mark, tone := l.sign()
		ln := new(line).add(plain, " ").add(tone, mark).add(plain, " ").add(bold, string(l.Law.Law))
		for _, c := range lawColumns {
			right(ln, c.end, c.of(l))
		}
		if tone == green {
			tone = plain
		}
		if last != "" {
			ln.to(rate).add(tone, l.rate())
		}
		p.put(ln)
	}
}

// sign is the mark of a law: a promise broken or kept, no promise, or nothing seen.
func (l *toldLaw) sign() (string, style) {
	switch {
	case l.Violated > 0 && l.Promised:
		return "✗", red
	case l.Violated > 0:
		return "·", plain
	case l.Holds > 0:
		return "✓", green
	}
	return "–", plain
}

// rate is the share of the runs that exercised the law in which it was broken, or below what that share lies.
func (l *toldLaw) rate() string {
	share := phrase.Percentage(float64(l.Violated) / float64(l.Violated+l.Holds))
	switch {
	case l.Violated > 0 && !l.Promised:
		return share + ", not promised"
	case l.Violated > 0:
		return share
	case l.Holds > 0:
		return "< " + phrase.Percentage(tally.UpperBound(l.Exercised())) + " (95 % sure)"
	}
	return ""
}
