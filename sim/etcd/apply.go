package etcd

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// write is a change under way: what one entry of the log does to the keys, all at one revision.
type write struct {
	entry    *raft.Entry // nil for reads
	revision int64       // that its changes get
	changed  bool
	by       history.Attempt
	why      history.Why // why the keys are removed
	lease    *lease      // the lease that ends, if one does
}

// Apply carries out a command of the log.
func (s *server) Apply(m *raft.Member, e *raft.Entry) []byte {
	switch e.Args[0] {
	case logGrant:
		return s.applyGrant(m, e)
	case logRevoke, logExpire:
		return s.applyRevoke(m, e)
	}
	w := write{entry: e, revision: s.store.revision + 1, by: e.Attempt, why: history.Deleted}
	if e.Args[0] == "TXN" {
		t, err := ReadTxn(e.Args)
		if err != nil {
			return AppendError(s.out, err.Error())
		}
		return s.carryOut(m, &t, &w)
	}
	o, err := ReadOp(e.Args)
	if err != nil {
		return AppendError(s.out, err.Error())
	}
	if !s.possible(&o) {
		return AppendError(s.out, leaseNotFound)
	}
	reply := s.operate(m, &o, &w, s.out)
	s.commit(m, &w)
	return reply
}

// possible reports whether an operation finds the lease it names.
func (s *server) possible(o *Op) bool {
	return o.Kind != Put || o.Lease == 0 || s.lessor.find(o.Lease) != nil
}

// carryOut does what a txn specifies: all of one branch, or nothing.
func (s *server) carryOut(m *raft.Member, t *Txn, w *write) []byte {
	ops, held := t.Then, int64(1)
	for i := range t.Conditions {
		if !s.store.holds(&t.Conditions[i]) {
			ops, held = t.Else, 0
			break
		}
	}
	revision := s.store.revision
	for i := range ops {
		if !s.possible(&ops[i]) {
			return AppendError(s.out, leaseNotFound)
		}
		if s.changes(&ops[i]) {
			revision = w.revision
		}
	}
	b := sim.AppendArray(s.out, 3)
	b = sim.AppendInt(sim.AppendInt(b, revision), held)
	b = sim.AppendArray(b, len(ops))
	for i := range ops {
		b = s.operate(m, &ops[i], w, b)
	}
	s.commit(m, w)
	return b
}

// changes reports whether an operation makes a new revision: a put always, a deletion if there is something to delete.
func (s *server) changes(o *Op) bool {
	if o.Kind == Delete {
		from, to := s.store.span(o.Key, o.Prefix)
		return from < to
	}
	return o.Kind == Put
}

// operate carries out one operation and appends its answer.
func (s *server) operate(m *raft.Member, o *Op, w *write, b []byte) []byte {
	switch o.Kind {
	case Put:
		s.put(m, o, w)
		return sim.AppendInt(sim.AppendArray(b, 1), w.revision)
	case Delete:
		n := s.remove(m, w, o.Key, o.Prefix)
		return sim.AppendInt(sim.AppendInt(sim.AppendArray(b, 2), s.at(w)), int64(n))
	}
	return s.appendRangeAt(b, o, s.at(w))
}

// at is the revision that a write has reached.
func (s *server) at(w *write) int64 {
	if w.changed {
		return w.revision
	}
	return s.store.revision
}

func (s *server) appendRange(b []byte, o *Op) []byte {
	return s.appendRangeAt(b, o, s.store.revision)
}

func (s *server) appendRangeAt(b []byte, o *Op, revision int64) []byte {
	count, found := s.store.query(o)
	b = sim.AppendInt(sim.AppendInt(sim.AppendArray(b, 3), revision), int64(count))
	b = sim.AppendArray(b, len(found))
	for _, k := range found {
		b = AppendKey(b, &k.KeyValue)
	}
	return b
}

func (s *server) put(m *raft.Member, o *Op, w *write) {
	if old := s.store.get(o.Key); old != nil && old.Lease != 0 && old.Lease != o.Lease {
		if x := s.lessor.find(old.Lease); x != nil {
			x.detach(o.Key)
		}
	}
	k := s.store.put(w.revision, o, w.by)
	w.changed = true
	var x *lease
	if o.Lease != 0 {
		x = s.lessor.find(o.Lease)
		x.attach(k.Key)
	}
	switch {
	case w.entry.First:
		s.recordSet(m, k, x)
	case w.entry.Copied:
		recordCopy(m, history.KeyCopied, k)
	}
}

// remove deletes keys and takes them off their leases.
func (s *server) remove(m *raft.Member, w *write, key string, prefix bool) (n int) {
	from, to := s.store.span(key, prefix)
	for i := from; i < to; i++ {
		k := &s.store.keys[i]
		if x := s.lessor.find(k.Lease); x != nil {
			x.detach(k.Key)
		}
		switch {
		case w.entry.First:
			s.recordGone(m, k, w)
		case w.entry.Copied:
			recordCopy(m, history.CopyGone, k)
		}
	}
	if from < to {
		s.store.remove(w.revision, from, to)
		w.changed = true
	}
	return to - from
}

// commit makes the revision that w began the store's, and notifies the watchers.
func (s *server) commit(m *raft.Member, w *write) {
	if w.changed {
		s.store.revision = w.revision
		s.notify(m)
	}
}
