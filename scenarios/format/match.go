package format

import (
	"fmt"
	"math"
	"strconv"

	"github.com/fencepost-sim/fencepost/checker"
)

// Mismatch is a difference between a run's outcome and the scenario's expectation.
type Mismatch struct {
	Name string // the law or metric
	// the expected outcome, as in a scenario file; "not violated" for a law that the file does not name
	Want string
	Got  string // the actual outcome in the scenario file's words
}

// String returns, for example, "mutual-exclusion: expected holds, got violated by lost in crash (unsynced)".
func (m Mismatch) String() string {
	return fmt.Sprintf("%s: expected %s, got %s", m.Name, m.Want, m.Got)
}

// Match compares the outcome of a run with what the scenario expects.
//
// A law that the scenario does not name must not be violated, unless the promise excuses the cause. A law that the
// scenario names must have the expected outcome, unless the scenario accepts any outcome. If the scenario expects a
// cause, one of the violations must have it; further violations may have other causes.
//
// undecided reports that a named law is undecided, or unchecked because the servers did not record enough. That is not
// a mismatch, and neither is a violation whose cause the servers did not record. Law mismatches come first, in the
// order of checker.Laws, followed by metric mismatches.
func (e All) Match(v checker.Verdict, m checker.Metrics, p checker.Promise) (mismatches []Mismatch,
	undecided bool) {
	for _, law := range checker.Laws {
		got := v.Of(law)
		want, named := e.Laws[law]
		switch {
		case !named && got.Outcome != checker.Violated:
		case want.Any, !named && p.ExcusesAll(&got):
		case !named:
			mismatches = append(mismatches, Mismatch{string(law), "not violated", outcome(&got)})
		case got.Outcome == checker.Undecided, got.Outcome == checker.Unchecked && got.Unrecorded:
			undecided = true
		case !want.matches(got):
			mismatches = append(mismatches, Mismatch{string(law), want.String(), outcome(&got)})
		}
	}
	for _, b := range e.Metrics {
		if miss, ok := b.mismatch(m); ok {
			mismatches = append(mismatches, miss)
		}
	}
	return mismatches, undecided
}

func (e Law) matches(got checker.Finding) bool {
	if got.Outcome != e.Outcome {
		return false
	}
	if e.Outcome != checker.Violated || e.Cause.Kind == "" {
		return true
	}
	for b := range got.Breaches() {
		if b.Unrecorded || b.Cause.Kind == e.Cause.Kind && (e.Cause.Detail == "" || b.Cause.Detail == e.Cause.Detail) {
			return true
		}
	}
	return false
}

// String returns the expectation as it appears in a scenario file: "violated by lost in crash (unsynced)".
func (e Law) String() string {
	if e.Any {
		return "any"
	}
	if e.Outcome != checker.Violated || e.Cause.Kind == "" {
		return e.Outcome.String()
	}
	return e.Outcome.String() + " by " + e.Cause.String()
}

// outcome returns a finding's outcome and first cause, worded as in a scenario file.
func outcome(got *checker.Finding) string {
	return Law{Outcome: got.Outcome, Cause: got.Cause}.String()
}

// String returns the bound as it appears in the scenario file.
func (b Bound) String() string { return b.Text }

// mismatch reports whether the metric is outside its bound. A metric without samples does not satisfy any bound, unless
// it is a metric that is zero without samples. Therefore, a run in which nothing happened does not pass.
func (b Bound) mismatch(m checker.Metrics) (Mismatch, bool) {
	got, ok := m.Of(b.Name)
	known, _ := metricOf(b.Name)
	switch {
	case !ok || got.Samples == 0 && (known == nil || !known.zeroWithout):
		return Mismatch{b.Name, b.Text, "nothing to measure"}, true
	case got.Value >= b.Min && got.Value <= b.Max: // this is false for NaN
		return Mismatch{}, false
	}
	return Mismatch{b.Name, b.Text, metricText(got)}, true
}

// metricText formats a metric's value in the way that bounds are formatted.
func metricText(m checker.Metric) string {
	text := strconv.FormatFloat(m.Value, 'g', 6, 64)
	if m.Unit == inSeconds {
		return text + "s"
	}
	return text
}

// above returns the next floating-point number above x, and below the next one below x. They turn open bounds into
// closed bounds.
func above(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }

func below(x float64) float64 { return math.Nextafter(x, math.Inf(-1)) }
