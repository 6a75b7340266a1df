package nemesis

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Crash is the kind of fault that stops a client's code or makes a server lose power.
var Crash = register(definition{
	words: history.Crash,
	parts: []part{target, loss, trigger, restart},
	meaning: "a client's code ends. " +
		"A server loses power: it keeps what was fsynced (`losing unsynced writes`) or nothing (`losing everything`)",
	target: clientOrServer,
	check: func(v *validator, f *Fault) {
		switch isServer := v.known.role(f.Target).isServer(); {
		case isServer && f.Loss == LosesMemory:
			v.failWord(string(f.Target),
				"say what "+string(f.Target)+` loses: "losing unsynced writes" or "losing everything"`)
		case !isServer && f.Loss != LosesMemory:
			v.failWord("losing", "a client has nothing on disk to lose: remove this")
		case !isServer && f.Restart > 0:
			v.failWord("restart", "a crashed client does not restart: remove this")
		}
	},

	begin: func(s *striker) {
		switch s.Loss {
		case LosesUnsynced:
			s.w.Stop(s.Target, sim.PowerLoss)
		case LosesEverything:
			s.w.Stop(s.Target, sim.LoseAllState)
		default:
			s.w.Crash(s.Target)
		}
	},
	end: func(s *striker) { s.w.Restart(s.Target) },

	weight:   6,
	possible: func(t *Targets) bool { return len(t.Crashing) > 0 },
	draw: func(d Dice, f *Fault) {
		f.Target = d.Among(d.Targets().Crashing)
		// Draw a downtime even for a client, which does not use it, so that later draws do not depend on the target.
		downtime := d.DowntimeOrEver()
		if slices.Contains(d.Targets().Servers, f.Target) {
			f.Loss, f.Restart = LosesUnsynced, downtime
			if d.Coin() {
				f.Loss = LosesEverything
			}
		}
	},

	placement: Placement{Order: 5, At: AtActs,
		Candidates: func(s *Subjects) []Fault {
			list := faultsOf(LosesMemory, s.Clients...)
			if s.Persistent { // without a disk, both losses have the same effect
				list = append(list, faultsOf(LosesUnsynced, s.Servers()...)...)
			}
			return append(list, faultsOf(LosesEverything, s.Servers()...)...)
		},
		Between: func(f *Fault) Instants {
			if f.Loss == LosesUnsynced {
				return Syncs
			}
			return NoInstants
		},
	},
})
