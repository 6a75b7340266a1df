package compare

import (
	"fmt"
	"io"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// html writes the comparison as one self-contained page: what survives, what it takes, and what both rest on. The
// error is w's.
func (c *Report) html(w io.Writer) error {
	frame, err := html.New("Locks compared, "+text.Count(c.Seeds, "seed"), "compare.css")
	if err != nil {
		return err
	}
	t := compareTable{c}
	d := comparePage{Frame: frame, Report: c, Size: text.Count(c.Seeds, "seed"), MarkKey: pageKey(),
		Laws: document.LawNames(comparedLaws[:]), Files: t.files()}
	if c.Interrupted {
		d.Stopped = document.Interruption
	}
	key := timeKey()
	d.TimeHeads = []document.Fact{key[0], {Name: "p50"}, {Name: "p99"}, key[1],
		{Name: "cycles/s by one", Value: key[2].Value},
		{Name: fmt.Sprintf("by %d at once", c.Clients)}, {Name: "the article: latency, ops/s"}}
	for i := range c.Locks {
		l := &c.Locks[i]
		d.Rows = append(d.Rows, t.row(l, false))
		if withFencing(l) {
			d.Rows = append(d.Rows, t.row(l, true))
		}
		d.Timings = append(d.Timings, t.timing(l))
	}
	for _, n := range t.remarks() {
		d.Notes = append(d.Notes, document.Fact{Name: n.mark, Value: n.text})
	}
	return html.Write(w, "compare.html", d)
}

// comparePage is what the template shows.
type comparePage struct {
	html.Frame
	*Report
	Size, Stopped, Files string
	Rows                 []survivalRow
	Laws                 []string // that have a column, with the data's first
	MarkKey              []document.Fact
	TimeHeads            []document.Fact // the value explains the head
	Timings              []timingRow
	Notes                []document.Fact
}

// survivalRow is a lock, or the same lock with fencing.
type survivalRow struct {
	Title, Text string
	Fenced      bool
	Cells       []survivalCell
}

// survivalCell has a mark for each law; none, but a reason, if it was not run.
type survivalCell struct {
	Tip   string
	Marks []markOnPage
}

// markOnPage is how a law came out. What counts as survived has a class: kept, lost or open.
type markOnPage struct{ Sign, Class, Tip string }

type timingRow struct {
	Title, Text                                     string
	First, P50, P99, Asks, Alone, Together, Article string
	P50Share, AloneShare                            int // of the longest and of the most, in percent
}

func (t *compareTable) row(l *Lock, fencing bool) survivalRow {
	r := survivalRow{Title: l.Title, Text: l.Text, Fenced: fencing}
	for _, trouble := range t.Troubles {
		cell := survivalCell{}
		switch c := cellOf(l, trouble.Name, fencing); {
		case c == nil:
		case c.Absent != "":
			cell.Tip = c.Absent
		default:
			for _, law := range comparedLaws {
				came := c.Laws.Of(law)
				tip := fmt.Sprintf("%s, %s, fence %s\n%s: %s", l.Title, trouble.Title, onOff(fencing), law,
					countsInWords(came))
				cell.Marks = append(cell.Marks, markOnPage{Sign: came.Sign(), Tip: tip})
			}
			cell.Marks[0].Class = survived(c)
		}
		r.Cells = append(r.Cells, cell)
	}
	return r
}

// survived is the class of what counts as survived: the data is safe, or lost, or nothing shows either.
func survived(c *Survival) string {
	switch {
	case c.survives():
		return "kept"
	case c.Laws.Of(checker.ResourceSafety).Violated > 0:
		return "lost"
	}
	return "open"
}

// countsInWords says how often a law came out how.
func countsInWords(t campaign.Counts) string {
	var all []string
	for _, of := range []struct {
		n    int
		word string
	}{{t.Holds, "held"}, {t.Violated, "broken"}, {t.Undecided, "undecided"}, {t.Unchecked, "unchecked"},
		{t.NotRun, "not run"}} {
		if of.n > 0 {
			all = append(all, fmt.Sprintf("%s in %s", of.word, text.Count(of.n, "run")))
		}
	}
	return strings.Join(all, ", ")
}

func (t *compareTable) timing(l *Lock) timingRow {
	r := timingRow{Title: l.Title, Text: l.Text,
		First: text.Milliseconds(l.Alone.First), P50: text.Milliseconds(l.Alone.P50),
		P99:  text.Milliseconds(l.Alone.P99),
		Asks: text.Decimal(l.Alone.Requests), Alone: text.Decimal(l.Alone.PerSecond),
		Together: text.Decimal(l.Together.PerSecond), Article: claimed(l)}
	longest, most := l.Alone.P50, l.Alone.PerSecond
	for i := range t.Locks {
		longest, most = max(longest, t.Locks[i].Alone.P50), max(most, t.Locks[i].Alone.PerSecond)
	}
	if longest > 0 {
		r.P50Share = int(100 * l.Alone.P50 / longest)
	}
	if most > 0 {
		r.AloneShare = int(100 * l.Alone.PerSecond / most)
	}
	return r
}
