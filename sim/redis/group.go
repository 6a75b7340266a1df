package redis

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// Group observes a group: it sees the data of all its nodes at once, as nobody in the group can, and so knows what a
// failover lost. It writes records only; what nodes do does not depend on it.
//
// The records of a group are its masters'. A replica is silent until it is promoted. Then every key that the old master
// had and it has not is recorded as lost in failover, and one that the old master had no more, since its DEL did not
// arrive, as set again by nobody. What a deposed master accepted later is recorded as lost when it drops it for the new
// master's data; keys that a replica drops since its master came back without them go as they went there. A node that
// comes back as a master, deposed or not, records what has become of everything that was there by its own records: a
// reader has no others of it.
//
// A run needs a Group for each group, a new one each time; the zero Group is ready.
type Group struct {
	// Promoted, if not nil, is called before the records of each promotion.
	Promoted func(old, promoted sim.ProcessID)

	nodes  map[sim.ProcessID]*Node
	master sim.ProcessID // the one promoted last
	lost   map[store.Title]history.Why
}

// join makes a node known as it starts.
func (g *Group) join(n *Node) {
	if g == nil {
		return
	}
	if g.nodes == nil {
		g.nodes, g.lost = map[sim.ProcessID]*Node{}, map[store.Title]history.Why{}
	}
	name := n.host.Name()
	g.nodes[name] = n
	if g.master == "" && n.repl.master == "" {
		g.master = name
	}
}

// standing lists what exists by a node's records.
func (n *Node) standing() []store.Holding {
	if n.host == nil || n.repl.master != "" {
		return n.stood
	}
	return n.data.Snapshot().Holdings()
}

// stands reports whether something existed by the node's own records when it last wrote any.
func (n *Node) stands(h *store.Holding) bool {
	return slices.ContainsFunc(n.stood, func(o store.Holding) bool { return !o.Ended && o.Title() == h.Title() })
}

// promoted records how the data of a new master differs from what exists by the records of the old one; or by its own,
// if nobody has been promoted since it was the master.
func (g *Group) promoted(n *Node) {
	if g == nil {
		return
	}
	old, name, stood := g.nodes[g.master], n.host.Name(), n.stood
	if old != n {
		if g.Promoted != nil {
			g.Promoted(g.master, name)
		}
		g.master = name
		stood = nil
	}
	if old != nil && old != n {
		stood = old.standing()
		if old.repl.master == "" {
			old.repl.recorded = ownedOf(stood)
		}
	}
	n.compareWith(stood, history.LostInFailover)
}

// note records a loss that has been written to the history.
func (g *Group) note(h *store.Holding, why history.Why) {
	if g != nil && why != history.Expired {
		g.lost[h.Title()] = why
	}
}

// lostBefore reports whether the group has lost h when n was deposed. That n loses it too is no reason of the group's.
func (n *Node) lostBefore(h *store.Holding) bool {
	g := n.cfg.Group
	return g != nil && n.repl.recorded != nil && g.lost[h.Title()] != ""
}

// divergent reports whether h was set while n was deposed.
func (n *Node) divergent(h *store.Holding) bool {
	return n.repl.recorded != nil && !n.repl.recorded[h.Title()]
}

// resynced records what a replica has lost by taking its master's data in place of its own.
func (g *Group) resynced(n *Node, was *store.Snapshot) {
	if g == nil {
		return
	}
	for _, h := range was.Holdings() {
		if of, there := n.data.OwnerOf(&h); h.Ended || there && of == h.Owner {
			continue
		}
		why := g.lost[h.Title()]
		if why == "" && n.divergent(&h) {
			why = history.LostInFailover
		}
		if why != "" && n.data.Now > h.Deadline {
			why = history.Expired
		}
		if why != "" {
			gone := h.Gone(why)
			gone.Type = history.OK
			n.host.Record(gone)
			n.stood = slices.DeleteFunc(n.stood, func(o store.Holding) bool { return o.Title() == h.Title() })
		}
	}
	n.repl.recorded, n.repl.had = nil, nil
}

// ownedOf returns which members of a list belong to whom.
func ownedOf(list []store.Holding) map[store.Title]bool {
	set := make(map[store.Title]bool, len(list))
	for i := range list {
		set[list[i].Title()] = true
	}
	return set
}
