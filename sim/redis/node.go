package redis

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// Node is one Redis, a master or a replica. It implements [sim.Peer] and is used by one goroutine at a time.
type Node struct {
	cfg  Config
	host sim.Host // nil between lives

	data    *store.Data
	aof     store.File
	scripts scripts
	before  *store.Snapshot // the data at the last Stop, until the next Start
	// stood is what stands by the node's records while it writes none: while it is down or a replica. lost is why the
	// next life does not find it.
	stood []store.Holding
	lost  history.Why

	mono int64 // monotonic clock of the current turn, ns; only kept up with persistence

	conn     uint64      // of the current request; 0 if none is executed
	c        *connection // its state, if it has one
	inScript bool
	// scriptKeys are the keys that the current script declares.
	scriptKeys []string
	readOnly   bool // it must not write
	inExec     bool

	commands map[string]*nodeCommand // of the version, by their names in lower and upper case

	conns     map[uint64]*connection // those with a state: a transaction, watched keys, a name, subscriptions
	watchers  int                    // how many of them watch keys
	audiences [audiences]audience
	tracking  table
	after     [][]string // what follows the current reply: keys that its connection must forget; nil: all of them
	quits     bool       // the end of its connection does

	born  time.Duration // when this life began, on the monotonic clock
	cron  bool          // a timer is set for the next background cycle
	armed int64         // deadline (ms) for which a timer is set; never if none is
	timer uint64        // number of the latest timer: earlier ones are void

	slow time.Duration // added to each fsync by a fault

	// With store.Always the node stands still during an fsync.
	queue, batch []arrival   // what arrived meanwhile
	held         []heldReply // replies that go out after it
	heldBytes    []byte

	repl replication
	blocking

	face func(w *resp.Writer, args []string) // answers what is not the node's; nil but behind a Sentinel
}

// arrival is a request, a message of another server, or the end of a connection.
type arrival struct {
	request *sim.Incoming
	from    sim.ProcessID
	message any
	closed  uint64
}

// on is the connection on which it arrived.
func (a arrival) on() any {
	switch {
	case a.request != nil:
		return a.request.ConnID
	case a.closed != 0:
		return a.closed
	}
	return a.from
}

// EventLoop makes a node a [sim.EventLoop].
func (n *Node) EventLoop() {}

// heldReply is what leaves for a client at the end of the turn, after the fsync if there is one: a reply, a push if to
// is nil, or the end of the connection if there are no bytes either. The bytes are [from,end) of heldBytes.
type heldReply struct {
	to        *sim.Incoming
	conn      uint64  // of a push
	key       sim.Key // likewise: its content
	from, end int
}

var _ interface {
	sim.Peer
	sim.Settler
	sim.Closer
	sim.EventLoop
} = (*Node)(nil)

// Tags of timers: the kind in the top byte, the timer's number below.
const (
	wakeExpiry  uint64 = 1 << 56
	wakeFsync   uint64 = 2 << 56
	wakeTick    uint64 = 3 << 56 // once a second
	wakeBlocked uint64 = 4 << 56 // a request has waited too long
	wakeOrder   uint64 = 5 << 56 // a failover was ordered
	wakeCron    uint64 = 6 << 56 // of the background cycle
	wakeNumber  uint64 = 1<<56 - 1
)

// New makes a node. That is costly (a miniredis registers all its commands): keep nodes and Reset them between runs.
func New(cfg Config) *Node {
	n := &Node{conns: map[uint64]*connection{}}
	n.data = store.New((*hooks)(n))
	n.Reset(cfg)
	return n
}

// Reset makes n as new, for the next run.
func (n *Node) Reset(cfg Config) {
	if cfg.Version != n.cfg.Version {
		n.scripts = scripts{} // they know it
	}
	n.cfg, n.host = cfg.withDefaults(), nil
	n.commands = commands[cfg.Version]
	n.data.Reset()
	n.aof.Forget()
	n.before, n.stood, n.lost = nil, nil, ""
	n.timer, n.slow, n.numbers = 0, 0, 0
	n.endLife()
	n.resetReplication()
}

// endLife drops what a process has in memory besides the data.
func (n *Node) endLife() {
	n.scripts.endLife()
	clear(n.conns)
	n.watchers = 0
	n.audiences = newAudiences()
	n.tracking.reset()
	n.endBlocking()
	n.after, n.quits = nil, false
	n.cron, n.armed = false, store.Never
	clear(n.queue)
	clear(n.batch)
	clear(n.held)
	n.queue, n.batch, n.held, n.heldBytes = n.queue[:0], n.batch[:0], n.held[:0], n.heldBytes[:0]
	n.data.Attempt, n.data.Out = "", n.data.Out[:0]
	n.attend(0)
	n.endReplication()
}

