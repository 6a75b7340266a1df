package raft

import (
	"go.etcd.io/raft/v3"
)

// readyLoop is the state of the loop that executes raft's decisions.
type readyLoop struct {
	running bool       // drain is running; the machine must not start it again
	writing bool       // an fsync is running, after which rd continues
	rd      raft.Ready // valid while writing
	sent    bool       // the messages in rd have already been sent
}

// drain executes all of raft's decisions in the order that raft requires: write to disk, then send, then apply.
func (m *Member) drain() {
	if m.loop.running {
		return
	}
	m.loop.running = true
	for m.node != nil && !m.loop.writing && m.node.HasReady() {
		rd := m.node.Ready()
		m.note(&rd)
		if fsync := m.config.Fsync + m.slow; fsync > 0 && rd.MustSync {
			m.loop.writing, m.loop.rd = true, rd
			if m.leading { // a leader replicates while it writes (Ongaro's thesis, 10.2.1)
				m.send(rd.Messages)
				m.loop.sent = true
			}
			m.host.WakeAfter(fsync, wakeFsync)
			break
		}
		m.carryOut(&rd, false)
	}
	m.loop.running = false
}

// written is called when an fsync has finished. It carries out the raft decisions that had to wait for it.
func (m *Member) written() {
	rd, sent := m.loop.rd, m.loop.sent
	m.loop.writing, m.loop.sent, m.loop.rd = false, false, raft.Ready{}
	m.loop.running = true
	m.carryOut(&rd, sent)
	m.loop.running = false
}

// note copies raft's current state to the member.
func (m *Member) note(rd *raft.Ready) {
	if rd.HardState != nil && rd.GetTerm() != m.term {
		m.term = rd.GetTerm()
		m.receivedFromLeader() // as raft does, restart the timeouts in each new term
	}
	if rd.SoftState == nil {
		return
	}
	was, led := m.lead, m.leading
	m.lead, m.leading = rd.Lead, rd.RaftState == raft.StateLeader
	m.led = m.led || m.lead != 0
	switch {
	case m.leading && !led:
		m.beginBeat()
	case !m.leading && led, m.lead != was && m.lead != 0:
		m.listen(0)
	}
	if m.lead != was || m.leading != led {
		m.machine.LeaderChanged(m)
	}
	if m.lead != was && m.lead != 0 {
		m.resend()
	}
}

func (m *Member) carryOut(rd *raft.Ready, sent bool) {
	m.persist(rd)
	if !sent {
		m.send(rd.Messages)
	}
	for _, e := range rd.CommittedEntries {
		m.apply(e)
	}
	for i := range rd.ReadStates {
		m.waiting.confirm(&rd.ReadStates[i])
	}
	m.node.Advance(*rd)
	m.answerReads()
}

func (m *Member) persist(rd *raft.Ready) {
	if len(rd.Entries) > 0 {
		must(m.disk.Append(rd.Entries))
	}
	if !raft.IsEmptyHardState(rd.HardState) {
		must(m.disk.SetHardState(rd.HardState))
	}
}
