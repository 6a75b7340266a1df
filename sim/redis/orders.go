package redis

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// operated is what the server itself, or an operator who is no client of the run, does to a node: evictions, DEL,
// FLUSHALL and CLIENT PAUSE.
type operated struct {
	orders []sim.ServerFault // to be carried out when the event loop runs next
	pauses int               // client pauses under way
	// void is the number of client pauses that a crash has ended, or that struck while the node was down. Their ends
	// have yet to come.
	void int
	// postponed is what clients have sent during a client pause, in the order of its arrival.
	postponed []arrival
}

// operate accepts a fault that takes effect once the event loop runs: at once, or after a pause of the process.
func (n *Node) operate(f sim.ServerFault) {
	switch {
	case n.host != nil:
		n.orders = append(n.orders, f)
		n.host.WakeAfter(0, wakeOperator)
	case f.Kind == sim.ClientPause && f.Begin:
		n.void++
	case f.Kind == sim.ClientPause:
		n.void = max(n.void-1, 0)
	}
}

// endOperated forgets what a process has in memory of this.
func (n *Node) endOperated() {
	for _, f := range n.orders {
		if f.Kind == sim.ClientPause && f.Begin {
			n.pauses++
		}
	}
	n.void += n.pauses
	clear(n.postponed)
	n.orders, n.pauses, n.postponed = n.orders[:0], 0, n.postponed[:0]
}

// followOrders carries out the orders, in a turn of its own.
func (n *Node) followOrders() {
	orders := n.orders
	n.orders = nil
	for _, f := range orders {
		switch {
		case f.Kind == sim.RemoveKeys:
			n.removeKeys(f.Key, f.Why)
		case f.Begin:
			n.pauses++
		case n.void > 0:
			n.void--
		case n.pauses > 0:
			if n.pauses--; n.pauses == 0 {
				n.unpauseClients()
			}
		}
	}
}

// removeKeys removes a key, or all keys if name is empty. A replica evicts nothing of its own accord, and refuses the
// commands.
func (n *Node) removeKeys(name history.Lock, why history.Why) {
	n.data.Attempt = ""
	n.attend(0)
	switch {
	case n.repl.master != "":
	case name == "":
		n.data.Flush(why)
	case n.data.Peek(string(name)) != nil:
		n.data.Remove(string(name), why, "")
	}
}

// postpones keeps what a client sends during a client pause for later, and reports whether there is such a pause.
// Replicas that follow are no clients in this sense, but Sentinels are, and replicas that begin to follow.
func (n *Node) postpones(a arrival) bool {
	if n.pauses == 0 || a.closed != 0 {
		return false
	}
	if a.request == nil {
		switch a.message.(type) {
		case probe, order, psync:
		default:
			return false
		}
	}
	n.postponed = append(n.postponed, a)
	return true
}

// dropPostponed drops the postponed requests of a connection that is closed.
func (n *Node) dropPostponed(conn uint64) {
	n.postponed = slices.DeleteFunc(n.postponed, func(a arrival) bool {
		return a.request != nil && a.request.ConnID == conn
	})
}

// unpauseClients handles what was postponed.
func (n *Node) unpauseClients() {
	list := n.postponed
	n.postponed = nil
	if n.standsStill() {
		n.queue = append(n.queue, list...)
		return
	}
	for _, a := range list {
		n.take(a)
	}
}
