package raft

import (
	"encoding/binary"
	"slices"
	"time"

	"go.etcd.io/raft/v3"

	"github.com/fencepost-sim/fencepost/sim"
)

// requests are what clients of this member wait for, in the order in which they asked.
type requests struct {
	last      uint64 // number of the latest
	proposals []proposal
	reads     []read
	expiring  bool // a timer for the oldest proposal is set
	retrying  bool // a timer for reads is set
}

type proposal struct {
	id       uint64
	data     []byte
	sent     bool // to the leader known at the time; it may have been lost
	deadline time.Duration
	done     func(reply []byte, err error)
}

type read struct {
	id        uint64
	confirmed bool
	index     uint64 // the read is served once this has been applied
	alone     bool   // the leader alone is asked, how far its log is
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

// nextID returns a unique name for a request: member, life, number.
func (m *Member) nextID() uint64 {
	m.waiting.last++
	return m.id<<56 | m.lives<<32 | m.waiting.last
}

// Propose asks that c be appended to the log, by way of the leader; while none is known it waits for one. done gets the
// machine's reply once this member has applied c, valid during the call, or errTimeout. It is not called if the life
// ends before. A command that was on its way to a leader that died may be lost: it ends in errTimeout.
func (m *Member) Propose(c Command, done func(reply []byte, err error)) {
	q := &m.waiting
	id := m.nextID()
	p := proposal{id: id, data: encode(id, &c), deadline: m.host.Monotonic() + m.config.RequestTimeout, done: done}
	p.sent = m.node.Propose(p.data) == nil
	q.proposals = append(q.proposals, p)
	if !q.expiring {
		q.expiring = true
		m.host.WakeAfter(m.config.RequestTimeout, wakeExpire)
	}
	m.drain()
}

// ProposeAsLeader asks that c be appended as long as this member leads. It does nothing if raft already knows of a
// newer leader, which Leading reflects only once what is being written is on disk; and no other leader ever gets c.
func (m *Member) ProposeAsLeader(c Command) {
	if m.node.BasicStatus().RaftState != raft.StateLeader {
		return
	}
	_ = m.node.Propose(encode(m.nextID(), &c)) // raft refuses it only to a member that does not lead
	m.drain()
}

// ReadIndex calls done once this member has applied everything that had been committed when it was asked, as a majority
// confirmed; or with errTimeout. It is not called if the life ends before.
func (m *Member) ReadIndex(done func(err error)) {
	r := m.await(read{done: done})
	m.node.ReadIndex(r.context())
	m.drain()
}

// await adds a read to those that wait.
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

// howFar asks the leader how far its log is, and thisFar is its answer.
type (
	howFar  struct{ id uint64 }
	thisFar struct{ id, index uint64 }
)

// CatchUp calls done once this member has applied everything that was in the leader's log when it was asked, or with
// errTimeout. The leader answers by itself: it may have been deposed and not know it yet.
func (m *Member) CatchUp(done func(err error)) {
	r := m.await(read{alone: true, done: done})
	if ask := (howFar{r.id}); m.leading {
		m.tellHowFar(m.name, ask)
	} else if m.lead != 0 {
		m.host.Send(m.Leader(), "sync", m.round(1), ask)
	}
	m.drain()
}

// tellHowFar answers a member that asks how far the log is, if this member leads.
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

// reach notes how far a read must wait.
func (q *requests) reach(a thisFar) {
	for i := range q.reads {
		if q.reads[i].id == a.id {
			q.reads[i].confirmed, q.reads[i].index = true, a.index
		}
	}
}

func (r *read) context() []byte { return binary.LittleEndian.AppendUint64(nil, r.id) }

// resend gives a new leader what no leader has received yet, and asks it to confirm the reads.
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

// take removes a proposal of this life; ok is false if nobody waits for it any more.
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

// answerReads serves the reads for which enough has been applied.
func (m *Member) answerReads() {
	q := &m.waiting
	for i := 0; i < len(q.reads); {
		if r := q.reads[i]; r.confirmed && r.index <= m.applied {
			q.reads = slices.Delete(q.reads, i, i+1)
			r.done(nil)
			i = 0 // done may have asked for more
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

// retryReads asks again for the confirmations that have not arrived, and drops the reads that have timed out.
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
