package single

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/headline"
	"github.com/fencepost-sim/fencepost/reports/phrase"
	"github.com/fencepost-sim/fencepost/reports/report"
	"github.com/fencepost-sim/fencepost/reports/term"
)

// Promised is what a verification expects of a law, as ExpectLine.Expected.
const Promised = "promised"

// word stands at the right of the title: how the run stands to its scenario's expectation.
func (r *Run) word() string {
	if s := r.standing(); s != report.AsExpected || !r.Verdict.Violated() {
		return s
	}
	return report.BrokenAsExpected
}

// headline is what a person reads first. Of a run that came out otherwise than expected it says what nobody expected.
func (r *Run) headline() string {
	v := r.Verdict
	if !r.OK && r.Recording == nil {
		var surprise checker.Verdict
		for _, f := range v.Findings {
			if e := r.expectation(string(f.Law)); f.Outcome == checker.Violated && e != nil && !e.OK {
				surprise.Findings = append(surprise.Findings, f)
			}
		}
		if len(surprise.Findings) > 0 {
			v = surprise
		}
	}
	return headline.Of(r.Recorded(), v)
}

// intent says that all came out as the scenario expects, and what that is, or what came out otherwise. It is empty for
// a scenario that names nothing.
func (r *Run) intent() string {
	var broken, kept, figures, otherwise, unkept []string
	for _, e := range r.Expected {
		law := isLaw(e.Name)
		switch {
		case !e.OK && e.Expected == Promised:
			unkept = append(unkept, e.Name)
		case !e.OK:
			otherwise = append(otherwise, e.Name)
		case law && strings.HasPrefix(e.Expected, checker.Violated.String()):
			broken = append(broken, e.Name)
		case law && e.Expected == checker.Holds.String():
			kept = append(kept, e.Name)
		case !law:
			figures = append(figures, e.Name+" "+e.Expected)
		}
	}
	switch {
	case len(unkept) > 0:
		return "Not as promised: " + phrase.Join(unkept, " and ") + "."
	case len(otherwise) > 0:
		return "Not as expected: " + phrase.Join(otherwise, " and ") + "."
	}
	var parts []string
	if len(broken) > 0 {
		parts = append(parts, phrase.Join(broken, " and ")+" broken")
	}
	if len(kept) > 0 {
		parts = append(parts, phrase.Join(kept, " and ")+" kept")
	}
	parts = append(parts, figures...)
	if len(parts) == 0 || !r.OK {
		return ""
	}
	return "Came out as the file expects: " + strings.Join(parts, ", ") + "."
}

func isLaw(name string) bool {
	return slices.Contains(checker.Laws, checker.Law(name))
}

// opening is what comes before the picture: what ran, what came of it in a sentence, and what that was to show.
func opening(p *term.Writer, run *Run) {
	report.Title(p, run.Scenario, run.what(), run.word())
	p.Blank()
	p.Text(term.Bold, 0, run.headline())
	p.Blank()
	if run.Summary != "" {
		p.Text(term.Plain, 2, run.Summary)
	}
	if s := run.intent(); s != "" {
		tone := term.Plain
		if !run.OK {
			tone = term.Red
		}
		p.Text(tone, 2, s)
	}
}
