package nemesis

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// ClientPause is the kind of fault in which an operator uses CLIENT PAUSE: a Redis node stops answering clients for a
// while. Its replication and its clocks keep running. If a client closes its connection in the meantime, its request is
// not executed. ClientPause is drawn only if a mix asks for it.
var ClientPause = register(definition{
	words: history.ClientPause,
	parts: []part{words("on"), target, words("for"), lasting, trigger},
	meaning: "a Redis node answers no client, as after an operator's CLIENT PAUSE; " +
		"it continues to replicate, and drops the requests of clients that disconnect in the meantime",
	target: aRedisNode,

	begin: func(s *striker) { s.w.ServerFault(s.Target, clientPause(s, true)) },
	end:   func(s *striker) { s.w.ServerFault(s.Target, clientPause(s, false)) },

	possible: func(t *Targets) bool { return len(t.Redis) > 0 },
	draw:     func(d Dice, f *Fault) { f.Target, f.For = d.Among(d.Targets().Redis), d.Pause() },

	placement: Placement{Order: 14, Why: sameReason(
		"which requests it delays depends on the messages that are sent when it begins")},
})

func clientPause(s *striker, begin bool) sim.ServerFault {
	return sim.ServerFault{Kind: sim.ClientPause, Begin: begin, Pause: s.struck}
}
