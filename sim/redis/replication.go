package redis

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// After each turn of its event loop, a master sends its replicas the turn's changes, which are called effects. It does
// not wait for the replicas. They report their offsets once a second, and immediately when asked. Offsets count
// effects, whereas Redis counts bytes.

// streamID identifies a stream of effects. A new stream begins whenever a master starts or a replica is promoted.
// Offsets of different streams cannot be compared. The zero streamID means no stream.
type streamID struct {
	master sim.ProcessID
	number int
}

type replication struct {
	// involved is set once the node takes part in replication. Until then, the node skips all replication work.
	involved bool
	// master is the node that this replica follows. It is empty on a master. Like redis.conf, it survives a restart.
	master sim.ProcessID
	// restricted is true if the node might have to refuse writes.
	restricted bool
	// tick is the number of the current once-a-second timer. Timers with other numbers are ignored.
	tick uint64
	// The node's data is the result of applying the effects of the stream id, up to offset. On a replica that is not
	// linked, this need not be the case.
	id     streamID
	offset int64
	begun  int // number of streams begun by this node
	// marks records how much of the replication stream is on disk (see fsynced).
	marks []mark

	// Fields used by a replica.
	linked   bool // the replica is in sync and is following the master; otherwise it asks for all data once a second
	applying bool // the replica is applying its master's effects

	// Fields used by a master.
	replicas []replica      // in the order in which they joined
	good     int            // number of replicas that had recently sent an acknowledgment, at the last count
	pending  []store.Effect // effects of this turn
	askAcks  bool           // a WAIT or WAITAOF blocked in this turn
	asker    sim.Key        // key of the waiting request
	degraded bool           // semi-synchronous replication has fallen back to asynchronous

	outbox   []outgoing
	observer sim.ProcessID // the Sentinel that sent this node a probe; empty if none has
	ordered  sim.ProcessID // the master ordered by REPLICAOF or a FailOver fault, until the order is carried out

	// Fields used only to record keys in the history. recorded contains the keys that a deposed master had when it was
	// deposed. ownData is the node's own data if it stopped before it received the new master's data.
	recorded map[store.Title]bool
	ownData  *store.Snapshot
}

// replica is what a master knows about one of its replicas.
type replica struct {
	name   sim.ProcessID
	online bool          // the replica has received all data and follows the master
	acked  int64         // the offset acknowledged by the replica
	synced int64         // how much of the stream was on the replica's disk at its last acknowledgment, as an offset
	at     int64         // wall clock at its last acknowledgment, in ns
	seen   time.Duration // monotonic clock at that time; initially when the replica joined
}

// outgoing is a message to be sent at the end of a turn of the event loop, after the fsync if there is one.
type outgoing struct {
	to    sim.ProcessID
	phase string
	key   sim.Key
	body  any
}

// The messages between nodes. If a message expects an answer, the message and its answer have the same key.
type (
	// effects contains the changes made in one turn of the event loop, and the replication offset after them. The
	// receiver acknowledges urgent effects immediately.
	effects struct {
		id     streamID
		offset int64
		list   []store.Effect
		urgent bool
		key    sim.Key
	}
	// fullCopy contains all of the master's data, and the offset at which it was copied.
	fullCopy struct {
		id     streamID
		offset int64
		list   []store.Effect
		key    sim.Key
	}
	// getAck corresponds to REPLCONF GETACK.
	getAck struct{ key sim.Key }
	// ack is a replica's acknowledgment, like REPLCONF ACK. It includes the offset up to which data is on disk, like
	// FACK.
	ack struct {
		id             streamID
		offset, synced int64
	}
	// psync is a replica's request for all of its master's data.
	psync struct{ key sim.Key }
	// leave tells a master that a replica is no longer following it. A real replica closes its connection instead.
	leave struct{}
)

// A message's random delay depends on its phase.
const (
	phaseReplicate = "replicate"
	phaseSync      = "sync"
	phaseGetAck    = "getack"
	phaseAck       = "ack"
	phasePsync     = "psync"
	phaseLeave     = "leave"
)

var _ sim.Peer = (*Node)(nil)

