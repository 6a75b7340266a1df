package nemesis

import (
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Jump is the kind of fault that sets a process's wall clock forward or back.
var Jump = register(definition{
	words:   history.Jump,
	parts:   []part{target, words("clock by"), jump, trigger},
	meaning: "its wall clock is set forward or back",
	target:  anyProcess,
	check:   checkClock,

	begin: func(s *striker) { s.w.Jump(s.Target, s.By) },

	weight:   4,
	possible: func(t *Targets) bool { return len(t.Clocked) > 0 },
	draw: func(d Dice, f *Fault) {
		f.Target, f.By = d.Among(d.Targets().Clocked), d.Jump()
		if d.Coin() {
			f.By = -f.By
		}
	},

	placement: Placement{Order: 7, At: AtActs, Sized: true,
		Candidates: func(s *Subjects) []Fault { return faultsOf(LosesMemory, s.Wall...) },
		Matters:    "reads its wall clock",
		Between:    func(*Fault) Instants { return Deadlines },
		Beside: func(s *Subjects) string {
			if slices.ContainsFunc(s.Wall, func(p sim.ProcessID) bool { return s.role(p) == client }) {
				return "jumps of a client's clock by other amounts than the run without a jump suggests"
			}
			return ""
		},
		Why: func(n *Names) string {
			if len(n.Consensus) > 0 || len(n.Groups) == 0 {
				return ""
			}
			return "replicas are notified immediately when a key expires, which depends on when the fault begins"
		},
	},
})

// checkClock reports an error if the target reads clocks that the simulation does not control.
func checkClock(v *validator, f *Fault) {
	if v.known.unclocked(f.Target) {
		v.failWord(string(f.Target),
			fmt.Sprintf("the clocks of %s, whose lock is a library, can neither jump nor drift: "+
				"let the servers' clocks jump or drift in the opposite direction", f.Target))
	}
}
