package etcdserver

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// request is a client's call with a single response. Only the world's goroutine may access the embedded Incoming.
type request struct {
	*sim.Incoming // valid until the reply is sent
	call          etcd.Call
	attempt       history.Attempt
}

// puts reports whether the request may have caused change c.
func (q *request) puts(c *change) bool {
	then, otherwise := q.call.Ops()
	return slices.ContainsFunc(append(then, otherwise...), func(o etcd.Op) bool {
		return o.Kind == etcd.Put && o.Key == c.Key && o.Value == c.Value && o.Lease == c.Lease
	})
}

// connection is a simulated client's connection. Its calls are passed on to the member. Only the world's goroutine may
// use it.
type connection struct {
	life    *life
	id      uint64
	context context.Context // ends with the connection, or when the member stops
	stop    context.CancelFunc
	calls   map[uint64]*conversation // calls with several messages, by stream
}

// conversation is a call with several messages in each direction.
type conversation struct {
	*outbox
	call    etcd.Call
	waiting []*sim.Incoming // messages that have no response yet, in order
}

func (x *life) connection(id uint64) *connection {
	c := x.conns[id]
	if c == nil {
		c = &connection{life: x, id: id, calls: map[uint64]*conversation{}}
		c.context, c.stop = context.WithCancel(x.Context)
		x.conns[id] = c
	}
	return c
}

// serve passes one of a call's messages on to the process.
func (c *connection) serve(r *sim.Incoming) {
	call, ok := etcd.CallOf(r.Args)
	switch {
	case !ok:
		r.Reply(ending(&call, &etcd.Error{Code: etcd.Internal, Text: "fencepost: a malformed call"}))
	case etcd.Streaming(call.Path):
		c.talk(r, call)
	default:
		c.ask(&request{r, call, r.Attempt})
	}
}

// ask passes on a call that has a single response. If the client closes its connection, the request is still carried
// out.
func (c *connection) ask(q *request) {
	x := c.life
	r := &x.m.cluster.records
	r.puts = append(r.puts, q)
	go func() {
		if !x.Accepts(x.Context) {
			return
		}
		message, err := x.m.services.ask(x.Context, &q.call)
		x.Do(func() { c.answered(q, message, err) })
	}()
}

// answered handles the member's response. A put that gets no response may still take effect at any later time.
func (c *connection) answered(q *request, message string, err error) {
	r := &c.life.m.cluster.records
	response, unread := q.call.ReadMessage(message)
	reply := ending(&q.call, err)
	if err == nil && unread == nil {
		reply = append(record(&q.call, message), reply...)
		if lease := q.call.Granted(message); lease != 0 {
			r.ttls[lease] = time.Duration(response.TTL) * time.Second
		}
	}
	r.whenRecorded(response.Revision, func() {
		if err == nil || undone(err) {
			r.puts = slices.DeleteFunc(r.puts, func(o *request) bool { return o == q })
		}
		if !c.life.IsOver() {
			q.Reply(reply)
		}
	})
}

// record wraps a response message in a record for the call's stream.
func record(c *etcd.Call, message string) []byte {
	return etcd.Record{Kind: etcd.Message, Stream: c.Stream, Body: message}.Append(nil)
}

// ending returns the record that ends a call. An error that does not come from etcd gets etcd's error code Unavailable.
func ending(c *etcd.Call, err error) []byte {
	r := etcd.Record{Kind: etcd.End, Stream: c.Stream}
	if e, is := err.(*etcd.Error); is {
		r.Code, r.Body = e.Code, e.Text
	} else if err != nil && err != io.EOF {
		r.Code, r.Body = etcd.Unavailable, err.Error()
	}
	return r.Append(nil)
}

// talk passes on one message in a streaming call.
func (c *connection) talk(r *sim.Incoming, call etcd.Call) {
	s := c.calls[call.Stream]
	if s == nil {
		s = &conversation{outbox: newOutbox(), call: call}
		c.calls[call.Stream] = s
		go c.listen(s)
	}
	s.waiting = append(s.waiting, r)
	s.add(framed(call.Message))
}

// listen passes on a call's responses until it ends.
func (c *connection) listen(s *conversation) {
	x := c.life
	defer context.AfterFunc(c.context, s.close)()
	if !x.Accepts(c.context) {
		return
	}
	r, err := x.m.services.open(c.context, s.call.Path, s.outbox)
	for err == nil {
		var message string
		if message, err = r.next(); err == nil {
			x.Do(func() { c.heard(s, message) })
		}
	}
	if r != nil {
		r.Body.Close()
	}
	x.Do(func() {
		delete(c.calls, s.call.Stream)
		c.send(s, 0, ending(&s.call, err))
	})
}

// heard records the changes in a response, and then passes the response on. It also passes on a watch's events, which
// are not answers to any message from the client.
func (c *connection) heard(s *conversation, message string) {
	response, _ := s.call.ReadMessage(message)
	key := sim.Key(0)
	for i := range response.Events {
		key = key.Text(response.Events[i].Key)
	}
	c.life.m.cluster.records.whenRecorded(response.Revision, func() { c.send(s, key, record(&s.call, message)) })
}

// send passes on the member's bytes to the client. If key is zero and some message from the client is still unanswered,
// they answer the oldest such message. Otherwise they are pushed to the client. If the connection has ended, they are
// dropped.
func (c *connection) send(s *conversation, key sim.Key, b []byte) {
	switch {
	case c.context.Err() != nil:
	case key == 0 && len(s.waiting) > 0:
		s.waiting[0].Reply(b)
		s.waiting = s.waiting[1:]
	default:
		c.life.m.Host.Push(c.id, key, b)
	}
}
