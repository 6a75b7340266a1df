package redis

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// Group observes a master and its replicas. It sees the data of all nodes at once, which no node can, so it knows what
// a failover has lost. It only writes records. The nodes' behavior does not depend on it.
//
// The masters of a group record their changes. When a replica is promoted, it records how its data differs from the old
// master's. A key that only the old master had is recorded as lost in failover. If the old master had deleted a key,
// but its DEL did not arrive, the key is recorded as set again, with an empty By. When a node becomes master again,
// even if it was never deposed, it records what has happened to all keys that exist according to its own records.
// Readers of the history rely on these records.
//
// A node that is not the master records only what it loses when its master's data replaces its own. Data that a deposed
// master accepted after the promotion is recorded as lost in failover. A key that the master had lost before, for
// example in a restart, is recorded with the reason that was recorded at the master.
//
// Each group in a run needs its own Group. The zero Group is ready to use.
type Group struct {
	// Promoted, if not nil, is called before the consequences of a promotion are recorded.
	Promoted func(old, promoted sim.ProcessID)

	nodes  map[sim.ProcessID]*Node
	master sim.ProcessID // the node that was promoted last
	lost   map[store.Title]history.Why
}

// join registers a node when it starts.
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

// standing returns the keys and members that exist according to the node's records.
func (n *Node) standing() []store.Holding {
	if n.host == nil || n.repl.master != "" {
		return n.stood
	}
	return n.data.Snapshot().Holdings()
}

// stands reports whether, according to the node's own records, a key or member existed when the node last recorded
// anything.
func (n *Node) stands(h *store.Holding) bool {
	return slices.ContainsFunc(n.stood, func(o store.Holding) bool { return !o.Ended && o.Title() == h.Title() })
}

// promoted records how the data of n, the new master, differs from the data that exists according to the old master's
// records. If no other node has been promoted since n was master, it compares n's data with n's own records instead.
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

// note stores why a node has lost holding h. Other nodes use this when they record the same loss. An expiry is not a
// loss.
func (g *Group) note(h *store.Holding, why history.Why) {
	if g != nil && why != history.Expired {
		g.lost[h.Title()] = why
	}
}

// lostBefore reports whether the group had already lost holding h when n was deposed. If so, the group's recorded
// reason stands, and the reason for n's loss is ignored.
func (n *Node) lostBefore(h *store.Holding) bool {
	g := n.cfg.Group
	return g != nil && n.repl.recorded != nil && g.lost[h.Title()] != ""
}

// isDivergent reports whether holding h's key or member was set on n after n had been deposed.
func (n *Node) isDivergent(h *store.Holding) bool {
	return n.repl.recorded != nil && !n.repl.recorded[h.Title()]
}

// resynced records what a replica lost when its master's data replaced its own.
func (g *Group) resynced(n *Node, was *store.Snapshot) {
	if g == nil {
		return
	}
	for _, h := range was.Holdings() {
		if of, there := n.data.OwnerOf(&h); h.Ended || there && of == h.Owner {
			continue
		}
		why := g.lost[h.Title()]
		if why == "" && n.isDivergent(&h) {
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
	n.repl.recorded, n.repl.ownData = nil, nil
}

// ownedOf returns the set of keys and members in a list of holdings, each with its owner.
func ownedOf(list []store.Holding) map[store.Title]bool {
	set := make(map[store.Title]bool, len(list))
	for i := range list {
		set[list[i].Title()] = true
	}
	return set
}
