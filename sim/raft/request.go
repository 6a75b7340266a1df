package raft

import (
	"encoding/binary"
	"slices"
	"time"

	"go.etcd.io/raft/v3"

	"github.com/fencepost-sim/fencepost/sim"
)

// requests contains what clients of this member wait for, in the order of their requests.
type requests struct {
	last      uint64 // number of the latest request
	proposals []proposal
	reads     []read
	expiring  bool // a timer is set for the oldest proposal
	retrying  bool // a timer is set for the reads
}

type proposal struct {
	id       uint64
	data     []byte
	sent     bool // it was sent to the leader known at the time, and may have been lost
	deadline time.Duration
	done     func(reply []byte, err error)
}

type read struct {
	id        uint64
	confirmed bool
	index     uint64 // the read is served once this index has been applied
	alone     bool   // only the leader is asked for the end of its log
	deadline  time.Duration
	done      func(err error)
}

// retryInterval is how long a member waits for the confirmation of a read before it asks again (etcd's
// readIndexRetryTime).
const retryInterval = 500 * time.Millisecond

func (q *requests) clear() {
	clear(q.proposals)
	clear(q.reads)
	*q = requests{proposals: q.proposals[:0], reads: q.reads[:0]}
}

// nextID returns a unique ID for a request, composed of member, life and number.
func (m *Member) nextID() uint64 {
	m.waiting.last++
	return m.id<<56 | m.lives<<32 | m.waiting.last
}

// Propose asks the leader to append c to the log; if no leader is known, it waits for one. Once this member has applied
// c, done is called with the machine's reply, which is valid during the call. If that takes too long, done is called
// with errTimeout. done is not called if the life ends first. A command that was on its way to a leader that died may
// be lost; it then times out.
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

// ProposeAsLeader proposes c, but only while this member leads, so that no other leader ever receives c. It does
// nothing if raft already knows about a newer leader, even though Leading changes only when the current write is
// finished.
func (m *Member) ProposeAsLeader(c Command) {
	if m.node.BasicStatus().RaftState != raft.StateLeader {
		return
	}
	_ = m.node.Propose(m.cluster.enter(m.nextID(), c)) // raft refuses this only to a member that does not lead
	m.drain()
}

// ReadIndex calls done once this member has applied all entries that were committed when ReadIndex was called, as
// confirmed by a majority, or with errTimeout. done is not called if the life ends first.
func (m *Member) ReadIndex(done func(err error)) {
	r := m.await(read{done: done})
	m.node.ReadIndex(r.context())
	m.drain()
}

// await adds a read to those that are waiting.
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

// howFar asks the leader for the last index of its log; thisFar is the answer.
type (
	howFar  struct{ id uint64 }
	thisFar struct{ id, index uint64 }
)

// CatchUp calls done once this member has applied all entries that were in the leader's log when the leader was asked,
// or with errTimeout. The leader answers without asking a majority, so it may have been deposed without knowing it.
func (m *Member) CatchUp(done func(err error)) {
	r := m.await(read{alone: true, done: done})
	if ask := (howFar{r.id}); m.leading {
		m.tellHowFar(m.name, ask)
	} else if m.lead != 0 {
		m.host.Send(m.Leader(), "sync", m.round(1), ask)
	}
	m.drain()
}

// tellHowFar answers a member that asks for the last index of the log, if this member leads.
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

// reach records the index for which a read must wait.
func (q *requests) reach(a thisFar) {
	for i := range q.reads {
		if q.reads[i].id == a.id {
			q.reads[i].confirmed, q.reads[i].index = true, a.index
		}
	}
}

func (r *read) context() []byte { return binary.LittleEndian.AppendUint64(nil, r.id) }

// resend sends a new leader the proposals that have not been sent to any leader yet, and asks it to confirm the reads.
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

// take removes and returns a proposal of this life. ok is false if nobody waits for it any more.
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

// answerReads answers the reads whose index has been applied.
func (m *Member) answerReads() {
	q := &m.waiting
	for i := 0; i < len(q.reads); {
		if r := q.reads[i]; r.confirmed && r.index <= m.applied {
			q.reads = slices.Delete(q.reads, i, i+1)
			r.done(nil)
			i = 0 // done may have added reads
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

// retryReads asks again for confirmations that have not arrived, and drops the reads that have timed out.
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
