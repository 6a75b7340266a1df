package search

import (
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// Standing returns the overall result of this search of s. An exploration is Failed if a promise was broken. It is
// Undecided if some seeds have not been run, some runs failed, no fault ever struck while the lock was in use, or a law
// in s.Shown was never exercised. Runs in which a law was undecided do not change the result; caveats counts them. Runs
// with the same faults are Failed if some did not turn out as s expects. Otherwise they are Undecided if some seeds
// have not been run or some runs failed or are undecided. Standing also returns the reasons why the search is
// Undecided, one sentence each.
func (e *Result) Standing(s *scenarios.Scenario) (standing document.Result, open []string) {
	if e.Repeated != nil {
		return e.compared(s)
	}
	open = append(open, e.unfinished()...)
	if all := e.allFaults(); e.Done() > 0 && all.Met == 0 {
		open = append(open, fmt.Sprintf("the search tested nothing: "+
			"none of the %d faults that struck did so %s", all.Struck,
			campaign.WhileHeld))
	}
	open = append(open, e.Failed.open(s, e.Done())...)
	broken := false
	for _, t := range e.Laws {
		broken = broken || t.Breaks() > 0 && slices.Contains(s.Promise.Laws, t.Law)
		if slices.Contains(s.Shown, t.Law) && t.Exercised() == 0 {
			open = append(open, fmt.Sprintf("%s must be kept, but no run was able to test it", t.Law))
		}
	}
	switch {
	case broken:
		return document.Failed, open
	case len(open) > 0 || e.Done() == 0:
		return document.Undecided, open
	}
	return document.Passed, nil
}

// compared returns the result of a search in which all runs have the same faults, as described at Standing.
func (e *Result) compared(s *scenarios.Scenario) (standing document.Result, open []string) {
	open = append(e.unfinished(), e.Failed.open(s, e.Done())...)
	standing = e.Campaign.Standing()
	if standing != document.Failed && len(open) > 0 {
		return document.Undecided, open
	}
	return standing, open
}

// caveats returns the reasons why the exploration shows less than its numbers suggest, one sentence each.
func (e *Result) caveats() []string {
	var caveats []string
	if e.Empty > 0 {
		caveats = append(caveats, fmt.Sprintf("%d of %d plans had no faults", e.Empty, e.Done()))
	}
	if e.Free {
		caveats = append(caveats, fmt.Sprintf("no plan was guided: "+
			"in a search of fewer than %d schedules, all plans are purely random", together))
	}
	if e.Differing.Blocks > 0 {
		caveats = append(caveats, e.Differing.String())
	}
	for _, t := range e.Faults {
		if t.Drawn > 0 && t.Met == 0 {
			caveats = append(caveats, fmt.Sprintf("faults of the kind %s were drawn %d times, but never struck %s",
				t.Kind, t.Drawn,
				campaign.WhileHeld))
		}
	}
	for _, t := range e.Laws {
		if t.Excused > 0 {
			caveats = append(caveats, fmt.Sprintf("%s is broken in %d of %d runs %s", t.Law, t.Excused, e.Done(),
				checker.Excuse))
		}
		if t.Undecided > 0 {
			caveats = append(caveats, fmt.Sprintf("%s was undecided in %d of %d runs", t.Law, t.Undecided, e.Done()))
		}
	}
	return caveats
}
