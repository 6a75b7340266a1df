package nemesis

import (
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/nearest"
	"github.com/fencepost-sim/fencepost/sim"
)

// FailOver is the kind of fault that makes a replica the new master. It is recorded once the replica has become master.
// A failover that a Sentinel starts by itself is recorded in the same way.
var FailOver = register(definition{
	words:   history.FailOver,
	parts:   []part{target, words("to"), peer, trigger},
	meaning: "a replica takes its master's place; needs replicas",
	target:  aRedisNode,
	peer:    aRedisNode,
	check:   checkFailOver,

	begin: func(s *striker) {
		to := s.names.Sentinel
		if to == "" { // in a Redis Cluster, an operator asks the replica to take over
			to = s.Peer
		}
		s.w.ServerFault(to, sim.ServerFault{Kind: sim.FailOver, To: s.Peer})
	},
	recordsItself: func(*Fault) bool { return true },
	outcome:       true,

	weight:   4,
	possible: func(t *Targets) bool { return len(t.Groups) > 0 },
	draw: func(d Dice, f *Fault) {
		group := d.Targets().Groups[d.Below(len(d.Targets().Groups))]
		i := d.Below(len(group))
		f.Target, f.Peer = group[i], group[(i+1+d.Below(len(group)-1))%len(group)]
	},

	placement: Placement{Order: 11,
		Why: sameReason("who takes over, and when, depends on the messages that are sent when it begins"),
	},
})

func checkFailOver(v *validator, f *Fault) {
	group := v.known.group(f.Target)
	var others []string
	for _, p := range group {
		if p != f.Target {
			others = append(others, string(p))
		}
	}
	switch {
	case f.Peer == f.Target:
		v.failWord(string(f.Peer), fmt.Sprintf("%s cannot take over from itself", f.Peer))
	case len(others) == 0:
		v.failWord(string(f.Target), fmt.Sprintf("%s has no replica to fail over to", f.Target))
	case !slices.Contains(group, f.Peer):
		near := nearest.Word(string(f.Peer), others)
		if near == "" {
			near = others[0]
		}
		v.failNear(string(f.Peer), string(f.Peer)+" does not replicate "+string(f.Target), near)
	}
}
