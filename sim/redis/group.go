package redis

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Group is the onlooker of a shard: it sees the data of all its nodes at once, as nobody in the shard can, and so knows
// what a failover lost. It writes records only; what nodes do does not depend on it.
//
// The records of a shard are its masters'. A replica is silent until it is promoted. Then every key that the old master
// had and it has not is recorded as lost in failover, and one that the old master had no more, since its DEL did not
// arrive, as set again by nobody. What a deposed master was told later is recorded as lost when it drops it for the new
// master's data; keys that a replica drops since its master came back without them go as they went there.
//
// A run needs a Group for each shard, a new one each time; the zero Group is ready.
type Group struct {
	// Promoted, if not nil, is called before the records of each promotion.
	Promoted func(old, promoted sim.ProcessID)

	nodes  map[sim.ProcessID]*Node
	master sim.ProcessID // the one promoted last
	lost   map[ownedKey]history.Why
}

// ownedKey is a key, or a member of one, in the hands of one owner.
type ownedKey struct {
	name, member string
	of           history.Attempt
}

func (h *holding) owned() ownedKey { return ownedKey{h.name, h.member, h.owner} }

// join makes a node known as it starts.
func (g *Group) join(n *Node) {
	if g == nil {
		return
	}
	if g.nodes == nil {
		g.nodes, g.lost = map[sim.ProcessID]*Node{}, map[ownedKey]history.Why{}
	}
	name := n.host.Name()
	g.nodes[name] = n
	if g.master == "" && n.repl.master == "" {
		g.master = name
	}
}

// lastData is what a node has, or had when it stopped.
func (n *Node) lastData() *snapshot {
	if n.host == nil {
		return n.before
	}
	return n.snapshot()
}

// promoted records how the data of a new master differs from that of the old one.
func (g *Group) promoted(n *Node) {
	if g == nil {
		return
	}
	old, name := g.nodes[g.master], n.host.Name()
	if g.Promoted != nil {
		g.Promoted(g.master, name)
	}
	g.master = name
	if old == nil || old == n {
		return
	}
	was := *old.lastData()
	if old.repl.master == "" {
		old.repl.told = &was
	}
	was.lost = history.LostInFailover
	n.compareWith(&was)
}

// note remembers a loss that has been recorded.
func (g *Group) note(h *holding, why history.Why) {
	if g != nil && why != history.Expired {
		g.lost[h.owned()] = why
	}
}

// lostBefore reports whether h is gone and has been recorded as lost when n was deposed.
func (n *Node) lostBefore(h holding) bool {
	g := n.cfg.Group
	_, there := n.ownerOf(&h)
	return g != nil && n.repl.told != nil && !there && g.lost[h.owned()] != ""
}

// divergent reports whether h was set while n was deposed.
func (n *Node) divergent(h *holding) bool { return n.repl.told != nil && !n.repl.told.has(h) }

// resynced records what a replica has lost by taking its master's data in place of its own.
func (g *Group) resynced(n *Node, was *snapshot) {
	if g == nil {
		return
	}
	for _, h := range was.holdings() {
		if of, there := n.ownerOf(&h); h.ended || there && of == h.owner {
			continue
		}
		why := g.lost[h.owned()]
		if why == "" && n.divergent(&h) {
			why = history.LostInFailover
		}
		if why != "" && n.ms > h.deadline {
			why = history.Expired
		}
		if why != "" {
			gone := h.gone(why)
			gone.Type = history.OK
			n.host.Record(gone)
		}
	}
	n.repl.told, n.repl.had = nil, nil
}

// has reports whether h was there, in the hands of the same owner.
func (s *snapshot) has(h *holding) bool {
	return slices.ContainsFunc(s.holdings(), func(o holding) bool { return o.owned() == h.owned() })
}
