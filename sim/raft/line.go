package raft

import (
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// line is a leader's connection to a member.
type line struct {
	latest time.Duration // monotonic, of the latest message of raft from there
	down   bool          // hung up, and nothing received since
}

// hangUp is the last message on a line: the end of its connection.
type hangUp struct{ term uint64 }

// beginLines opens the lines of a new leader, if it ever hangs up.
func (m *Member) beginLines() {
	m.lines = m.lines[:0]
	if !m.config.HangsUp {
		return
	}
	for range m.cluster.members {
		m.lines = append(m.lines, line{latest: m.host.Monotonic()})
	}
}

// lineTo is the line to a member; nil to itself, and unless this member leads and hangs up.
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
		if l == nil || l.down || m.host.Monotonic()-l.latest < m.config.ElectionTimeout() {
			continue
		}
		m.host.Send(m.cluster.name(id), "hang up", m.round(m.config.Heartbeat), hangUp{m.term})
		l.down = true
	}
}

// leave forgets the leader that has hung up.
func (m *Member) leave(leader sim.ProcessID, h hangUp) {
	if h.term == m.term && leader == m.Leader() {
		_ = m.node.ForgetLeader() // raft never refuses it to a follower
	}
}
