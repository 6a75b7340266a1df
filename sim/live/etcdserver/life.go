package etcdserver

import (
	"context"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd/wire"
)

// life is one life of a member's process.
type life struct {
	m       *member
	context context.Context // ends with the life
	end     context.CancelFunc
	started chan struct{} // closed when its process has been started, or will not be
	ready   chan struct{} // closed when it takes requests

	// The fields below are the world's goroutine's.
	conns     map[uint64]*connection
	lastWatch int64
}

func newLife(m *member) *life {
	x := &life{m: m, started: make(chan struct{}), ready: make(chan struct{}), conns: map[uint64]*connection{}}
	x.context, x.end = context.WithCancel(context.Background())
	return x
}

// isOver reports whether the life has ended.
func (x *life) isOver() bool { return x.context.Err() != nil }

// do has f run on the world's goroutine, if the life is not over then.
func (x *life) do(f func()) {
	x.m.fleet.gate.Do(func() {
		if x.m.life == x {
			x.m.port.Drain() // what it has sent before it said this
			f()
		}
	})
}

// run has a process run, once the one before has ended, and tells what it sees from a revision on.
func (x *life) run(before <-chan struct{}, from int64) {
	if !x.start(before) {
		return
	}
	go x.watchProcess()
	if !x.await() {
		return
	}
	close(x.ready)
	go x.watchLeader()
	if err := x.look(from); err != nil && !x.isOver() {
		x.explain(err)
	}
}

// start starts a process if there has been one before. It reports whether it runs.
func (x *life) start(before <-chan struct{}) bool {
	defer close(x.started)
	if before == nil {
		return true
	}
	<-before
	if x.isOver() {
		return false
	}
	if err := x.m.program.Start(); err != nil {
		x.m.fail(err)
		return false
	}
	return true
}

// await waits until the process takes requests, which it does once there is a leader. It reports false if the life is
// over before.
func (x *life) await() bool {
	for !x.isOver() {
		if _, err := x.m.gateway.status(x.context); err == nil {
			return true
		}
		select {
		case <-x.context.Done():
		case <-time.After(again):
		}
	}
	return false
}

// again is after which is asked again what could not be answered.
const again = 5 * time.Millisecond

// watchProcess tells of a process that ends by itself.
func (x *life) watchProcess() {
	select {
	case <-x.m.program.Ended():
		if !x.isOver() {
			x.m.fail(x.m.program.Died())
		}
	case <-x.context.Done():
	}
}

// explain reports why a life cannot go on: that its process has ended explains every other error.
func (x *life) explain(err error) {
	select {
	case <-x.m.program.Ended():
		err = x.m.program.Died()
	case <-x.context.Done():
	case <-time.After(patience / 10): // it runs
	}
	if !x.isOver() {
		x.m.fail(err)
	}
}

// watchLeader looks again and again whether the member has become the leader.
func (x *life) watchLeader() {
	for !x.isOver() {
		asked := make(chan sim.Time, 1)
		x.do(func() { asked <- x.m.now() })
		select {
		case at := <-asked:
			if s, err := x.m.gateway.status(x.context); err == nil {
				x.do(func() { x.m.fleet.led(x.m, &s, at) })
			}
		case <-x.context.Done():
		}
		select {
		case <-x.context.Done():
		case <-time.After(looksEvery):
		}
	}
}

// looksEvery is how long it takes until a new leader is noticed.
const looksEvery = 100 * time.Millisecond

// connection is one of a client's. It is the world's goroutine's.
type connection struct {
	life    *life
	jobs    []*request // the first is under way
	watches map[int64]*watch
}

func (x *life) connection(id uint64) *connection {
	c := x.conns[id]
	if c == nil {
		c = &connection{life: x, watches: map[int64]*watch{}}
		x.conns[id] = c
	}
	return c
}

// close ends the watches of a connection.
func (x *life) close(id uint64) {
	c := x.conns[id]
	if c == nil {
		return
	}
	for _, w := range c.watches {
		w.stop()
	}
	delete(x.conns, id)
}

// add carries out a request when those before it are answered.
func (c *connection) add(q *request) {
	if c.jobs = append(c.jobs, q); len(c.jobs) == 1 {
		c.begin(q)
	}
}

// begin begins to carry out a request.
func (c *connection) begin(q *request) {
	x := c.life
	q.at = x.m.now()
	if err := q.read(); err != nil {
		c.reply(q, wire.AppendError(nil, err.Error()))
		return
	}
	switch {
	case q.watch != nil:
		c.watch(q)
		return
	case q.args[0] == "UNWATCH":
		c.unwatch(q)
		return
	}
	x.m.fleet.ledger.begins(q)
	go func() {
		select {
		case <-x.ready:
		case <-x.context.Done():
			return
		}
		a, err := q.ask(x.context, &x.m.gateway)
		x.do(func() { c.answered(q, &a, err) })
	}()
}

// answered takes what the member has said.
func (c *connection) answered(q *request, a *answer, err error) {
	l := &c.life.m.fleet.ledger
	l.ends(q, a, err)
	if err != nil {
		a.text = wire.AppendError(nil, err.Error())
	}
	l.after(c.life, a.Revision, func() { c.reply(q, a.text) })
}

// reply answers the request under way, and begins the next.
func (c *connection) reply(q *request, text []byte) {
	if c.life.m.life != c.life {
		return
	}
	q.Reply(text)
	if c.jobs = c.jobs[1:]; len(c.jobs) > 0 {
		c.begin(c.jobs[0])
	}
}
