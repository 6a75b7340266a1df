package single

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios"
)

var raises = regexp.MustCompile(` Raise limit from \S+ to (\S+): then it (.*)\.$`)

// TestAnUndecidedLawSaysWhichLimitDecidesIt checks the explanations of laws that are undecided because a run of one of
// the catalog's scenarios ended too early. If the explanation names a longer limit, a run with this limit must decide
// the law. Otherwise, runs with all of the tested limits must leave it undecided.
func TestAnUndecidedLawSaysWhichLimitDecidesIt(t *testing.T) {
	advised, silent := 0, 0
	for i, name := range scenarios.Names() {
		if i%testkit.Size(15, 5, 1) != 0 {
			continue
		}
		s, err := scenarios.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, limit := range []time.Duration{20 * time.Millisecond, time.Second, 9 * time.Second} {
			short := *s
			short.Limit = limit
			r, v := run(t, &short)
			if err := raise(&short, r.Plan, &v); err != nil {
				t.Fatal(err)
			}
			for _, f := range v.Findings {
				said := raises.FindStringSubmatch(f.Explanation)
				if f.Outcome != checker.Undecided || !r.Limited {
					if said != nil {
						t.Errorf("%s, limit %v: %s is %s, and %q", name, limit, f.Law, f.Outcome, f.Explanation)
					}
					continue
				}
				longer, want := short, ""
				if said == nil {
					silent++
					longer.Limit = limit << mostRaised
				} else {
					advised++
					if longer.Limit, err = time.ParseDuration(said[1]); err != nil {
						t.Fatal(err)
					}
					want = said[2]
				}
				_, again := run(t, &longer)
				got := outcome(again.Of(f.Law))
				if got != want {
					t.Errorf("%s, limit %v: %s %q with limit %v, want %q", name, limit, f.Law, got, longer.Limit, want)
				}
			}
		}
	}
	if advised < testkit.Size(3, 10, 10) || silent < 1 {
		t.Errorf("%d laws were advised, %d were not", advised, silent)
	}
}

func run(t *testing.T, s *scenarios.Scenario) (scenarios.Result, checker.Verdict) {
	t.Helper()
	r, err := scenarios.NewRunner(s).Run(s.Plan(1))
	if err != nil {
		t.Fatal(err)
	}
	return r, checker.Check(r.History)
}

// outcome returns the outcome named in a law's explanation. It returns "" if the law is not decided.
func outcome(f checker.Finding) string {
	switch f.Outcome {
	case checker.Holds:
		return "holds"
	case checker.Violated:
		return strings.TrimSpace("is violated by " + f.Cause.String())
	}
	return ""
}