// resetReplication sets the replication state for the first start, according to cfg.
func (n *Node) resetReplication() {
	r := &n.repl
	clear(r.replicas)
	*r = replication{master: n.cfg.Replicates, replicas: r.replicas[:0], outbox: r.outbox[:0], marks: r.marks[:0]}
	r.involved = r.master != "" || len(n.cfg.Replicas) > 0 || n.cfg.MinReplicasToWrite > 0 || n.cfg.SemiSync ||
		n.marksOffsets()
	n.restrict()
}

func (n *Node) restrict() { n.repl.restricted = n.repl.master != "" || n.cfg.MinReplicasToWrite > 0 }

// joinReplication begins replication when the process starts. At the first start, the master and its replicas are all
// empty.
func (n *Node) joinReplication() {
	r := &n.repl
	n.cfg.Group.join(n)
	if !r.involved {
		return
	}
	first := n.before == nil
	if r.master == "" {
		n.beginStream()
		for _, name := range n.cfg.Replicas {
			if first {
				r.replicas = append(r.replicas,
					replica{name: name, online: true, at: n.data.Wall, seen: n.host.Monotonic()})
			}
		}
		n.countGood()
		n.tickFirst()
		return
	}
	n.tickFirst()
	if first {
		r.id, r.linked = streamID{r.master, 1}, true
	} else {
		n.askForAll()
	}
}

func (n *Node) beginStream() {
	n.repl.begun++
	n.repl.id = streamID{n.host.Name(), n.repl.begun}
}

// endReplication ends replication when the process stops.
func (n *Node) endReplication() {
	r := &n.repl
	clear(r.pending)
	clear(r.outbox)
	r.replicas, r.pending, r.outbox = r.replicas[:0], nil, r.outbox[:0]
	r.id, r.linked, r.applying, r.askAcks, r.degraded = streamID{}, false, false, false, false
	r.ordered, r.observer = "", ""
	if r.master != "" {
		r.offset = 0 // an offset has no meaning without a stream
	}
}

// end returns the replication offset after everything that has been executed so far.
func (r *replication) end() int64 { return r.offset + int64(len(r.pending)) }

// Receive handles a message from another server.
func (n *Node) Receive(from sim.ProcessID, body any) {
	if n.postpones(arrival{from: from, message: body}) {
		return
	}
	if n.standsStill() {
		n.queue = append(n.queue, arrival{from: from, message: body})
		return
	}
	n.beginTurn()
	n.read(from, body)
	n.finishTurn()
}

// read handles a message from another server, in the current turn of the event loop.
func (n *Node) read(from sim.ProcessID, body any) {
	n.data.Attempt, n.data.Out = "", n.data.Out[:0]
	n.attend(0)
	n.repl.involved = true
	switch m := body.(type) {
	case effects:
		n.follow(from, m)
	case fullCopy:
		n.resync(from, m)
	case getAck:
		n.acknowledge(m.key)
	case ack:
		n.takeAck(from, m)
	case psync:
		if n.repl.master == "" {
			n.sendCopy(from, m.key)
		}
	case leave:
		n.repl.replicas = slices.DeleteFunc(n.repl.replicas, func(r replica) bool { return r.name == from })
		n.countGood()
	case probe:
		n.pong(from, m)
	case order:
		n.reinstate(m.Master)
		if n.obey(m.Master) {
			n.hangUpAll()
		}
	case interface{ header() busHeader }:
		n.hears(from, m)
	}
}

// post sends a message at the end of the current turn of the event loop.
func (n *Node) post(to sim.ProcessID, phase string, key sim.Key, body any) {
	n.repl.outbox = append(n.repl.outbox, outgoing{to, phase, key, body})
}

// second returns the current second on the node's monotonic clock. It serves as the key for messages that are sent
// repeatedly.
func (n *Node) second() sim.Key { return sim.Key(n.host.Monotonic() / time.Second) }

// keyOf derives a message's [sim.Key] from its last effect. It does not use the replication offset, because that
// depends on other clients' writes.
func (n *Node) keyOf(list []store.Effect) sim.Key {
	last := &list[len(list)-1]
	return n.second().Text(string(last.Attempt)).Text(last.Key).Word(uint64(last.Op))
}

// endReplicationTurn is called at the end of a turn of the event loop. It carries out any role change ordered during
// the turn, and sends the turn's changes to the replicas.
func (n *Node) endReplicationTurn() {
	if to := n.repl.ordered; to != "" {
		n.repl.ordered = ""
		n.data.Attempt = ""
		n.attend(0)
		n.obey(to)
	}
	n.feed()
}

