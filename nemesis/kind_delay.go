package nemesis

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// DelayLink is the kind of fault that delays messages on a link. Without a duration, it delays only the first message.
var DelayLink = register(definition{
	words:   history.Delay,
	parts:   []part{target, words("->"), peer, words("by"), by, trigger, maybeLasting},
	meaning: "messages on the link arrive later: the next one or, with `for`, all during that time",
	target:  anyProcess,
	peer:    anyProcess,
	check:   (*validator).linked,

	begin: func(s *striker) {
		if s.For > 0 {
			s.w.Slow(s.Target, s.Peer, s.By)
		} else {
			s.w.DelayNext(s.Target, s.Peer, s.By, s.recordLate)
		}
	},
	end:           func(s *striker) { s.w.Slow(s.Target, s.Peer, -s.By) },
	recordsItself: func(f *Fault) bool { return f.For == 0 },
	// The last delayed message may be sent just before the fault ends. It then arrives f.By later than usual.
	aftermath: func(f *Fault) time.Duration { return f.By },

	weight:   4,
	possible: func(t *Targets) bool { return len(t.linked) > 0 },
	draw: func(d Dice, f *Fault) {
		drawLink(d, f)
		if d.Coin() {
			f.For = d.Outage()
		}
	},

	placement: Placement{Order: 2,
		Why: sameReason("any number of messages may be delayed, by any amount of time")},
})

// DelayMessage is the kind of fault that delays one message, which is identified by its number or its content.
var DelayMessage = register(definition{
	words: history.DelayMessage,
	named: history.Delay,
	also:  "delay MESSAGE by DURATION",
	parts: []part{oneMessage, words("by"), by},
	meaning: "one message on the link arrives later: " +
		"the one with this number since the start, or the one with this command",
	target: anyProcess,
	peer:   anyProcess,
	check: func(v *validator, f *Fault) {
		v.linked(f)
		v.asks(f)
	},

	arrange: func(s *striker) {
		if !s.Trigger.Message.Named() {
			s.w.DelayNth(s.Target, s.Peer, s.Number, s.By, s.recordLate)
			return
		}
		s.awaitOwn(func() sim.Interference {
			s.recordLate()
			return sim.Interference{Later: history.Of(s.By)}
		})
	},

	weight:   4,
	possible: func(t *Targets) bool { return len(t.linked) > 0 },
	draw: func(d Dice, f *Fault) {
		drawLink(d, f)
		f.Number = d.Message()
	},

	placement: Placement{Order: 9, At: AtMessages},
})

// drawLink draws the two ends of a link, and how long its messages are delayed.
func drawLink(d Dice, f *Fault) {
	process, others := d.Targets().drawLinked(d)
	f.Target, f.Peer = process, d.Among(others)
	if d.Coin() {
		f.Target, f.Peer = f.Peer, f.Target
	}
	f.By = d.Delay()
}
