package compare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
)

type compareTable struct{ *Report }

// The columns of the table, in cells.
const (
	titleWidth   = 17
	fenceWidth   = 6
	troubleWidth = 9
	timeWidth    = 76
)

// timeColumns end at these cells; what the article says begins at the last.
var timeColumns = []int{23, 29, 36, 42, 51, 59, 62}

// survivalWidth is what the columns of n troubles take, without the locks' titles.
func survivalWidth(n int) int { return fenceWidth + troubleWidth*n }

// draw draws the figures of time, or what is survived of some troubles, or both side by side.
func (t *compareTable) draw(p *text.Writer, times bool, troubles []Trouble) {
	from := titleWidth
	if times {
		from = timeWidth + 2
	}
	for row := range 2 {
		ln := new(text.Line)
		if row == 1 {
			ln.Add(text.Bold, "lock")
		}
		if times {
			t.timeHead(p, ln, row)
		}
		if len(troubles) > 0 {
			survivalHead(ln, row, from, troubles)
		}
		p.Put(ln)
	}
	for i := range t.Locks {
		l := &t.Locks[i]
		ln := new(text.Line).Add(text.Bold, l.Title)
		if times {
			t.times(p, ln, l)
		}
		if len(troubles) > 0 {
			survivalMarks(ln, l, false, from, troubles)
		}
		p.Put(ln)
		if len(troubles) > 0 && withFencing(l) {
			ln := new(text.Line)
			survivalMarks(ln, l, true, from, troubles)
			p.Put(ln)
		}
	}
}

// withFencing reports whether any cell was run with fencing.
func withFencing(l *Lock) bool {
	return slices.ContainsFunc(l.Survival, func(c Survival) bool { return c.Fencing && c.Absent == "" })
}

// columns writes words right-aligned under the columns of time. What the article says is left-aligned, and left out
// where there is no room for it.
func columns(p *text.Writer, ln *text.Line, words ...string) {
	for i, w := range words {
		if w == "" {
			continue
		}
		at := timeColumns[i]
		if i < len(timeColumns)-1 {
			at -= text.Cells(w)
		} else if p.Width() < timeWidth {
			return
		}
		ln.To(at).Add(text.Plain, w)
	}
}

func (t *compareTable) timeHead(p *text.Writer, ln *text.Line, row int) {
	if row == 0 {
		columns(p, ln, "", "", "acquire, in ms", "asks", "cycles/s", fmt.Sprintf("by %d", t.Clients), "the article:")
		return
	}
	columns(p, ln, "first", "p50", "p99", "each", "by one", "at once", "latency, ops/s")
}

func (t *compareTable) times(p *text.Writer, ln *text.Line, l *Lock) {
	columns(p, ln, text.Milliseconds(l.Alone.First), text.Milliseconds(l.Alone.P50),
		text.Milliseconds(l.Alone.P99),
		text.Decimal(l.Alone.Requests), text.Decimal(l.Alone.PerSecond), text.Decimal(l.Together.PerSecond),
		claimed(l))
}

// claimed are what the documents say of the lock.
func claimed(l *Lock) string {
	if l.Claim.Latency == "" {
		return "–"
	}
	return l.Claim.Latency + ", " + strings.TrimSuffix(l.Claim.Throughput, " ops/s")
}

func survivalHead(ln *text.Line, row, from int, troubles []Trouble) {
	if row == 1 {
		ln.To(from).Add(text.Plain, "fence")
	}
	for i, trouble := range troubles {
		ln.To(from + fenceWidth + i*troubleWidth)
		if row == 0 {
			ln.Add(text.Bold, trouble.Title)
		} else {
			ln.Add(text.Plain, map[bool]string{false: "d s l", true: "d s p"}[trouble.Liveness])
		}
	}
}

func survivalMarks(ln *text.Line, l *Lock, fencing bool, from int, troubles []Trouble) {
	ln.To(from).Add(text.Plain, onOff(fencing))
	for i, trouble := range troubles {
		ln.To(from + fenceWidth + i*troubleWidth)
		c := cellOf(l, trouble.Name, fencing)
		if c == nil || c.Absent != "" {
			ln.Add(text.Plain, "–")
			continue
		}
		for k, m := range marksOf(c, trouble.Liveness) {
			if k > 0 && k < 3 {
				ln.Add(text.Plain, " ")
			}
			ln.Add(m.tone, m.sign)
		}
	}
}

func cellOf(l *Lock, trouble string, fencing bool) *Survival {
	for i := range l.Survival {
		if c := &l.Survival[i]; c.Trouble == trouble && c.Fencing == fencing {
			return c
		}
	}
	return nil
}