// feed sends the replicas the changes made so far in the current turn of the event loop.
func (n *Node) feed() {
	r := &n.repl
	if len(r.pending) > 0 {
		r.offset += int64(len(r.pending))
		m := effects{r.id, r.offset, r.pending, n.cfg.SemiSync, n.keyOf(r.pending)}
		for i := range r.replicas {
			n.post(r.replicas[i].name, phaseReplicate, m.key, m)
		}
		if len(r.replicas) > 0 {
			r.pending = nil // a new slice, because the messages refer to the old one
		} else {
			clear(r.pending)
			r.pending = r.pending[:0]
		}
	}
	if r.askAcks {
		r.askAcks = false
		for i := range r.replicas {
			n.post(r.replicas[i].name, phaseGetAck, r.asker, getAck{r.asker})
		}
	}
}

// sendCopy sends a replica all data. From then on, the replica also gets all further changes. key is the key of the
// message that requested the data.
func (n *Node) sendCopy(to sim.ProcessID, key sim.Key) {
	n.feed() // before the replica joins, since the copy contains these changes
	r := n.replicaNamed(to)
	if r == nil {
		n.repl.replicas = append(n.repl.replicas, replica{name: to, seen: n.host.Monotonic()})
		r = n.replicaNamed(to)
	}
	r.online, r.synced = false, 0
	n.countGood()
	n.post(to, phaseSync, key, fullCopy{n.repl.id, n.repl.offset, n.image(), key})
}

func (n *Node) replicaNamed(name sim.ProcessID) *replica {
	for i := range n.repl.replicas {
		if n.repl.replicas[i].name == name {
			return &n.repl.replicas[i]
		}
	}
	return nil
}

// takeAck records the offset that a replica has acknowledged. If the acknowledgment is not for the current stream,
// takeAck sends the replica all data, unless a copy is already on its way.
func (n *Node) takeAck(from sim.ProcessID, m ack) {
	if n.repl.master != "" {
		return
	}
	r := n.replicaNamed(from)
	if m.id != n.repl.id {
		if r == nil || r.online {
			n.sendCopy(from, n.second())
		}
		return
	}
	if r == nil {
		return // the replica has left
	}
	joined := !r.online
	r.online, r.acked, r.synced, r.at, r.seen = true, m.offset, max(r.synced, m.synced), n.data.Wall, n.host.Monotonic()
	if joined {
		n.countGood()
	}
	if n.repl.degraded && m.offset == n.repl.end() {
		n.repl.degraded = false
	}
	n.acknowledged()
}

// acked returns the number of replicas that have acknowledged the write that a request is waiting for. For a WAITAOF,
// it counts only the replicas that have the write on disk.
func (n *Node) acked(b *blocked) (count int64) {
	for i := range n.repl.replicas {
		r := &n.repl.replicas[i]
		has := r.acked
		if b.aof {
			has = r.synced
		}
		if r.online && has >= b.offset {
			count++
		}
	}
	return count
}

// refusesWrites returns the error that the node currently returns for every write, or "" if it accepts writes.
func (n *Node) refusesWrites() string {
	r := &n.repl
	switch {
	case n.data.Loading || r.applying:
		return ""
	case r.master != "":
		return "READONLY You can't write against a read only replica."
	case r.good < n.cfg.MinReplicasToWrite:
		return "NOREPLICAS Not enough good replicas to write."
	}
	return ""
}

// countGood counts the replicas whose last acknowledgment is no older than the maximum lag, in whole wall-clock
// seconds. As in Redis, the node counts once a second, and when a replica joins or leaves (refreshGoodSlavesCount).
func (n *Node) countGood() {
	n.repl.good = 0
	for i := range n.repl.replicas {
		lag := n.repl.replicas[i].lag(n.data.Wall)
		if n.repl.replicas[i].online && time.Duration(lag)*time.Second <= n.cfg.MinReplicasMaxLag {
			n.repl.good++
		}
	}
}

// lag returns the time since a replica's last acknowledgment, in wall-clock seconds.
func (r *replica) lag(wall int64) int64 { return wall/int64(time.Second) - r.at/int64(time.Second) }
