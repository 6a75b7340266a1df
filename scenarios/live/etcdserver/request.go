package etcdserver

import (
	"errors"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// request is a request of a client. What is the kernel's is touched on the world's goroutine only.
type request struct {
	*sim.Incoming
	member  *member
	life    *life
	conn    uint64
	attempt history.Attempt
	args    []string
	at      sim.Time // when it came

	// What it says: one of them, or STATUS.
	op      *etcd.Op
	txn     *etcd.Txn
	lease   *etcd.Lease
	watch   *etcd.Watch
	unwatch int64
}

// read reads a request. The errors are those of the simulated member.
func (q *request) read() error {
	if len(q.args) == 0 {
		return errors.New(etcd.Empty)
	}
	switch q.args[0] {
	case "RANGE", "PUT", "DELETE":
		o, err := etcd.ReadOp(q.args)
		q.op = &o
		return err
	case "TXN":
		t, err := etcd.ReadTxn(q.args)
		q.txn = &t
		return err
	case "LEASE":
		l, err := etcd.ReadLease(q.args)
		q.lease = &l
		return err
	case "WATCH":
		w, err := etcd.ReadWatch(q.args)
		q.watch = &w
		return err
	case "UNWATCH":
		var err error
		q.unwatch, err = etcd.ReadUnwatch(q.args)
		return err
	case "STATUS":
		return nil
	}
	return errors.New(etcd.Unknown)
}

// writes reports whether a request may change keys.
func (q *request) writes() bool {
	return q.op != nil && q.op.Kind != etcd.Range || q.txn != nil && !q.txn.ReadOnly() ||
		q.lease != nil && q.lease.Command == "REVOKE"
}

// could reports whether a request could have changed keys so.
func (q *request) could(changes []change, attached func(key string) int64) bool {
	switch {
	case q.lease != nil:
		return !slices.ContainsFunc(changes, func(c change) bool {
			return !c.deleted || attached(c.Key) != q.lease.ID
		})
	case q.op != nil:
		return makes([]etcd.Op{*q.op}, changes)
	}
	return makes(q.txn.Then, changes) || makes(q.txn.Else, changes)
}

// makes reports whether operations could have changed keys so: each change is that of one of them, and nothing was put
// that the changes lack.
func makes(ops []etcd.Op, changes []change) bool {
	for i := range changes {
		if !slices.ContainsFunc(ops, func(o etcd.Op) bool { return changes[i].isOf(&o) }) {
			return false
		}
	}
	for i := range ops {
		o := &ops[i]
		if o.Kind == etcd.Put && !slices.ContainsFunc(changes, func(c change) bool { return c.isOf(o) }) {
			return false
		}
	}
	return true
}

// change is what a revision has done to a key.
type change struct {
	etcd.KeyValue // of a deletion the key and the revision only
	deleted       bool
}

// isOf reports whether an operation could have made the change.
func (c *change) isOf(o *etcd.Op) bool {
	if c.deleted {
		return o.Kind == etcd.Delete && o.Covers(c.Key)
	}
	return o.Kind == etcd.Put && o.Key == c.Key && o.Value == c.Value && o.Lease == c.Lease
}
