package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
)

// CheckLaw runs the scenario in text with its own faults and the given seed. It returns nil only if the run exercised
// the law and the law held. Otherwise it returns a *NotHeld that describes the finding. It returns a different error if
// the law does not exist, if text is not a valid scenario (a *format.Error), or if the run itself failed.
//
// CheckLaw is meant for regression tests, so it is not enough if a law is undecided or not exercised by the run. It
// ignores the scenario's other expectations.
func CheckLaw(text string, seed uint64, law checker.Law) error {
	if !slices.Contains(checker.Laws, law) {
		return fmt.Errorf("there is no law %q: checker.Laws lists them all", law)
	}
	s, err := Parse("scenario", []byte(text))
	if err != nil {
		return err
	}
	result, err := NewRunner(s).Run(s.Plan(seed))
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	if f := checker.Check(result.History).Of(law); f.Outcome != checker.Holds {
		return &NotHeld{Plan: result.Plan, Finding: f}
	}
	return nil
}

// NotHeld is the error that CheckLaw returns if a run did not show that a law holds.
type NotHeld struct {
	Plan    nemesis.Plan
	Finding checker.Finding // the finding on the law; its Outcome is not Holds
}

// Error describes the finding: the law's outcome and causes, the run's faults and, for each cause, what happened and
// how to prevent it.
func (e *NotHeld) Error() string {
	f := &e.Finding
	var b strings.Builder
	fmt.Fprintf(&b, "%s with seed %d: %s is %s\n", e.Plan.Scenario, e.Plan.Seed, f.Law, f.Came())
	for _, fault := range e.Plan.Faults {
		fmt.Fprintf(&b, "\t%s\n", fault)
	}
	b.WriteString(f.Explanation)
	if f.Remedy != "" {
		b.WriteString("\nRemedy: " + f.Remedy)
	}
	for i := range f.Further {
		further := &f.Further[i]
		fmt.Fprintf(&b, "\nAlso by %s: %s\nRemedy: %s", further.Cause, further.Explanation, further.Remedy)
	}
	return b.String()
}
