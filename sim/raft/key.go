package raft

import (
	"math"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/fencepost-sim/fencepost/sim"
)

// keyOf returns a random key that distinguishes a message from others of its type. A message about the log gets the key
// of the entry that it carries or acknowledges. The key does not depend on the entry's index, because the index depends
// on what other members are proposing.
func (m *Member) keyOf(msg *raftpb.Message) sim.Key {
	entries := msg.GetEntries()
	switch msg.GetType() {
	case raftpb.MsgApp:
		if len(entries) > 0 {
			return m.nameOf(entries[len(entries)-1])
		}
		return m.nameAt(msg.GetIndex()).Word(uint64(m.nameAt(msg.GetCommit())))
	case raftpb.MsgAppResp:
		if msg.GetReject() { // the member does not have the entry, and says which one it has
			return m.nameAt(msg.GetRejectHint()).Word(1)
		}
		return m.nameAt(msg.GetIndex())
	case raftpb.MsgProp:
		return m.nameOf(entries[len(entries)-1])
	case raftpb.MsgHeartbeat, raftpb.MsgHeartbeatResp:
		if len(msg.GetContext()) == 0 {
			return m.round(m.config.Heartbeat)
		}
		return m.round(1) // this heartbeat confirms reads, which raft identifies only by a number
	case raftpb.MsgReadIndex, raftpb.MsgReadIndexResp:
		return m.round(1)
	}
	return m.round(m.config.ElectionTimeout()).Word(msg.GetTerm())
}

// round returns the member's monotonic time in units of the given length, which serves as a key for messages that are
// sent repeatedly.
func (m *Member) round(length time.Duration) sim.Key { return sim.Key(m.host.Monotonic() / length) }

// Second returns the member's monotonic time in seconds, which serves as a key for messages that a machine keeps
// sending.
func (m *Member) Second() sim.Key { return m.round(time.Second) }

// nameAt returns the key of the entry at the given index (see nameOf), or the index itself if this member's disk does
// not have the entry.
func (m *Member) nameAt(index uint64) sim.Key {
	if last, _ := m.disk.LastIndex(); index <= last {
		if entries, err := m.disk.Entries(index, index+1, math.MaxUint64); err == nil {
			return m.nameOf(entries[0])
		}
	}
	return sim.Key(index)
}

// nameOf returns an entry's key: the key of its command or, for a new leader's empty entry, the term.
func (m *Member) nameOf(raw *raftpb.Entry) sim.Key {
	if command, _ := m.cluster.command(raw); command != nil {
		return command.key()
	}
	return sim.Key(raw.GetTerm())
}
