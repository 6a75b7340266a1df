package redis

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/lua"
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
	// libraries contains the loaded function libraries, sorted by name.
	libraries []*lua.Library
	before    *store.Snapshot // the data when the process stopped, until it starts again
	// stood contains the keys, and members of keys, that exist according to the node's records. It is set while the
	// node is not recording anything because it is down or a replica. lost is the reason to record for each key or
	// member that is missing after the next start.
	stood []store.Holding
	lost  history.Why

	mono int64 // monotonic clock of the current turn, in ns; kept only if the node has persistence

	conn     uint64      // connection of the current request; 0 if none is executed
	c        *connection // the state of connection conn, if it has one
	inScript bool
	// scriptKeys are the keys that the current script declares.
	scriptKeys []string
	readOnly   bool // the current script must not write
	inExec     bool
	asking     bool // the current request follows an ASKING command

	commands map[string]*nodeCommand // commands of the version, by name in lower and upper case

	conns     map[uint64]*connection // connections with a state: a transaction, watched keys, a name, subscriptions
	watchers  int                    // number of connections that watch keys
	audiences [audiences]audience
	tracking  table
	after     [][]string // keys that the connection must be told to forget after the current reply; nil: all keys
	quits     bool       // the connection ends after the current reply

	born  time.Duration // when the process started, on the monotonic clock
	cron  bool          // whether a timer is set for the next background cycle
	armed int64         // deadline (ms) for which a timer is set; store.Never if none is set
	timer uint64        // number of the latest timer; earlier timers are ignored

	slow time.Duration // time that a fault adds to each fsync

	// With store.Always, an fsync blocks the node.
	queue, batch []arrival   // what has arrived during the fsync
	held         []heldReply // replies to be sent after the fsync
	heldBytes    []byte

	repl   replication
	member *clusterMember // nil if the node is in no cluster
	blocking
	operated

	face func(w *resp.Writer, args []string) // answers the commands of a Sentinel; nil in a Redis server
}

// arrival is a request, a message from another server, or the end of a connection.
type arrival struct {
	request *sim.Incoming
	from    sim.ProcessID
	message any
	closed  uint64
}

// source identifies the arrival's sender. It returns a client's connection number, or the name of another server.
func (a arrival) source() any {
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

// heldReply is something to send to a client at the end of an event loop turn, after the fsync if there is one. If to
// is set, it is a reply. Otherwise it is a push or, if it has no bytes, the end of the connection. The bytes are
// heldBytes[from:end].
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

// Timer tags. The top byte is the kind of timer, and the other bytes are its number.
const (
	wakeExpiry  uint64 = 1 << 56
	wakeFsync   uint64 = 2 << 56
	wakeTick    uint64 = 3 << 56 // work that is due once a second
	wakeBlocked uint64 = 4 << 56 // a waiting request may have timed out
	wakeOrder   uint64 = 5 << 56 // a failover was ordered
	wakeCron    uint64 = 6 << 56 // the background cycle is due
	// wakeOperator: an eviction or an operator's action is due (see operate)
	wakeOperator uint64 = 7 << 56
	wakeBus      uint64 = 8 << 56 // a check of the other members of the cluster is due
	wakeSynced   uint64 = 9 << 56 // an fsync that a WAITAOF waits for ends
	wakeNumber   uint64 = 1<<56 - 1
)

// New makes a node. Callers should keep a node and Reset it between runs: the first command that miniredis executes
// takes a long time, because each miniredis registers all its commands.
func New(cfg Config) *Node {
	n := &Node{conns: map[uint64]*connection{}}
	n.data = store.New((*hooks)(n))
	n.Reset(cfg)
	return n
}

// Reset makes n equivalent to a new node, for the next run.
func (n *Node) Reset(cfg Config) {
	if cfg.Version != n.cfg.Version {
		n.scripts = scripts{} // the scripts depend on the version
	}
	n.cfg, n.host = cfg.withDefaults(), nil
	n.commands = commands[cfg.Version]
	n.data.Reset()
	n.aof.Forget()
	n.before, n.stood, n.lost = nil, nil, ""
	n.timer, n.slow, n.numbers, n.syncing, n.member = 0, 0, 0, 0, nil
	n.endLife()
	n.resetReplication()
}

// endLife drops everything that the process has in memory except the data.
func (n *Node) endLife() {
	n.scripts.endLife()
	n.libraries = nil
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

// Start loads the append-only file and then expires the keys that became due while the node was down.
func (n *Node) Start(h sim.Host) {
	n.host, n.born, n.data.Onlooker = h, h.Monotonic(), h
	// This does not return an error, since the configuration has been validated.
	n.data.Notifies, _ = store.ParseEvents(n.cfg.NotifyKeyspaceEvents)
	n.beginTurn()
	n.load()
	n.startFile()
	n.joinReplication()
	n.joinCluster()
	n.compare()
	n.finishTurn()
}

// startFile starts the append-only file. Its current content is considered to be on disk.
func (n *Node) startFile() {
	unit := time.Second
	if n.cfg.Version == Redis8 {
		unit = time.Millisecond
	}
	n.aof.Start(n.cfg.Persistence, n.cfg.FsyncTime+n.slow, unit, n.mono, n.data.Wall)
	n.markAll()
}

// Stop ends the process. What data the next start finds depends on how the process ends and on the persistence
// settings.
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

// Serve executes a request and replies. During a client pause or an fsync that blocks the node, the request is executed
// later. The reply may have to wait for an fsync (with store.Always), for acknowledgments from replicas, or for a list
// element.
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
	// The request may have caused more than a reply, or its reply may have to wait.
	if n.mayBlock() || len(n.held) > 0 || n.quits || n.tracking.active() {
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

// execute executes a request and leaves the reply in n.data.Out.
func (n *Node) execute(r *sim.Incoming) {
	n.data.Attempt, n.data.Sent, n.data.Out = r.Attempt, r.Left(), n.data.Out[:0]
	n.attend(r.ConnID)
	n.dispatch(r.Args)
	if n.tracking.active() {
		n.cachingGiven(r.Args)
	}
}

// attend records which connection's request is being executed. conn is 0 if the request does not come from a client.
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
	if n.marksOffsets() {
		n.markOffset()
	}
	n.armTimer()
}

// finishTurn ends an event loop turn in which replies may have been held back. It sends the held-back replies and
// messages immediately or, if an fsync must come first, after the fsync.
func (n *Node) finishTurn() {
	n.endTurn()
	n.broadcast()
	if !n.fsyncAlways() {
		n.sendHeld()
	}
}

// Wake handles a timer: it expires keys, ends an fsync, ends waits, or does replication's periodic work.
func (n *Node) Wake(tag uint64) {
	number := tag & wakeNumber
	switch sort := tag &^ wakeNumber; {
	case sort == wakeExpiry && number != n.timer, sort == wakeTick && number != n.repl.tick,
		sort == wakeSynced && number != n.syncing:
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
		n.checkPeers()
	case wakeSynced:
		n.syncAt = 0
		n.acknowledged()
	}
	n.finishTurn()
}

// ClockChanged is called when the node's wall clock has been changed. Keys that are now due expire. Expired keys that
// still exist and are no longer due become visible again. Timers that depend on the wall clock are reset.
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

// Fault applies a fault. sim.SlowFsync takes effect even while the process is down; all other faults take effect only
// while it is running.
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
		n.mono = int64(n.host.Monotonic())
		n.aof.Slow(n.mono, by)
		n.awaitFsync()
	}
}

