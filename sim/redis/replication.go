package redis

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// A master sends what each turn of its event loop changed to its replicas, without waiting for them. Replicas say how
// far they have come once a second, and at once when asked. Offsets count effects, where Redis counts bytes.

// streamID names a stream of effects: each life of a master and each promotion begins another. Offsets of different
// streams cannot be compared. The zero streamID is none.
type streamID struct {
	master sim.ProcessID
	number int
}

// replication is what a node knows about replication.
type replication struct {
	// involved is true from when the node has to do with replication at all; a node on its own spends nothing on it.
	involved bool
	// master is whom a replica follows; empty for a master. It outlives the process, as redis.conf does.
	master sim.ProcessID
	// restricted is true for those that may refuse a write.
	restricted bool
	// tick is the number of the timer of what is done once a second; earlier ones are void.
	tick uint64
	// The data is the result of the first offset effects of stream id, of a replica once it is linked.
	id     streamID
	offset int64
	begun  int // streams that this node began

	// Of a replica.
	linked   bool // in sync and following; otherwise it asks for all data once a second
	applying bool // carrying out what its master sent

	// Of a master.
	replicas []replica      // in the order in which they joined
	good     int            // how many of them have acknowledged anything of late, as counted last
	pending  []store.Effect // of this turn
	askAcks  bool           // a WAIT has blocked in this turn
	asker    sim.Key        // for whom
	degraded bool           // semi-synchronous replication has fallen back

	outbox   []outgoing
	observer sim.ProcessID // the Sentinel that has asked it; empty if none has
	ordered  sim.ProcessID // by a FailOver that has not been carried out

	// For records only: what a deposed master had when it was deposed, and when it stopped before it got its new
	// master's data.
	recorded map[store.Title]bool
	had      *store.Snapshot
}

// replica is what a master knows of one of its replicas.
type replica struct {
	name   sim.ProcessID
	online bool          // it has all data, and follows
	acked  int64         // offset that it has acknowledged
	at     int64         // wall clock when it last did, ns
	seen   time.Duration // the same on the monotonic clock, or when the master began
}

// outgoing is a message that leaves at the end of the turn, after the fsync if there is one.
type outgoing struct {
	to    sim.ProcessID
	phase string
	key   sim.Key
	body  any
}

// The messages between nodes. One that is answered carries its key, which is also its answer's.
type (
	// effects are what one turn changed, and the offset after it. Urgent ones are acknowledged at once.
	effects struct {
		id     streamID
		offset int64
		list   []store.Effect
		urgent bool
		key    sim.Key
	}
	// fullCopy is all data at an offset.
	fullCopy struct {
		id     streamID
		offset int64
		list   []store.Effect
		key    sim.Key
	}
	// getAck is REPLCONF GETACK.
	getAck struct{ key sim.Key }
	// ack is REPLCONF ACK.
	ack struct {
		id     streamID
		offset int64
	}
	// psync asks for all data.
	psync struct{ key sim.Key }
	// leave notifies a master that a replica follows it no more, as the end of the connection does.
	leave struct{}
)

// Phases of messages; they key the draws of delays.
const (
	phaseReplicate = "replicate"
	phaseSync      = "sync"
	phaseGetAck    = "getack"
	phaseAck       = "ack"
	phasePsync     = "psync"
	phaseLeave     = "leave"
)

var _ sim.Peer = (*Node)(nil)

// resetReplication makes it as cfg says, before the first life.
func (n *Node) resetReplication() {
	r := &n.repl
	clear(r.replicas)
	*r = replication{master: n.cfg.Replicates, replicas: r.replicas[:0], outbox: r.outbox[:0]}
	r.involved = r.master != "" || len(n.cfg.Replicas) > 0 || n.cfg.MinReplicasToWrite > 0 || n.cfg.SemiSync
	n.restrict()
}

func (n *Node) restrict() { n.repl.restricted = n.repl.master != "" || n.cfg.MinReplicasToWrite > 0 }

// joinReplication begins the replication of a life. In the first one replicas and their master have the same, nothing.
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

// beginStream begins a stream of effects.
func (n *Node) beginStream() {
	n.repl.begun++
	n.repl.id = streamID{n.host.Name(), n.repl.begun}
}

