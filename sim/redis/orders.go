package redis

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// operated contains the pending actions on a node that do not come from the run's clients: evictions by the server, and
// DEL, FLUSHALL and CLIENT PAUSE by an operator. It is lost when the process ends.
type operated struct {
	orders []sim.ServerFault // faults to be carried out when the event loop runs next
	pauses []*history.Fault  // active client pauses
	// postponed contains everything that client pauses have delayed (see postpones), in order of arrival.
	postponed []arrival
}

// operate stores a fault that takes effect when the event loop next runs: either immediately or, if the process is
// paused, once it resumes. If the process is down, the fault has no effect.
func (n *Node) operate(f sim.ServerFault) {
	if n.host != nil {
		n.orders = append(n.orders, f)
		n.host.WakeAfter(0, wakeOperator)
	}
}

// followOrders applies the pending faults in an event-loop turn that does nothing else.
func (n *Node) followOrders() {
	orders := n.orders
	n.orders = nil
	for _, f := range orders {
		switch at := slices.Index(n.pauses, f.Pause); {
		case f.Kind == sim.FailOver:
			n.orderFailOver(f.To)
		case f.Kind == sim.RemoveKeys:
			n.removeKeys(f.Key, f.Why)
		case f.Begin:
			n.pauses = append(n.pauses, f.Pause)
		case at >= 0: // otherwise the process for which the pause was meant has ended
			if n.pauses = slices.Delete(n.pauses, at, at+1); len(n.pauses) == 0 {
				n.unpauseClients()
			}
		}
	}
}

// removeKeys removes a key, or all keys if name is empty. A replica does nothing: it never evicts on its own, and it
// refuses an operator's DEL or FLUSHALL.
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

// postpones reports whether a client pause delays an arrival. If so, it stores the arrival for later. A client pause
// delays requests, messages from Sentinels, and messages from replicas that are just starting to follow the node. It
// does not delay messages from replicas that already follow the node.
func (n *Node) postpones(a arrival) bool {
	if len(n.pauses) == 0 || a.closed != 0 {
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

// dropPostponed drops the postponed requests from a connection that is being closed.
func (n *Node) dropPostponed(conn uint64) {
	n.postponed = slices.DeleteFunc(n.postponed, func(a arrival) bool {
		late := a.request != nil && a.request.ConnID == conn
		if late {
			a.request.Drop()
		}
		return late
	})
}

// unpauseClients handles the requests and messages that were postponed during a client pause.
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
