package nemesis

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// SlowFsync is the kind of fault that makes a Redis node's fsyncs take longer.
var SlowFsync = register(definition{
	words:   history.SlowFsync,
	parts:   []part{words("of"), target, words("by"), by, trigger, words("for"), lasting},
	meaning: "each fsync on a Redis node takes this much longer",
	target:  aRedisNode,

	begin: func(s *striker) {
		s.w.ServerFault(s.Target, sim.ServerFault{Kind: sim.SlowFsync, By: s.By, Begin: true})
	},
	end: func(s *striker) { s.w.ServerFault(s.Target, sim.ServerFault{Kind: sim.SlowFsync, By: s.By}) },
	// The last slow fsync may begin just as the fault ends. It then takes f.By longer than usual.
	aftermath: func(f *Fault) time.Duration { return f.By },

	weight:   1,
	possible: func(t *Targets) bool { return len(t.Redis) > 0 },
	draw:     func(d Dice, f *Fault) { f.Target, f.By, f.For = d.Among(d.Targets().Redis), d.Fsync(), d.Outage() },

	placement: Placement{Order: 3, Why: sameReason("it changes how long operations in progress take")},
})
