package raft

import (
	"encoding/binary"
	"slices"

	"go.etcd.io/raft/v3/raftpb"
)

// enter stores a command. It returns the ID of the request that proposes the command. In the log, this ID represents
// the command.
func (c *Cluster) enter(id uint64, command Command) []byte {
	command.Args = slices.Clone(command.Args)
	c.commands[id] = &command
	return binary.LittleEndian.AppendUint64(nil, id)
}

// command returns a log entry's command and the ID of the request that proposed it. The command is nil if the entry is
// a new leader's empty first entry.
func (c *Cluster) command(raw *raftpb.Entry) (command *Command, id uint64) {
	if len(raw.GetData()) == 0 {
		return nil, 0
	}
	id = binary.LittleEndian.Uint64(raw.GetData())
	return c.commands[id], id
}

// apply applies a committed entry. A new leader's empty first entry is not passed to the machine.
func (m *Member) apply(raw *raftpb.Entry) {
	index := raw.GetIndex()
	first := index > m.cluster.first
	if first {
		m.cluster.first = index
	}
	m.applied, m.reigned = index, raw.GetTerm()
	copied := !first && index > m.reached
	m.reached = max(m.reached, index)
	command, id := m.cluster.command(raw)
	if command == nil {
		return
	}
	p, own := m.waiting.take(id)
	e := &m.entry
	*e = Entry{Command: *command, Index: index, Term: raw.GetTerm(), First: first, Copied: copied, Own: own}
	reply := m.machine.Apply(m, e)
	if e.Own {
		p.done(reply, nil)
	}
}
