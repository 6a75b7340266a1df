package reports

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/phrase"
)

// TextOptions say what the reader's terminal can do.
type TextOptions struct {
	Width int  // cells; 0 stands for 80, less than 60 for 60
	Color bool // bold, red, green and yellow, by ANSI escapes
	All   bool // tell also what is kept for a second look; only ExploreText keeps anything back
}

func (o TextOptions) page(w io.Writer) *page {
	width := o.Width
	if width == 0 {
		width = 80
	}
	return &page{w: w, width: max(width, 60), color: o.Color}
}

// Text writes the report of one run: what came of it in a sentence, a timeline, the verdict, the story of each violation, the plan, and the command
// that shows it all again. No line is wider than opt.Width. The error is w's.
func (run *Run) Text(w io.Writer, opt TextOptions) error {
	p := opt.page(w)
	textRun(p, run)
	return p.err
}

func textRun(p *page, run *Run) {
	opening(p, run)
	p.blank()
	lanes := Arrange(run.history())
	timeline(p, lanes, witnesses(run))
	p.blank()
	verdictLines(p, run)
	for _, f := range run.findings() {
		if f.Outcome == checker.Violated {
			p.blank()
			violation(p, lanes, &f)
		}
	}
	p.blank()
	footer(p, run)
}

// title is the first line: what ran, and how it stands.
func title(p *page, name, what, standing string) {
	tone := red
	switch standing {
	case asExpected:
		tone = green
	case undecided, brokenAsExpected:
		tone = yellow
	}
	ln := new(line)
	room := p.width - cells(what) - cells(standing) - 6
	ln.add(bold, clip(name, room)).add(plain, "  "+what)
	p.put(ln.to(p.margin()-cells(standing)-2).add(plain, "  ").add(tone, standing))
}

// margin is the column at which the right-aligned words of the verdict end: near the eye also on a wide terminal.
func (p *page) margin() int { return min(p.width, 100) }

// witnesses is the set of positions that some violated law names.
func witnesses(run *Run) map[int]bool {
	h := run.history()
	set := map[int]bool{}
	for _, f := range run.Verdict.Findings {
		for _, pos := range f.Witness {
			if pos >= 0 && pos < len(h.Events) {
				set[pos] = true
			}
		}
	}
	return set
}

// sign is the mark of an outcome.
func sign(o checker.Outcome) (string, style) {
	switch o {
	case checker.Holds:
		return "✓", green
	case checker.Violated:
		return "✗", red
	case checker.Undecided:
		return "?", yellow
	}
	return "–", plain
}

func verdictLines(p *page, run *Run) {
	laws := map[string]bool{}
	for _, f := range run.findings() {
		laws[string(f.Law)] = true
		mark, tone := sign(f.Outcome)
		ln := new(line).add(plain, " ").add(tone, mark).add(plain, " ").add(bold, string(f.Law)).to(21)
		ln.add(tone, f.Outcome.String())
		if f.Outcome == checker.Violated {
			ln.add(plain, ": "+f.Cause.String())
		}
		e := run.expectation(string(f.Law))
		aside(p, ln, &f, e)
		expected(p, ln, e)
		if f.Outcome == checker.Undecided && f.Explanation != "" {
			p.text(plain, 21, f.Explanation)
		}
	}
	for i := range run.Expected {
		e := &run.Expected[i]
		if laws[e.Name] {
			continue
		}
		mark, tone := "✓", green
		if !e.OK {
			mark, tone = "✗", red
		}
		ln := new(line).add(plain, " ").add(tone, mark).add(plain, " ").add(bold, e.Name).add(plain, "  "+e.Got)
		expected(p, ln, e)
	}
}

// aside adds to a law that holds or could not be checked what was seen of it, where there is room.
func aside(p *page, ln *line, f *checker.Finding, e *ExpectLine) {
	room := p.width - ln.cells - 2
	if e != nil {
		room -= cells("  expected: " + e.Expected)
	}
	if f.Outcome != checker.Violated && f.Outcome != checker.Undecided && f.Explanation != "" && cells(f.Explanation) <= room {
		ln.add(plain, ": "+f.Explanation)
	}
}

// expected ends a verdict line with how it compares to what the scenario expects, on a line of its own if need be.
func expected(p *page, ln *line, e *ExpectLine) {
	if e == nil {
		p.put(ln)
		return
	}
	words, tone := "expected", plain
	if !e.OK {
		words, tone = "expected: "+e.Expected, red
	}
	if ln.cells+2+cells(words) <= p.width {
		p.put(ln.to(p.margin()-cells(words)-2).add(plain, "  ").add(tone, words))
		return
	}
	p.put(ln)
	for _, t := range wrap(words, p.width-21) {
		p.put(new(line).to(21).add(tone, t))
	}
}

// violation tells the story of one violated law.
func violation(p *page, l *Lanes, f *checker.Finding) {
	p.text(red, 0, fmt.Sprintf("%s violated: %s", f.Law, f.Cause))
	if f.Explanation != "" {
		p.text(plain, 2, f.Explanation)
	}
	for _, t := range f.Trials {
		p.text(plain, 2, t.String())
	}
	if f.Remedy != "" {
		p.hang(2, "Remedy: ", green, f.Remedy)
	}
	if len(f.Witness) == 0 {
		return
	}
	p.put(new(line).add(plain, "  Witness:"))
	t := teller{lanes: l, locks: len(l.Locks) > 1, long: true}
	for _, pos := range f.Witness {
		if pos < 0 || pos >= len(l.history.Events) {
			continue
		}
		e := &l.history.Events[pos]
		at := phrase.Clock(e.Time)
		p.hang(4, strings.Repeat(" ", max(9-len(at), 0))+at+" s  ", plain, t.tell(e))
	}
}

// hang writes text after a label; what does not fit goes on below the text, not below the label.
func (p *page) hang(indent int, label string, s style, text string) {
	from := indent + cells(label)
	for i, t := range wrap(text, p.width-from) {
		ln := new(line).to(indent)
		if i == 0 {
			ln.add(plain, label)
		}
		p.put(ln.to(from).add(s, t))
	}
}

// footer says what is needed to see the run again.
func footer(p *page, run *Run) {
	if len(run.Metrics) > 0 {
		metricLines(p, run.Metrics)
	}
	if len(run.Plan) == 0 {
		p.hang(0, "plan    ", plain, "no faults")
	}
	for i, fault := range run.Plan {
		label := "plan    "
		if i > 0 {
			label = "        "
		}
		if i < len(run.Idle) && run.Idle[i] != "" {
			p.hang(0, label, yellow, fault+" ("+run.Idle[i]+")")
			continue
		}
		p.hang(0, label, plain, fault)
	}
	h := run.history()
	p.hang(0, "run     ", plain, fmt.Sprintf("seed %d, digest %s, %s in the history, %d simulated, %s",
		run.Seed, cmp.Or(run.Digest, "unknown"), phrase.Count(len(h.Events), "event"), run.Events, phrase.Instant(history.Of(run.Simulated))))
	if run.Source != "" {
		p.hang(0, "source  ", plain, run.Source)
	}
	closing(p, run.Files, run.Repeat)
}
