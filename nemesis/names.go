package nemesis

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Names lists a run's processes, so that faults can be checked and drawn for them. Each list is ordered by the numbers
// in the processes' names. A process is in at most one of the first four lists.
type Names struct {
	Clients   []sim.ProcessID
	Redis     []sim.ProcessID // Redis nodes, masters and replicas
	Consensus []sim.ProcessID // members of a cluster with a replicated log
	Alone     []sim.ProcessID // other lock servers, which do not replicate
	// groups of Redis nodes that replicate, master first; a node that isn't in any group has no replicas
	Groups   [][]sim.ProcessID
	Meshed   bool           // all Redis nodes exchange messages, as members of a Redis Cluster
	Sentinel sim.ProcessID  // the Sentinel process that watches the groups; empty if there is none
	Resource sim.ProcessID  // the protected resource; empty if there is none
	Locks    []history.Lock // the locks, named by their keys
	// Sessions means that clients have sessions or leases, which the servers can end.
	Sessions bool
	// Guests means that the clients' code does not run as a simulation task. It reads clocks that faults cannot change.
	Guests bool
	// Passed lists the points that clients can reach, if the clients are programs that report points. If it is nil,
	// clients can reach all points.
	Passed []sim.Point
	// Former maps the upper-case names that requests had in earlier versions to their current names. A value that ends
	// in "…" stands for all current names with that beginning. Faults may use both former and current names.
	Former map[string]string
}

// role is a process's role in a run.
type role uint8

const (
	unknown role = iota
	client
	redisNode
	consensusMember
	loneServer
	observer
	theResource
)

// allRoles lists the roles that a process can have in a run.
var allRoles = []role{client, redisNode, consensusMember, loneServer, observer, theResource}

func (r role) String() string {
	switch r {
	case client:
		return "a client"
	case redisNode:
		return "a Redis node"
	case consensusMember:
		return "a member of the cluster"
	case loneServer:
		return "a lock server"
	case observer:
		return "the Sentinel"
	case theResource:
		return "the protected resource"
	}
	return "unknown"
}

func (r role) isServer() bool { return r == redisNode || r == consensusMember || r == loneServer }

func (n *Names) role(p sim.ProcessID) role {
	switch {
	case p == "":
		return unknown
	case slices.Contains(n.Clients, p):
		return client
	case slices.Contains(n.Redis, p):
		return redisNode
	case slices.Contains(n.Consensus, p):
		return consensusMember
	case slices.Contains(n.Alone, p):
		return loneServer
	case p == n.Sentinel:
		return observer
	case p == n.Resource:
		return theResource
	}
	return unknown
}

// namesWith returns the names of the processes whose role satisfies isTarget.
func (n *Names) namesWith(isTarget func(role) bool) []string {
	var list []string
	add := func(r role, names ...sim.ProcessID) {
		for _, p := range names {
			if p != "" && isTarget(r) {
				list = append(list, string(p))
			}
		}
	}
	add(client, n.Clients...)
	add(redisNode, n.Redis...)
	add(consensusMember, n.Consensus...)
	add(loneServer, n.Alone...)
	add(observer, n.Sentinel)
	add(theResource, n.Resource)
	return list
}

// Servers returns all lock servers.
func (n *Names) Servers() []sim.ProcessID { return slices.Concat(n.Redis, n.Consensus, n.Alone) }

// unclocked reports whether faults cannot change the clocks that p reads.
func (n *Names) unclocked(p sim.ProcessID) bool { return n.Guests && n.role(p) == client }

// passes reports whether clients can reach a given point in their protocol.
func (n *Names) passes(p sim.Point) bool { return n.Passed == nil || slices.Contains(n.Passed, p) }

// group returns the nodes that replicate with p, including p itself. It returns nil if p is not in a group.
func (n *Names) group(p sim.ProcessID) []sim.ProcessID {
	for _, group := range n.Groups {
		if slices.Contains(group, p) {
			return group
		}
	}
	return nil
}

// linked reports whether a and b may exchange messages. Clients exchange messages with servers, with the resource and
// with the Sentinel; Redis nodes with the others in their group (in a Redis Cluster, with all others); the Sentinel
// with Redis nodes, too; and members of a consensus cluster with each other.
func (n *Names) linked(a, b sim.ProcessID) bool {
	ra, rb := n.role(a), n.role(b)
	switch {
	case a == b:
		return false
	case ra == client || rb == client:
		return ra != rb
	case ra == redisNode && rb == redisNode:
		return n.Meshed || slices.Contains(n.group(a), b)
	case ra == observer || rb == observer:
		return ra == redisNode || rb == redisNode
	}
	return ra == consensusMember && rb == consensusMember
}

// Targets says which of a run's processes can be affected by which faults.
type Targets struct {
	Processes []sim.ProcessID   // all processes except the Sentinel
	Clocked   []sim.ProcessID   // the processes whose clocks a fault can change
	Servers   []sim.ProcessID   // lock servers
	Crashing  []sim.ProcessID   // clients and lock servers
	Answering []sim.ProcessID   // processes that answer clients
	Groups    [][]sim.ProcessID // the replication groups with at least two nodes
	Sessions  []sim.ProcessID   // clients that may have a session
	Clients   []sim.ProcessID
	Redis     []sim.ProcessID
	Locks     []history.Lock

	linked []linkEnd       // processes with at least one link
	links  []sim.ProcessID // the processes at the other ends, one range for each element of linked
}

// linkEnd is a process that has links. The processes at the other ends of these links are a range in Targets.links.
type linkEnd struct {
	process      sim.ProcessID
	first, count int
}

// TargetsOf determines which of a run's processes can be affected by which faults.
func TargetsOf(n *Names) Targets {
	t := Targets{Servers: n.Servers(), Clients: n.Clients, Redis: n.Redis, Locks: n.Locks}
	t.Crashing = slices.Concat(n.Clients, t.Servers)
	t.Processes, t.Answering = t.Crashing, t.Servers
	if n.Resource != "" {
		t.Processes = slices.Concat(t.Processes, []sim.ProcessID{n.Resource})
		t.Answering = slices.Concat(t.Answering, []sim.ProcessID{n.Resource})
	}
	t.Clocked = slices.DeleteFunc(slices.Clone(t.Processes), n.unclocked)
	for _, group := range n.Groups {
		if len(group) > 1 {
			t.Groups = append(t.Groups, group)
		}
	}
	if n.Sessions {
		t.Sessions = n.Clients
	}
	for _, a := range t.Processes {
		end := linkEnd{process: a, first: len(t.links)}
		for _, b := range t.Processes {
			if n.linked(a, b) {
				t.links = append(t.links, b)
			}
		}
		if end.count = len(t.links) - end.first; end.count > 0 {
			t.linked = append(t.linked, end)
		}
	}
	return t
}

// Has reports whether there is a target for faults of kind k.
func (t *Targets) Has(k Kind) bool { return k.definition().possible(t) }

// drawLinked draws a process that has links. It also returns the processes at the other ends of its links.
func (t *Targets) drawLinked(d Dice) (sim.ProcessID, []sim.ProcessID) {
	end := t.linked[d.Below(len(t.linked))]
	return end.process, t.links[end.first : end.first+end.count]
}
