// Package compare tells how ways to lock stand to each other: all of them under the same work and the same faults, and
// the odds that a Redlock stops excluding.
//
// Goals: no width of a terminal loses a figure; what was not run, or came out differently from seed to seed, is said.
// Non-goals: measuring (scenarios/compare).
package compare

import (
	"fmt"
	"io"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// Report holds ways to lock against each other: the same work, the same faults.
type Report struct {
	*Comparison
	Files  string // the folder that holds each cell's scenario; empty if it was not asked for
	Repeat string // command to paste that makes the same comparison again
}

// Text writes the comparison as tables: one on a wide terminal, several on a narrow one. The error is w's.
func (c *Report) Text(w io.Writer, opt document.TextOptions) error {
	p := opt.Writer(w)
	p.Put(new(text.Line).Add(text.Bold, "The same work and the same faults, over all locks").Add(text.Plain,
		"  "+text.Count(c.Seeds, "seed")))
	for _, sentence := range c.Model {
		p.Text(text.Plain, 2, sentence)
	}
	p.Blank()
	t := compareTable{c}
	if p.Width() >= timeWidth+2+survivalWidth(len(c.Troubles)) {
		t.draw(p, true, c.Troubles)
	} else {
		t.draw(p, true, nil)
		for left := c.Troubles; len(left) > 0; {
			n := min(len(left), max(1, (p.Width()-titleWidth-fenceWidth)/troubleWidth))
			p.Blank()
			t.draw(p, false, left[:n])
			left = left[n:]
		}
	}
	p.Blank()
	t.legend(p)
	t.notes(p)
	p.Blank()
	document.Stopped(p, c.Interrupted)
	t.commands(p)
	return p.Err()
}

// hung writes a note after a word in the margin.
func hung(p *text.Writer, word, words string) {
	p.Hang(0, word+strings.Repeat(" ", max(titleWidth-text.Cells(word), 1)), text.Plain, words)
}

// timeKey says what the columns of time are.
func timeKey() []document.Fact {
	return []document.Fact{
		{Name: "first", Value: "the median of first acquires, which open connections and sessions; p50 and p99 are " +
			"of all later ones; nobody else wants the lock"},
		{Name: "asks each", Value: "requests of the client to lock servers, for each lock, from acquire to release"},
		{Name: "cycles/s", Value: "locks taken and given back in a second, one after another, by one client and by " +
			"several that contend"},
	}
}

// signs are the meanings of the four marks.
const signs = "held in every run; broken in every run; broken in some; never broken, but undecided or unchecked in some"

// markKey says what the marks of survival mean.
func markKey() []document.Fact {
	return []document.Fact{
		{Name: "d", Value: "the data is safe (resource-safety): what counts as survived"},
		{Name: "s l", Value: "no two sections overlap (mutual-exclusion); no two leases do (lease-exclusion)"},
		{Name: "p", Value: "who waits gets the lock (deadlock-freedom)"},
		{Name: "✓ ✗ ± ? –", Value: signs + "; not run"},
		{Name: "!", Value: "somebody waits for ever (deadlock-freedom)"},
		{Name: "fence", Value: "on: the resource refuses a fencing token lower than one it has seen. A lock without " +
			"the row gives no token"},
	}
}

// pageKey says what the columns and marks of the page mean.
func pageKey() []document.Fact {
	return []document.Fact{
		{Name: "coloured", Value: "resource-safety, the first of each four: what counts as survived"},
		{Name: "✓ ✗ ± ?", Value: signs},
		{Name: "with fencing", Value: "the resource refuses a fencing token lower than one it has seen. A lock " +
			"without the row gives no token"},
	}
}

// legend says what the columns, rows and marks mean.
func (t *compareTable) legend(p *text.Writer) {
	for _, f := range append(timeKey(), markKey()...) {
		hung(p, f.Name, f.Value)
	}
	p.Blank()
	for _, trouble := range t.Troubles {
		hung(p, trouble.Title, trouble.Text)
	}
	p.Blank()
	for i := range t.Locks {
		l := &t.Locks[i]
		words := l.Text
		if p.Width() < timeWidth && l.Claim.Latency != "" { // the table had no room for it
			words += " The article says " + claimed(l) + " ops/s."
		}
		hung(p, l.Title, words)
	}
}

// Suite has a case for each cell. A comparison judges nothing, so none of them passes or fails.
func (c *Report) Suite() document.Suite {
	s := document.Suite{Name: "compare", Repeat: c.Repeat, Cases: document.InterruptedCases("compare", c.Interrupted)}
	for _, l := range c.Locks {
		for _, cell := range l.Survival {
			if cell.Absent == "" {
				data := cell.Laws.Of(checker.ResourceSafety)
				s.Cases = append(s.Cases, document.Case{Group: l.Name, Name: cell.Scenario.Name,
					Message: fmt.Sprintf("compared, not judged: the data is kept in %d of %d runs", data.Holds,
						c.Seeds-data.NotRun)})
			}
		}
	}
	return s
}

// Pages is the one page of the comparison.
func (c *Report) Pages(path string) []document.Page {
	return []document.Page{{Path: path, Write: c.html}}
}
