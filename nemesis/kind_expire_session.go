package nemesis

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// ExpireSession is the kind of fault that ends a client's session or lease on the lock service.
var ExpireSession = register(definition{
	words:   history.ExpireSession,
	parts:   []part{words("of"), target, trigger},
	meaning: "a client's session or lease at the lock servers ends; Redis has none",
	target:  aClient,
	check: func(v *validator, _ *Fault) {
		if !v.known.Sessions {
			v.failWord("session", "clients have no session at these servers, as they have at etcd and ZooKeeper")
		}
	},

	begin: func(s *striker) {
		for _, member := range s.names.Servers() {
			s.w.ServerFault(member, sim.ServerFault{Kind: sim.ExpireSession, To: s.Target})
		}
	},

	weight:   3,
	possible: func(t *Targets) bool { return len(t.Sessions) > 0 },
	draw:     func(d Dice, f *Fault) { f.Target = d.Among(d.Targets().Sessions) },

	placement: Placement{Order: 12, Why: sameReason(
		"when it takes effect depends on the messages that are sent when it begins")},
})
