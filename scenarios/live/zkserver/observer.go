package zkserver

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// observer is our own connection to a process: it hears of every change, and tells where the process stands.
type observer struct {
	x      *life
	prompt chan struct{} // holds one while something may have changed

	mu      sync.Mutex
	conn    net.Conn      // nil while there is none
	waiting []chan reply  // for what was asked, in that order; closed at the end of the connection
	up      chan struct{} // closed once there is a connection
}

func newObserver(x *life) *observer {
	return &observer{x: x, prompt: make(chan struct{}, 1), up: make(chan struct{})}
}

// again is after which a process is called again that served nobody.
const again = 20 * time.Millisecond

// run observes until the life ends.
func (o *observer) run() {
	go o.tell()
	for !o.x.IsOver() {
		_ = o.observe() // a member that knows no leader serves nobody
		select {
		case <-time.After(again):
		case <-o.x.Context.Done():
		}
	}
}

// idle is how often a ping goes round where nothing happens: it keeps the session.
const idle = 5 * time.Second

// tell has what has happened recorded.
func (o *observer) tell() {
	tick := time.NewTicker(idle)
	defer tick.Stop()
	for {
		select {
		case <-o.prompt:
		case <-tick.C:
		case <-o.x.Context.Done():
			return
		}
		if at, known := o.barrier(); known {
			o.x.recorded(at)
		}
	}
}

var errNoSession = errors.New("there is no session to be had")

// xidWatch is the number of the request for all events.
const xidWatch = 1

// recursive is the mode of a watch on a znode and all below, which stays (AddWatchMode).
const recursive = 1

// observe opens a connection and reads it until its end.
func (o *observer) observe() error {
	conn, err := net.DialTimeout("tcp", o.x.m.program.address(), patience)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-o.x.Context.Done():
			conn.Close()
		case <-stop:
		}
	}()
	s, err := o.x.m.cfg.enter(conn, 0, maxTimeout, 0, "")
	if err == nil && s.id == 0 {
		err = errNoSession
	}
	if err == nil {
		_, err = conn.Write(record(nil).int(xidWatch).int(opAddWatch).text("/").int(recursive).framed())
	}
	if err != nil {
		return err
	}
	o.mu.Lock()
	o.conn = conn
	close(o.up)
	o.mu.Unlock()
	defer o.down()
	for {
		f, err := readFrame(conn)
		if err != nil {
			return err
		}
		xid := f.int()
		a := reply{zxid: f.long()}
		a.code = f.int()
		a.body = f
		o.take(xid, a)
	}
}

// reply is an answer of the process.
type reply struct {
	zxid int64
	code int32
	body fields
}

// xidList is the number of the requests for the names of children.
const xidList = 2

// take takes what the process says.
func (o *observer) take(xid int32, a reply) {
	switch xid {
	case xidPing, xidList:
		o.mu.Lock()
		defer o.mu.Unlock()
		if len(o.waiting) > 0 {
			o.waiting[0] <- a
			o.waiting = slices.Delete(o.waiting, 0, 1)
		}
	case xidEvent, xidWatch:
		select {
		case o.prompt <- struct{}{}:
		default:
		}
	}
}

// down forgets the connection.
func (o *observer) down() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.conn, o.up = nil, make(chan struct{})
	for _, w := range o.waiting {
		close(w)
	}
	o.waiting = nil
}

// serves is how long a process may take to serve us that has served another.
const serves = 5 * time.Second

// barrier gives the zxid that the process has come to, after all that it has said by now on other connections. known is
// false if it serves nobody any more.
func (o *observer) barrier() (zxid int64, known bool) {
	a, known := o.ask(o.x.Context, record(nil).int(xidPing).int(opPing))
	return a.zxid, known
}

// ask asks the process for something, once it serves. known is false if it serves nobody any more, or the context has
// ended.
func (o *observer) ask(ctx context.Context, request record) (a reply, known bool) {
	o.mu.Lock()
	up := o.up
	o.mu.Unlock()
	select {
	case <-up:
	case <-ctx.Done():
		return a, false
	case <-time.After(serves):
		return a, false
	}
	answer := make(chan reply, 1)
	o.mu.Lock()
	if o.conn == nil {
		o.mu.Unlock()
		return a, false
	}
	_, err := o.conn.Write(request.framed())
	if err == nil {
		o.waiting = append(o.waiting, answer)
	}
	o.mu.Unlock()
	if err != nil {
		return a, false
	}
	select {
	case a, known = <-answer:
		return a, known
	case <-ctx.Done():
		return a, false
	}
}

// xidExpire is the number of the request that ends a session as if it had expired: no client counts so far.
const xidExpire = 1 << 30

// expire ends the sessions of a client: who knows a session's password can take it to another connection and close it.
func (c *settings) expire(client history.Process) {
	for _, id := range c.sessions.of(client) {
		c.scribe.note(origin{id, xidExpire}, asked{expires: true})
		for _, m := range c.scribe.members {
			if m.end(id) == nil {
				break
			}
		}
	}
}

// end ends a session, if it lives.
func (m *member) end(id int64) error {
	conn, err := net.DialTimeout("tcp", m.program.address(), soon)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(soon)); err != nil {
		return err
	}
	s, err := m.cfg.enter(conn, 0, maxTimeout, id, m.cfg.sessions.password(id))
	if err != nil || s.id == 0 {
		return err
	}
	if _, err := conn.Write(record(nil).int(xidExpire).int(opCloseSession).framed()); err != nil {
		return err
	}
	_, err = readFrame(conn)
	return err
}
