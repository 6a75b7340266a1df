package zookeeper

import (
	"github.com/fencepost-sim/fencepost/sim"

	"cmp"
	"slices"
	"time"
)

// state is what an ensemble agrees on: the tree and the sessions. It is a function of the commands applied.
type state struct {
	tree
	zxid     Zxid
	sessions []*session // in the order of their ids
}

// session is a client's session, as all members know it.
type session struct {
	id      SessionID
	timeout time.Duration
	client  sim.ProcessID // that requested it
	// conn is the connection that currently belongs to the session. Late requests on an earlier one are refused.
	conn       uint64
	ephemerals []*znode // in the order of their creation
}

// result is the outcome of a transaction.
type result struct {
	code    Code
	node    *znode   // created or set
	session *session // created, moved, closed or expired
}

func (s *state) reset() {
	s.tree.reset()
	s.zxid = 0
	clear(s.sessions)
	s.sessions = s.sessions[:0]
}

// session finds a session; nil if it has expired, was closed, or never was.
func (s *state) session(id SessionID) *session {
	if i, found := s.place(id); found {
		return s.sessions[i]
	}
	return nil
}

func (s *state) place(id SessionID) (int, bool) {
	return slices.BinarySearchFunc(s.sessions, id, func(s *session, id SessionID) int { return cmp.Compare(s.id, id) })
}

// apply carries out a transaction. Failed ones take a zxid too.
func (s *state) apply(term uint64, c *command) result {
	clear(s.changes)
	s.changes = s.changes[:0]
	s.advance(term)
	if c.kind == createSession {
		n := &session{id: SessionID(s.zxid), timeout: c.timeout, client: c.client, conn: c.conn}
		s.sessions = append(s.sessions, n)
		return result{session: n}
	}
	of := s.session(c.session)
	switch {
	case of == nil:
		return result{code: SessionExpired}
	case c.kind == moveSession:
		of.conn = c.conn
		return result{session: of}
	case c.kind == expireSession:
		return s.end(of)
	case of.conn != c.conn:
		return result{code: SessionMoved}
	case c.kind == closeSession:
		return s.end(of)
	}
	return s.write(of, c)
}

// advance takes the next zxid: the count begins anew with each epoch.
func (s *state) advance(term uint64) {
	if epoch := Zxid(term) << 32; s.zxid < epoch {
		s.zxid = epoch
	}
	s.zxid++
}

func (s *state) write(of *session, c *command) result {
	switch c.kind {
	case createNode:
		n, code := s.create(s.zxid, c.path, c.data, c.mode, of.id, c.attempt)
		if n != nil && n.owner != 0 {
			of.ephemerals = append(of.ephemerals, n)
		}
		return result{code: code, node: n}
	case deleteNode:
		if n := s.nodes[c.path]; n != nil && n.owner != 0 {
			defer s.disown(n)
		}
		return result{code: s.delete(s.zxid, c.path, c.version)}
	case setData:
		n, code := s.setData(s.zxid, c.path, c.data, c.version)
		return result{code: code, node: n}
	}
	return result{code: BadArguments}
}

// disown forgets an ephemeral znode that has been deleted.
func (s *state) disown(n *znode) {
	if owner := s.session(n.owner); owner != nil && s.nodes[n.path] != n {
		i := slices.Index(owner.ephemerals, n)
		owner.ephemerals = slices.Delete(owner.ephemerals, i, i+1)
	}
}

// end removes a session and its ephemeral znodes.
func (s *state) end(of *session) result {
	for _, n := range of.ephemerals {
		s.delete(s.zxid, n.path, AnyVersion)
	}
	i, _ := s.place(of.id)
	s.sessions = slices.Delete(s.sessions, i, i+1)
	return result{session: of}
}
