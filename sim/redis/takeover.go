package redis

import (
	"slices"

	"github.com/fencepost-sim/fencepost/sim"
)

// This file implements failovers, in which a master is replaced by one of its replicas (clusterHandleSlaveFailover).
// The masters elect the replica if a majority of them thinks that its master has failed, or if CLUSTER FAILOVER orders
// the election.

// failover is an election's state from the candidate's point of view. Times are in ms on the wall clock.
type failover struct {
	at      int64 // when the candidate will ask or has asked for votes; 0: never
	asked   bool
	rank    int   // number of replicas that have more data
	inEpoch int64 // the epoch of the election
	count   int   // number of votes
	ordered int64 // until when an order to fail over is valid; 0: there is none
}

// orderFailOver makes a replica replace its master with the data that has reached the replica, as CLUSTER FAILOVER
// FORCE does. The replica needs the masters' votes. They vote even if they can still reach the replica's master. On a
// master, orderFailOver has no effect.
func (n *Node) orderFailOver(to sim.ProcessID) {
	m := n.member
	if to != n.host.Name() || m.self.master == nil {
		return
	}
	m.failover = failover{ordered: n.millis() + orderedFor}
	n.seekMaster()
}

// seekMaster takes the next step in a failover if the node is a replica and its master has failed, or if a failover was
// ordered.
func (n *Node) seekMaster() {
	m, now := n.member, n.millis()
	if m.ordered != 0 && now > m.ordered {
		m.failover = failover{} // the election took too long
	}
	master := m.self.master
	if master == nil || len(master.slots) == 0 || master.health != failed && m.ordered == 0 ||
		m.ordered == 0 && n.staleReplica(now) {
		return
	}
	age, timeout := now-m.at, max(2*m.timeout, leastVoteTimeout)
	switch {
	case m.at == 0 || age > 2*timeout:
		m.asked, m.count, m.rank = false, 0, n.rank()
		m.at = now + voteDelay + int64(n.host.Rand("vote delay", n.second())%voteDelay) + int64(m.rank)*rankDelay
		if m.ordered != 0 {
			m.at = now
			break
		}
		for _, p := range m.replicas(master) { // announce the offset, which the other replicas must know
			if p != m.self {
				n.post(p.name, phaseBus, n.second(), beat{busHeader: n.busHeader(), pong: true, failing: m.failing()})
			}
		}
		return
	case !m.asked && m.ordered == 0 && n.rank() > m.rank:
		m.at += int64(n.rank()-m.rank) * rankDelay
		m.rank = n.rank()
	}
	switch needed, _ := m.majority(); {
	case now < m.at || now-m.at > timeout:
	case !m.asked:
		m.epoch++
		m.inEpoch, m.asked = m.epoch, true
		n.toAll(phaseBallot, ballot{n.busHeader(), m.ordered != 0})
	case m.count >= needed:
		m.self.epoch = max(m.self.epoch, m.inEpoch)
		n.takeOver()
	}
}

// staleReplica reports whether the node had been out of contact with its master for too long when the master failed.
func (n *Node) staleReplica(now int64) bool {
	m := n.member
	return now-m.self.master.heard-m.timeout > replicaPing+validityFactor*m.timeout
}

// rank returns how many of the master's other replicas have more data than this node.
func (n *Node) rank() (count int) {
	m := n.member
	for _, p := range m.replicas(m.self.master) {
		if p != m.self && p.offset > n.repl.offset {
			count++
		}
	}
	return count
}

// takeOver makes the node replace its own master, and informs all members.
func (n *Node) takeOver() {
	m := n.member
	old := m.self.master
	m.self.master, m.self.slots, old.slots = nil, old.slots, nil
	m.failover = failover{}
	n.obey(n.host.Name())
	n.judgeCluster()
	n.announceSlots()
}

// voteFor votes for a replica if it may succeed its master. A node votes only once per epoch, and for replicas of the
// same master, only once within twice the node timeout (clusterSendFailoverAuthIfNeeded).
func (n *Node) voteFor(p *peer, b ballot) {
	m, now := n.member, n.millis()
	master := p.master
	if !m.self.votes() || b.current < m.epoch || m.voted == m.epoch || master == nil ||
		master.health != failed && !b.ordered || now-master.votedAt < 2*m.timeout && master.votedAt != 0 {
		return
	}
	for _, q := range m.peers {
		if q.epoch > b.epoch && slices.ContainsFunc(b.slots, q.slots.overlaps) {
			return // another member got these slots in a later epoch
		}
	}
	master.votedAt, m.voted = now, m.epoch
	n.post(p.name, phaseVote, sim.Key(b.current), vote{n.busHeader()})
}
