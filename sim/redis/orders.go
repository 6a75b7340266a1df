package redis

import "github.com/fencepost-sim/fencepost/sim"

// The messages between a node and its observer, a Sentinel. A pong has the key of what it answers.
type (
	// probe asks a node for its state, as PING and INFO do.
	probe struct{ Key sim.Key }
	// order makes a node follow a master, or be one, as REPLICAOF does. If that is new to the node it disconnects its
	// clients.
	order struct {
		Master sim.ProcessID
		Key    sim.Key
	}
	// pong answers a probe or an order: whom the node follows (nobody: it is a master), and how far it has come, its
	// replication offset in effects.
	pong struct {
		Master sim.ProcessID
		Offset int64
	}
)

// Phases of these messages; they key the draws of delays.
const (
	phaseProbe = "ping"
	phaseOrder = "replicaof"
	phasePong  = "pong"
)

// pong answers the observer.
func (n *Node) pong(to sim.ProcessID, key sim.Key) {
	n.post(to, phasePong, key, pong{n.repl.master, n.repl.end()})
}
