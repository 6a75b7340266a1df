package single

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/register"
	"github.com/fencepost-sim/fencepost/checker/trace"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// Recording describes a history that was recorded elsewhere. The report shows this description instead of the seed, the
// digest and the plan. Because there are no expectations for such a history, it fails if any law is violated.
type Recording struct {
	Files []string
	Lock  string // kind of lock that the user gave; empty if none was given
	Cut   bool   // whether a file is truncated; if so, it is not known whether the other laws hold
	// Unreached lists the laws that are judged at the end of a recording and are undecided. It omits a law if it would
	// be violated if the clocks were exact. Most recordings have laws in this list.
	Unreached []checker.Law
}

// Standing returns the overall result for a recorded history: Failed if a law is violated; Undecided if a law is
// undecided, if none holds, or if a file is truncated; otherwise Passed. It ignores the laws in Unreached.
func (r *Run) Standing() document.Result {
	seen := map[checker.Outcome]bool{}
	for _, f := range r.Findings() {
		if !slices.Contains(r.Recording.Unreached, f.Law) {
			seen[f.Outcome] = true
		}
	}
	switch {
	case seen[checker.Violated]:
		return document.Failed
	case seen[checker.Undecided], !seen[checker.Holds], r.Recording.Cut:
		return document.Undecided
	}
	return document.Passed
}

// unreached returns the laws that are judged at the end of a recording and are undecided. It omits a law if it would be
// violated if the clocks were exact.
func unreached(h *history.History, v checker.Verdict) (laws []checker.Law) {
	exact := history.History{Header: h.Header, Events: h.Events}
	exact.Header.ClockError = 0
	var again checker.Checker
	for _, law := range checker.Laws {
		if !law.AtEnd() || v.Of(law).Outcome != checker.Undecided {
			continue
		}
		if f := again.CheckOnly(&exact, []checker.Law{law}).Findings[0]; f.Outcome != checker.Violated {
			laws = append(laws, law)
		}
	}
	return laws
}

// Judge checks the recorded history and sets the run fields that depend on the verdict.
func (r *Run) Judge() {
	h := r.Recorded()
	var registers bool
	if r.Verdict, registers = register.Check(h); !registers { // a history of registers has no lock metrics
		r.Verdict, r.Metrics = checker.CheckAndMeasure(h)
	}
	r.Events, r.Plan = len(h.Events), struckIn(h)
	for i := range h.Events {
		r.Simulated = max(r.Simulated, h.Events[i].Time.Duration())
	}
	r.Recording.Unreached = unreached(h, r.Verdict)
}

// recordedVerdict returns the verdict on the recorded history in a word or two.
func (r *Run) recordedVerdict() string {
	judged := slices.ContainsFunc(r.Findings(), func(f checker.Finding) bool { return f.Outcome != checker.Unchecked })
	switch s := r.Standing(); {
	case s == document.Passed:
		return document.NoViolation
	case s == document.Failed:
		return document.ViolatesLaw
	case !judged:
		return document.NothingJudged
	}
	return document.Undecided.String()
}

// recordedFacts returns everything needed to reproduce the verdict on the history.
func (r *Run) recordedFacts() document.Facts {
	h := r.Recorded()
	facts := document.Facts{{Name: "history", Value: text.Join(r.Recording.Files, " and ")},
		{Name: "reading", Value: h.Header.Reading.String()}}
	if lock := cmp.Or(r.Recording.Lock, map[bool]string{true: "reentrant"}[h.Header.Reentrant]); lock != "" {
		facts = append(facts, document.Fact{Name: "lock", Value: lock})
	}
	if h.Header.Initial != "" {
		facts = append(facts, document.Fact{Name: "initial", Value: h.Header.Initial})
	}
	if h.Header.ClockError > 0 {
		facts = append(facts, document.Fact{Name: "clocks",
			Value: "off by at most " + h.Header.OffBy()})
	}
	if until := h.Header.RecordedUntil(); until != "" {
		facts = append(facts, document.Fact{Name: "records", Value: "end at " + until})
	}
	return append(facts, document.Fact{Name: "events",
		Value: fmt.Sprintf("%d, in %s", len(h.Events), text.Instant(history.Of(r.Simulated)))})
}

// struckIn lists the distinct faults in a history, each with the number of times it struck.
func struckIn(h *history.History) (lines []string) {
	struck := map[string]int{}
	for _, f := range trace.Faults(h) {
		if struck[f.Line]++; struck[f.Line] == 1 {
			lines = append(lines, f.Line)
		}
	}
	for i, line := range lines {
		if n := struck[line]; n > 1 {
			lines[i] = fmt.Sprintf("%s (%d times)", line, n)
		}
	}
	return lines
}

// recordedSuite returns a suite with one case per law.
func (r *Run) recordedSuite() document.Suite {
	s := document.Suite{Name: "check " + r.Scenario, Repeat: r.Repeat}
	for _, f := range r.Findings() {
		c := document.Case{Group: r.Scenario, Name: string(f.Law), Result: document.Passed, Message: f.Came()}
		switch {
		case f.Outcome == checker.Violated:
			c.Result = document.Failed
			c.Story = explained(&f) + "again: " + r.Repeat
		case f.Outcome == checker.Unchecked, slices.Contains(r.Recording.Unreached, f.Law):
			c.Result, c.Message = document.NotJudged, f.Outcome.String()+": "+f.Explanation
		case f.Outcome == checker.Undecided:
			c.Result, c.Message = document.Undecided, "undecided: "+f.Explanation
		}
		s.Cases = append(s.Cases, c)
	}
	if r.Recording.Cut {
		s.Cases = append(s.Cases, document.OpenCases(r.Scenario, r.Notes[:1])...)
	}
	return s
}
