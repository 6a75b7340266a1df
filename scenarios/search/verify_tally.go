package search

import "github.com/fencepost-sim/fencepost/checker"

// Tally counts schedules: plans that were run and judged.
type Tally struct {
	Runs      int
	Starts    int        // at which faults were tried
	Schedules int        // run and judged
	Idle      int        // run, but the last fault found nothing to strike
	Stands    float64    // placements, to the nanosecond, that the schedules stand for
	Laws      []LawTally // of the scenario's promise, in its order
}

// LawTally counts how one law came out.
type LawTally struct{ Unchecked, Holds, Undecided, Violated int }

// LengthTally counts the schedules with one number of faults.
type LengthTally struct {
	Faults int
	Tally
	Kinds []KindTally // by the kind of the last fault; none without any
	Whole bool        // all were tried
}

// KindTally counts what was tried of one kind of fault.
type KindTally struct{ Starts, Schedules int }

func (t *Tally) add(o *Tally) {
	t.Runs += o.Runs
	t.Starts += o.Starts
	t.Schedules += o.Schedules
	t.Idle += o.Idle
	t.Stands += o.Stands
	for i := range o.Laws {
		if i == len(t.Laws) {
			t.Laws = append(t.Laws, LawTally{})
		}
		t.Laws[i].add(o.Laws[i])
	}
}

func (l *LengthTally) add(kind int, t *Tally) {
	l.Tally.add(t)
	if l.Faults > 0 {
		l.Kinds[kind].Starts += t.Starts
		l.Kinds[kind].Schedules += t.Schedules
	}
}

func (t *LawTally) add(o LawTally) {
	t.Unchecked += o.Unchecked
	t.Holds += o.Holds
	t.Undecided += o.Undecided
	t.Violated += o.Violated
}

func (t *LawTally) count(o checker.Outcome) {
	switch o {
	case checker.Holds:
		t.Holds++
	case checker.Violated:
		t.Violated++
	case checker.Undecided:
		t.Undecided++
	default:
		t.Unchecked++
	}
}

// Outcome sums up how a law came out over many runs: Holds only if some exercised it and none left it untold.
func (t LawTally) Outcome() checker.Outcome {
	switch {
	case t.Violated > 0:
		return checker.Violated
	case t.Undecided > 0:
		return checker.Undecided
	case t.Holds > 0:
		return checker.Holds
	}
	return checker.Unchecked
}
