package zookeeper

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// server is one member's ZooKeeper server. It holds the replicated state, the clients' connections and, if the member
// is the leader, the session deadlines.
type server struct {
	config Config
	state
	watches watchTable
	conns   []*connection // in the order in which they were opened
	out     []byte        // the reply being written

	// early holds requests that arrive at the very start of a run, before this member knows the leader. They wait until
	// the leader is known or, if no leader appears for SyncLimit ticks, until the member has campaigned. They are not
	// refused, because the ensemble is assumed to have been running before the start of the run. Later in a run, a
	// member without a leader refuses its clients.
	early []*sim.Incoming

	// leader and term identify the leader under which the connections were opened. The connections are closed when its
	// term ends.
	leader sim.ProcessID
	term   uint64

	tracker    tracker
	leadership uint64 // counts changes of leader; timers set before the last change are ignored

	alive    []SessionID // sessions with activity since the last report to the leader
	relaying bool        // the timer for the next report is set

	nextReap time.Duration // when the leader next looks for empty containers, on its monotonic clock
}

var _ raft.Machine = (*server)(nil)

// wakeRelay is the tag of the report timer. All other timers' tags are values of the field leadership.
const wakeRelay uint64 = 0

// Reset gives a starting member an empty state and no connections.
func (s *server) Reset(*raft.Member) {
	s.state.reset()
	s.watches.reset()
	clear(s.conns)
	s.conns = s.conns[:0]
	s.leader, s.term = "", 0
	clear(s.early)
	s.early = s.early[:0]
	s.alive, s.relaying = s.alive[:0], false
	s.leadership = 0
}

// Apply executes a transaction, sends the watch events, and then replies. Because of this order, a client learns of a
// change before it can read the new data.
func (s *server) Apply(m *raft.Member, e *raft.Entry) []byte {
	c := e.Value.(*command)
	epoch := e.Term
	if m.Alone() {
		epoch = 0
	}
	r := s.state.apply(epoch, c)
	switch {
	case e.Copied:
		s.recordCopies(m)
	case e.First:
		s.record(m, c, &r)
	}
	for i := range s.changes {
		x := &s.changes[i]
		s.watches.fire(x.Event, func(conn uint64, e Event) {
			if s.mayRead(conn, x.acl) {
				s.notify(m, conn, e)
			}
		})
	}
	s.follow(m, c, &r)
	if !e.Own {
		return nil
	}
	return s.outcome(c, &r)
}

// follow updates the connections and deadlines after a session transaction.
func (s *server) follow(m *raft.Member, c *command, r *result) {
	if r.session == nil {
		return
	}
	ended := c.kind == closeSession || c.kind == expireSession
	for _, x := range slices.Clone(s.conns) {
		switch {
		case x.id == c.conn && ended:
			x.ending = true
		case x.id == c.conn:
			x.session = r.session.id
		case x.session == r.session.id:
			s.hangUp(m, x)
		}
	}
	switch {
	case !m.Leading():
	case ended:
		s.tracker.forget(r.session.id)
	default:
		s.tracker.touch(r.session, m.Monotonic(), m.Due(r.session.timeout))
	}
}

func (s *server) outcome(c *command, r *result) []byte {
	s.out = s.out[:0]
	if x := s.connection(c.conn); x != nil {
		s.out = x.outcome(s.out, c, r)
	}
	return s.out
}

// LeaderChanged closes all connections if there is a new leader or a new term, because a server restarts its service
// when it loses its leader or becomes leader again. It then serves the requests in s.early, which have been waiting for
// the leader.
func (s *server) LeaderChanged(m *raft.Member) {
	if m.Leader() != s.leader || m.Term() != s.term {
		s.startAfresh(m)
	}
	early := s.early
	s.early = nil
	for _, r := range early {
		s.Serve(m, r)
	}
}

