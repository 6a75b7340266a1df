package etcd

import (
	"cmp"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/fencepost-sim/fencepost/sim/raft"
)

// apply executes a txn, either completely or not at all.
func (t *Txn) apply(s *server, m *raft.Member, w *write) ([]byte, error) {
	w.txn = t
	way := s.chooseBranches(t, nil)
	if err := s.checkTxn(t, way); err != nil {
		return nil, err
	}
	h := s.header(m)
	b := s.carry(m, t, w, &way)
	h.revision = s.pendingRevision(w)
	s.commit(m, w)
	return append(h.append(nil, 1), b...), nil
}

// chooseBranches evaluates the conditions of a txn and of the txns nested in its chosen branches. For each txn, in
// execution order, it appends true to way if the conditions hold and the Then branch is chosen, or false if the Else
// branch is chosen. All conditions are evaluated before anything is executed.
func (s *server) chooseBranches(t *Txn, way []bool) []bool {
	ops, held := s.branch(t)
	way = append(way, held)
	for i := range ops {
		if ops[i].Kind == Nested {
			way = s.chooseBranches(ops[i].Txn, way)
		}
	}
	return way
}

// follow returns the branch that a txn takes, and removes the first element from way. If that element is true, the txn
// takes the Then branch, and otherwise the Else branch.
func (t *Txn) follow(way *[]bool) []Op {
	held := (*way)[0]
	*way = (*way)[1:]
	if held {
		return t.Then
	}
	return t.Else
}

// checkTxn returns an error if an operation in the chosen branches cannot be executed. Like etcd, it checks all puts
// before all ranges.
func (s *server) checkTxn(t *Txn, way []bool) error {
	for _, kind := range []Kind{Put, Range} {
		rest := way
		if err := s.checkTxnOf(kind, t, &rest); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) checkTxnOf(kind Kind, t *Txn, way *[]bool) (err error) {
	ops := t.follow(way)
	for i := range ops {
		o := &ops[i]
		var wrong error
		switch {
		case o.Kind == Nested:
			wrong = s.checkTxnOf(kind, o.Txn, way)
		case o.Kind != kind:
		// Outside a txn, a negative revision means the latest one.
		case o.Kind == Range && o.Revision < 0 && o.Revision < s.store.compacted:
			wrong = errCompacted
		default:
			wrong = s.checkOp(o)
		}
		err = cmp.Or(err, wrong)
	}
	return err
}

// carry executes a txn's chosen branches. It returns the response without its header.
func (s *server) carry(m *raft.Member, t *Txn, w *write, way *[]bool) (b []byte) {
	b = appendNumber(b, 2, asNumber((*way)[0]))
	ops := t.follow(way)
	for i := range ops {
		var part []byte
		switch o := &ops[i]; o.Kind {
		case Nested:
			part = appendPart(nil, 4, append(header{}.append(nil, 1), s.carry(m, o.Txn, w, way)...))
		case Range, Put, Delete:
			latest := *o // all members share o
			latest.Revision = max(o.Revision, 0)
			r := s.operate(m, &latest, w)
			part = appendPart(nil, protowire.Number(o.Kind), r.message(header{}, o.KeysOnly))
		}
		b = appendPart(b, 3, part)
	}
	return b
}

func (c *compaction) apply(s *server, m *raft.Member, _ *write) ([]byte, error) {
	switch {
	case c.revision <= s.store.compacted:
		return nil, errCompacted
	case c.revision > s.store.revision:
		return nil, errFuture
	}
	s.store.compacted = c.revision
	return s.header(m).append(nil, 1), nil
}
