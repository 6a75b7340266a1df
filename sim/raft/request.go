package raft

import (
	"encoding/binary"
	"slices"
	"time"

	"go.etcd.io/raft/v3"

	"github.com/fencepost-sim/fencepost/sim"
)

// requests contains, in order, the proposals and reads whose results this member's clients are waiting for.
type requests struct {
	last      uint64 // number of the last request
	proposals []proposal
	reads     []read
	expiring  bool // the timer for the oldest proposal is set
	retrying  bool // the timer for the reads is set
}

type proposal struct {
	id       uint64
	data     []byte
	sent     bool // the proposal was sent to a leader, but may have been lost
	deadline time.Duration
	done     func(reply []byte, err error)
}

type read struct {
	id        uint64
	confirmed bool
	index     uint64 // the read is served once this index has been applied
	alone     bool   // only the leader is asked, for the last index of its log
	deadline  time.Duration
	done      func(err error)
}

// retryInterval is how long a member waits before asking again for confirmation of a read (etcd's readIndexRetryTime).
const retryInterval = 500 * time.Millisecond

func (q *requests) clear() {
	clear(q.proposals)
	clear(q.reads)
	*q = requests{proposals: q.proposals[:0], reads: q.reads[:0]}
}

// nextID returns a unique ID for a request. It consists of the member's number, how many times the member has started,
// and a counter.
func (m *Member) nextID() uint64 {
	m.waiting.last++
	return m.id<<56 | m.lives<<32 | m.waiting.last
}

// Propose asks the leader to append c to the log. If no leader is known, the request waits for one. When this member
// has applied c, done is called with the machine's reply, which is valid during the call. After RequestTimeout, done is
// called with errTimeout. If the member stops before that, done is not called. A command that is on its way to a leader
// that has died is lost, and its request times out.
func (m *Member) Propose(c Command, done func(reply []byte, err error)) {
	q := &m.waiting
	id := m.nextID()
	p := proposal{id: id, data: m.cluster.enter(id, c), done: done,
		deadline: m.host.Monotonic() + m.config.RequestTimeout}
	p.sent = m.node.Propose(p.data) == nil
	q.proposals = append(q.proposals, p)
	if !q.expiring {
		q.expiring = true
		m.host.WakeAfter(m.config.RequestTimeout, wakeExpire)
	}
	m.drain()
}

// ProposeAsLeader proposes c only if this member is the leader, so that c never reaches another leader. If the raft
// library already knows about a newer leader, ProposeAsLeader does nothing. Leading may still return true at that time:
// it does not change until the current write ends.
func (m *Member) ProposeAsLeader(c Command) {
	if m.node.BasicStatus().RaftState != raft.StateLeader {
		return
	}
	_ = m.node.Propose(m.cluster.enter(m.nextID(), c)) // fails only if the member is not the leader
	m.drain()
}

// ReadIndex calls done when this member has applied all entries that were committed at the time of the call. A majority
// confirms which entries these are. If that takes too long, done is called with errTimeout. If the member stops before
// that, done is not called.
func (m *Member) ReadIndex(done func(err error)) {
	r := m.await(read{done: done})
	m.node.ReadIndex(r.context())
	m.drain()
}

// await adds a read to the pending reads.
func (m *Member) await(r read) read {
	q := &m.waiting
	r.id, r.deadline = m.nextID(), m.host.Monotonic()+m.config.RequestTimeout
	q.reads = append(q.reads, r)
	if !q.retrying {
		q.retrying = true
		m.host.WakeAfter(retryInterval, wakeRetry)
	}
	return r
}

// howFar asks the leader for the last index in its log. thisFar is the answer.
type (
	howFar  struct{ id uint64 }
	thisFar struct{ id, index uint64 }
)

