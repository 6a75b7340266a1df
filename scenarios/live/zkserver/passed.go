package zkserver

import (
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// Clients send ZooKeeper protocol frames. They are passed on unchanged, except for a new znode's access list, which is
// replaced with one that gives access only to the superuser. The connection authenticates as the superuser. A create
// within a multi keeps its list.

// enters reports whether a request asks for a session, as the first request on a connection must.
func enters(args []string) bool {
	return args[0] == zookeeper.ReqEnter && len(args) == 2
}

// enter passes on the client's session request and the reply to it.
func (l *link) enter(first *call) bool {
	e := l.x.m.ensemble
	if _, err := l.conn.Write(jute.Record(first.args[1]).Framed()); err != nil {
		return false
	}
	f, err := jute.ReadFrame(l.conn)
	if err != nil {
		return false
	}
	b := jute.Record(f.Rest).Framed()
	id, s := readSession(&f)
	s.client = l.client
	if id != 0 {
		if err := e.authenticate(l.conn); err != nil {
			return false
		}
		l.session = id
		e.sessions.set(id, s)
	}
	if !l.x.eye.upTo(allSoFar) {
		return false
	}
	l.deliver(func() { l.entered = true })
	l.reply(first, b)
	return true
}

// passed returns the frame that passes the request on to the member, and the path of the znode that the request would
// create.
func (c *call) passed() (b []byte, path string) {
	if len(c.args) != 2 {
		return nil, ""
	}
	record := jute.Record(c.args[1])
	f := jute.Fields{Rest: record}
	c.xid = f.Int()
	switch op := jute.Op(f.Int()); op {
	case jute.Create, jute.Create2, jute.CreateContainer, jute.CreateTTL:
		path = f.Text()
		data, null := f.Buffer()
		for n := f.Int(); n > 0 && !f.Torn; n-- {
			f.Int()
			f.Text()
			f.Text()
		}
		if f.Torn {
			return record.Framed(), ""
		}
		r := jute.Head(c.xid, op).Text(path)
		if null {
			r = r.Null()
		} else {
			r = r.Text(data)
		}
		return append(denyAll(r), f.Rest...).Framed(), path
	}
	return record.Framed(), ""
}
