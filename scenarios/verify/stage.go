package verify

import (
	"context"
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// stage is a step in a verification: it covers either all enumerated placements with the same number of faults, or
// random placements. It is divided into jobs, which are identified by their positions.
type stage struct {
	Faults int
	Level  []branch // placements to which one more fault is added; with 0 faults, the runs themselves; empty if Random
	Random bool
}

// fewestPositions is the minimum number of jobs into which the placements with the same number of faults are divided.
// It is large enough to keep all workers busy until the end, and to make sure that little work is lost when they are
// stopped.
const fewestPositions = 256

// mostPortions is the maximum number of portions into which a stage is divided for the workers.
const mostPortions = 4096

func (st *stage) name() string {
	words := "parts with " + text.Count(st.Faults, "fault")
	if st.Random {
		return "random " + words
	}
	return words
}

// size returns the number of jobs in a stage.
func (v *Verification) size(st *stage) int {
	switch {
	case st.Random:
		return len(v.Random) * batches
	case st.Faults == 0:
		return len(st.Level)
	}
	return len(st.Level) * len(v.Scope.Every) * v.shares(st)
}

// shares returns the number of shares into which the starts of an added fault are divided, for each plan (branch) and
// each kind of fault.
func (v *Verification) shares(st *stage) int {
	n := len(st.Level) * len(v.Scope.Every)
	return (fewestPositions + n - 1) / max(n, 1)
}

// split returns what the job at a position of an enumerated stage tries. branch is the plan to which a fault is added
// (an index into st.Level), kind is the kind of the added fault (an index into Scope.Every), and of is the share of
// that fault's starts.
func (v *Verification) split(st *stage, position int) (branch, kind int, of share) {
	if st.Faults == 0 {
		return position, 0, share{0, 1}
	}
	shares, kinds := v.shares(st), len(v.Scope.Every)
	if v.Options.Requests { // consecutive positions try different kinds, so no single kind can use up the budget
		return 0, position % kinds, share{position / kinds, shares}
	}
	return position / shares / kinds, position / shares % kinds, share{position % shares, shares}
}

// position performs the runs of the job at a position.
func (g *grower) position(st *stage, position int) (*growth, error) {
	if st.Random {
		return g.draw(g.v.Random[position/batches].Kind, st.Faults, position%batches)
	}
	branch, kind, of := g.v.split(st, position)
	if st.Faults == 0 {
		return g.bare(&st.Level[branch])
	}
	return g.grow(&st.Level[branch], g.v.Scope.Every[kind], of, st.Faults < g.v.Options.Faults)
}

// work returns a stage's jobs.
func (v *Verification) work(ctx context.Context, st *stage) *campaign.Work[*growth] {
	size := v.size(st)
	return &campaign.Work[*growth]{Name: st.name(), Size: size, Spec: st, Portion: 1 + size/mostPortions, Fits: v.fits,
		Lost: func(why string) *growth { return &growth{Tally: newTally(v.Scenario.Promise.Laws), lost: why} },
		Start: func() func(int) (*growth, error) {
			g := newGrower(ctx, v)
			return func(position int) (*growth, error) { return g.cutShort(g.position(st, position)) }
		}}
}

// Loss is a range of consecutive jobs in a stage for which there is no result.
type Loss struct {
	Stage string // name of the stage, such as "parts with 1 fault"
	First int    // first lost position, from 0
	Size  int    // number of lost positions; at least 1
	Of    int    // number of positions of the stage
	Why   string
}

// String says for which jobs there is no result, and why.
func (l *Loss) String() string {
	numbers := fmt.Sprintf("number %d", l.First+1)
	if l.Size > 1 {
		numbers = fmt.Sprintf("numbers %d to %d", l.First+1, l.First+l.Size)
	}
	return fmt.Sprintf("there is no result for %d of the %d %s (%s): %s", l.Size, l.Of, l.Stage, numbers, l.Why)
}

// lose records that there is no result for the job at a position. All earlier jobs must already have been handled.
func (v *Verification) lose(st *stage, position int, why string) {
	name := st.name()
	if n := len(v.Lost); n > 0 {
		if l := &v.Lost[n-1]; l.Stage == name && l.First+l.Size == position && l.Why == why {
			l.Size++
			return
		}
	}
	v.Lost = append(v.Lost, Loss{name, position, 1, v.size(st), why})
}

// lost reports whether the result of any job in a stage was lost.
func (v *Verification) lost(st *stage) bool {
	return slices.ContainsFunc(v.Lost, func(l Loss) bool { return l.Stage == st.name() })
}
