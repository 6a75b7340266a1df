package nemesis

import "github.com/fencepost-sim/fencepost/checker/history"

// Drift is the kind of fault that makes both of a process's clocks run fast or slow.
var Drift = register(definition{
	words:   history.Drift,
	parts:   []part{target, words("clock by"), rate, driftTrigger, maybeLasting},
	meaning: "both clocks of the process run fast or slow, in millionths; without `for`, until the end of the run",
	target:  anyProcess,
	check:   checkClock,
	endless: true,

	begin: func(s *striker) { s.w.Drift(s.Target, int64(s.PPM)) },
	end:   func(s *striker) { s.w.Drift(s.Target, -int64(s.PPM)) },

	weight:   2,
	possible: func(t *Targets) bool { return len(t.Clocked) > 0 },
	draw: func(d Dice, f *Fault) {
		f.Target, f.PPM, f.For = d.Among(d.Targets().Clocked), d.PPM(), d.OutageOrEver()
	},

	placement: Placement{Order: 1,
		Why: sameReason("its effect grows with its length, so a few starts and ends cannot represent all others"),
	},
})
