package raft

import (
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/fencepost-sim/fencepost/sim"
)

// line is a leader's connection to another member.
type line struct {
	latest time.Duration // monotonic time of that member's last raft message
	down   bool          // one side has closed the connection or ended, and no message has arrived since
}

// hangUp closes a line, which is a connection between a leader and another member. It is the last message on the line.
type hangUp struct{ term uint64 }

// beginLines opens a new leader's connections to the other members. A leader has these connections only if
// Config.Connections is set, or if it has a lease.
func (m *Member) beginLines() {
	m.lines = m.lines[:0]
	if !m.config.Connections && m.config.Lease == 0 {
		return
	}
	for range m.cluster.members {
		m.lines = append(m.lines, line{latest: m.host.Monotonic()})
	}
}

// lineTo returns this leader's connection to the member with the given ID. It returns nil if the ID is this member's
// own, if this member is not the leader, or if the leader keeps no connections (see beginLines).
func (m *Member) lineTo(id uint64) *line {
	if !m.leading || id == m.id || len(m.lines) == 0 {
		return nil
	}
	return &m.lines[id-1]
}

func (m *Member) receivedFromFollower(id uint64) {
	if l := m.lineTo(id); l != nil {
		*l = line{latest: m.host.Monotonic()}
	}
}

func (m *Member) hasHungUp(id uint64) bool {
	l := m.lineTo(id)
	return l != nil && l.down
}

// checkLines closes the connections to members that have been silent for too long. After a pause, it does nothing until
// the leader has read the messages that arrived during the pause.
func (m *Member) checkLines() {
	if !m.config.Connections || !m.Active() {
		return
	}
	for _, id := range m.cluster.voters {
		l := m.lineTo(id)
		if l == nil || l.down || m.host.Monotonic()-l.latest < m.config.Silence {
			continue
		}
		m.host.Send(m.cluster.name(id), "hang up", m.round(m.config.Heartbeat), hangUp{m.term})
		l.down = true
	}
}

// leave makes this member give up on its leader, because the leader has closed their connection.
func (m *Member) leave(leader sim.ProcessID, h hangUp) {
	if h.term == m.term && leader == m.Leader() {
		m.giveUp()
	}
}

// lostConnection handles the end of another member's process. If that member was the leader, this member gives up on
// it. If this member is the leader, it marks its connection to the other member as down.
func (m *Member) lostConnection(from sim.ProcessID) {
	if !m.leading && from == m.Leader() {
		m.giveUp()
		return
	}
	for _, id := range m.cluster.voters {
		if l := m.lineTo(id); l != nil && m.cluster.name(id) == from {
			l.down = true
		}
	}
}

// isAbandoned reports whether this leader and the members connected to it fall short of a majority.
func (m *Member) isAbandoned() bool {
	if len(m.lines) == 0 || !m.Active() {
		return false
	}
	connected := 1
	for _, id := range m.cluster.voters {
		if l := m.lineTo(id); l != nil && !l.down {
			connected++
		}
	}
	return connected <= len(m.lines)/2
}

// leaseOver reports whether the leader's lease has ended because the leader has been out of contact with a majority for
// the length of the lease.
func (m *Member) leaseOver() bool {
	if m.config.Lease == 0 || !m.Active() {
		return false
	}
	contacts := 0
	for _, id := range m.cluster.voters {
		if l := m.lineTo(id); l == nil || m.host.Monotonic()-l.latest < m.config.Lease {
			contacts++
		}
	}
	return contacts <= len(m.cluster.voters)/2
}

// resign makes this leader a follower. The raft library has no function for this, but a message with a later term does
// the same.
func (m *Member) resign() {
	term := m.node.BasicStatus().GetTerm() + 1
	for _, from := range m.cluster.voters {
		if from != m.id {
			_ = m.node.Step(&raftpb.Message{Type: raftpb.MsgHeartbeatResp.Enum(), To: &m.id, From: &from, Term: &term})
			return
		}
	}
}