// standsStill reports whether an fsync blocks the event loop.
func (n *Node) standsStill() bool { return n.cfg.Persistence == store.Always && n.aof.IsRunning() }

// fsyncAlways begins the fsync that store.Always requires at the end of each event loop turn. It reports whether
// replies must wait for the fsync.
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

// sendHeld sends the replies and messages that were held back, and closes the connections that are to be closed.
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

// dropQueued drops the queued requests on a connection that the node has closed.
func (n *Node) dropQueued(conn uint64) {
	n.queue = slices.DeleteFunc(n.queue, func(a arrival) bool {
		late := a.request != nil && a.request.ConnID == conn
		if late {
			a.request.Drop()
		}
		return late
	})
}

// isClosing reports whether the node will close a connection at the end of the current event loop turn.
func (n *Node) isClosing(conn uint64) bool {
	return slices.ContainsFunc(n.held, func(h heldReply) bool {
		return h.to == nil && h.from == h.end && h.conn == conn
	})
}

// fsyncDone sends the replies that were waiting for the fsync. It then executes everything that arrived during the
// fsync, in a single event loop turn.
func (n *Node) fsyncDone() {
	n.aof.Finish()
	n.sendHeld()
	n.batch, n.queue = n.queue, n.batch[:0]
	sim.InTurn(n.batch, arrival.source)
	for i, a := range n.batch {
		n.batch[i] = arrival{}
		n.take(a)
	}
	n.acknowledged()
	n.finishTurn()
}

// take handles something that arrived during an fsync or a client pause.
func (n *Node) take(a arrival) {
	switch {
	case n.postpones(a):
	case a.closed != 0:
		n.closed(a.closed)
	case a.request == nil:
		n.read(a.from, a.message)
	case n.isClosing(a.request.ConnID):
		n.queue = append(n.queue, a) // not executed, because sendHeld will drop it
	case n.mayBlock():
		n.admit(a.request)
		n.proceed()
	default:
		n.execute(a.request)
		n.respond(a.request)
	}
}

// respond handles the reply to an executed request. If any request may have to wait (see mayBlock), respond calls
// conclude, which sends the reply or makes the connection wait. Otherwise respond holds back the reply until the end of
// the turn.
func (n *Node) respond(r *sim.Incoming) {
	if n.mayBlock() {
		n.conclude(r, n.state(), n.repl.end())
		return
	}
	n.hold(r, n.data.Out)
	n.trail(r.ConnID)
}

// Settled implements [sim.Settler]: with appendfsync set to "everysec" or "no", writes do not reach the disk until
// after they have been answered.
func (n *Node) Settled(now time.Duration) []time.Duration {
	if n.host == nil {
		return nil
	}
	return n.aof.Settled(int64(now))
}
