package single

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// TestNoTrialIsToldTwice checks that trials of equal faults are reported once if they have the same outcome.
func TestNoTrialIsToldTwice(t *testing.T) {
	pause, cut := "pause client-1 for 4s at 50ms", "cut client-1 | redis-1 at 5s for 100ms"
	for _, test := range []struct {
		plan, want []string
	}{
		{[]string{pause, cut, cut}, []string{`Without "pause client-1 for 4s at 50ms": holds.`}},
		{[]string{pause, pause}, []string{`Without "pause client-1 for 4s at 50ms" (2 times): holds; removing ` +
			"only some of them is not enough."}},
		{[]string{pause, pause, pause}, []string{`Without "pause client-1 for 4s at 50ms" (3 times): holds; removing ` +
			"only some of them is not enough."}},
	} {
		s, err := scenarios.Parse("twice.yaml", []byte("name: twice\nservers: {redis: 1}\nclients: 2\nlock: "+
			"{protocol: set-nx-px, ttl: 2s}\nlimit: 60s\n"))
		if err != nil {
			t.Fatal(err)
		}
		p := s.Plan(1)
		p.Faults = parsed(t, test.plan)
		result, err := scenarios.NewRunner(s).Run(p)
		if err != nil {
			t.Fatal(err)
		}
		v := checker.Check(result.History)
		if err := NewTrials(s).Try(p, result.History, &v); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, trial := range v.Of(checker.MutualExclusion).Trials {
			got = append(got, trial.String())
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%q:\n%q, want\n%q", test.plan, got, test.want)
		}
	}
}

// TestTrialsFindTheFaultsThatAViolationNeeds checks that trials find exactly the faults that a violation needs, in
// plans with a few faults and in plans with a hundred faults, most of which have no effect.
func TestTrialsFindTheFaultsThatAViolationNeeds(t *testing.T) {
	long, other, late := "pause client-1 for 4s at 50ms", "pause client-1 for 3.9s at 60ms",
		"pause client-2 for 1ms at 20s"
	for _, test := range []struct {
		why  string
		ttl  string
		plan []string
		// the faults that were removed in each trial without a violation; nil means all of the plan's faults
		needs [][]string
	}{
		{"one pause", "2s", []string{late, long}, [][]string{{long}}},
		{"each of two would do", "2s", []string{long, late, other}, [][]string{{long, other}}},
		{"nothing needs a fault", "50ms", []string{late}, nil},
	} {
		for _, idle := range []int{0, 100} {
			s, err := scenarios.Parse("trial.yaml", []byte("name: trial\nservers: {redis: 1}\nclients: 2\nlock: "+
				"{protocol: set-nx-px, ttl: "+test.ttl+"}\nlimit: 60s\n"))
			if err != nil {
				t.Fatal(err)
			}
			lines := test.plan
			for i := range idle {
				lines = append(lines, fmt.Sprintf("pause redis-1 for 1us at %dms", 30_000+i))
			}
			p := s.Plan(1)
			p.Faults = parsed(t, lines)
			result, err := scenarios.NewRunner(s).Run(p)
			if err != nil {
				t.Fatal(err)
			}
			v := checker.Check(result.History)
			if err := NewTrials(s).Try(p, result.History, &v); err != nil {
				t.Fatal(err)
			}
			f := v.Of(checker.MutualExclusion)
			var needs [][]string
			for _, trial := range f.Trials {
				if trial.Needed {
					needs = append(needs, trial.Faults)
				}
			}
			if f.Outcome != checker.Violated || !slices.EqualFunc(needs, test.needs, slices.Equal[[]string]) {
				t.Errorf("%s, %d idle faults: %s, needs %q, want %q", test.why, idle, f.Outcome, needs, test.needs)
			}
		}
	}
}

// TestThousandsOfFaultsAtOnceAreExplained checks the explanation for a holder with as many pauses, or cuts, as a plan
// may have. Any one of them is enough for the violation. The explanation must name a few of them and say that the
// violation disappears only if all of them are removed.
func TestThousandsOfFaultsAtOnceAreExplained(t *testing.T) {
	for _, test := range []struct{ fault, hold, lock string }{
		{"pause client-1 for 4s at %dms", "100ms", "{protocol: set-nx-px, ttl: 2s}"},
		{"cut client-1 | redis-1 at %dms for 4s", "5s", "{protocol: set-nx-px, ttl: 2s, extension: {}}"},
	} {
		s, err := scenarios.Parse("many.yaml", []byte("name: many\nservers: {redis: 1}\nclients: 2\nlock: "+test.lock+
			"\nwork: {hold: "+test.hold+", stop-when-lost: off}\nlimit: 60s\n"))
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for i := range 1000 {
			lines = append(lines, fmt.Sprintf(test.fault, 50+i))
		}
		p := s.Plan(1)
		p.Faults = parsed(t, lines)
		result, err := scenarios.NewRunner(s).Run(p)
		if err != nil {
			t.Fatal(err)
		}
		v := checker.Check(result.History)
		if err := NewTrials(s).Try(p, result.History, &v); err != nil {
			t.Fatal(err)
		}
		f := v.Of(checker.MutualExclusion)
		last := checker.Trial{}
		if len(f.Trials) > 0 {
			last = f.Trials[len(f.Trials)-1]
		}
		if f.Outcome != checker.Violated || len(f.Faults) == 0 || len(f.Faults) > 8 || len(last.Faults) > 0 ||
			last.Outcome == f.Outcome && last.Needed {
			t.Errorf("%s: %s by %s names %d; at last %+v", test.fault, f.Outcome, f.Cause, len(f.Faults), last)
		}
	}
}

func parsed(t *testing.T, lines []string) (faults []nemesis.Fault) {
	t.Helper()
	for _, line := range lines {
		f, err := nemesis.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		faults = append(faults, f)
	}
	return faults
}
