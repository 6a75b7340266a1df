package nemesis

import (
	"slices"

	"github.com/fencepost-sim/fencepost/sim"
)

// Names says which processes a run has, so that a fault can be checked against it and faults can be drawn for it.
// Every list is in the order in which its processes are counted, and no process stands in two of the first three.
type Names struct {
	Clients   []sim.ProcessID
	Redis     []sim.ProcessID   // Redis nodes, masters and replicas
	Consensus []sim.ProcessID   // members of an etcd or ZooKeeper cluster: the servers that keep leases or sessions
	Shards    [][]sim.ProcessID // groups of Redis nodes that replicate, master first; a node in no group stands alone
	Sentinel  sim.ProcessID     // the observer of the shards; empty if there is none
	Resource  sim.ProcessID     // the protected resource; empty if there is none
}

// role is what a process is in the run.
type role uint8

const (
	unknown role = iota
	client
	redisNode
	consensusMember
	observer
	theResource
)

func (r role) String() string {
	switch r {
	case client:
		return "a client"
	case redisNode:
		return "a Redis node"
	case consensusMember:
		return "a member of the cluster"
	case observer:
		return "the Sentinel"
	case theResource:
		return "the protected resource"
	}
	return "unknown"
}

func (r role) isServer() bool { return r == redisNode || r == consensusMember }

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
	case p == n.Sentinel:
		return observer
	case p == n.Resource:
		return theResource
	}
	return unknown
}

// with lists the names of the processes whose role is right.
func (n *Names) with(right func(role) bool) []string {
	var list []string
	add := func(r role, names ...sim.ProcessID) {
		for _, p := range names {
			if p != "" && right(r) {
				list = append(list, string(p))
			}
		}
	}
	add(client, n.Clients...)
	add(redisNode, n.Redis...)
	add(consensusMember, n.Consensus...)
	add(observer, n.Sentinel)
	add(theResource, n.Resource)
	return list
}

// shard returns the group of nodes that p replicates with, itself included; nil if it stands alone.
func (n *Names) shard(p sim.ProcessID) []sim.ProcessID {
	for _, group := range n.Shards {
		if slices.Contains(group, p) {
			return group
		}
	}
	return nil
}

// Linked reports whether a and b ever send each other anything: clients talk to servers and to the resource, nodes of
// one shard replicate, the Sentinel watches them, members of
// a cluster agree.
func (n *Names) Linked(a, b sim.ProcessID) bool {
	ra, rb := n.role(a), n.role(b)
	switch {
	case a == b:
		return false
	case ra == client || rb == client:
		return ra != rb
	case ra == redisNode && rb == redisNode:
		return slices.Contains(n.shard(a), b)
	case ra == observer || rb == observer:
		return ra == redisNode || rb == redisNode
	}
	return ra == consensusMember && rb == consensusMember
}
