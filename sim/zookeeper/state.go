package zookeeper

import (
	"github.com/fencepost-sim/fencepost/sim"

	"cmp"
	"slices"
	"time"
)

// state is an ensemble's replicated state: the tree and the sessions. It depends only on the commands applied.
type state struct {
	tree
	zxid     Zxid
	sessions []*session // sorted by ID
	losses   SessionID  // number of times all data was lost; part of session IDs, because zxids then start again
}

// session is a client's session, as all members know it.
type session struct {
	id      SessionID
	timeout time.Duration
	client  sim.ProcessID // the client that requested the session
	// conn is the session's current connection. Late requests on earlier connections are rejected.
	conn       uint64
	ephemerals []*znode // in the order in which they were created
}

// result is the outcome of a transaction.
type result struct {
	code    Code
	path    string   // path of the znode that was created or set
	stat    Stat     // stat of that znode
	session *session // the session that was created, moved, closed or expired
	each    []result // results of the parts of a multi, up to the first part that failed
}

func (s *state) reset() {
	s.tree.reset()
	s.zxid = 0
	clear(s.sessions)
	s.sessions = s.sessions[:0]
}

// session returns the session with the given ID, or nil if it has expired, was closed, or never existed.
func (s *state) session(id SessionID) *session {
	if i, found := s.place(id); found {
		return s.sessions[i]
	}
	return nil
}

func (s *state) place(id SessionID) (int, bool) {
	return slices.BinarySearchFunc(s.sessions, id, func(s *session, id SessionID) int { return cmp.Compare(s.id, id) })
}

// apply executes a transaction in the given epoch. Even a failed transaction uses up a zxid.
func (s *state) apply(epoch uint64, c *command) result {
	clear(s.changes)
	s.changes = s.changes[:0]
	s.advance(epoch)
	if c.kind == createSession {
		n := &session{id: s.losses<<32 + SessionID(s.zxid), timeout: c.timeout, client: c.client, conn: c.conn}
		s.sessions = append(s.sessions, n)
		return result{session: n}
	}
	if c.kind == reapContainer {
		return s.reap(c.path)
	}
	of := s.session(c.session)
	switch {
	case of == nil:
		return result{code: SessionExpired}
	case c.kind == moveSession:
		of.conn, of.timeout = c.conn, c.timeout
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

// advance moves to the next zxid. The count restarts in each epoch.
func (s *state) advance(epoch uint64) {
	s.zxid = max(s.zxid, Zxid(epoch)<<32) + 1
}

// write executes a transaction on znodes. A multi is executed either completely or not at all.
func (s *state) write(of *session, c *command) result {
	var r result
	if c.kind != multi {
		r = s.executeOne(of, c)
	} else if r = s.executeAll(of, c); r.code != "" {
		return r
	}
	for i := range s.changes {
		n := s.changes[i].node
		switch {
		case n == nil || n.owner == 0:
		case s.changes[i].Type == NodeCreated:
			of.ephemerals = append(of.ephemerals, n)
		default:
			s.disown(n)
		}
	}
	return r
}

// executeAll executes the operations in a multi. If one fails, executeAll stops and undoes all changes.
func (s *state) executeAll(of *session, c *command) (r result) {
	s.undo, s.undoing = s.undo[:0], true
	defer func() { s.undoing = false }()
	for i := range c.parts {
		one := s.executeOne(of, &c.parts[i])
		r.each = append(r.each, one)
		if r.code = one.code; r.code != "" {
			s.rollBack()
			break
		}
	}
	return r
}

// executeOne executes a transaction on one znode.
func (s *state) executeOne(of *session, c *command) (r result) {
	var n *znode
	switch c.kind {
	case createNode:
		n, r.code = s.create(s.zxid, c, of.id)
	case deleteNode:
		r.code = s.delete(s.zxid, c)
	case setData:
		n, r.code = s.setData(s.zxid, c)
	case setAccess:
		n, r.code = s.setACL(c)
	case checkVersion:
		r.code = s.check(c)
	case tornRequest:
		r.code = MarshallingError
	default:
		r.code = BadArguments
	}
	if n != nil {
		r.path, r.stat = n.path, n.stat()
	}
	return r
}

// reap removes a container if it has no children.
func (s *state) reap(path string) result {
	n := s.nodes[path]
	switch {
	case n == nil:
		return result{code: NoNode}
	case len(n.children) > 0:
		return result{code: NotEmpty}
	}
	s.remove(s.zxid, n)
	return result{}
}

// disown removes a deleted ephemeral znode from its session's list.
func (s *state) disown(n *znode) {
	if owner := s.session(n.owner); owner != nil && s.nodes[n.path] != n {
		i := slices.Index(owner.ephemerals, n)
		owner.ephemerals = slices.Delete(owner.ephemerals, i, i+1)
	}
}

// end removes a session and its ephemeral znodes.
func (s *state) end(of *session) result {
	for _, n := range of.ephemerals {
		s.remove(s.zxid, n)
	}
	i, _ := s.place(of.id)
	s.sessions = slices.Delete(s.sessions, i, i+1)
	return result{session: of}
}