// startAfresh closes all connections. If this member is the new leader, it also restarts each session's timeout.
func (s *server) startAfresh(m *raft.Member) {
	s.leader, s.term = m.Leader(), m.Term()
	for len(s.conns) > 0 {
		s.hangUp(m, s.conns[0])
	}
	s.watches.reset()
	s.alive = s.alive[:0]
	s.leadership++
	if m.Leading() {
		now := m.Monotonic()
		s.tracker.begin(s.config.Tick, now)
		s.nextReap = now + reapEvery
		for _, x := range s.sessions {
			s.tracker.touch(x, now, m.Due(x.timeout))
		}
		m.After(s.tracker.next-now, s.leadership)
	}
}

// unled reports whether this member does not know yet about the leader with which the run began. It returns false if
// the run began without a leader, or if the member has campaigned or restarted since.
func (s *server) unled(m *raft.Member) bool {
	return m.Unled() && m.Life() == 1 && !m.Config().ColdStart
}

// Wake handles a timer: it sends a report to the leader, or checks for expired sessions.
func (s *server) Wake(m *raft.Member, tag uint64) {
	switch {
	case tag == wakeRelay:
		s.relay(m)
	case tag == s.leadership && m.Leading():
		for _, x := range s.tracker.expired() {
			c := command{kind: expireSession, session: x.id, due: x.due}
			m.ProposeAsLeader(c.proposed())
		}
		s.reap(m)
		m.After(max(0, s.tracker.next-m.Monotonic()), s.leadership)
	}
}

// reapEvery is how often the leader looks for empty containers (znode.container.checkIntervalMs).
const reapEvery = time.Minute

// reap removes containers that no longer have children.
func (s *server) reap(m *raft.Member) {
	if m.Monotonic() < s.nextReap {
		return
	}
	s.nextReap = m.Monotonic() + reapEvery
	for _, path := range s.containers() {
		m.ProposeAsLeader((&command{kind: reapContainer, path: path}).proposed())
	}
}

// markAlive records that a session is alive. The leader needs to know this, so other members report it to the leader
// twice per tick. (In ZooKeeper, the report is part of their replies to the leader's pings.) If a member is cut off
// before it reports, the leader does not learn of activity for which the client has already received replies.
func (s *server) markAlive(m *raft.Member, id SessionID) {
	if m.Leading() {
		if x := s.session(id); x != nil {
			s.tracker.touch(x, m.Monotonic(), m.Due(x.timeout))
		}
		return
	}
	if !slices.Contains(s.alive, id) {
		s.alive = append(s.alive, id)
	}
	if !s.relaying {
		s.relaying = true
		half := s.config.Tick / 2
		m.After(half-m.Monotonic()%half, wakeRelay)
	}
}

// report lists sessions that a member knows to be alive.
type report []SessionID

func (s *server) relay(m *raft.Member) {
	s.relaying = false
	if len(s.alive) > 0 && m.Leader() != "" {
		m.SendToPeer(m.Leader(), "sessions", sim.Key(m.Monotonic()/(s.config.Tick/2)), report(slices.Clone(s.alive)))
	}
	s.alive = s.alive[:0]
}

// ReceiveFromPeer handles a report from another member.
func (s *server) ReceiveFromPeer(m *raft.Member, _ sim.ProcessID, body any) {
	ids, ok := body.(report)
	if !ok || !m.Leading() {
		return
	}
	for _, id := range ids {
		s.markAlive(m, id)
	}
}

// Fault handles sim.ExpireSession: if this member is the leader, it proposes to expire a client's sessions. Fault
// ignores all other faults.
func (s *server) Fault(m *raft.Member, f sim.ServerFault) {
	if f.Kind != sim.ExpireSession || !m.Up() || !m.Leading() {
		return
	}
	for _, x := range slices.Clone(s.sessions) { // cloned because a single member applies each proposal at once
		if x.client == f.To {
			c := command{kind: expireSession, session: x.id, due: s.tracker.due(x.id)}
			m.ProposeAsLeader(c.proposed())
		}
	}
}

func msOf(n int32) time.Duration { return time.Duration(n) * time.Millisecond }
