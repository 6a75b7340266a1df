package checker

import (
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Trial describes what happened to a violation when the run was repeated without some of its faults. The checker does
// not perform trials, because it cannot repeat runs. Callers that can repeat a run add trials to a finding.
type Trial struct {
	Faults []string // plan lines of the removed faults; empty: all of the plan's faults
	Needed bool     // the cause breaks the law if any one of these faults is present, but not without them
	Later  bool     // faults that struck only after the law was broken, or never, were removed as well
	// Outcome and Cause are the outcome and cause for the same law in the run without the removed faults.
	Outcome Outcome
	Cause   Cause
	Others  []history.Process // the processes involved, if the same cause breaks the law between other processes
}

// String returns a sentence that describes the trial.
func (t Trial) String() string {
	which := "any fault"
	if len(t.Faults) > 0 {
		which = listOnce(t.Faults, `"%s"`, "times")
	}
	if t.Later {
		which += " and the later faults"
	}
	return "Without " + which + ": " + t.became(len(t.Faults)) + "."
}

// listOnce lists names in the given format. It lists a repeated name only once, along with how often it occurs.
func listOnce[T ~string](names []T, format, times string) string {
	var all []string
	for i, n := range names {
		if slices.Contains(names[:i], n) {
			continue
		}
		one, often := fmt.Sprintf(format, n), 0
		for _, o := range names {
			if o == n {
				often++
			}
		}
		if often > 1 {
			one += fmt.Sprintf(" (%d %s)", often, times)
		}
		all = append(all, one)
	}
	return list(all)
}

func (t Trial) became(faults int) string {
	alone := ""
	if faults > 1 {
		alone = "; removing only some of them is not enough"
	}
	switch {
	case len(t.Others) > 0:
		return "violated with the same cause, but with " + listOnce(t.Others, "%s", "attempts")
	case !t.Needed:
		return "still violated"
	case t.Outcome == Violated:
		return "violated with another cause, " + t.Cause.String() + alone
	}
	return t.Outcome.String() + alone
}

// SameViolation reports whether two findings are about the same violation, that is, have the same law, cause, lock and
// processes.
func SameViolation(a, b Finding) bool {
	return a.Outcome == Violated && b.Outcome == Violated && a.Law == b.Law && a.Cause == b.Cause && a.Lock == b.Lock &&
		slices.Equal(a.Holders, b.Holders)
}