// CatchUp calls done when this member has applied all entries that are in the leader's log when the leader answers.
// After a timeout, it calls done with errTimeout. It asks only once, and not at all if no leader is known. The leader
// answers without asking a majority, so it may have been deposed without knowing.
func (m *Member) CatchUp(done func(err error)) {
	r := m.await(read{alone: true, done: done})
	if ask := (howFar{r.id}); m.leading {
		m.tellHowFar(m.name, ask)
	} else if m.lead != 0 {
		m.host.Send(m.Leader(), "sync", m.round(1), ask)
	}
	m.drain()
}

// tellHowFar answers a member that is asking for the last index in the log. It does nothing if this member is not the
// leader.
func (m *Member) tellHowFar(from sim.ProcessID, ask howFar) {
	if !m.leading {
		return
	}
	last, err := m.disk.LastIndex()
	must(err)
	answer := thisFar{ask.id, max(last, m.node.BasicStatus().GetCommit())}
	if from == m.name {
		m.waiting.reach(answer)
		m.answerReads()
	} else {
		m.host.Send(from, "synced", m.round(1), answer)
	}
}

// reach marks a read as confirmed. It records the index of the entry that must be applied before the read is answered.
func (q *requests) reach(a thisFar) {
	for i := range q.reads {
		if q.reads[i].id == a.id {
			q.reads[i].confirmed, q.reads[i].index = true, a.index
		}
	}
}

func (r *read) context() []byte { return binary.LittleEndian.AppendUint64(nil, r.id) }

// resend sends a new leader the proposals that have not been sent to any leader yet, and asks it to confirm the pending
// reads.
func (m *Member) resend() {
	for i := range m.waiting.proposals {
		if p := &m.waiting.proposals[i]; !p.sent {
			p.sent = m.node.Propose(p.data) == nil
		}
	}
	m.askAgain()
}

func (m *Member) askAgain() {
	for i := range m.waiting.reads {
		if r := &m.waiting.reads[i]; !r.confirmed && !r.alone {
			m.node.ReadIndex(r.context())
		}
	}
}

// take removes a proposal and returns it. ok is false if nobody is waiting for it anymore.
func (q *requests) take(id uint64) (p proposal, ok bool) {
	i := slices.IndexFunc(q.proposals, func(p proposal) bool { return p.id == id })
	if i < 0 {
		return p, false
	}
	p = q.proposals[i]
	q.proposals = slices.Delete(q.proposals, i, i+1)
	return p, true
}

func (q *requests) confirm(s *raft.ReadState) {
	q.reach(thisFar{binary.LittleEndian.Uint64(s.RequestCtx), s.Index})
}

// answerReads answers the confirmed reads for which this member has applied enough entries.
func (m *Member) answerReads() {
	q := &m.waiting
	for i := 0; i < len(q.reads); {
		if r := q.reads[i]; r.confirmed && r.index <= m.applied {
			q.reads = slices.Delete(q.reads, i, i+1)
			r.done(nil)
			i = 0 // starts again, because done may have added reads
			continue
		}
		i++
	}
}

// expireRequests drops the proposals that have timed out.
func (m *Member) expireRequests() {
	q := &m.waiting
	now := m.host.Monotonic()
	q.expiring = false
	for len(q.proposals) > 0 && q.proposals[0].deadline <= now {
		p := q.proposals[0]
		q.proposals = append(q.proposals[:0], q.proposals[1:]...)
		p.done(nil, errTimeout)
	}
	if len(q.proposals) > 0 && !q.expiring {
		q.expiring = true
		m.host.WakeAfter(q.proposals[0].deadline-now, wakeExpire)
	}
}

// retryReads asks again for confirmation of unconfirmed reads. It also drops the reads that have timed out.
func (m *Member) retryReads() {
	q := &m.waiting
	now := m.host.Monotonic()
	q.retrying = false
	for len(q.reads) > 0 && q.reads[0].deadline <= now {
		r := q.reads[0]
		q.reads = append(q.reads[:0], q.reads[1:]...)
		r.done(errTimeout)
	}
	if len(q.reads) > 0 {
		m.askAgain()
		if !q.retrying {
			q.retrying = true
			m.host.WakeAfter(retryInterval, wakeRetry)
		}
	}
}
