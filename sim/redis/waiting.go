package redis

import (
	"cmp"
	"slices"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// blocking is the state of requests that are waiting for replicas or for a list element. Later requests on the same
// connection wait behind them. Other connections are still served.
type blocking struct {
	block      *blocked   // what the current request waits for; nil if it does not wait
	waiting    []*blocked // all waiting requests, in the order in which they began to wait
	numbers    uint64     // number of requests that have had to wait so far
	ready      []string   // lists that were created and for which a request is waiting
	released   []*connection
	proceeding bool
	syncing    uint64 // number of the latest timer for the end of an fsync; earlier timers are ignored
	syncAt     int64  // monotonic time of that timer; 0 if none is set
}

// blocked is a waiting request.
type blocked struct {
	r      *sim.Incoming
	c      *connection
	number uint64 // the request's timer number
	until  int64  // last wall-clock millisecond at which the request is still waiting; 0: forever

	// Fields used for a WAIT or WAITAOF, or for a write under semi-synchronous replication.
	offset int64  // the offset that the replicas must have acknowledged
	need   int64  // the number of replicas that must have acknowledged this offset
	reply  []byte // the reply to a write; nil for a WAIT, which replies with the number of replicas
	aof    bool   // the request is a WAITAOF
	local  int64  // for WAITAOF: 1 if the write must be on the node's own disk, and otherwise 0

	// Fields used for a command that pops from lists. As soon as one of the lists named in keys has an element, pop is
	// called with that list's name. It takes the element and replies.
	keys []string
	pop  func(name string)
}

// mayBlock reports whether any request may have to wait. If so, every request must be checked, because it may have to
// wait itself, or behind an earlier request on the same connection.
func (n *Node) mayBlock() bool { return n.repl.involved || n.block != nil || len(n.waiting) > 0 }

func (n *Node) endBlocking() {
	clear(n.waiting)
	n.blocking = blocking{waiting: n.waiting[:0], numbers: n.numbers, syncing: n.syncing + 1}
}

// wait implements WAIT, which counts the replicas that have acknowledged the connection's last write. In a transaction,
// that is the last write before the transaction. Redis 7.0 refuses WAIT in a script; in later versions, WAIT in a
// script counts the replicas that are online. Redis 7.0 counts every command as a write, so there, a second WAIT in a
// row may count fewer replicas than here.
func wait(n *Node, args []string) {
	if n.repl.master != "" {
		n.data.ReplyError("ERR WAIT cannot be used with replica instances. " +
			"Please also note that since Redis 4.0 if a replica is configured " +
			"to be writable (which is not the default) writes to replicas are just local and are not propagated.")
		return
	}
	need, ok := resp.ParseInt(args[1])
	if !ok {
		n.data.ReplyError(resp.ErrNotInt)
		return
	}
	if until, ok := n.waitUntil(args[2]); ok {
		n.waitFor(&blocked{need: need, until: until})
	}
}

// waitUntil parses the timeout of a WAIT or WAITAOF, and returns the last millisecond of the wait. If the timeout is
// invalid, waitUntil replies with an error, and ok is false.
func (n *Node) waitUntil(text string) (until int64, ok bool) {
	timeout, ok := resp.ParseInt(text)
	switch {
	case !ok:
		n.data.ReplyError("ERR timeout is not an integer or out of range")
		return 0, false
	case timeout < 0:
		n.data.ReplyError("ERR timeout is negative")
		return 0, false
	}
	return n.inMillis(timeout), true
}

// waitFor replies to a WAIT or WAITAOF immediately, or makes it wait and asks the replicas for acknowledgments.
func (n *Node) waitFor(b *blocked) {
	if c := n.conns[n.conn]; c != nil && !n.inScript {
		b.offset = c.woff
	}
	if n.hasEnough(b) || n.mustNotBlock() {
		n.data.Out = append(n.data.Out, n.waitedFor(b)...)
		return
	}
	n.repl.involved, n.block = true, b
	n.repl.askAcks, n.repl.asker = true, n.second().Text(string(n.data.Attempt))
}

// hasEnough reports whether enough replicas have acknowledged the write that a request is waiting for. A WAITAOF may
// also require the write to be on the node's own disk.
func (n *Node) hasEnough(b *blocked) bool {
	return b.pop == nil && n.acked(b) >= b.need && (b.local == 0 || n.onDisk(b) >= b.local)
}

// inMillis returns the last millisecond of a wait that begins now and has the given timeout. If the timeout is 0, it
// returns 0, which means that the wait never times out.
func (n *Node) inMillis(timeout int64) int64 {
	if timeout == 0 {
		return 0
	}
	return n.data.Now + min(timeout, store.LastTimed-n.data.Now)
}

// mustNotBlock reports whether the current command is part of a script or a transaction. Such commands never wait.
func (n *Node) mustNotBlock() bool { return n.inScript || n.inExec }

// admit executes a request. While an earlier request on the same connection waits (WAIT, for example), it queues the
// new one instead.
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

// conclude is called after a request has been executed. It sends the reply or makes the connection wait. offset is the
// replication offset when the request began.
func (n *Node) conclude(r *sim.Incoming, c *connection, offset int64) {
	b := n.block
	n.block = nil
	defer n.trail(r.ConnID)
	if now := n.repl.end(); now > offset {
		c.woff = now
		if b == nil && n.cfg.SemiSync && !n.repl.degraded && n.repl.master == "" {
			b = &blocked{offset: now, need: 1, reply: append([]byte{}, n.data.Out...)}
		}
	}
	if b == nil {
		n.hold(r, n.data.Out)
		return
	}
	n.numbers++
	b.r, b.c, b.number = r, c, n.numbers
	c.blocked = true
	n.waiting = append(n.waiting, b)
	n.limit(b)
}

// limit sets the timer that ends a wait. As in Redis, WAIT and pops use the wall clock.
func (n *Node) limit(b *blocked) {
	switch {
	case b.reply != nil:
		n.host.WakeAfter(n.cfg.SemiSyncTimeout, wakeBlocked|b.number)
	case b.until > 0:
		n.host.WakeAtWall(store.EndOf(b.until), wakeBlocked|b.number)
	}
}

// limitAgain resets the timers of all waits, except those of semi-synchronous writes, after the wall clock has changed.
func (n *Node) limitAgain() {
	for _, b := range n.waiting {
		if b.reply == nil {
			n.limit(b)
		}
	}
}

// release answers the waiting requests for which over returns true, in the order in which they would time out.
func (n *Node) release(over func(*blocked) bool) {
	list := slices.DeleteFunc(slices.Clone(n.waiting), func(b *blocked) bool { return !over(b) })
	slices.SortStableFunc(list, func(a, b *blocked) int { return cmp.Compare(a.until, b.until) })
	for _, b := range list {
		n.unblock(b, n.waitedFor(b))
	}
	n.proceed()
}

// waitedFor returns the reply to a request when its wait ends, for whatever reason.
func (n *Node) waitedFor(b *blocked) []byte {
	switch {
	case b.reply != nil:
		return b.reply
	case b.aof:
		return sim.AppendInt(sim.AppendInt([]byte("*2\r\n"), n.onDisk(b)), n.acked(b))
	case b.pop == nil:
		return sim.AppendInt(nil, n.acked(b))
	}
	w := resp.Writer{RESP3: b.c.resp3}
	w.ReplyNullArray()
	return w.Out
}

// acknowledged answers the requests for which enough replicas have now sent an acknowledgment, and the requests that
// were waiting for an fsync that has just ended.
func (n *Node) acknowledged() {
	if len(n.waiting) > 0 {
		n.release(n.hasEnough)
	}
}

// timedOut handles the timer with the given number. It ends the waits that have timed out, before any request that
// arrived later is executed. If the timer is that of a semi-synchronous write, replication becomes asynchronous.
func (n *Node) timedOut(number uint64) {
	for _, b := range n.waiting {
		if b.number == number && b.reply != nil {
			n.repl.degraded = true
		}
	}
	n.release(func(b *blocked) bool {
		if b.reply != nil {
			return n.repl.degraded
		}
		return b.until > 0 && n.data.Now > b.until
	})
}

// unblockAll answers all waiting requests with an error and closes their connections, since the node is no longer a
// master (disconnectAllBlockedClients, blocked.c).
func (n *Node) unblockAll(reply string) {
	list := n.waiting
	n.waiting = nil
	for _, b := range list {
		n.hold(b.r, []byte(reply))
		n.hangUp(b.r.ConnID)
	}
}

// unblock answers a waiting request. It does not execute the requests that arrived behind it on the connection; the
// proceed method does.
func (n *Node) unblock(b *blocked, reply []byte) {
	n.hold(b.r, reply)
	n.leaveLine(b)
}

func (n *Node) leaveLine(b *blocked) {
	n.waiting = slices.DeleteFunc(n.waiting, func(other *blocked) bool { return other == b })
	b.c.blocked = false
	n.released = append(n.released, b.c)
}

// proceed serves the clients that are waiting for lists that now exist. It also executes requests that arrived behind a
// waiting request, once that request is no longer waiting. It repeats these steps until nothing is left to do.
func (n *Node) proceed() {
	if n.proceeding {
		return
	}
	n.proceeding = true
	for len(n.ready)+len(n.released) > 0 {
		if len(n.ready) > 0 {
			name := n.ready[0]
			n.ready = n.ready[1:]
			n.serveList(name)
			continue
		}
		c := n.released[0]
		if c.blocked || len(c.behind) == 0 {
			n.released = n.released[1:]
			continue
		}
		r := c.behind[0]
		c.behind = c.behind[1:]
		n.admit(r)
	}
	n.proceeding = false
}
