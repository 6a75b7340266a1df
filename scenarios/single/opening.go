package single

import (
	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/headline"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// Promised is what a verification expects of a law, as ExpectLine.Expected.
const Promised = "promised"

// words stand at the right of the title: the verdict.
func (r *Run) words() string {
	if r.Recording != nil {
		return r.recordedWords()
	}
	return r.standing().Words()
}

// Headline is what a person reads first.
func (r *Run) Headline() string { return headline.Of(r.Recorded(), r.telling()) }

// Gravest is the law whose violation the headline is about; empty if none was violated.
func (r *Run) Gravest() checker.Law {
	if f := headline.Gravest(r.telling()); f != nil {
		return f.Law
	}
	return ""
}

// telling is what the headline is about: of a run that came out otherwise than expected, what nobody expected.
func (r *Run) telling() checker.Verdict {
	if r.OK || r.Recording != nil {
		return r.Verdict
	}
	var surprise checker.Verdict
	for _, f := range r.Verdict.Findings {
		if e := r.expectation(string(f.Law)); f.Outcome == checker.Violated && e != nil && !e.OK() {
			surprise.Findings = append(surprise.Findings, f)
		}
	}
	if len(surprise.Findings) > 0 {
		return surprise
	}
	return r.Verdict
}

// Opening is what a report begins with, of one run or of many: what ran, the verdict, what happened in a sentence, and
// what was expected.
type Opening struct {
	Name, What, Words string
	Tone              text.Style
	Headline          string
	Summary           string // of the scenario; may be empty
	Intent            string // may be empty
	OK                bool   // it is as expected
	Idle              string // which faults can have had no effect; empty if all can
}

// Write writes it.
func (o Opening) Write(p *text.Writer) {
	p.Title(o.Name, o.What, o.Words, o.Tone)
	p.Blank()
	p.Text(text.Bold, 0, o.Headline)
	if o.Summary+o.Intent+o.Idle != "" {
		p.Blank()
	}
	if o.Summary != "" {
		p.Text(text.Plain, 2, o.Summary)
	}
	if o.Intent != "" {
		tone := text.Plain
		if !o.OK {
			tone = text.Red
		}
		p.Text(tone, 2, o.Intent)
	}
	if o.Idle != "" {
		p.Text(text.Yellow, 2, o.Idle)
	}
}

func (r *Run) opening() Opening {
	return Opening{r.Scenario, r.what(), r.words(), r.standing().Tone(), r.Headline(), r.Summary,
		Intent(r.Expected, r.OK), r.OK, r.idle()}
}
