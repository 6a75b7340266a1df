package format

import (
	"fmt"
	"math"
	"strconv"

	"github.com/fencepost-sim/fencepost/checker"
)

// Mismatch is a difference between the outcome of a run and what the scenario expects.
type Mismatch struct {
	Name string // the law or metric
	Want string // as the scenario file writes it; "not violated" for a law that it does not name
	Got  string // in the same words
}

// String gives "mutual-exclusion: expected holds, got violated by lost in crash (unsynced)".
func (m Mismatch) String() string {
	return fmt.Sprintf("%s: expected %s, got %s", m.Name, m.Want, m.Got)
}

// Match compares the outcome of a run with what the scenario expects. A law that is not named must not be violated,
// except by causes that the promise excuses; one that is named must come out as named, or in any way if any outcome
// will do. A law that is to be violated by a cause may be violated by others as well. Undecided reports that a named
// law could not be judged to its end, which is no mismatch; nor is a cause that servers did not record. Mismatches are
// in the order of checker.Laws, then of the file's metrics.
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

// matches reports whether a finding is the one expected.
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

// String gives the expectation as a scenario file writes it: "violated by lost in crash (unsynced)".
func (e Law) String() string {
	if e.Any {
		return "any"
	}
	if e.Outcome != checker.Violated || e.Cause.Kind == "" {
		return e.Outcome.String()
	}
	return e.Outcome.String() + " by " + e.Cause.String()
}

// outcome gives an outcome as a scenario file would expect it, with the first cause.
func outcome(got *checker.Finding) string {
	return Law{Outcome: got.Outcome, Cause: got.Cause}.String()
}

// String gives the bound as the scenario file writes it.
func (b Bound) String() string { return b.Text }

// mismatch reports whether the metric lies outside its bound. A metric without observations meets no bound, lest a run
// in which nothing happened should pass, unless it is truly zero then.
func (b Bound) mismatch(m checker.Metrics) (Mismatch, bool) {
	got, ok := m.Of(b.Name)
	known, _ := metricOf(b.Name)
	switch {
	case !ok || got.Samples == 0 && (known == nil || !known.zeroWithout):
		return Mismatch{b.Name, b.Text, "nothing to measure"}, true
	case got.Value >= b.Min && got.Value <= b.Max: // never true of NaN
		return Mismatch{}, false
	}
	return Mismatch{b.Name, b.Text, metricText(got)}, true
}

// metricText formats a value as a bound would be written.
func metricText(m checker.Metric) string {
	text := strconv.FormatFloat(m.Value, 'g', 6, 64)
	if m.Unit == inSeconds {
		return text + "s"
	}
	return text
}

// above is the least number greater than x, below the greatest less than it. They turn open bounds into closed ones.
func above(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }

func below(x float64) float64 { return math.Nextafter(x, math.Inf(-1)) }
