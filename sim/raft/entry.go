package raft

import (
	"encoding/binary"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// encode encodes a command for the log: the id of the waiting request, the attempt, and the arguments.
func encode(id uint64, c *Command) []byte {
	size := 12 + len(c.Attempt)
	for _, a := range c.Args {
		size += 2 + len(a)
	}
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, size), id)
	b = appendText(b, string(c.Attempt))
	for _, a := range c.Args {
		b = appendText(b, a)
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// cutText decodes a text that appendText has encoded.
func cutText(b []byte) (text, rest []byte) {
	n, size := binary.Uvarint(b)
	b = b[size:]
	return b[:n], b[n:]
}

// decode decodes into e what encode has encoded, and returns the id. The strings of e share one copy of data.
func decode(data []byte, e *Entry) (id uint64) {
	id = binary.LittleEndian.Uint64(data)
	text, rest := string(data), data[8:]
	next := func() string {
		var word []byte
		word, rest = cutText(rest)
		end := len(data) - len(rest)
		return text[end-len(word) : end]
	}
	e.Attempt = history.Attempt(next())
	e.Args = e.Args[:0]
	for len(rest) > 0 {
		e.Args = append(e.Args, next())
	}
	return id
}

// apply carries out a committed entry. A new leader's first entry is empty and is not passed to the machine.
func (m *Member) apply(raw *raftpb.Entry) {
	index := raw.GetIndex()
	first := index > m.cluster.first
	if first {
		m.cluster.first = index
	}
	m.applied, m.reigned = index, raw.GetTerm()
	copied := !first && index > m.reached
	m.reached = max(m.reached, index)
	if len(raw.GetData()) == 0 {
		return
	}
	e := &m.entry
	id := decode(raw.GetData(), e)
	e.Index, e.Term, e.First, e.Copied = index, raw.GetTerm(), first, copied
	p, own := m.waiting.take(id)
	e.Own = own
	reply := m.machine.Apply(m, e)
	if e.Own {
		p.done(reply, nil)
	}
}
