package raft

import (
	"math"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/fencepost-sim/fencepost/sim"
)

// keyOf identifies a message among those of its type. Messages about the log are named by the entry that they carry or
// acknowledge: an index counts what others proposed before.
func (m *Member) keyOf(msg *raftpb.Message) sim.Key {
	entries := msg.GetEntries()
	switch msg.GetType() {
	case raftpb.MsgApp:
		if len(entries) > 0 {
			return nameOf(entries[len(entries)-1])
		}
		return m.nameAt(msg.GetIndex()).Word(uint64(m.nameAt(msg.GetCommit())))
	case raftpb.MsgAppResp:
		if msg.GetReject() { // it lacks that entry, and states what it has
			return m.nameAt(msg.GetRejectHint()).Word(1)
		}
		return m.nameAt(msg.GetIndex())
	case raftpb.MsgProp:
		return nameOf(entries[len(entries)-1])
	case raftpb.MsgHeartbeat, raftpb.MsgHeartbeatResp:
		if len(msg.GetContext()) == 0 {
			return m.round(m.config.Heartbeat)
		}
		return m.round(1) // it confirms reads, which raft knows only by number
	case raftpb.MsgReadIndex, raftpb.MsgReadIndexResp:
		return m.round(1)
	}
	return m.round(m.config.ElectionTimeout()).Word(msg.GetTerm())
}

// round is the member's own time in rounds of a length. It distinguishes what is sent again and again.
func (m *Member) round(length time.Duration) sim.Key { return sim.Key(m.host.Monotonic() / length) }

// Second is the second of the member's own time, which distinguishes what a machine sends again and again.
func (m *Member) Second() sim.Key { return m.round(time.Second) }

// nameAt names the entry at an index, by the index if it is not on disk here.
func (m *Member) nameAt(index uint64) sim.Key {
	if last, _ := m.disk.LastIndex(); index <= last {
		if entries, err := m.disk.Entries(index, index+1, math.MaxUint64); err == nil {
			return nameOf(entries[0])
		}
	}
	return sim.Key(index)
}

// nameOf names an entry by the attempt that it is for and the kind of its command; by the whole command if it is for no
// attempt. A new leader's empty entry has the name of its term.
func nameOf(raw *raftpb.Entry) sim.Key {
	if len(raw.GetData()) == 0 {
		return sim.Key(raw.GetTerm())
	}
	attempt, rest := cutText(raw.GetData()[8:])
	key := sim.Key(0).Text(string(attempt))
	for len(rest) > 0 {
		var word []byte
		word, rest = cutText(rest)
		key = key.Text(string(word))
		if len(attempt) > 0 {
			break
		}
	}
	return key
}
