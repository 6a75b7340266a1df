package campaign

import (
	"math"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
)

// broken returns a verdict in which deadlock-freedom is violated, with the given causes.
func broken(causes ...checker.CauseKind) checker.Verdict {
	f := checker.Finding{Law: checker.DeadlockFreedom, Outcome: checker.Violated,
		Cause: checker.Cause{Kind: causes[0]}}
	for _, c := range causes[1:] {
		f.Further = append(f.Further, checker.Finding{Law: f.Law, Outcome: f.Outcome, Cause: checker.Cause{Kind: c}})
	}
	return checker.Verdict{Findings: []checker.Finding{f}}
}

// TestARunCountsForEachCause checks that a run counts once for its law and once for each cause. Adding separately
// counted parts must give the same result in any order.
func TestARunCountsForEachCause(t *testing.T) {
	runs := []checker.Verdict{broken(checker.NoQuorumLeft), broken(checker.StuckInCycle, checker.NoQuorumLeft),
		broken(checker.NoQuorumLeft, checker.StuckInCycle, checker.StuckWithoutHolder)}
	var all [2]Findings
	laws := NewLaws([]checker.Law{checker.DeadlockFreedom})
	for i, v := range runs {
		laws.Count(v)
		laws.Excuse(v, checker.Promise{})
		for k, at := range []int{i, len(runs) - 1 - i} {
			var part Findings
			part.Count(uint64(at), runs[at])
			all[k].Add(part)
		}
	}
	if c := laws[0].Counts; c.Violated != 3 || c.Excused != 1 {
		t.Errorf("counted %+v", c)
	}
	want := Findings{{checker.DeadlockFreedom, checker.Cause{Kind: checker.NoQuorumLeft}, 3, 0},
		{checker.DeadlockFreedom, checker.Cause{Kind: checker.StuckInCycle}, 2, 1},
		{checker.DeadlockFreedom, checker.Cause{Kind: checker.StuckWithoutHolder}, 1, 2}}
	for _, got := range all {
		if !slices.Equal(got, want) {
			t.Errorf("found %v, want %v", got, want)
		}
	}
}

// TestUpperBound checks that the bound is the rate at which n runs pass with a probability of 5%: (1 - rate)^n = 0.05.
func TestUpperBound(t *testing.T) {
	if UpperBound(0) != 1 {
		t.Error("something is known of no runs")
	}
	for _, n := range []int{1, 2, 10, 1000, 1_000_000} {
		if got := math.Pow(1-UpperBound(n), float64(n)); math.Abs(got-0.05) > 1e-9 {
			t.Errorf("%d runs pass at the bound with a chance of %g", n, got)
		}
	}
	if got := UpperBound(1000) * 1000; math.Abs(got-3) > 0.01 {
		t.Errorf("the rule of three gives %g", got)
	}
	for n, want := range map[int]int{0: 1, 1: 1, 40: 13, 200: 67, 2000: 668} {
		if got := OneIn(n); got != want {
			t.Errorf("%d runs: one in %d, want %d", n, got, want)
		}
	}
}

func TestALawIsMarkedKeptOnlyIfItHeldInEveryRun(t *testing.T) {
	for code := range 32 {
		c := Counts{Holds: code & 1, Violated: code >> 1 & 1, Undecided: code >> 2 & 1, Unchecked: code >> 3 & 1,
			NotRun: code >> 4}
		want := "?"
		switch {
		case c == Counts{Holds: 1}:
			want = "✓"
		case c == Counts{Violated: 1}:
			want = "✗"
		case c.Violated == 1:
			want = "±"
		}
		if got := c.Sign(); got != want {
			t.Errorf("%+v is marked %s, want %s", c, got, want)
		}
	}
}
