package redis

import (
	"maps"
	"slices"
)

// Closed forgets a connection that its client has closed: its transaction, what it watches and what it listens to.
func (n *Node) Closed(conn uint64) {
	if n.standsStill() {
		n.queue = append(n.queue, arrival{closed: conn})
		return
	}
	n.closed(conn)
}

func (n *Node) closed(conn uint64) {
	c := n.conns[conn]
	if c == nil {
		return
	}
	n.unwatch(c)
	n.unsubscribeAll(conn, c)
	n.tracking.close(conn)
	n.waiting = slices.DeleteFunc(n.waiting, func(b *blocked) bool { return b.c == c && b.reply == nil })
	for _, r := range c.behind {
		r.Drop()
	}
	c.behind = nil
	delete(n.conns, conn)
	if n.c == c {
		n.c = nil
	}
}

// hangUp closes a connection after what has been said on it in this turn.
func (n *Node) hangUp(conn uint64) {
	n.closed(conn)
	n.held = append(n.held, heldReply{conn: conn})
}

// hangUpAll closes the connections of all clients, as a Sentinel demands of a node whose role it changes (CLIENT KILL
// TYPE normal, and pubsub, in sentinelSendSlaveOf of sentinel.c). Requests that wait are not answered.
func (n *Node) hangUpAll() {
	n.held = slices.DeleteFunc(n.held, func(h heldReply) bool {
		if h.to != nil {
			h.to.Drop()
		}
		return h.to != nil || h.end > h.from // what is left are connections that are being closed
	})
	for _, b := range n.waiting {
		b.r.Drop()
	}
	for i := range n.batch {
		if r := n.batch[i].request; r != nil {
			r.Drop()
			n.batch[i] = arrival{}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(n.conns)) {
		n.hangUp(id)
	}
}
