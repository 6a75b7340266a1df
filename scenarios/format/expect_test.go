package format_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios"
)

const oneRedis = "name: x\nservers: {redis: 1}\nlock: {protocol: set-nx-px}\n"

func parse(t *testing.T, text string) *scenarios.Scenario {
	t.Helper()
	s, err := scenarios.Parse("f.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// came returns a verdict in which one law has the given outcome and no other law was checked.
func came(law checker.Law, outcome checker.Outcome, cause checker.Cause) checker.Verdict {
	f := checker.Finding{Law: law, Outcome: outcome}
	if outcome == checker.Violated {
		f.Cause = cause
	}
	return checker.Verdict{Findings: []checker.Finding{f}}
}

// TestExpectationsMeetOutcomes checks, for every combination of an expectation and an outcome, whether the combination
// is a mismatch or leaves the run undecided.
func TestExpectationsMeetOutcomes(t *testing.T) {
	law := checker.MutualExclusion
	crash := checker.Cause{Kind: checker.LostInCrash, Detail: checker.Unsynced}
	for _, c := range []struct {
		expect string // empty if the scenario does not name the law
		// The results for the outcomes unchecked, holds, undecided, and violated with the cause lost in crash
		// (unsynced). A result is empty if the outcome is as expected.
		unchecked, holds, undecided, violated string
	}{
		{"", "", "", "",
			"expected not violated, got violated by lost in crash (unsynced)"},
		{"holds", "expected holds, got unchecked", "", "undecided",
			"expected holds, got violated by lost in crash (unsynced)"},
		{"any", "", "", "", ""},
		{"violated", "expected violated, got unchecked", "expected violated, got holds", "undecided", ""},
		{"violated by lost in crash", "expected violated by lost in crash, got unchecked",
			"expected violated by lost in crash, got holds", "undecided", ""},
		{"violated by lost in crash (unsynced)", "expected violated by lost in crash (unsynced), got unchecked",
			"expected violated by lost in crash (unsynced), got holds", "undecided", ""},
		{"violated by lost in crash (no persistence)",
			"expected violated by lost in crash (no persistence), got unchecked",
			"expected violated by lost in crash (no persistence), got holds", "undecided",
			"expected violated by lost in crash (no persistence), got violated by lost in crash (unsynced)"},
		{"violated by lost in failover", "expected violated by lost in failover, got unchecked",
			"expected violated by lost in failover, got holds", "undecided",
			"expected violated by lost in failover, got violated by lost in crash (unsynced)"},
	} {
		text := oneRedis
		if c.expect != "" {
			text += "expect: {mutual-exclusion: " + c.expect + "}\n"
		}
		e := parse(t, text).Expect
		for outcome, want := range []string{c.unchecked, c.holds, c.undecided, c.violated} {
			mismatches, undecided := e.Match(came(law, checker.Outcome(outcome), crash), nil, checker.Promise{})
			got := ""
			switch {
			case len(mismatches) > 0:
				got = strings.TrimPrefix(mismatches[0].String(), "mutual-exclusion: ")
			case undecided:
				got = "undecided"
			}
			if got != want || len(mismatches) > 1 {
				t.Errorf("expect %q, came out %v: got %q, want %q", c.expect, checker.Outcome(outcome), got, want)
			}
		}
	}
}

// TestAnExpectedCauseMayBeOneOfSeveral checks that if a law is expected to be violated with one cause, violations with
// other causes are accepted as well, in any order.
func TestAnExpectedCauseMayBeOneOfSeveral(t *testing.T) {
	v := came(checker.MutualExclusion, checker.Violated, checker.Cause{Kind: checker.LostInFailover})
	v.Findings[0].Further = []checker.Finding{{Law: checker.MutualExclusion, Outcome: checker.Violated,
		Cause: checker.Cause{Kind: checker.LostInCrash, Detail: checker.Unsynced}}}
	for expect, met := range map[string]bool{"violated": true, "violated by lost in failover": true,
		"violated by lost in crash": true, "violated by lost in crash (unsynced)": true,
		"violated by lost in crash (disk lost)": false, "violated by removed by non-owner": false, "holds": false} {
		e := parse(t, oneRedis+"expect: {mutual-exclusion: "+expect+"}\n").Expect
		if mismatches, undecided := e.Match(v, nil, checker.Promise{}); met != (len(mismatches) == 0) || undecided {
			t.Errorf("expect %q: %v", expect, mismatches)
		}
	}
}

// TestEveryCauseOfAnUnnamedLawMustBeExcused checks that a law that the scenario does not name may be violated only with
// causes that do not break a promise.
func TestEveryCauseOfAnUnnamedLawMustBeExcused(t *testing.T) {
	lost := checker.Cause{Kind: checker.NoQuorumLeft}
	v := came(checker.DeadlockFreedom, checker.Violated, lost)
	if mismatches, _ := parse(t, oneRedis).Expect.Match(v, nil, checker.Promise{}); len(mismatches) > 0 {
		t.Errorf("got %v", mismatches)
	}
	v.Findings[0].Further = []checker.Finding{{Law: checker.DeadlockFreedom, Outcome: checker.Violated,
		Cause: checker.Cause{Kind: checker.StuckWithoutHolder}}}
	if mismatches, _ := parse(t, oneRedis).Expect.Match(v, nil, checker.Promise{}); len(mismatches) != 1 {
		t.Errorf("with a further cause: got %v", mismatches)
	}
}

// TestWhatServersDoNotRecordIsNoMismatch checks what happens if servers do not record anything. A violation then
// matches whatever cause is expected, and a law that could not be checked leaves the run undecided.
func TestWhatServersDoNotRecordIsNoMismatch(t *testing.T) {
	for _, c := range []struct {
		expect     string
		outcome    checker.Outcome
		mismatches int
		undecided  bool
	}{
		{"holds", checker.Unchecked, 0, true},
		{"violated by lost in crash", checker.Unchecked, 0, true},
		{"any", checker.Unchecked, 0, false},
		{"violated by lost in crash", checker.Violated, 0, false},
		{"holds", checker.Violated, 1, false},
	} {
		v := came(checker.LeaseExclusion, c.outcome, checker.Cause{Kind: checker.CauseNotRecorded})
		v.Findings[0].Unrecorded = true
		e := parse(t, oneRedis+"expect: {lease-exclusion: "+c.expect+"}\n").Expect
		mismatches, undecided := e.Match(v, nil, checker.Promise{})
		if len(mismatches) != c.mismatches || undecided != c.undecided {
			t.Errorf("expect %q, came out %v: got %v, %t", c.expect, c.outcome, mismatches, undecided)
		}
	}
}

// TestEmptyVerdictIsNoPass checks that a verdict without a finding for an expected law does not pass.
func TestEmptyVerdictIsNoPass(t *testing.T) {
	e := parse(t, oneRedis+"expect: {ownership: holds, lease-exclusion: violated}\n").Expect
	mismatches, undecided := e.Match(checker.Verdict{}, nil, checker.Promise{})
	want := "[lease-exclusion: expected violated, got unchecked ownership: expected holds, got unchecked]"
	if fmt.Sprint(mismatches) != want || undecided {
		t.Errorf("got %v, %v, want %s", mismatches, undecided, want)
	}
}

func TestMetricsMeetBounds(t *testing.T) {
	for _, c := range []struct {
		bound   string
		inside  []float64
		outside []float64
	}{
		{`lock_contention_rate: 0`, []float64{0}, []float64{1e-300, 1}},
		{`lock_contention_rate: "> 30%"`, []float64{0.31, 1}, []float64{0, 0.3}},
		{`lock_contention_rate: "< 30%"`, []float64{0, 0.29}, []float64{0.3, 1, math.NaN()}},
		{`lock_contention_rate: ">= 30%"`, []float64{0.3, 1}, []float64{0.29, math.NaN()}},
		{`lock_contention_rate: "<= 30%"`, []float64{0, 0.3}, []float64{0.31}},
		{`lock_acquisition_time_p50: 2ms..10ms`, []float64{0.002, 0.005, 0.01}, []float64{0.0019, 0.0101}},
		{`'lock_acquisition_time_p99{process="client-2"}': ">= 9s"`, []float64{9, 10}, []float64{8.9}},
	} {
		e := parse(t, oneRedis+"expect:\n  metrics:\n    "+c.bound+"\n").Expect
		measured := func(v float64) checker.Metrics {
			return checker.Metrics{{Name: "other", Value: v, Samples: 1},
				{Name: e.Metrics[0].Name, Value: v, Samples: 1}}
		}
		for _, v := range c.inside {
			if m, _ := e.Match(checker.Verdict{}, measured(v), checker.Promise{}); len(m) > 0 {
				t.Errorf("%s refuses %v: %v", c.bound, v, m)
			}
		}
		for _, v := range c.outside {
			if m, _ := e.Match(checker.Verdict{}, measured(v), checker.Promise{}); len(m) != 1 {
				t.Errorf("%s admits %v: %v", c.bound, v, m)
			}
		}
	}
}

// TestNothingMeasuredIsNoPass checks that a metric without samples does not satisfy any bound. The exception is
// unavailability: if no client waited, it is zero.
func TestNothingMeasuredIsNoPass(t *testing.T) {
	e := parse(t, oneRedis+"expect: {metrics: {lock_timeout_rate: 0, unavailability: 0s}}\n").Expect
	got, _ := e.Match(checker.Verdict{}, checker.Measure(&history.History{}), checker.Promise{})
	if want := "[lock_timeout_rate: expected 0, got nothing to measure]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	got, _ = e.Match(checker.Verdict{},
		checker.Metrics{{Name: "lock_timeout_rate", Value: 0.25, Unit: "ratio", Samples: 4}}, checker.Promise{})
	want := "[lock_timeout_rate: expected 0, got 0.25 unavailability: expected 0s, got nothing to measure]"
	if fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
