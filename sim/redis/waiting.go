package redis

import (
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/keyspace"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// blocked is a request that waits for replicas: a WAIT, or a write under semi-synchronous replication. Later requests
// of its connection wait behind it, other connections go on.
type blocked struct {
	r      *sim.Incoming
	c      *connection
	number uint64 // of its timer
	offset int64  // that the replicas must have acknowledged
	need   int64  // how many of them
	until  int64  // last millisecond of the wall clock at which a WAIT still waits; 0: for ever
	reply  []byte // of a write; nil for a WAIT, which replies how many there are
}

// wait is WAIT, as since Redis 7.2: it counts the replicas that have acknowledged the connection's last write. In a
// transaction it counts for what the connection wrote before; in a script it counts the replicas that are online. Redis
// 7.0 refuses it in scripts, and takes every command for a write: a WAIT after a WAIT may count less.
func wait(n *Node, args []string) {
	if n.repl.master != "" {
		n.data.ReplyError("ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if " +
			"a replica is configured to be writable (which is not the default) writes to replicas are just local and " +
			"are not propagated.")
		return
	}
	need, ok := resp.ParseInt(args[1])
	timeout, ok2 := resp.ParseInt(args[2])
	switch {
	case !ok:
		n.data.ReplyError(resp.ErrNotInt)
		return
	case !ok2:
		n.data.ReplyError("ERR timeout is not an integer or out of range")
		return
	case timeout < 0:
		n.data.ReplyError("ERR timeout is negative")
		return
	}
	b := &blocked{need: need}
	if c := n.conns[n.conn]; c != nil && !n.inScript {
		b.offset = c.woff
	}
	if timeout > 0 {
		b.until = n.data.Now + min(timeout, keyspace.LastTimed-n.data.Now)
	}
	if count := n.acked(b.offset); count >= need || n.inScript || n.inExec {
		n.data.ReplyInt(count)
		return
	}
	n.repl.involved, n.repl.block = true, b
	n.repl.askAcks, n.repl.asker = true, n.second().Text(string(n.data.Attempt))
}

// admit executes a request, unless its connection waits.
func (n *Node) admit(r *sim.Incoming) {
	n.attend(r.ConnID)
	c := n.state()
	if c.blocked {
		c.behind = append(c.behind, r)
		return
	}
	before := n.repl.end()
	n.execute(r)
	n.conclude(r, c, before)
}

// conclude answers a request that has been executed, or blocks its connection. before is the replication offset that
// it found.
func (n *Node) conclude(r *sim.Incoming, c *connection, before int64) {
	b := n.repl.block
	n.repl.block = nil
	defer n.trail(r.ConnID)
	if now := n.repl.end(); now > before {
		c.woff = now
		if n.cfg.SemiSync && !n.repl.degraded && n.repl.master == "" {
			b = &blocked{offset: now, need: 1, reply: append([]byte{}, n.data.Out...)}
		}
	}
	if b == nil {
		n.hold(r, n.data.Out)
		return
	}
	n.repl.numbers++
	b.r, b.c, b.number = r, c, n.repl.numbers
	c.blocked = true
	n.repl.waiting = append(n.repl.waiting, b)
	n.limit(b)
}

// limit sets the timer that ends a wait. A WAIT counts on the wall clock, as Redis does.
func (n *Node) limit(b *blocked) {
	switch {
	case b.reply != nil:
		n.host.WakeAfter(n.cfg.SemiSyncTimeout, wakeBlocked|b.number)
	case b.until > 0:
		n.host.WakeAtWall(keyspace.EndOf(b.until), wakeBlocked|b.number)
	}
}

// limitAgain sets the timers anew after the wall clock has changed.
func (n *Node) limitAgain() {
	for _, b := range n.repl.waiting {
		if b.reply == nil {
			n.limit(b)
		}
	}
}

// release lets those go on who no longer wait by the judgement of over.
func (n *Node) release(over func(*blocked) bool) {
	list := n.repl.waiting
	n.repl.waiting = nil
	var kept []*blocked
	for _, b := range list {
		if over(b) {
			n.unblock(b)
		} else {
			kept = append(kept, b)
		}
	}
	n.repl.waiting = append(kept, n.repl.waiting...) // those behind may have begun to wait
}

// acknowledged releases those whom an acknowledgement has satisfied.
func (n *Node) acknowledged() {
	if len(n.repl.waiting) > 0 {
		n.release(func(b *blocked) bool { return n.acked(b.offset) >= b.need })
	}
}

// timedOut ends a wait that has lasted too long. If it was a write's, replication is asynchronous from now on.
func (n *Node) timedOut(number uint64) {
	for _, b := range n.repl.waiting {
		if b.number == number && b.reply != nil {
			n.repl.degraded = true
		}
	}
	n.release(func(b *blocked) bool {
		if b.reply != nil {
			return n.repl.degraded
		}
		return b.number == number && n.data.Now > b.until
	})
}

// unblockAll answers all who wait with an error and closes their connections, since the node is a master no more
// (disconnectAllBlockedClients, blocked.c).
func (n *Node) unblockAll(reply string) {
	list := n.repl.waiting
	n.repl.waiting = nil
	for _, b := range list {
		n.hold(b.r, []byte(reply))
		n.hangUp(b.r.ConnID)
	}
}

// unblock answers, and then executes what came in behind.
func (n *Node) unblock(b *blocked) {
	reply := b.reply
	if reply == nil {
		reply = sim.AppendInt(nil, n.acked(b.offset))
	}
	n.hold(b.r, reply)
	b.c.blocked = false
	behind := b.c.behind
	b.c.behind = nil
	for _, r := range behind {
		n.admit(r)
	}
}
