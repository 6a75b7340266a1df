package nemesis

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Break is the kind of fault that resets a connection before a request or its reply arrives.
var Break = register(definition{
	words: history.Break,
	also:  "break PROCESS | PROCESS before [the answer to] the [2nd] COMMAND [in attempt NUMBER]",
	parts: []part{target, words("|"), peer, words("before"), lostMessage},
	meaning: "the connection is reset: " +
		"the client never sees the reply, though the request was carried out; " +
		"or the server never sees the request",
	target: roles{isRole(client), "a client, named first"},
	peer:   answers,

	check: (*validator).asks,

	arrange: func(s *striker) {
		if !s.Trigger.Message.Named() {
			s.w.BreakBefore(s.Target, s.Peer, s.Number, s.instant)
			return
		}
		s.awaitOwn(func() sim.Interference {
			s.instant()
			return sim.Interference{Lost: true}
		})
	},

	weight:   3,
	possible: func(t *Targets) bool { return len(t.Clients) > 0 && len(t.Answering) > 0 },
	draw: func(d Dice, f *Fault) {
		f.Target, f.Peer, f.Number = d.Among(d.Targets().Clients), d.Among(d.Targets().Answering), d.Message()
	},

	placement: Placement{Order: 8, At: AtReplies},
})
