package raft

import (
	"math"
	"time"

	"go.etcd.io/raft/v3"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Member is the program that runs on one server in a cluster. It is not safe for concurrent use.
type Member struct {
	cluster *Cluster
	id      uint64 // the member's raft ID: 1 for the first name, 2 for the second, and so on
	name    sim.ProcessID
	machine Machine
	config  Config

	// The fields below survive when the process ends.
	disk     *raft.MemoryStorage
	lives    uint64
	excluded bool          // its disk was lost, and there are other members
	emptied  bool          // its disk was lost, and there are no other members, so it will start with an empty disk
	slow     time.Duration // extra duration of each fsync, caused by a fault
	reached  uint64        // highest index that it has ever applied

	// The fields below are lost when the process ends.
	host    sim.Host
	node    *raft.RawNode // nil while the member is down or excluded
	term    uint64
	lead    uint64 // raft ID of the leader; 0 if none is known
	leading bool
	led     bool // it has known a leader since its start
	applied uint64
	reigned uint64 // term of the last applied entry
	entry   Entry  // passed to Machine.Apply; reused for each entry
	loop    readyLoop
	beat    heartbeat
	lines   []line // lines to the members, in the order of their IDs, if this member is the leader
	watch   watch
	waiting requests
}

func (m *Member) reset(c Config) {
	m.config = c
	m.disk = m.cluster.newDisk(m.id, c)
	m.lives, m.excluded, m.emptied, m.slow, m.reached = 0, false, false, 0, 0
	m.endLife()
}

// endLife discards everything that the process has in memory.
func (m *Member) endLife() {
	m.host, m.node = nil, nil
	m.term, m.lead, m.leading, m.led, m.applied, m.reigned = 0, 0, false, false, 0, 0
	m.loop, m.beat, m.lines, m.watch = readyLoop{}, heartbeat{}, m.lines[:0], watch{}
	m.waiting.clear()
}

// Start starts the member and applies all committed entries again.
func (m *Member) Start(h sim.Host) {
	m.host = h
	m.lives++
	if m.emptied {
		m.beginAnew()
	}
	m.machine.Reset(m)
	if m.excluded {
		return
	}
	m.node = newNode(m.id, m.disk, &m.config)
	m.term = m.node.BasicStatus().GetTerm()
	m.listen(0)
	if m.lives == 1 && m.id == firstLeader && !m.config.ColdStart {
		m.assumeElected()
		m.host.WakeAfter(0, wakeBegin) // the other members do not exist yet
		return
	}
	m.drain()
}

// beginAnew replaces the lost disk of a cluster's only member with an empty one. Before that, it replays all entries
// that the member has ever applied, so that the machine can record what is lost.
func (m *Member) beginAnew() {
	m.machine.Reset(m)
	if m.reached > initialIndex {
		entries, err := m.disk.Entries(initialIndex+1, m.reached+1, math.MaxUint64)
		must(err)
		for _, e := range entries {
			m.apply(e)
		}
	}
	m.machine.Lost(m, sim.LoseAllState.Loss(true))
	m.disk = m.cluster.newDisk(m.id, m.config)
	m.emptied, m.reached, m.cluster.first = false, 0, 0
	m.applied, m.reigned = 0, 0
}

// Serve handles a client's request.
func (m *Member) Serve(r *sim.Incoming) {
	if m.excluded {
		r.Reply([]byte(Unavailable))
		return
	}
	m.machine.Serve(m, r)
	m.drain()
}

// Closer is a Machine that keeps state for connections from clients outside the simulation. It is notified when such a
// connection ends.
type Closer interface {
	Closed(m *Member, connID uint64)
}

var _ sim.PipeCloser = (*Member)(nil)

// PipeClosed tells the machine that a client's connection has ended, if the machine implements Closer.
func (m *Member) PipeClosed(connID uint64) {
	if c, wants := m.machine.(Closer); wants && !m.excluded {
		c.Closed(m, connID)
		m.drain()
	}
}

// Receive handles a message from another member.
func (m *Member) Receive(from sim.ProcessID, body any) {
	if m.excluded {
		return
	}
	switch b := body.(type) {
	case raftMessage:
		m.step(b)
	case hangUp:
		m.leave(from, b)
	case howFar:
		m.tellHowFar(from, b)
	case thisFar:
		m.waiting.reach(b)
		m.answerReads()
	case machineMessage:
		m.machine.ReceiveFromPeer(m, from, b.body)
	}
	m.drain()
}

// PeerClosed is called when another member's process has ended.
func (m *connected) PeerClosed(from sim.ProcessID) {
	if !m.excluded {
		m.lostConnection(from)
		m.drain()
	}
}

// connected is a member of a cluster in which the members keep connections ([Config].Connections).
type connected struct{ *Member }

var _ sim.PeerCloser = (*connected)(nil)

// Timer tags. The top byte is the kind of timer, and the other bytes are the timer's number. Kind 0 is reserved for the
// replicated state machine's timers.
const (
	wakeBegin  uint64 = 1 << 56
	wakeBeat   uint64 = 2 << 56
	wakeWatch  uint64 = 3 << 56
	wakeFsync  uint64 = 4 << 56
	wakeExpire uint64 = 5 << 56
	wakeRetry  uint64 = 6 << 56
	timerKind  uint64 = 0xff << 56
)

// Wake handles a timer that has expired.
func (m *Member) Wake(tag uint64) {
	if m.excluded {
		return
	}
	switch tag & timerKind {
	case 0:
		m.machine.Wake(m, tag)
	case wakeBeat:
		m.tick(tag &^ timerKind)
	case wakeWatch:
		m.suspect(tag &^ timerKind)
	case wakeFsync:
		m.written()
	case wakeExpire:
		m.expireRequests()
	case wakeRetry:
		m.retryReads()
	}
	m.drain()
}

// ClockChanged does nothing, because all timers use the monotonic clock and the kernel adjusts them.
func (m *Member) ClockChanged() {}

// Fault handles sim.SlowFsync and passes all other faults to the machine.
func (m *Member) Fault(f sim.ServerFault) {
	switch {
	case f.Kind != sim.SlowFsync:
		m.machine.Fault(m, f)
		if m.node != nil {
			m.drain()
		}
	case f.Begin:
		m.slow += f.By
	default:
		m.slow -= f.By
	}
}

// Stop stops the member. Only data that is being written at that moment is lost. With sim.LoseAllState, the member also
// loses its membership or, if it is the only member, all data.
func (m *Member) Stop(how sim.Stop) {
	if how == sim.LoseAllState {
		m.emptied = m.Alone()
		m.excluded = !m.emptied
	}
	m.endLife()
}

// machineMessage is a message sent by SendToPeer.
type machineMessage struct{ body any }

// SendToPeer sends body to another member's machine. If the receiver is this member itself, its machine receives body
// immediately. Messages to a member arrive in order, and are lost if the member stops before they arrive. body must not
// be changed after the call. phase and key identify the message; its delay depends on them.
func (m *Member) SendToPeer(to sim.ProcessID, phase string, key sim.Key, body any) {
	if to == m.name {
		m.machine.ReceiveFromPeer(m, m.name, body)
		return
	}
	m.host.Send(to, phase, key, machineMessage{body})
}

// Name returns the name of the member's process.
func (m *Member) Name() sim.ProcessID { return m.name }

// Peers returns the names of all the cluster's members, including this one, in number order.
func (m *Member) Peers() (names []sim.ProcessID) {
	for _, o := range m.cluster.members {
		names = append(names, o.name)
	}
	return names
}

// Alone reports whether this is the only member of the cluster.
func (m *Member) Alone() bool { return len(m.cluster.members) == 1 }

// Number returns the member's position in the cluster, counted from 1.
func (m *Member) Number() int { return int(m.id) }

// Life returns how many times the member has started in this run.
func (m *Member) Life() uint64 { return m.lives }

// Unled reports whether, since its start, the member has neither known a leader nor campaigned.
func (m *Member) Unled() bool { return !m.led && m.watch.tries == 0 }

// Up reports whether the member is running and has not lost its membership.
func (m *Member) Up() bool { return m.node != nil }

// Config returns the cluster's configuration, with default values filled in.
func (m *Member) Config() Config { return m.config }

// Leading reports whether this member believes that it is the leader. A member that was paused or cut off may be wrong.
func (m *Member) Leading() bool { return m.leading }

// Leader returns the leader that this member knows of, or "" if there is none.
func (m *Member) Leader() sim.ProcessID { return m.cluster.name(m.lead) }

// CaughtUp reports whether this member is the leader and has applied all entries that were committed before it became
// leader.
func (m *Member) CaughtUp() bool { return m.leading && m.reigned == m.term }

// Term returns the newest raft term that this member knows of.
func (m *Member) Term() uint64 { return m.term }

// Applied returns the index of the last entry that this member applied.
func (m *Member) Applied() uint64 { return m.applied }

// After calls the machine's Wake with tag once d has passed on the monotonic clock. tag must be below 1<<56.
func (m *Member) After(d time.Duration, tag uint64) { m.host.WakeAfter(d, tag&^timerKind) }

// Monotonic reads the monotonic clock.
func (m *Member) Monotonic() time.Duration { return m.host.Monotonic() }

// Wall reads the wall clock, in ns since the Unix epoch. The replicated state must not depend on it, except through a
// time that is part of a command.
func (m *Member) Wall() int64 { return m.host.Wall() }

// Due returns the true time at which the member's clock will have advanced by d, if the clock is accurate until then.
// It may be used only for history records.
func (m *Member) Due(d time.Duration) history.Time { return m.host.Due(d) }

// Record adds an event to the history. While an entry is being applied, only the member with Entry.First may record the
// entry's effect. A member with Entry.Copied may record that it has a copy.
func (m *Member) Record(e history.Event) { m.host.Record(e) }

// Rand returns 64 random bits for the given purpose. For the same purpose, each key gives different bits.
func (m *Member) Rand(purpose string, key sim.Key) uint64 { return m.host.Rand(purpose, key) }

// Push sends a copy of b to the client at the other end of one of this member's connections. key identifies the
// content.
func (m *Member) Push(connID uint64, key sim.Key, b []byte) { m.host.Push(connID, key, b) }
