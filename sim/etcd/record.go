package etcd

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// due returns the true time at which a lease will end if no more keepalives arrive. Only the leader knows this time. If
// another member is the first to apply a command, for example after the leader has crashed, due returns the earliest
// possible time.
func due(m *raft.Member, x *lease) history.Time {
	switch {
	case x == nil:
		return history.Never
	case x.expiry == forever:
		return m.Due(time.Duration(x.ttl) * time.Second)
	}
	return m.Due(max(x.expiry-m.Monotonic(), 0))
}

func (s *server) recordSet(m *raft.Member, k *keyValue, x *lease) {
	m.Record(history.Event{Type: history.OK, F: history.KeySet, Lock: LockOf(k.Key), Member: k.Key, Value: k.Key,
		Of: k.owner, By: k.owner, Until: due(m, x)})
}

// recordProlonged records that a lease's keys will be held longer, after a keepalive or a change of leader.
func (s *server) recordProlonged(m *raft.Member, x *lease, by history.Attempt) {
	for _, key := range x.keys {
		k := s.store.get(key)
		e := history.Event{Type: history.OK, F: history.KeyProlonged, Lock: LockOf(key), Member: key, Of: k.owner,
			Until: due(m, x)}
		if by != "" {
			e.By = x.agent(by, k.owner)
		}
		m.Record(e)
	}
}

// Lost records that all held keys are gone, for the given reason.
func (s *server) Lost(m *raft.Member, why history.Why) {
	for i := range s.store.keys {
		if k := &s.store.keys[i]; k.isHeld() {
			s.recordGone(m, k, &write{why: why})
		}
	}
}

// isHeld reports whether the key is held by an attempt. A Lease object without a holder counts as not held.
func (k *keyValue) isHeld() bool { return k.owner != "" || !isLeaseObject(k.Key) }

func (s *server) recordGone(m *raft.Member, k *keyValue, w *write) {
	e := history.Event{Type: history.OK, F: history.KeyGone, Lock: LockOf(k.Key), Member: k.Key, Of: k.owner,
		Why: w.why}
	switch {
	case w.why == history.Expired:
	case w.lease != nil:
		e.By = w.lease.agent(w.by, k.owner)
	default:
		e.By = w.by
	}
	m.Record(e)
}

// recordCopy records that this member has learned of a key or of its removal.
func recordCopy(m *raft.Member, f history.F, k *keyValue) {
	m.Record(history.Event{Type: history.OK, F: f, Lock: LockOf(k.Key), Member: k.Key, Of: k.owner})
}

// agent returns the attempt to record as the cause of a change to a key with lease x. Usually this is by, the attempt
// that made the change. If the lease was granted to by, it is the key's owner.
func (x *lease) agent(by, owner history.Attempt) history.Attempt {
	if by == x.grant {
		return owner
	}
	return by
}
