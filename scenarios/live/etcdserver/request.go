package etcdserver

import (
	"errors"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// request is a request of a client. Its embedded Incoming may only be touched on the world's goroutine.
type request struct {
	*sim.Incoming // valid until the reply is sent
	member        *member
	conn          uint64
	attempt       history.Attempt
	args          []string

	// The parsed operation: exactly one of these is set, or none for STATUS.
	op      *etcd.Op
	txn     *etcd.Txn
	lease   *etcd.Lease
	watch   *etcd.Watch
	unwatch int64
}

// read parses a request. Its errors are the same as the simulated member's.
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

// puts reports whether the request may have caused this change.
func (q *request) puts(c *change) bool {
	is := func(o etcd.Op) bool {
		return o.Kind == etcd.Put && o.Key == c.Key && o.Value == c.Value && o.Lease == c.Lease
	}
	if q.txn != nil {
		return slices.ContainsFunc(q.txn.Then, is) || slices.ContainsFunc(q.txn.Else, is)
	}
	return q.op != nil && is(*q.op)
}
