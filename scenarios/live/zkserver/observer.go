package zkserver

import (
	"context"
	"errors"
	"math"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// observer is this package's own connection to a process. It has one watch, on all znodes. Whenever a znode appears or
// vanishes, the observer asks the process for the current state at that path and records it. ZooKeeper answers a
// connection's requests in order, and sends all earlier events before it answers a request.
type observer struct {
	x *life

	mu      sync.Mutex
	news    *sync.Cond // signals a change of the fields below, or a stop of the member
	conn    net.Conn   // nil while there is no connection
	asked   []question // questions that are not answered yet, in order
	pings   int        // number of pings sent
	heard   int        // number of these pings that were answered, or lost with their connection
	settled int        // number of the latest ping that was answered when no question was pending
	zxid    int64      // the zxid that the process had reached when it answered that ping
}

// question is a request about a path: for the znode at that path or, if below is set, for the names of the znode's
// children.
type question struct {
	path  string
	below bool
}

func newObserver(x *life) *observer {
	o := &observer{x: x}
	o.news = sync.NewCond(&o.mu)
	return o
}

// reconnectDelay is the delay before the observer reconnects to a process that was not serving requests. idle is the
// interval between the pings that keep an idle session alive.
const (
	reconnectDelay = 20 * time.Millisecond
	idle           = 5 * time.Second
)

// run observes the process until the member stops.
func (o *observer) run() {
	context.AfterFunc(o.x.Context, func() {
		o.mu.Lock()
		o.news.Broadcast()
		o.mu.Unlock()
	})
	go o.keep()
	for !o.x.IsOver() {
		_ = o.observe() // This fails while a member knows no leader, because it then serves no requests.
		select {
		case <-time.After(reconnectDelay):
		case <-o.x.Context.Done():
		}
	}
}

// keep sends pings regularly to keep the session alive.
func (o *observer) keep() {
	tick := time.NewTicker(idle)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			o.mu.Lock()
			o.ping()
			o.mu.Unlock()
		case <-o.x.Context.Done():
			return
		}
	}
}

var errNoSession = errors.New("no member granted a session")

// recursive is the mode for a persistent watch on a znode and all znodes below it (AddWatchMode).
const recursive = 1

// observe opens a connection and reads from it until the connection ends.
func (o *observer) observe() error {
	conn, err := net.DialTimeout("tcp", o.x.m.address(), patience)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(o.x.Context, func() { conn.Close() })()
	id, err := o.x.m.ensemble.enter(conn, 0, "")
	if err == nil && id == 0 {
		err = errNoSession
	}
	if err == nil {
		err = ask(conn, jute.Head(1, jute.AddWatch).Text("/").Int(recursive))
	}
	if err != nil {
		return err
	}
	o.up(conn)
	defer o.down()
	for {
		f, err := jute.ReadFrame(conn)
		if err != nil {
			return err
		}
		o.take(&f)
	}
}

// xidQuestion is the xid of all requests that the observer sends to ask the process for something.
const xidQuestion int32 = 0

// folder is the path of the znode that is the parent of all locks.
var folder = strings.TrimSuffix(zookeeper.LocksFolder, "/")

// up starts to use a new connection. Because the connection's watch does not report earlier changes, up asks for the
// current state.
func (o *observer) up(conn net.Conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.conn = conn
	for _, path := range append(o.x.m.ensemble.records.standing(), folder) {
		o.ask(question{path, false})
	}
	o.news.Broadcast()
}

// down is called when the connection ends.
func (o *observer) down() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.conn, o.asked, o.heard = nil, nil, o.pings
	o.news.Broadcast()
}

// ask sends a question to the process. The observer must be locked.
func (o *observer) ask(q question) {
	op := jute.Exists
	if q.below {
		op = jute.GetChildren2
	}
	o.asked = append(o.asked, q)
	o.say(jute.Head(xidQuestion, op).Text(q.path).Flag(false))
}

// ping sends a ping. The observer must be locked.
func (o *observer) ping() {
	if o.conn != nil {
		o.pings++
		o.say(jute.Head(jute.XidPing, jute.Ping))
	}
}

func (o *observer) say(r jute.Record) {
	if _, err := o.conn.Write(r.Framed()); err != nil {
		o.conn.Close()
	}
}

// take handles a message from the process.
func (o *observer) take(f *jute.Fields) {
	xid, zxid, code := f.Int(), f.Long(), f.Int()
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case xid == jute.XidEvent:
		kind := f.Int()
		f.Int() // skip the state of the connection
		if path := f.Text(); kind == jute.NodeCreated || kind == jute.NodeDeleted {
			o.ask(question{path, false})
		}
	case xid == jute.XidPing:
		if o.heard++; len(o.asked) == 0 {
			o.settled, o.zxid = o.heard, zxid
		}
	case xid == xidQuestion && len(o.asked) > 0:
		q := o.asked[0]
		o.asked = o.asked[1:]
		o.answered(q, zxid, code, f)
	}
	o.news.Broadcast()
}

// answered records the reply to a question. The observer must be locked.
func (o *observer) answered(q question, zxid int64, code int32, f *jute.Fields) {
	m := o.x.m
	switch {
	case code == jute.NoNode:
		m.ensemble.records.gone(m, q.path, zxid)
	case code != 0:
	case q.below:
		for _, name := range f.Texts() {
			o.ask(question{q.path + "/" + name, false})
		}
	default:
		s := zookeeper.ReadStat(f)
		m.ensemble.records.stands(m, q.path, zxid, &s)
		if s.NumChildren > 0 {
			o.ask(question{q.path, true})
		}
	}
}

// allSoFar can be passed to [observer.upTo] instead of a zxid. It stands for everything that the process has done so
// far.
const allSoFar = math.MaxInt64

// upTo waits until everything that the process has done up to a zxid has been recorded. If the process stops serving
// before that, upTo returns false.
func (o *observer) upTo(zxid int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.conn == nil && !o.x.IsOver() { // the process serves other clients, so it will also serve this one
		o.news.Wait()
	}
	conn := o.conn
	for before := o.pings; o.settled <= before && o.zxid < zxid; o.news.Wait() {
		switch {
		case o.x.IsOver() || o.conn != conn:
			return false
		case o.heard == o.pings:
			o.ping()
		}
	}
	return !o.x.IsOver()
}

// expire ends a client's sessions. For each session, it resumes the session on a new connection, with the session's
// password, and then closes it.
func (e *ensemble) expire(client history.Process) {
	for _, id := range e.sessions.idsOf(client) {
		for _, m := range e.members {
			if m.endSession(id) == nil {
				break
			}
		}
	}
}

// endSession ends a session if it still exists.
func (m *member) endSession(id int64) error {
	conn, err := net.DialTimeout("tcp", m.address(), roleLimit)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(roleLimit)); err != nil {
		return err
	}
	id, err = m.ensemble.enter(conn, id, m.ensemble.sessions.get(id).password)
	if err != nil || id == 0 {
		return err
	}
	return ask(conn, jute.Head(1, jute.CloseSession))
}
