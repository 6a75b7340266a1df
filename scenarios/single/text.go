package single

import (
	"cmp"
	"fmt"
	"io"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/reports/timeline"
)

// Text writes the report of one run: what came of it in a sentence, a timeline, the verdict, the story of each
// violation, the plan, and the command that shows it all again. No line is wider than opt.Width. The error is w's.
func (run *Run) Text(w io.Writer, opt document.TextOptions) error {
	p := opt.Writer(w)
	Write(p, run)
	return p.Err()
}

// Write writes the report of one run within another report.
func Write(p *text.Writer, run *Run) {
	run.opening().Write(p)
	p.Blank()
	lanes := run.Lanes()
	lanes.Draw(p)
	p.Blank()
	verdictLines(p, run)
	for _, f := range run.Findings() {
		if f.Outcome == checker.Violated {
			p.Blank()
			Violation(p, lanes, &f)
		}
	}
	p.Blank()
	Footer(p, run)
}

// sign is the mark of an outcome.
func sign(o checker.Outcome) (string, text.Style) {
	switch o {
	case checker.Holds:
		return "✓", text.Green
	case checker.Violated:
		return "✗", text.Red
	case checker.Undecided:
		return "?", text.Yellow
	}
	return "–", text.Plain
}

func verdictLines(p *text.Writer, run *Run) {
	laws := map[string]bool{}
	for _, f := range run.Findings() {
		laws[string(f.Law)] = true
		mark, tone := sign(f.Outcome)
		ln := new(text.Line).Add(text.Plain, " ").Add(tone, mark).Add(text.Plain, " ").Add(text.Bold,
			string(f.Law)).To(21)
		ln.Add(tone, f.Outcome.String())
		if f.Outcome == checker.Violated {
			ln.Add(text.Plain, ": "+f.Cause.String())
		}
		e := run.expectation(string(f.Law))
		below := aside(p, ln, &f, e)
		expected(p, ln, e)
		if below != "" {
			p.Text(text.Plain, 21, below)
		}
		if who := f.Judges.String(); who != "" {
			p.Text(text.Plain, 21, who)
		}
	}
	for i := range run.Expected {
		e := &run.Expected[i]
		if laws[e.Name] {
			continue
		}
		mark, tone := "✓", text.Green
		if !e.OK() {
			mark, tone = "✗", text.Red
		}
		ln := new(text.Line).Add(text.Plain, " ").Add(tone, mark).Add(text.Plain, " ").Add(text.Bold,
			e.Name).Add(text.Plain, "  "+e.Got)
		expected(p, ln, e)
	}
}

// aside adds to a law that was not violated what was seen of it, where there is room. Why one is undecided or unchecked
// goes below its line if need be.
func aside(p *text.Writer, ln *text.Line, f *checker.Finding, e *ExpectLine) (below string) {
	words, _ := comparison(e)
	switch {
	case f.Outcome == checker.Violated || f.Explanation == "":
	case words == "" && ln.Cells()+text.Cells(": "+f.Explanation) <= p.Width(),
		ln.Cells()+text.Cells(": "+f.Explanation+"  "+words) <= p.Width():
		ln.Add(text.Plain, ": "+f.Explanation)
	case f.Outcome != checker.Holds:
		return f.Explanation
	}
	return ""
}

// comparison says how a law or metric compares to what is expected of it; nothing if nothing is.
func comparison(e *ExpectLine) (words string, tone text.Style) {
	if e == nil || e.Expected == "" && !e.Standing.Excused {
		return "", text.Plain
	}
	if !e.OK() {
		tone = text.Red
	}
	switch {
	case e.Standing.Excused:
		return document.NotPromised, tone
	case e.Standing.Promise:
		return Promised, tone
	case e.Standing.Result == document.Passed:
		return document.AsExpected, tone
	}
	return "expected: " + e.Expected, tone
}

// expected ends a verdict line with its comparison, on a line of its own if need be.
func expected(p *text.Writer, ln *text.Line, e *ExpectLine) {
	words, tone := comparison(e)
	if words == "" {
		p.Put(ln)
		return
	}
	if ln.Cells()+2+text.Cells(words) <= p.Width() {
		p.Put(ln.To(p.Margin()-text.Cells(words)-2).Add(text.Plain, "  ").Add(tone, words))
		return
	}
	p.Put(ln)
	for _, t := range text.Wrap(words, p.Width()-21) {
		p.Put(new(text.Line).To(21).Add(tone, t))
	}
}

// Violation tells the story of one violated law.
func Violation(p *text.Writer, l *timeline.Lanes, f *checker.Finding) {
	alone := f.Judges.Alone()
	if alone != "" {
		alone = " (" + alone + ")"
	}
	p.Text(text.Red, 0, fmt.Sprintf("%s violated%s: %s", f.Law, alone, f.Cause))
	if f.Explanation != "" {
		p.Text(text.Plain, 2, f.Explanation)
	}
	for _, t := range f.Trials {
		p.Text(text.Plain, 2, t.String())
	}
	if f.Remedy != "" {
		p.Hang(2, "Remedy: ", text.Green, f.Remedy)
	}
	if len(f.Witness) == 0 {
		return
	}
	p.Put(new(text.Line).Add(text.Plain, "  Witness:"))
	for _, told := range l.Told(f.Witness) {
		p.Hang(4, fmt.Sprintf("%9s s  ", l.Clock(told.At)), text.Plain, told.Words)
	}
}

// Footer says what is needed to see the run again.
func Footer(p *text.Writer, run *Run) {
	if len(run.Metrics) > 0 {
		metricLines(p, run.Metrics)
	}
	if run.Recording != nil {
		recordedFooter(p, run)
		document.Closing(p, run.Files, run.Repeat)
		return
	}
	if len(run.Plan) == 0 {
		p.Hang(0, "plan    ", text.Plain, "no faults")
	}
	for i, f := range run.planned() {
		label := "plan    "
		if i > 0 {
			label = "        "
		}
		if f.Idle != "" {
			p.Hang(0, label, text.Yellow, f.Line+" ("+f.Idle+")")
			continue
		}
		p.Hang(0, label, text.Plain, f.Line)
	}
	h := run.Recorded()
	took, events := text.Instant(history.Of(run.Simulated)), text.Count(len(h.Events), "event")+" in the history"
	if run.real() {
		p.Hang(0, "run     ", text.Plain, fmt.Sprintf("seed %d, %s, %s of real time", run.Seed, events, took))
	} else {
		p.Hang(0, "run     ", text.Plain, fmt.Sprintf("seed %d, digest %s, %s, %d simulated, %s", run.Seed,
			cmp.Or(run.Digest, "unknown"), events, run.Events, took))
	}
	for _, note := range run.Notes {
		p.Hang(0, "note    ", text.Yellow, note)
	}
	if run.Source != "" {
		p.Hang(0, "source  ", text.Plain, run.Source)
	}
	document.Closing(p, run.Files, run.Repeat)
}
