package nemesis

import "github.com/fencepost-sim/fencepost/checker/history"

// Break: a connection is reset after a request was executed, before its reply arrives.
var Break = register(definition{
	words:   history.Break,
	parts:   []part{target, words("|"), peer, words("before reply"), number},
	meaning: "the connection is reset after the request was carried out: the client never sees the reply",
	target:  roles{isRole(client), "a client, named first"},
	peer:    roles{func(r role) bool { return r.isServer() || r == theResource }, "a lock server or the resource"},

	arrange: func(s *striker) { s.w.BreakBefore(s.Target, s.Peer, s.Number, s.instant) },

	weight:   3,
	possible: func(t *Targets) bool { return len(t.Clients) > 0 && len(t.Answering) > 0 },
	draw: func(d Dice, f *Fault) {
		f.Target, f.Peer, f.Number = d.Among(d.Targets().Clients), d.Among(d.Targets().Answering), d.Message()
	},

	placement: Placement{Order: 8, At: AtReplies},
})
