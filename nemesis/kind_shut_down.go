package nemesis

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// ShutDown is the kind of fault that shuts a server down cleanly. The server loses no data unless it has no
// persistence.
var ShutDown = register(definition{
	words:   history.ShutDown,
	parts:   []part{target, trigger, restart},
	meaning: "a server shuts down cleanly and loses nothing, unless it has no persistence",
	target:  lockServer,

	begin: func(s *striker) { s.w.Stop(s.Target, sim.ShutDown) },
	end:   func(s *striker) { s.w.Restart(s.Target) },

	weight:   2,
	possible: func(t *Targets) bool { return len(t.Servers) > 0 },
	draw:     func(d Dice, f *Fault) { f.Target, f.Restart = d.Among(d.Targets().Servers), d.DowntimeOrEver() },

	placement: Placement{Order: 6, At: AtActs,
		Candidates: func(s *Subjects) []Fault { return faultsOf(LosesMemory, s.Servers()...) },
		Between:    func(*Fault) Instants { return HangUps },
		Why: func(n *Names) string {
			if len(n.Consensus) == 0 && len(n.Groups) == 0 {
				return ""
			}
			return "other servers are notified immediately, and act at a time that depends on the fault's start"
		},
	},
})
