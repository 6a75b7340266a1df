package etcdserver

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// life is one life of a member's process.
type life struct {
	*fleet.Life
	m     *member
	ready chan struct{} // closed when the process accepts requests

	// The fields below belong to the world's goroutine.
	conns     map[uint64]*connection
	streams   map[uint64]*stream
	lastWatch int64
}

// run starts the process, once the one before has ended, and records what it reports from revision from on.
func (x *life) run(from int64) {
	if err := x.Boot(x.m.start); err != nil {
		x.Fail(err)
		return
	}
	go x.Watch()
	if !x.await() {
		return
	}
	close(x.ready)
	if err := x.look(from); err != nil {
		x.Explain(err)
	}
}

// await waits until the process accepts requests, which it does once there is a leader. It returns false if the life
// ends first.
func (x *life) await() bool {
	for !x.IsOver() {
		if _, err := x.m.gateway.status(x.Context); err == nil {
			return true
		}
		select {
		case <-x.Context.Done():
		case <-time.After(again):
		}
	}
	return false
}

// again is the time between two tries of a request that the member could not answer.
const again = 5 * time.Millisecond

// connection is a client's connection. It belongs to the world's goroutine.
type connection struct {
	life    *life
	jobs    []*request // requests; the first is under way
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

// close ends the watches and the stream of a connection.
func (x *life) close(id uint64) {
	if s := x.streams[id]; s != nil {
		s.over = true
		delete(x.streams, id)
		s.close()
	}
	c := x.conns[id]
	if c == nil {
		return
	}
	for _, w := range c.watches {
		w.stop()
	}
	delete(x.conns, id)
}

// add carries out a request once the requests before it on the connection are answered.
func (c *connection) add(q *request) {
	if c.jobs = append(c.jobs, q); len(c.jobs) == 1 {
		c.begin(q)
	}
}

// begin starts to carry out a request.
func (c *connection) begin(q *request) {
	x := c.life
	if err := q.read(); err != nil {
		c.reply(q, etcd.AppendError(nil, err.Error()))
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
	r := &x.m.cluster.records
	r.puts = append(r.puts, q)
	go func() {
		select {
		case <-x.ready:
		case <-x.Context.Done():
			return
		}
		a, err := q.ask(x.Context, &x.m.gateway)
		x.Do(func() { c.answered(q, &a, err) })
	}()
}

// answered processes the reply of the member. If a put has no reply, its effect may be seen at any later time.
func (c *connection) answered(q *request, a *answer, err error) {
	r := &c.life.m.cluster.records
	if err != nil {
		a.text = etcd.AppendError(nil, err.Error())
	}
	if a.lease != 0 {
		r.ttls[a.lease] = time.Duration(a.ttl) * time.Second
	}
	r.after(a.Revision, func() {
		if err == nil || undone(err) {
			r.puts = slices.DeleteFunc(r.puts, func(o *request) bool { return o == q })
		}
		c.reply(q, a.text)
	})
}

// reply answers the request under way, and starts the next one.
func (c *connection) reply(q *request, text []byte) {
	if c.life.IsOver() {
		return
	}
	q.Reply(text)
	if c.jobs = c.jobs[1:]; len(c.jobs) > 0 {
		c.begin(c.jobs[0])
	}
}
