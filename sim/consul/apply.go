package consul

import (
	"fmt"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// op is the name of the operation that a request asks for.
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

	opExpire op = "expire" // proposed by the leader: a session has reached its TTL
)

// change says why a key changes and who caused the change.
type change struct {
	entry *raft.Entry // the log entry; nil if no member keeps the key
	why   history.Why
	by    history.Attempt
	of    *session // the session whose end releases the key, if any
}

// First bytes of Apply's replies. They show whether a body or an error follows.
const (
	done   = '+'
	failed = '-'
)

// Apply executes a log entry. The entry's value is a client's call, or a call proposed by the leader itself.
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

// write sets a key's value, even if the request does not come from the session that holds the key. The key stays locked
// by its session, but its LockIndex is reset to 0 (kvsSetTxn).
func (s *server) write(e *raft.Entry, c *call, old *entry) {
	n := entry{Key: c.key, Flags: c.flags, Value: c.value}
	if old != nil {
		n.Session, n.owner = old.Session, old.owner
	}
	s.store.put(e.Index, n)
}

// idLength is the length of a session ID in bytes.
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

// remove deletes a key if it exists.
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

func (s *server) create(m *raft.Member, e *raft.Entry, c *call) (body string, err error) {
	x := c.session
	x.CreateIndex, x.ModifyIndex, x.creator, x.expiry = e.Index, e.Index, e.Attempt, forever
	s.store.sessions[x.ID] = &x
	s.store.sessionIndex = e.Index
	s.renew(m, &x)
	return encode(struct{ ID string }{x.ID}), nil
}

// end ends a session. Its keys are released or deleted, and cannot be acquired until the lock delay has passed
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

// maxLockDelay is the maximum lock delay (structs.MaxLockDelay).
const maxLockDelay = time.Minute

// TTLMultiplier is the number of TTLs for which a session lasts if it is not renewed (structs.SessionTTLMultiplier).
const TTLMultiplier = 2

const forever = time.Duration(1<<63 - 1)

// renew restarts a session's TTL. Only the leader does this; other members do not know when a session ends.
func (s *server) renew(m *raft.Member, x *session) {
	x.expiry, x.timer = forever, 0
	if m.Leading() && x.ttl > 0 {
		life := TTLMultiplier * x.ttl
		x.expiry, x.timer = m.Monotonic()+life, s.after(m, life, timerTTL)
	}
}

// expire proposes to end the sessions selected by which. It has no effect unless this member is the leader.
func (s *server) expire(m *raft.Member, which func(*session) bool) {
	for _, x := range s.store.ordered() {
		if which(x) {
			m.ProposeAsLeader(raft.Command{Args: []string{string(opExpire), x.ID},
				Value: &call{op: opExpire, session: session{ID: x.ID}}})
		}
	}
}
