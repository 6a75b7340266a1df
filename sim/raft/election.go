package raft

import (
	"time"

	"go.etcd.io/raft/v3"

	"github.com/fencepost-sim/fencepost/sim"
)

// heartbeat is the state of a leader's ticks.
type heartbeat struct {
	number uint64        // number of the timers of the current reign; timers of earlier reigns are obsolete
	last   time.Duration // monotonic time of the latest tick
	gap    time.Duration // time between the latest two ticks
	odd    bool          // the number of ticks in this reign is odd
}

// missedTicks is the number of heartbeats that a leader may miss before it must consider its leadership uncertain
// (etcd's isActive).
const missedTicks = 3

func (m *Member) beginBeat() {
	m.beat = heartbeat{number: m.beat.number + 1, last: m.host.Monotonic()}
	m.beginLines()
	m.host.WakeAfter(m.config.Heartbeat, wakeBeat|m.beat.number)
}

func (m *Member) tick(number uint64) {
	if !m.leading || number != m.beat.number {
		return
	}
	now := m.host.Monotonic()
	m.beat.gap, m.beat.last = now-m.beat.last, now
	m.host.WakeAfter(m.config.Heartbeat, wakeBeat|number)
	if m.node.BasicStatus().RaftState == raft.StateLeader { // otherwise it was deposed, which m learns after the write
		m.node.Tick()
	}
	m.checkLines()
	if m.beat.odd = !m.beat.odd; !m.beat.odd && m.isAbandoned() || m.leaseOver() {
		m.resign()
	}
}

// Active reports whether this member leads and has been ticking. After a pause it is false until the second tick. By
// then, everything that another leader has sent in the meantime has been read.
func (m *Member) Active() bool {
	allowed := missedTicks * m.config.Heartbeat
	return m.leading && m.beat.gap < allowed && m.host.Monotonic()-m.beat.last < allowed
}

// watch is the state with which a follower observes its leader.
type watch struct {
	number   uint64        // number of the current timer
	latest   time.Duration // monotonic time of the last sign of a leader
	patience time.Duration // how long after that the follower campaigns
	tries    uint64        // number of failed campaigns since it last learned of a leader
}

// receivedFromLeader records a sign of life from the leader. The timer is not changed; it checks again when it fires.
func (m *Member) receivedFromLeader() { m.watch.latest = m.host.Monotonic() }

// listen restarts the watch. tries is the number of campaigns that have failed.
func (m *Member) listen(tries uint64) {
	m.receivedFromLeader()
	m.watch.tries = tries
	leaderless := m.lead == 0 && (m.lives > 1 || m.config.ColdStart)
	if m.config.Connections && (tries > 0 || leaderless) {
		m.watch.patience = m.campaignTime()
	} else {
		m.watch.patience = m.config.Silence + m.draw(m.config.Campaign)
	}
	m.watchAgain()
}

// draw returns a random time below a bound. It depends on this term and on the number of failed campaigns in it.
func (m *Member) draw(below time.Duration) time.Duration {
	return time.Duration(m.host.Rand("patience", sim.Key(m.term).Word(m.watch.tries)) % uint64(below))
}

// maxDoublings limits how many times a member with connections doubles the time between its campaigns.
const maxDoublings = 4

// campaignTime returns how long a member without a leader waits before it campaigns.
func (m *Member) campaignTime() time.Duration {
	least := m.config.Campaign << min(max(m.watch.tries, 1)-1, maxDoublings)
	return least + m.draw(least)
}

// giveUp forgets the leader after the connection to it has broken, and prepares to campaign.
func (m *Member) giveUp() {
	_ = m.node.ForgetLeader() // raft never refuses this to a follower
	m.drain()
	m.watch.tries = 0
	m.watch.patience = m.host.Monotonic() - m.watch.latest + m.campaignTime()
	m.watchAgain()
}

func (m *Member) watchAgain() {
	due := m.watch.patience
	quiet := m.host.Monotonic() - m.watch.latest
	if m.lead != 0 && quiet < m.config.Silence {
		due = m.config.Silence
	}
	m.watch.number++
	m.host.WakeAfter(due-quiet, wakeWatch|m.watch.number)
}

// suspect forgets a leader that has been silent for too long, so that this member may vote for another. When the
// member's patience ends, it campaigns.
func (m *Member) suspect(number uint64) {
	if m.leading || number != m.watch.number {
		return
	}
	quiet := m.host.Monotonic() - m.watch.latest
	switch {
	case quiet >= m.watch.patience:
		unled := m.Unled()
		_ = m.node.Campaign() // raft refuses this only to a leader
		m.listen(m.watch.tries + 1)
		if unled {
			m.machine.LeaderChanged(m)
		}
		return
	case quiet >= m.config.Silence:
		_ = m.node.ForgetLeader() // raft never refuses this to a follower
	}
	m.drain() // the timer depends on whether a leader is known
	m.watchAgain()
}