// Start loads what is on disk and then lets the wall clock expire it: time went on while the node was down.
func (n *Node) Start(h sim.Host) {
	n.host, n.born, n.data.Onlooker = h, h.Monotonic(), h
	n.data.Notifies, _ = store.ParseEvents(n.cfg.NotifyKeyspaceEvents) // whoever configures it has looked at that
	n.beginTurn()
	n.load()
	n.aof.Start(n.cfg.Persistence, n.cfg.FsyncTime+n.slow, n.mono, n.data.Wall)
	n.joinReplication()
	n.compare()
	n.finishTurn()
}

// Stop ends the life. What the next one finds depends on how it ended and on the persistence.
func (n *Node) Stop(how sim.Stop) {
	n.mono = int64(n.host.Monotonic())
	n.before = n.data.Snapshot()
	if n.repl.master == "" {
		n.stood = n.before.Holdings()
	}
	n.lost = how.Loss(n.cfg.Persistence != store.None)
	switch how {
	case sim.LoseAllState:
		n.aof.Forget()
	case sim.PowerLoss:
		n.aof.Crash(n.mono)
	}
	if how == sim.ShutDown { // its connections are closed
		for _, peer := range []sim.ProcessID{n.repl.master, n.repl.observer} {
			if peer != "" {
				n.host.Send(peer, phaseLeave, n.second(), leave{})
			}
		}
	}
	n.data.Clear()
	n.endLife()
	n.host = nil
}

// Serve executes a request. Its reply goes out at once, after the fsync with store.Always, or once replicas have said
// so.
func (n *Node) Serve(r *sim.Incoming) {
	if n.standsStill() {
		n.queue = append(n.queue, arrival{request: r})
		return
	}
	n.beginTurn()
	if n.mayBlock() {
		n.admit(r)
		n.proceed()
		n.finishTurn()
		return
	}
	n.execute(r)
	if n.mayBlock() || len(n.held) > 0 || n.quits || n.tracking.active() { // more leaves than the reply, or less
		n.respond(r)
		n.finishTurn()
		return
	}
	n.endTurn()
	if n.fsyncAlways() {
		n.hold(r, n.data.Out)
		return
	}
	r.Reply(n.data.Out)
}

// execute carries out a request and leaves its reply in out.
func (n *Node) execute(r *sim.Incoming) {
	n.data.Attempt, n.data.Sent, n.data.Out = r.Attempt, r.Left(), n.data.Out[:0]
	n.attend(r.ConnID)
	n.dispatch(r.Args)
	if n.tracking.active() {
		n.cachingGiven(r.Args)
	}
}

// attend makes a connection the one whose request is executed; 0: no client's.
func (n *Node) attend(conn uint64) {
	n.conn, n.c = conn, nil
	if len(n.conns) > 0 {
		n.c = n.conns[conn]
	}
	n.data.RESP3 = n.c != nil && n.c.resp3
}

func (n *Node) beginTurn() {
	n.data.Begin(n.host.Wall())
	if n.cfg.Persistence != store.None {
		n.mono = int64(n.host.Monotonic())
	}
}

func (n *Node) endTurn() {
	if n.repl.involved {
		n.endReplicationTurn()
	}
	n.aof.Commit(n.mono)
	n.armTimer()
}

// finishTurn ends a turn whose replies are held. They and the messages go out at once, or after the fsync.
func (n *Node) finishTurn() {
	n.endTurn()
	n.broadcast()
	if !n.fsyncAlways() {
		n.sendHeld()
	}
}

// Wake expires keys, ends an fsync, or does one of the things that replication does by time.
func (n *Node) Wake(tag uint64) {
	number := tag & wakeNumber
	switch sort := tag &^ wakeNumber; {
	case sort == wakeExpiry && number != n.timer, sort == wakeTick && number != n.repl.tick:
		return // a later timer has taken its place
	case sort == wakeFsync:
		n.beginTurn()
		n.fsyncDone()
		return
	}
	n.beginTurn()
	n.data.Attempt = ""
	n.attend(0)
	switch tag &^ wakeNumber {
	case wakeExpiry:
		n.armed = store.Never
		n.data.ExpireDue()
	case wakeCron:
		n.cron = false
		if n.repl.master == "" {
			n.data.ReapAll()
		}
	case wakeTick:
		n.ticked()
	case wakeBlocked:
		n.timedOut(number)
	}
	n.finishTurn()
}

