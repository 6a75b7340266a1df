package redis

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// connection is the state that a node keeps for an open connection. Most connections don't have any. But if the node
// has replication, or while any request is waiting, each connection gets a state when it sends a request.
type connection struct {
	name    string
	multi   bool // between MULTI and EXEC
	resp3   bool // the client asked for RESP3 with HELLO 3
	authed  bool // the client has sent the password
	reads   bool // the client sent READONLY: a replica of a cluster serves its reads
	asking  bool // the client sent ASKING: the next command may concern a slot that is being moved here
	refused bool // a command was refused since MULTI, so EXEC will abort
	dirty   bool // a watched key has changed, so EXEC will do nothing
	queue   [][]string
	watched []watchedKey

	subscribed [audiences][]string // by kind, in the order in which the client subscribed

	woff    int64           // replication offset after the connection's last write
	blocked bool            // the connection's last request waits for replicas or for an element of a list
	behind  []*sim.Incoming // requests behind the one that waits
}

// state returns the current connection's state, creating it if there is none.
func (n *Node) state() *connection {
	if n.c == nil {
		n.c = n.conns[n.conn]
	}
	if n.c == nil {
		n.c = new(connection)
		n.conns[n.conn] = n.c
	}
	return n.c
}

// watchedKey is a key that a connection is watching. expired means that the key had already expired, but still existed,
// when WATCH was called.
type watchedKey struct {
	name    string
	expired bool
}

// changed marks the connections that are watching a key, so that their next EXEC fails. If the key had already expired
// when WATCH was called, its deletion does not count as a change.
func (n *Node) changed(name string) {
	for _, c := range n.conns {
		for i := range c.watched {
			w := &c.watched[i]
			switch {
			case w.name != name:
			case w.expired && !n.data.Exists(name):
				w.expired = false
			case !w.expired:
				c.dirty = true
			}
		}
	}
}

// flushed marks the connections that are watching a key that exists, so that their next EXEC fails. It is called when
// all keys are being deleted. If a key had already expired when WATCH was called, its deletion does not count as a
// change.
func (n *Node) flushed() {
	for _, c := range n.conns {
		for i := range c.watched {
			if w := &c.watched[i]; n.data.Exists(w.name) {
				c.dirty = c.dirty || !w.expired
				w.expired = false
			}
		}
	}
}

// overtaken reports whether a watched key has expired since WATCH. If so, EXEC will do nothing.
func (n *Node) overtaken(c *connection) bool {
	return slices.ContainsFunc(c.watched, func(w watchedKey) bool { return !w.expired && n.data.IsHidden(w.name) })
}

// transaction returns the current connection's open transaction, or nil.
func (n *Node) transaction() *connection {
	if n.c == nil || !n.c.multi || n.inScript || n.replaying() {
		return nil
	}
	return n.c
}

func (n *Node) unwatch(c *connection) {
	if len(c.watched) > 0 {
		n.watchers--
	}
	c.watched, c.dirty = c.watched[:0], false
}

func multi(n *Node, _ []string) {
	c := n.state()
	if c.multi {
		n.data.ReplyError("ERR MULTI calls can not be nested")
		return
	}
	c.multi = true
	n.data.ReplyOK()
}

func discard(n *Node, _ []string) {
	c := n.transaction()
	if c == nil {
		n.data.ReplyError("ERR DISCARD without MULTI")
		return
	}
	n.leave(c)
	n.data.ReplyOK()
}

// leave ends a transaction without executing it.
func (n *Node) leave(c *connection) {
	c.multi, c.refused, c.queue = false, false, c.queue[:0]
	n.unwatch(c)
}

func execQueue(n *Node, _ []string) {
	c := n.transaction()
	if c == nil {
		n.data.ReplyError("ERR EXEC without MULTI")
		return
	}
	n.data.ExpireDue()
	queue, refused, dirty := c.queue, c.refused, c.dirty || n.overtaken(c)
	c.queue = nil
	for _, w := range c.watched { // the client knows these values, which have not changed since it read them
		n.data.Look(w.name, "", history.CheckedValue)
	}
	defer n.data.Forget(0)
	n.leave(c)
	switch {
	case refused:
		n.data.ReplyError("EXECABORT Transaction discarded because of previous errors.")
	case dirty:
		n.data.ReplyNullArray()
	case n.repl.restricted && slices.ContainsFunc(queue, n.writes) && n.refusesWrites() != "":
		n.data.ReplyError("EXECABORT Transaction discarded because of: " + n.refusesWrites())
	default:
		n.data.ReplyLen(len(queue))
		n.inExec = true
		for _, args := range queue {
			n.dispatch(args)
		}
		n.inExec = false
	}
}

// writes reports whether a queued command may change data.
func (n *Node) writes(args []string) bool { return n.mayWrite(n.find(args[0]), args) }

func watch(n *Node, args []string) {
	if n.transaction() != nil {
		n.data.ReplyError("ERR WATCH inside MULTI is not allowed")
		return
	}
	c := n.state()
	if len(c.watched) == 0 {
		n.watchers++
	}
	for _, name := range args[1:] {
		if !slices.ContainsFunc(c.watched, func(w watchedKey) bool { return w.name == name }) {
			c.watched = append(c.watched, watchedKey{name, n.data.IsHidden(name)})
		}
	}
	n.data.ReplyOK()
}

func unwatch(n *Node, _ []string) {
	if n.c != nil {
		n.unwatch(n.c)
	}
	n.data.ReplyOK()
}
