package nemesis

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Stall shows what is needed to add a kind of fault: this file, and a row in history.FaultKinds. It has the same effect
// as a pause, so all reports about the two must be alike. All of this package's tests run with it.
var Stall = register(definition{
	words:   known(history.FaultKind{F: "stall", Does: history.Stops, Lasts: true}),
	parts:   []part{target, words("for"), lasting, trigger},
	meaning: "the process does not run",
	target:  anyProcess,

	begin: func(s *striker) { s.w.Pause(s.Target) },
	end:   func(s *striker) { s.w.Resume(s.Target) },

	weight:   6,
	possible: func(t *Targets) bool { return len(t.Processes) > 0 },
	draw:     func(d Dice, f *Fault) { f.Target, f.For = d.Among(d.Targets().Processes), d.Pause() },

	placement: Placement{Order: 4, At: AtActs, Stills: true, Candidates: func(s *Subjects) []Fault {
		return faultsOf(LosesMemory, slices.Concat(s.Clients, s.Servers(), []sim.ProcessID{s.Resource})...)
	}},
})

func init() {
	grammar = append(grammar, grammarLine{"stall redis-2 for 3s at 1.2s",
		Fault{Kind: Stall, Target: "redis-2", For: 3 * time.Second, Trigger: Trigger{Time: 1200 * time.Millisecond}}})
}

// known adds a row to history.FaultKinds and returns its name.
func known(row history.FaultKind) history.F {
	history.FaultKinds = append(history.FaultKinds, row)
	return row.F
}
