package consul

import (
	"fmt"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// op is what a request asks for. Its value names the request.
type op string

const (
	opGet            op = "Get"
	opPut            op = "Put"
	opCAS            op = "CAS"
	opAcquire        op = "Acquire"
	opRelease        op = "Release"
	opDelete         op = "Delete"
	opDeleteCAS      op = "DeleteCAS"
	opSessionCreate  op = "SessionCreate"
	opSessionDestroy op = "SessionDestroy"
	opSessionRenew   op = "SessionRenew"
	opSessionInfo    op = "SessionInfo"

	opExpire op = "expire" // the leader's own: a session has reached its TTL
)

// change is why and on whose behalf a key changes.
type change struct {
	entry *raft.Entry // nil: nobody keeps the key
	why   history.Why
	by    history.Attempt
	of    *session // whose end releases the key, if one's does
}

// Replies of Apply: their first byte says whether an error follows, or the body of a reply.
const (
	done   = '+'
	failed = '-'
)

// Apply carries out a command of the log. Its value is the call of a client, or one that the leader proposed.
func (s *server) Apply(m *raft.Member, e *raft.Entry) []byte {
	c, before := e.Value.(*call), max(s.store.kvIndex, s.store.sessionIndex)
	body, err := s.apply(m, e, c)
	if max(s.store.kvIndex, s.store.sessionIndex) > before {
		s.answerQueries(m)
	}
	if err != nil {
		return append([]byte{failed}, err.Error()...)
	}
	return append([]byte{done}, body...)
}

func (s *server) apply(m *raft.Member, e *raft.Entry, c *call) (body string, err error) {
	switch c.op {
	case opSessionCreate:
		return s.create(m, e, c)
	case opSessionDestroy:
		s.end(m, c.session.ID, change{e, history.Deleted, e.Attempt, nil})
		return "true", nil
	case opExpire:
		s.end(m, c.session.ID, change{e, history.Expired, "", nil})
		return "true", nil
	case opAcquire:
		return s.acquire(m, e, c)
	}
	old, ok := s.store.keys[c.key], true
	switch c.op {
	case opPut:
		s.write(e, c, old)
	case opCAS:
		if ok = old == nil && c.cas == 0 || old != nil && old.ModifyIndex == c.cas && c.cas != 0; ok {
			s.write(e, c, old)
		}
	case opDelete:
		s.remove(m, old, change{e, history.Deleted, e.Attempt, nil})
	case opDeleteCAS:
		if ok = old == nil || old.ModifyIndex == c.cas; ok {
			s.remove(m, old, change{e, history.Deleted, e.Attempt, nil})
		}
	case opRelease:
		if c.session.ID == "" {
			return "", fmt.Errorf("missing session")
		}
		if ok = old != nil && old.Session == c.session.ID; ok {
			recordGone(m, old, change{e, history.Deleted, e.Attempt, s.store.sessions[old.Session]})
			s.store.put(e.Index, entry{LockIndex: old.LockIndex, Key: c.key, Flags: c.flags, Value: c.value})
		}
	}
	return encode(ok), nil
}

// write stores the value of a key for whoever asks. It keeps the session that holds the key, but not the LockIndex,
// which begins anew (kvsSetTxn).
func (s *server) write(e *raft.Entry, c *call, old *entry) {
	n := entry{Key: c.key, Flags: c.flags, Value: c.value}
	if old != nil {
		n.Session, n.owner = old.Session, old.owner
	}
	s.store.put(e.Index, n)
}

// idLength is the length of a session's ID.
const idLength = 36

// acquire locks a key for a session (kvsLockTxn).
func (s *server) acquire(m *raft.Member, e *raft.Entry, c *call) (body string, err error) {
	x, old := s.store.sessions[c.session.ID], s.store.keys[c.key]
	switch {
	case c.session.ID == "":
		return "", fmt.Errorf("missing session")
	case len(c.session.ID) != idLength:
		return "", fmt.Errorf("failed session lookup: index error: UUID must be %d characters", idLength)
	case x == nil:
		return "", fmt.Errorf("invalid session %q", c.session.ID)
	case old != nil && old.Session != "" && old.Session != x.ID:
		return "false", nil
	}
	n := entry{LockIndex: 1, Key: c.key, Flags: c.flags, Value: c.value, Session: x.ID, owner: e.Attempt}
	held := old != nil && old.Session == x.ID
	switch {
	case held:
		n.LockIndex, n.owner = old.LockIndex, old.owner
	case old != nil:
		n.LockIndex = old.LockIndex + 1
	}
	k := s.store.put(e.Index, n)
	if !held {
		s.recordSet(m, e, k, x)
	}
	return "true", nil
}

// remove deletes a key, if it exists.
func (s *server) remove(m *raft.Member, k *entry, why change) {
	if k == nil {
		return
	}
	if k.Session != "" {
		recordGone(m, k, why)
	}
	delete(s.store.keys, k.Key)
	s.store.kvIndex = why.entry.Index
}

// create creates a session.
func (s *server) create(m *raft.Member, e *raft.Entry, c *call) (body string, err error) {
	x := c.session
	x.CreateIndex, x.ModifyIndex, x.creator, x.expiry = e.Index, e.Index, e.Attempt, forever
	s.store.sessions[x.ID] = &x
	s.store.sessionIndex = e.Index
	s.renew(m, &x)
	return encode(struct{ ID string }{x.ID}), nil
}

// end ends a session: its keys are released or deleted, and cannot be acquired until its lock delay is over
// (deleteSessionTxn).
func (s *server) end(m *raft.Member, id string, why change) {
	x := s.store.sessions[id]
	if x == nil {
		return
	}
	why.of = x
	delete(s.store.sessions, id)
	s.store.sessionIndex = why.entry.Index
	for _, key := range s.store.locked(id) {
		k := s.store.keys[key]
		if x.Behavior == Delete {
			s.remove(m, k, why)
		} else {
			recordGone(m, k, why)
			n := *k
			n.Session, n.owner = "", ""
			s.store.put(why.entry.Index, n)
		}
		if delay := min(x.LockDelay, maxLockDelay); delay > 0 {
			s.delays[key] = m.Monotonic() + delay
		}
	}
}

// maxLockDelay is the longest lock delay (structs.MaxLockDelay).
const maxLockDelay = time.Minute

// TTLMultiplier times its TTL is how long a session lives without a renewal (structs.SessionTTLMultiplier).
const TTLMultiplier = 2

const forever = time.Duration(1<<63 - 1)

// renew restarts the time of a session, if this member leads. Otherwise the member does not know when it ends.
func (s *server) renew(m *raft.Member, x *session) {
	x.expiry, x.timer = forever, 0
	if m.Leading() && x.ttl > 0 {
		life := TTLMultiplier * x.ttl
		x.expiry, x.timer = m.Monotonic()+life, s.after(m, life, timerTTL)
	}
}

// expire proposes the end of sessions, if this member leads.
func (s *server) expire(m *raft.Member, which func(*session) bool) {
	for _, x := range s.store.ordered() {
		if which(x) {
			m.ProposeAsLeader(raft.Command{Args: []string{string(opExpire), x.ID},
				Value: &call{op: opExpire, session: session{ID: x.ID}}})
		}
	}
}
