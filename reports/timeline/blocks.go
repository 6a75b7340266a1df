package timeline

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// Timeline is the block in a document that draws a history.
type Timeline struct {
	lanes   func() *Lanes
	leftOut []string
}

// New returns a timeline. It calls arrange for the timeline's lanes once, when the timeline is first shown.
func New(arrange func() *Lanes) *Timeline { return &Timeline{lanes: sync.OnceValue(arrange)} }

// Text draws the history with time running downward.
func (t *Timeline) Text(p *text.Writer) { t.lanes().draw(p) }

// HTML draws the history with time running to the right.
func (t *Timeline) HTML(p *html.Writer) {
	chart := t.lanes().chart()
	t.leftOut = chart.Notes
	p.Put(chart.card())
	p.Script(script)
}

// LeftOut lists what the picture on the page omits, one sentence per item. It is empty until HTML has drawn the
// picture.
func (t *Timeline) LeftOut() []string { return t.leftOut }

// Story returns the block that explains a law violation and lists the events in its witness. On a page that also shows
// the timeline, these events are linked to their numbers in the picture.
func (t *Timeline) Story(f checker.Finding) Story { return Story{f, t} }

// Story explains a law violation.
type Story struct {
	checker.Finding
	timeline *Timeline
}

// Text writes the explanation, the remedy and the witness. It also says, for each trial, whether the law was still
// violated without the faults that were left out.
func (s Story) Text(p *text.Writer) {
	alone := s.Judges.Alone()
	if alone != "" {
		alone = " (" + alone + ")"
	}
	p.Text(text.Red, 0, fmt.Sprintf("%s violated%s: %s", s.Law, alone, s.Cause))
	if s.Explanation != "" {
		p.Text(text.Plain, 2, s.Explanation)
	}
	for _, t := range s.Trials {
		p.Text(text.Plain, 2, t.String())
	}
	if s.Remedy != "" {
		p.Hang(2, "Remedy: ", text.Green, s.Remedy)
	}
	if len(s.Witness) == 0 {
		return
	}
	p.Put(new(text.Line).Add(text.Plain, "  Witness:"))
	l := s.timeline.lanes()
	for _, event := range l.describe(s.Witness) {
		p.Hang(4, fmt.Sprintf("%9s s  ", l.clock(event.At)), text.Plain, event.Words)
	}
}

// HTML writes the same as Text, in a separate card.
func (s Story) HTML(p *html.Writer) {
	p.Put(html.El("section", html.Class("card story"), html.Newline, html.Finding(&s.Finding),
		html.If(len(s.Witness) > 0, s.witness()), html.Newline), html.Newline)
}

// witness lists the events that show the violation. For each event, it gives its number in the picture, the time and a
// description.
func (s Story) witness() html.Part {
	l := s.timeline.lanes()
	numbers := l.numbers()
	return html.El("ol", html.Class("witness"), html.Newline,
		html.Each(l.describe(s.Witness), func(e described) html.Part {
			return html.All(html.El("li", html.Attr("data-ev", e.Pos, "tabindex", 0),
				html.El("i", html.Class("number"), html.Text(strconv.Itoa(numbers[e.Pos]))),
				html.El("span", html.Class("time"), html.Text(l.instant(e.At))),
				html.El("span", html.Text(e.Words))), html.Newline)
		}))
}

// numbers gives each witness event a number, in history order. The result's keys are the events' positions.
func (l *Lanes) numbers() map[int]int {
	all := map[int]int{}
	for i, pos := range slices.Sorted(maps.Keys(l.witness)) {
		all[pos] = i + 1
	}
	return all
}