// comparedLaws are those that a cell tells of: those of safety first.
var comparedLaws = [...]checker.Law{checker.ResourceSafety, checker.MutualExclusion, checker.LeaseExclusion,
	checker.DeadlockFreedom}

// cellMark is a sign in a cell.
type cellMark struct {
	sign string
	tone text.Style
}

// marks are one for each law of safety, and a fourth if somebody waits for ever; where the trouble is about who still
// gets the lock, that is the third.
func marksOf(c *Survival, liveness bool) (all []cellMark) {
	third := checker.LeaseExclusion
	if liveness {
		third = checker.DeadlockFreedom
	}
	for _, law := range []checker.Law{checker.ResourceSafety, checker.MutualExclusion, third} {
		mark := c.Laws.Of(law).Sign()
		all = append(all, cellMark{mark, document.Tones[mark]})
	}
	if c.Laws.Of(checker.DeadlockFreedom).Violated > 0 && !liveness {
		all = append(all, cellMark{"!", text.Red})
	}
	return all
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// remarks are the notes, each with its mark.
func (t *compareTable) remarks() []compareNote {
	lines := t.absent()
	for i := range t.Locks {
		for k := range t.Locks[i].Survival {
			lines = append(lines, t.uneven(&t.Locks[i], &t.Locks[i].Survival[k])...)
		}
	}
	return lines
}

// notes say why cells are empty, and what does not come out alike for all seeds or leaves somebody waiting.
func (t *compareTable) notes(p *text.Writer) {
	lines := t.remarks()
	if len(lines) > 0 {
		p.Blank()
	}
	for _, note := range lines {
		hung(p, note.mark, note.text)
	}
}

type compareNote struct{ mark, text string }

// absent lists the reasons for which cells are empty, each with its locks.
func (t *compareTable) absent() []compareNote {
	var reasons []string
	locks := map[string][]string{}
	for i := range t.Locks {
		for _, c := range t.Locks[i].Survival {
			if c.Absent == "" || c.Fencing && !withFencing(&t.Locks[i]) {
				continue
			}
			if locks[c.Absent] == nil {
				reasons = append(reasons, c.Absent)
			}
			if of := locks[c.Absent]; !slices.Contains(of, t.Locks[i].Title) {
				locks[c.Absent] = append(of, t.Locks[i].Title)
			}
		}
	}
	var out []compareNote
	for _, why := range reasons {
		out = append(out, compareNote{"–", why + ": " + strings.Join(locks[why], "; ")})
	}
	return out
}

// uneven gives the counts of what came out differently from seed to seed, or is not decided, and of who is stuck.
func (t *compareTable) uneven(l *Lock, c *Survival) []compareNote {
	if c.Absent != "" {
		return nil
	}
	var out []compareNote
	for _, law := range comparedLaws {
		tally := c.Laws.Of(law)
		mark := tally.Sign()
		if law == checker.DeadlockFreedom && tally.Violated > 0 && !t.liveness(c.Trouble) {
			mark = "!"
		}
		if mark == "✓" || mark == "✗" {
			continue
		}
		text := fmt.Sprintf("%s, %s, fence %s: %s broken in %d of %d runs", l.Title, t.title(c.Trouble),
			onOff(c.Fencing), law, tally.Violated, t.Seeds-tally.NotRun)
		if tally.Undecided > 0 {
			text += fmt.Sprintf(", undecided in %d", tally.Undecided)
		}
		if tally.Unchecked > 0 {
			text += fmt.Sprintf(", unchecked in %d", tally.Unchecked)
		}
		out = append(out, compareNote{mark, text})
	}
	return out
}

// liveness reports whether a trouble is about who still gets the lock.
func (t *compareTable) liveness(trouble string) bool {
	return slices.ContainsFunc(t.Troubles, func(of Trouble) bool { return of.Name == trouble && of.Liveness })
}

// title is the heading of a trouble.
func (t *compareTable) title(trouble string) string {
	for _, of := range t.Troubles {
		if of.Name == trouble {
			return of.Title
		}
	}
	return trouble
}

// files says how a cell is run again.
func (t *compareTable) files() string {
	again := "fencepost run FILE --seeds " + strconv.Itoa(t.Seeds)
	if t.Files == "" {
		return "The scenario behind each cell is written with --out DIR, for: " + again
	}
	return t.Files + " holds the scenario behind each cell, which expects what came out here. " + again + " repeats it"
}

// commands are what to paste to see the comparison, or one cell of it, again.
func (t *compareTable) commands(p *text.Writer) {
	if t.Files == "" {
		p.Text(text.Plain, 0, t.files())
	} else {
		p.Hang(0, "files   ", text.Plain, t.files())
	}
	if t.Repeat != "" {
		document.Again(p, t.Repeat)
	}
}
