package verify

import (
	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// Tally counts schedules, that is, plans that were run and judged.
type Tally struct {
	Runs      int
	Starts    int           // number of starts at which faults were tried
	Schedules int           // number of runs that were judged
	Idle      int           // number of runs in which the last fault had nothing to strike
	Stands    float64       // number of placements, counted in nanoseconds, that the schedules represent
	Laws      campaign.Laws // in the order of the scenario's promise
}

func newTally(promise []checker.Law) Tally {
	return Tally{Laws: campaign.NewLaws(promise)}
}

// LengthTally counts the schedules with a given number of faults.
type LengthTally struct {
	Faults int
	Tally
	Kinds []KindTally // by the kind of the last fault, in the order of Scope.Every; all zero if Faults is 0
	Whole bool        // all placements were tried
}

// KindTally counts the starts and schedules tried for one kind of fault.
type KindTally struct{ Starts, Schedules int }

func (t *Tally) add(o *Tally) {
	t.Runs += o.Runs
	t.Starts += o.Starts
	t.Schedules += o.Schedules
	t.Idle += o.Idle
	t.Stands += o.Stands
	t.Laws.Add(o.Laws)
}

func (l *LengthTally) add(kind int, t *Tally) {
	l.Tally.add(t)
	if l.Faults > 0 {
		l.Kinds[kind].Starts += t.Starts
		l.Kinds[kind].Schedules += t.Schedules
	}
}
