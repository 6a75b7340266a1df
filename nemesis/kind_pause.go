package nemesis

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Pause is the kind of fault that stops all of a process's code for a while.
var Pause = register(definition{
	words:   history.Pause,
	parts:   []part{target, words("for"), lasting, trigger},
	meaning: "the process does not run (GC, SIGSTOP, a stalled VM); messages wait for it",
	target:  anyProcess,

	begin: func(s *striker) { s.w.Pause(s.Target) },
	end:   func(s *striker) { s.w.Resume(s.Target) },
	holds: true,

	weight:   6,
	possible: func(t *Targets) bool { return len(t.Processes) > 0 },
	draw:     func(d Dice, f *Fault) { f.Target, f.For = d.Among(d.Targets().Processes), d.Pause() },

	placement: Placement{Order: 4, At: AtActs, Stills: true, AfterAnswers: true, Candidates: func(s *Subjects) []Fault {
		return faultsOf(LosesMemory, slices.Concat(s.Clients, s.Servers(), []sim.ProcessID{s.Resource})...)
	}},
})
