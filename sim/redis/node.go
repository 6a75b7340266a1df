package redis

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// Node is a Redis server, master or replica. It implements [sim.Peer]. Only one goroutine may use it at a time.
type Node struct {
	cfg  Config
	host sim.Host // nil while the process is down

	data    *store.Data
	aof     store.File
	scripts scripts
	before  *store.Snapshot // the data at the last Stop, until the next Start
	// stood is what exists according to the node's records. It is kept while the node writes no records: while it is
	// down or a replica. lost is the reason to record if the next life does not find it.
	stood []store.Holding
	lost  history.Why

	mono int64 // monotonic clock of the current turn, in ns; only kept with persistence

	conn     uint64      // connection of the current request; 0 if none is executed
	c        *connection // the state of conn, if it has one
	inScript bool
	// scriptKeys are the keys that the current script declares.
	scriptKeys []string
	readOnly   bool // the current script must not write
	inExec     bool
	asking     bool // the current request follows an ASKING

	commands map[string]*nodeCommand // commands of the version, by name in lower and upper case

	conns     map[uint64]*connection // connections with a state: a transaction, watched keys, a name, subscriptions
	watchers  int                    // number of connections that watch keys
	audiences [audiences]audience
	tracking  table
	after     [][]string // keys that the connection must forget after the current reply; nil: all of them
	quits     bool       // the connection ends after the current reply

	born  time.Duration // when this life began, on the monotonic clock
	cron  bool          // a timer is set for the next background cycle
	armed int64         // deadline (ms) for which a timer is set; store.Never if none is set
	timer uint64        // number of the latest timer; earlier ones are void

	slow time.Duration // added to each fsync by a fault

	// With store.Always the node is blocked during an fsync.
	queue, batch []arrival   // what has arrived meanwhile
	held         []heldReply // replies that are sent after it
	heldBytes    []byte

	repl   replication
	member *clusterMember // nil if the node is in no cluster
	blocking
	operated

	face func(w *resp.Writer, args []string) // answers the commands of a Sentinel; nil in a Redis server
}

// arrival is a request, a message of another server, or the end of a connection.
type arrival struct {
	request *sim.Incoming
	from    sim.ProcessID
	message any
	closed  uint64
}

// on returns the connection on which it arrived.
func (a arrival) on() any {
	switch {
	case a.request != nil:
		return a.request.ConnID
	case a.closed != 0:
		return a.closed
	}
	return a.from
}

// EventLoop marks the node as a [sim.EventLoop].
func (n *Node) EventLoop() {}

// heldReply is sent to a client at the end of the turn, after the fsync if there is one. It is a reply; or, if to is
// nil, a push; or, if there are no bytes either, the end of the connection. The bytes are [from,end) of heldBytes.
type heldReply struct {
	to        *sim.Incoming
	conn      uint64  // connection of a push
	key       sim.Key // identifies the content of a push
	from, end int
}

var _ interface {
	sim.Peer
	sim.Settler
	sim.Closer
	sim.EventLoop
} = (*Node)(nil)

// Tags of timers: the kind is in the top byte, the timer's number below.
const (
	wakeExpiry  uint64 = 1 << 56
	wakeFsync   uint64 = 2 << 56
	wakeTick    uint64 = 3 << 56 // once a second
	wakeBlocked uint64 = 4 << 56 // a waiting request may have timed out
	wakeOrder   uint64 = 5 << 56 // a failover was ordered
	wakeCron    uint64 = 6 << 56 // time for the background cycle
	// wakeOperator: the node itself or an operator does something, see operate
	wakeOperator uint64 = 7 << 56
	wakeBus      uint64 = 8 << 56 // time to look at the other members of the cluster
	wakeNumber   uint64 = 1<<56 - 1
)

// New makes a node. This is costly, since a miniredis registers all its commands: keep nodes and Reset them between
// runs.
func New(cfg Config) *Node {
	n := &Node{conns: map[uint64]*connection{}}
	n.data = store.New((*hooks)(n))
	n.Reset(cfg)
	return n
}

// Reset makes n like a new node, for the next run.
func (n *Node) Reset(cfg Config) {
	if cfg.Version != n.cfg.Version {
		n.scripts = scripts{} // the scripts depend on the version
	}
	n.cfg, n.host = cfg.withDefaults(), nil
	n.commands = commands[cfg.Version]
	n.data.Reset()
	n.aof.Forget()
	n.before, n.stood, n.lost = nil, nil, ""
	n.timer, n.slow, n.numbers, n.member = 0, 0, 0, nil
	n.endLife()
	n.resetReplication()
}

// endLife drops what a process has in memory apart from the data.
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
	n.operated = operated{}
}