// ClockChanged expires what the new time ends and sets the timers anew.
func (n *Node) ClockChanged() {
	n.beginTurn()
	if n.cfg.Persistence != store.None {
		n.aof.ClockChanged(n.mono, n.data.Wall)
	}
	n.armed = store.Never
	n.data.Attempt = ""
	n.attend(0)
	n.data.Revive()
	n.data.ExpireDue()
	n.limitAgain()
	n.finishTurn()
}

// Fault carries out sim.SlowFsync, also between lives, and sim.FailOver once the process runs; a process that is down
// takes no notice of that.
func (n *Node) Fault(f sim.ServerFault) {
	if f.Kind == sim.FailOver && n.host != nil {
		n.repl.ordered = f.To
		n.host.WakeAfter(0, wakeOrder)
	}
	if f.Kind != sim.SlowFsync {
		return
	}
	by := f.By
	if !f.Begin {
		by = -by
	}
	n.slow += by
	if n.host != nil && n.cfg.Persistence != store.None {
		n.aof.Slow(int64(n.host.Monotonic()), by)
	}
}

// standsStill reports whether the event loop is inside an fsync.
func (n *Node) standsStill() bool { return n.cfg.Persistence == store.Always && n.aof.IsRunning() }

// fsyncAlways begins the fsync that store.Always demands at the end of a turn, and reports whether replies must wait.
func (n *Node) fsyncAlways() bool {
	if n.cfg.Persistence != store.Always {
		return false
	}
	wait, began := n.aof.SyncAlways(n.mono)
	if began {
		n.host.WakeAfter(n.aof.Takes(), wakeFsync)
	}
	return wait
}

func (n *Node) hold(r *sim.Incoming, reply []byte) {
	from := len(n.heldBytes)
	n.heldBytes = append(n.heldBytes, reply...)
	n.held = append(n.held, heldReply{to: r, from: from, end: len(n.heldBytes)})
}

// sendHeld sends the replies and messages that were held.
func (n *Node) sendHeld() {
	for _, h := range n.held {
		switch b := n.heldBytes[h.from:h.end]; {
		case h.to != nil:
			h.to.Reply(b)
		case len(b) > 0:
			n.host.Push(h.conn, h.key, b)
		default:
			n.host.HangUp(h.conn)
			n.dropQueued(h.conn)
		}
	}
	clear(n.held)
	n.held, n.heldBytes = n.held[:0], n.heldBytes[:0]
	for _, m := range n.repl.outbox {
		n.host.Send(m.to, m.phase, m.key, m.body)
	}
	clear(n.repl.outbox)
	n.repl.outbox = n.repl.outbox[:0]
}

// dropQueued drops the requests that arrived on a connection after the one with which the node has closed it.
func (n *Node) dropQueued(conn uint64) {
	n.queue = slices.DeleteFunc(n.queue, func(a arrival) bool {
		late := a.request != nil && a.request.ConnID == conn
		if late {
			a.request.Drop()
		}
		return late
	})
}

// isClosing reports whether the node will close a connection at the end of the turn.
func (n *Node) isClosing(conn uint64) bool {
	return slices.ContainsFunc(n.held, func(h heldReply) bool {
		return h.to == nil && h.from == h.end && h.conn == conn
	})
}

// fsyncDone answers those who waited, and executes in one turn all that has arrived meanwhile.
func (n *Node) fsyncDone() {
	n.aof.Finish()
	n.sendHeld()
	n.batch, n.queue = n.queue, n.batch[:0]
	sim.InTurn(n.batch, arrival.on)
	for i, a := range n.batch {
		n.batch[i] = arrival{}
		n.take(a)
	}
	n.finishTurn()
}

// take acts on what arrived during an fsync.
func (n *Node) take(a arrival) {
	switch {
	case a.closed != 0:
		n.closed(a.closed)
	case a.request == nil:
		n.read(a.from, a.message)
	case n.isClosing(a.request.ConnID):
		n.queue = append(n.queue, a) // until it is dropped: it is not executed
	case n.mayBlock():
		n.admit(a.request)
		n.proceed()
	default:
		n.execute(a.request)
		n.respond(a.request)
	}
}

// respond holds the reply to a request that was executed, or has the request wait if it is the first that does.
func (n *Node) respond(r *sim.Incoming) {
	if n.mayBlock() {
		n.conclude(r, n.state(), n.repl.end())
		return
	}
	n.hold(r, n.data.Out)
	n.trail(r.ConnID)
}

// Settled makes a node a [sim.Settler]: appendfsync everysec and no put writes on disk after they have been answered.
func (n *Node) Settled(now time.Duration) []time.Duration {
	if n.host == nil {
		return nil
	}
	return n.aof.Settled(int64(now))
}
