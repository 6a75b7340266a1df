package consul

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// due returns the true time at which a session ends if it is not renewed. Only the leader knows this time. If another
// member is the first to apply a command, due returns the earliest possible time.
func due(m *raft.Member, x *session) history.Time {
	switch {
	case x.ttl == 0:
		return history.Never
	case x.expiry == forever:
		return m.Due(TTLMultiplier * x.ttl)
	}
	return m.Due(max(x.expiry-m.Monotonic(), 0))
}

// record records what happens to a locked key. The first member that applies the entry records the event itself. A
// member that applies it later records that it now has a copy of the key, or no longer has one. In a replay, nothing is
// recorded.
func record(m *raft.Member, e *raft.Entry, k *entry, what history.Event, copied history.F) {
	what.Type, what.Lock, what.Of = history.OK, history.Lock(k.Key), k.owner
	switch {
	case e == nil || e.First:
		m.Record(what)
	case e.Copied:
		m.Record(history.Event{Type: history.OK, F: copied, Lock: what.Lock, Of: what.Of})
	}
}

func (s *server) recordSet(m *raft.Member, e *raft.Entry, k *entry, x *session) {
	record(m, e, k, history.Event{F: history.KeySet, Value: x.ID, By: k.owner, Until: due(m, x)}, history.KeyCopied)
}

func recordGone(m *raft.Member, k *entry, c change) {
	e := history.Event{F: history.KeyGone, Why: c.why}
	if c.why != history.Expired {
		e.By = c.by
		if c.of != nil {
			e.By = c.of.agent(c.by, k.owner)
		}
	}
	record(m, c.entry, k, e, history.CopyGone)
}

// recordProlonged records that a session's keys will be held longer, after a renewal or a change of leader.
func (s *server) recordProlonged(m *raft.Member, x *session, by history.Attempt) {
	for _, key := range s.store.locked(x.ID) {
		k := s.store.keys[key]
		e := history.Event{Type: history.OK, F: history.KeyProlonged, Lock: history.Lock(key), Of: k.owner,
			Until: due(m, x)}
		if by != "" {
			e.By = x.agent(by, k.owner)
		}
		m.Record(e)
	}
}

// agent returns the attempt to record as the one that changed a key of this session, given the attempt that made the
// request (by). Usually, this is by. If by is the attempt that created the session, it is the key's owner.
func (x *session) agent(by, owner history.Attempt) history.Attempt {
	if by == x.creator {
		return owner
	}
	return by
}