// Start loads the file and then expires what has become due while the node was down.
func (n *Node) Start(h sim.Host) {
	n.host, n.born, n.data.Onlooker = h, h.Monotonic(), h
	n.data.Notifies, _ = store.ParseEvents(n.cfg.NotifyKeyspaceEvents) // the configuration has been validated
	n.beginTurn()
	n.load()
	n.aof.Start(n.cfg.Persistence, n.cfg.FsyncTime+n.slow, n.mono, n.data.Wall)
	n.joinReplication()
	n.joinCluster()
	n.compare()
	n.finishTurn()
}

// Stop ends the life. How it ends and the persistence decide what the next life finds.
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
	if how == sim.ShutDown { // a clean shutdown closes the connections
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

// Serve executes a request. The reply is sent at once, or after the fsync with store.Always, or when replicas have
// acknowledged it.
func (n *Node) Serve(r *sim.Incoming) {
	if n.postpones(arrival{request: r}) {
		return
	}
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
	if n.mayBlock() || len(n.held) > 0 || n.quits || n.tracking.active() { // more than the reply is sent, or less
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

// execute executes a request. Its reply is then in n.data.Out.
func (n *Node) execute(r *sim.Incoming) {
	n.data.Attempt, n.data.Sent, n.data.Out = r.Attempt, r.Left(), n.data.Out[:0]
	n.attend(r.ConnID)
	n.dispatch(r.Args)
	if n.tracking.active() {
		n.cachingGiven(r.Args)
	}
}

// attend makes conn the connection whose request is executed; 0: no client's.
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

// finishTurn ends a turn whose replies are held. Replies and messages are sent at once, or after the fsync.
func (n *Node) finishTurn() {
	n.endTurn()
	n.broadcast()
	if !n.fsyncAlways() {
		n.sendHeld()
	}
}

// Wake handles a timer: it expires keys, ends an fsync, ends waits, or does the periodic work of replication.
func (n *Node) Wake(tag uint64) {
	number := tag & wakeNumber
	switch sort := tag &^ wakeNumber; {
	case sort == wakeExpiry && number != n.timer, sort == wakeTick && number != n.repl.tick:
		return // a later timer has replaced this one
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
	case wakeOperator:
		n.followOrders()
	case wakeBus:
		n.looked()
	}
	n.finishTurn()
}

// ClockChanged expires what is due by the new time, and sets the timers again.
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

// Fault carries out sim.SlowFsync, also while the process is down, and the other faults if the process is running.
func (n *Node) Fault(f sim.ServerFault) {
	switch f.Kind {
	case sim.FailOver:
		switch {
		case n.host == nil:
		case n.member != nil:
			n.operate(f)
		default:
			n.repl.ordered = f.To
			n.host.WakeAfter(0, wakeOrder)
		}
	case sim.RemoveKeys, sim.ClientPause:
		n.operate(f)
	case sim.SlowFsync:
		n.slowFsync(f)
	}
}

func (n *Node) slowFsync(f sim.ServerFault) {
	by := f.By
	if !f.Begin {
		by = -by
	}
	n.slow += by
	if n.host != nil && n.cfg.Persistence != store.None {
		n.aof.Slow(int64(n.host.Monotonic()), by)
	}
}

// standsStill reports whether the event loop is blocked by an fsync.
func (n *Node) standsStill() bool { return n.cfg.Persistence == store.Always && n.aof.IsRunning() }

// fsyncAlways begins the fsync that store.Always requires at the end of a turn, and reports whether replies must wait
// for it.
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

// dropQueued drops the queued requests of a connection that the node has closed.
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

// fsyncDone sends the replies that waited for the fsync, and executes in one turn everything that has arrived
// meanwhile.
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

// take handles something that arrived during an fsync.
func (n *Node) take(a arrival) {
	switch {
	case n.postpones(a):
	case a.closed != 0:
		n.closed(a.closed)
	case a.request == nil:
		n.read(a.from, a.message)
	case n.isClosing(a.request.ConnID):
		n.queue = append(n.queue, a) // it is not executed: sendHeld will drop it
	case n.mayBlock():
		n.admit(a.request)
		n.proceed()
	default:
		n.execute(a.request)
		n.respond(a.request)
	}
}

// respond holds the reply to a request that was executed, or makes the request wait.
func (n *Node) respond(r *sim.Incoming) {
	if n.mayBlock() {
		n.conclude(r, n.state(), n.repl.end())
		return
	}
	n.hold(r, n.data.Out)
	n.trail(r.ConnID)
}

// Settled implements [sim.Settler]: with appendfsync everysec or no, writes reach the disk after they have been
// answered.
func (n *Node) Settled(now time.Duration) []time.Duration {
	if n.host == nil {
		return nil
	}
	return n.aof.Settled(int64(now))
}
