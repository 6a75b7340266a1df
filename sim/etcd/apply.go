package etcd

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// write is a pending change: everything that one log entry does to the keys. All its changes get the same revision.
type write struct {
	entry    *raft.Entry // nil for reads
	txn      *Txn        // the txn being executed, if any
	revision int64       // revision of the changes
	changed  bool
	by       history.Attempt
	why      history.Why // the reason for removing keys
	lease    *lease      // the lease that ends, if any
}

// result is the outcome of an operation.
type result struct {
	kind     Kind
	revision int64       // revision of the store after the operation
	count    int         // range: number of keys that exist; delete: number of keys deleted
	more     bool        // range: the limit left some keys out
	keys     []*keyValue // range: the keys found; put and delete: the previous keys, if requested
}

// apply executes a put or a delete.
func (o *Op) apply(s *server, m *raft.Member, w *write) ([]byte, error) {
	// outside a txn, etcd checks the lease before the key
	if o.Kind == Put && o.Lease != 0 && s.lessor.find(o.Lease) == nil {
		return nil, errLeaseNotFound
	}
	if err := s.checkOp(o); err != nil {
		return nil, err
	}
	r := s.operate(m, o, w)
	s.commit(m, w)
	return r.message(s.header(m), false), nil
}

// checkOp returns an error if an operation cannot be executed in the current state of the store.
func (s *server) checkOp(o *Op) error {
	switch {
	case o.Kind == Put && (o.KeepValue || o.KeepLease) && s.store.get(o.Key) == nil:
		return errKeyNotFound
	case o.Kind == Put && o.Lease != 0 && s.lessor.find(o.Lease) == nil:
		return errLeaseNotFound
	case o.Kind == Range && o.Revision > s.store.revision:
		return errFuture
	case o.Kind == Range && o.Revision > 0 && o.Revision < s.store.compacted:
		return errCompacted
	}
	return nil
}

// branch returns the operations in a txn's chosen branch. met reports whether the txn's conditions are met.
func (s *server) branch(t *Txn) (ops []Op, met bool) {
	for i := range t.Conditions {
		if !s.store.holds(&t.Conditions[i]) {
			return t.Else, false
		}
	}
	return t.Then, true
}

func asNumber(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// operate executes a single operation, which must not be a txn.
func (s *server) operate(m *raft.Member, o *Op, w *write) result {
	r := result{kind: o.Kind}
	if o.Previous {
		from, to := s.store.span(o.Key, o.End)
		for _, k := range s.store.keys[from:to] {
			r.keys = append(r.keys, &k)
		}
	}
	switch o.Kind {
	case Put:
		s.put(m, o, w)
	case Delete:
		r.count = s.remove(m, w, o.Key, o.End)
	default:
		return s.look(o, s.pendingRevision(w))
	}
	r.revision = s.pendingRevision(w)
	return r
}

// look executes a range request. revision is the revision to report in the response.
func (s *server) look(o *Op, revision int64) result {
	count, keys, more := s.store.query(o)
	return result{o.Kind, revision, count, more, keys}
}

// pendingRevision returns the store's revision, including the changes that w has made so far.
func (s *server) pendingRevision(w *write) int64 {
	if w.changed {
		return w.revision
	}
	return s.store.revision
}

func (s *server) put(m *raft.Member, o *Op, w *write) {
	old := int64(0)
	if k := s.store.get(o.Key); k != nil {
		old = k.Lease
	}
	before := s.term(o.Key)
	k := s.store.put(w.revision, o, w.by)
	w.changed = true
	if old != k.Lease {
		if x := s.lessor.find(old); x != nil {
			x.detach(o.Key)
		}
	}
	x := s.lessor.find(k.Lease)
	if x != nil {
		x.attach(k.Key)
	}
	switch {
	case isLeaseObject(k.Key):
		s.recordTerm(m, k, before, w)
	case w.entry.First:
		s.recordSet(m, k, x)
	case w.entry.Copied:
		recordCopy(m, history.KeyCopied, k)
	}
}

// remove deletes keys and detaches them from their leases.
func (s *server) remove(m *raft.Member, w *write, key, end string) (n int) {
	from, to := s.store.span(key, end)
	for i := from; i < to; i++ {
		k := &s.store.keys[i]
		if x := s.lessor.find(k.Lease); x != nil {
			x.detach(k.Key)
		}
		if k.isHeld() {
			s.recordEnd(m, k, w)
		}
	}
	if from < to {
		s.store.remove(w.revision, from, to)
		w.changed = true
	}
	return to - from
}

// recordEnd records that a key is gone, if this member must record it.
func (s *server) recordEnd(m *raft.Member, k *keyValue, w *write) {
	switch {
	case w.entry.First:
		s.recordGone(m, k, w)
	case w.entry.Copied:
		recordCopy(m, history.CopyGone, k)
	}
}

// commit makes w's revision the current one and notifies the watchers.
func (s *server) commit(m *raft.Member, w *write) {
	if w.changed {
		s.store.revision = w.revision
		s.arrived(m)
		s.notify(m)
		s.checkWaits(m)
	}
}