// endReplication ends the replication of a life.
func (n *Node) endReplication() {
	r := &n.repl
	clear(r.pending)
	clear(r.outbox)
	r.replicas, r.pending, r.outbox = r.replicas[:0], nil, r.outbox[:0]
	r.id, r.linked, r.applying, r.askAcks, r.degraded = streamID{}, false, false, false, false
	r.ordered, r.observer = "", ""
	if r.master != "" {
		r.offset = 0 // nothing that it could say how far it has come
	}
}

// end is the replication offset after all that has been done.
func (r *replication) end() int64 { return r.offset + int64(len(r.pending)) }

// Receive takes a message of another server.
func (n *Node) Receive(from sim.ProcessID, body any) {
	if n.standsStill() {
		n.queue = append(n.queue, arrival{from: from, message: body})
		return
	}
	n.beginTurn()
	n.read(from, body)
	n.finishTurn()
}

// read acts on a message.
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
	}
}

// post has a message sent at the end of the turn.
func (n *Node) post(to sim.ProcessID, phase string, key sim.Key, body any) {
	n.repl.outbox = append(n.repl.outbox, outgoing{to, phase, key, body})
}

// second is the second of the node's own time. It distinguishes what is sent again and again.
func (n *Node) second() sim.Key { return sim.Key(n.host.Monotonic() / time.Second) }

// keyOf names effects by the last of them. The offset would not do: it counts what others wrote before.
func (n *Node) keyOf(list []store.Effect) sim.Key {
	last := &list[len(list)-1]
	return n.second().Text(string(last.Attempt)).Text(last.Key).Word(uint64(last.Op))
}

// endReplicationTurn carries out a change of role that the turn ordered, and sends the replicas what it changed.
func (n *Node) endReplicationTurn() {
	if to := n.repl.ordered; to != "" {
		n.repl.ordered = ""
		n.data.Attempt = ""
		n.attend(0)
		n.obey(to)
	}
	n.feed()
}

// feed sends the replicas what this turn has changed so far.
func (n *Node) feed() {
	r := &n.repl
	if len(r.pending) > 0 {
		r.offset += int64(len(r.pending))
		m := effects{r.id, r.offset, r.pending, n.cfg.SemiSync, n.keyOf(r.pending)}
		for i := range r.replicas {
			n.post(r.replicas[i].name, phaseReplicate, m.key, m)
		}
		if len(r.replicas) > 0 {
			r.pending = nil // the messages keep it
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

// sendCopy sends a replica all data, and from then on what changes. key is that of the message that it answers.
func (n *Node) sendCopy(to sim.ProcessID, key sim.Key) {
	n.feed() // before the newcomer: the copy has it
	r := n.replicaNamed(to)
	if r == nil {
		n.repl.replicas = append(n.repl.replicas, replica{name: to, seen: n.host.Monotonic()})
		r = n.replicaNamed(to)
	}
	r.online = false
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

// takeAck notes how far a replica has come. One that follows a stream of before this life gets all data.
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
		return // it has left
	}
	joined := !r.online
	r.online, r.acked, r.at, r.seen = true, m.offset, n.data.Wall, n.host.Monotonic()
	if joined {
		n.countGood()
	}
	if n.repl.degraded && m.offset == n.repl.end() {
		n.repl.degraded = false
	}
	n.acknowledged()
}

// acked counts the replicas that have acknowledged an offset.
func (n *Node) acked(offset int64) (count int64) {
	for i := range n.repl.replicas {
		if r := &n.repl.replicas[i]; r.online && r.acked >= offset {
			count++
		}
	}
	return count
}

// refusesWrites is the error with which every write is refused now, or nothing.
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

// countGood counts the replicas that have acknowledged anything within the greatest lag, in whole seconds of the wall
// clock. As in Redis that is done once a second, and when a replica joins or leaves (refreshGoodSlavesCount).
func (n *Node) countGood() {
	n.repl.good = 0
	for i := range n.repl.replicas {
		lag := n.repl.replicas[i].lag(n.data.Wall)
		if n.repl.replicas[i].online && time.Duration(lag)*time.Second <= n.cfg.MinReplicasMaxLag {
			n.repl.good++
		}
	}
}

// lag is for how long a replica has been silent, in seconds of the wall clock.
func (r *replica) lag(wall int64) int64 { return wall/int64(time.Second) - r.at/int64(time.Second) }
