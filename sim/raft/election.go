package raft

import (
	"time"

	"go.etcd.io/raft/v3"

	"github.com/fencepost-sim/fencepost/sim"
)

// heartbeat is the state of a leader's heartbeats, which also serve as the raft library's ticks.
type heartbeat struct {
	// identifies the current timers; timers from an earlier period as leader have other numbers and are ignored
	number uint64
	last   time.Duration // monotonic time of the last tick
	gap    time.Duration // time between the last two ticks
	odd    bool          // the number of ticks so far is odd
}

// missedTicks is the number of missed heartbeats after which a leader can no longer be sure that it is still the leader
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
	// The raft library may already have stepped down. m does not find out until the current write ends.
	if m.node.BasicStatus().RaftState == raft.StateLeader {
		m.node.Tick()
	}
	m.checkLines()
	if m.beat.odd = !m.beat.odd; !m.beat.odd && m.isAbandoned() || m.leaseOver() {
		m.resign()
	}
}

// Active reports whether this member is the leader and has sent regular heartbeats recently. After a pause, it returns
// false until the second heartbeat. By then, the member has read every message that another leader sent it during the
// pause.
func (m *Member) Active() bool {
	allowed := missedTicks * m.config.Heartbeat
	return m.leading && m.beat.gap < allowed && m.host.Monotonic()-m.beat.last < allowed
}

// watch is the state of a follower that monitors its leader.
type watch struct {
	number   uint64        // number of the current timer
	latest   time.Duration // monotonic time of the last message from a leader
	patience time.Duration // how long after that time the follower campaigns
	tries    uint64        // number of failed campaigns since it last knew a leader
}

// receivedFromLeader records that a message from the leader has arrived. It does not reset the timer: when the timer
// expires, suspect checks how long ago the latest message arrived.
func (m *Member) receivedFromLeader() { m.watch.latest = m.host.Monotonic() }

// listen begins a new wait for messages from a leader. tries is the number of campaigns that have failed.
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

// draw returns a random time of at least 0 and less than the given one. It depends on the term and on the number of
// failed campaigns.
func (m *Member) draw(below time.Duration) time.Duration {
	return time.Duration(m.host.Rand("patience", sim.Key(m.term).Word(m.watch.tries)) % uint64(below))
}

// maxDoublings is the maximum number of times that a member doubles the time between its campaigns if
// Config.Connections is set.
const maxDoublings = 4

// campaignTime returns how long a member without a leader waits before it campaigns.
func (m *Member) campaignTime() time.Duration {
	least := m.config.Campaign << min(max(m.watch.tries, 1)-1, maxDoublings)
	return least + m.draw(least)
}

// giveUp forgets the leader because the connection to it has broken, and sets the timer for a campaign.
func (m *Member) giveUp() {
	_ = m.node.ForgetLeader() // cannot fail for a follower
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

// suspect is called when m.watch's timer expires. If the leader has been silent for too long, this member forgets it,
// and may vote for another. If the silence has lasted for at least m.watch.patience, this member also starts a
// campaign.
func (m *Member) suspect(number uint64) {
	if m.leading || number != m.watch.number {
		return
	}
	quiet := m.host.Monotonic() - m.watch.latest
	switch {
	case quiet >= m.watch.patience:
		unled := m.Unled()
		_ = m.node.Campaign() // can fail only for a leader
		m.listen(m.watch.tries + 1)
		if unled {
			m.machine.LeaderChanged(m)
		}
		return
	case quiet >= m.config.Silence:
		_ = m.node.ForgetLeader() // cannot fail for a follower
	}
	m.drain() // updates m.lead, on which the timer depends
	m.watchAgain()
}
