package raft

import (
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/fencepost-sim/fencepost/sim"
)

// line is a leader's connection to a member.
type line struct {
	latest time.Duration // monotonic, of the latest message of raft from there
	down   bool          // hung up, or ended, and nothing received since
}

// hangUp is the last message on a line: the end of its connection.
type hangUp struct{ term uint64 }

// beginLines opens the lines of a new leader, if members keep connections.
func (m *Member) beginLines() {
	m.lines = m.lines[:0]
	if !m.config.Connections {
		return
	}
	for range m.cluster.members {
		m.lines = append(m.lines, line{latest: m.host.Monotonic()})
	}
}

// lineTo is the line to a member; nil to itself, and unless this member leads and members keep connections.
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

// checkLines hangs up on members that have been silent for too long. After a pause the leader first reads what has
// arrived.
func (m *Member) checkLines() {
	if !m.Active() {
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

// leave forgets the leader that has hung up.
func (m *Member) leave(leader sim.ProcessID, h hangUp) {
	if h.term == m.term && leader == m.Leader() {
		m.giveUp()
	}
}

// lostConnection gives up a leader, or loses a follower, whose process has ended.
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

// isAbandoned reports whether this leader is connected to no majority, itself included.
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

// resign makes a leader a follower. raft has no such request: a message of a later term has that effect.
func (m *Member) resign() {
	term := m.node.BasicStatus().GetTerm() + 1
	for _, from := range m.cluster.voters {
		if from != m.id {
			_ = m.node.Step(&raftpb.Message{Type: raftpb.MsgHeartbeatResp.Enum(), To: &m.id, From: &from, Term: &term})
			return
		}
	}
}
