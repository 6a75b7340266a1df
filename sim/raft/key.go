package raft

import (
	"math"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/fencepost-sim/fencepost/sim"
)

// keyOf returns a key that identifies a message among those of its type. A message about the log is identified by the
// entry that it carries or acknowledges, not by the entry's index, because an index depends on what others have
// proposed before.
func (m *Member) keyOf(msg *raftpb.Message) sim.Key {
	entries := msg.GetEntries()
	switch msg.GetType() {
	case raftpb.MsgApp:
		if len(entries) > 0 {
			return m.nameOf(entries[len(entries)-1])
		}
		return m.nameAt(msg.GetIndex()).Word(uint64(m.nameAt(msg.GetCommit())))
	case raftpb.MsgAppResp:
		if msg.GetReject() { // the member lacks that entry, and says what it has
			return m.nameAt(msg.GetRejectHint()).Word(1)
		}
		return m.nameAt(msg.GetIndex())
	case raftpb.MsgProp:
		return m.nameOf(entries[len(entries)-1])
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

// round returns the member's monotonic time in units of the given length. It distinguishes messages that are sent
// repeatedly.
func (m *Member) round(length time.Duration) sim.Key { return sim.Key(m.host.Monotonic() / length) }

// Second returns the member's monotonic time in seconds. It distinguishes messages that a machine sends repeatedly.
func (m *Member) Second() sim.Key { return m.round(time.Second) }

// nameAt returns a key for the entry at an index: the result of nameOf, or the index itself if the entry is not on this
// member's disk.
func (m *Member) nameAt(index uint64) sim.Key {
	if last, _ := m.disk.LastIndex(); index <= last {
		if entries, err := m.disk.Entries(index, index+1, math.MaxUint64); err == nil {
			return m.nameOf(entries[0])
		}
	}
	return sim.Key(index)
}

// nameOf returns a key for an entry: the key of its command or, for a new leader's empty entry, its term.
func (m *Member) nameOf(raw *raftpb.Entry) sim.Key {
	if command, _ := m.cluster.command(raw); command != nil {
		return command.key()
	}
	return sim.Key(raw.GetTerm())
}
