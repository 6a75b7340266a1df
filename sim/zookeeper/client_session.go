package zookeeper

import (
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// keep is the task that connects, sends pings and reconnects.
func (c *Client) keep(env sim.Env) {
	for c.state != Closed {
		if c.connect(env) {
			c.ping(env)
		}
	}
}

// ping keeps a connection alive until it breaks. It sends a ping whenever a third of the timeout has passed without a
// request.
func (c *Client) ping(env sim.Env) {
	for c.state == Connected {
		third := c.session.Timeout / 3
		if idle := env.Monotonic() - c.sent; idle < third {
			env.Sleep(third-idle, c.broken)
			continue
		}
		epoch := c.epoch
		_, err := c.ask(env, "", "ping", jute.Ping, nil)
		switch {
		case err == OperationTimeout: // not fatal: the connection is given up only if nothing arrives
			env.Sleep(c.heard+c.silence()-env.Monotonic(), c.broken)
			if env.Monotonic()-c.heard >= c.silence() {
				c.breakOff(env, epoch)
			}
		case err == nil && c.config.Prolonged != nil:
			c.config.Prolonged(env, c.session)
		}
	}
}

// connect tries the next member once. It reports whether the client is now connected.
func (c *Client) connect(env sim.Env) bool {
	if c.tried > 0 && !c.pause(env) {
		return false
	}
	n := len(c.config.Members)
	c.conn = sim.Conn{Server: c.config.Members[(c.config.First+c.tried)%n]}
	c.tried++
	c.epoch++
	c.xid, c.handled = 0, 0
	request := jute.ConnectRequest{Seen: int64(c.zxid), Timeout: int32(c.config.Timeout.Milliseconds()),
		Password: noPassword}
	if c.session != nil {
		request.Session, request.Password = int64(c.session.ID), c.session.password
	}
	now := env.Monotonic()
	r := &env.Call(c.untilLost(env, c.timeout()/time.Duration(n)), nil,
		sim.Request{Conn: c.conn, Args: []string{ReqEnter, string(request.Record())}, Phase: "connect"})[0]
	s, ok := readSession(r)
	switch {
	case c.state == Closed:
		return false
	case ok && s.ID != 0:
		c.welcome(env, now, s)
		return c.state == Connected
	}
	env.Close(c.conn)
	if ok && c.session != nil {
		c.lose(env)
	}
	return false
}

// pause waits before the client tries the next member. It returns false if the client was closed in the meantime.
func (c *Client) pause(env sim.Env) bool {
	b := c.config.Backoff
	wait := b.Lo
	if b.Hi > b.Lo {
		wait += time.Duration(env.Rand() % uint64(b.Hi-b.Lo+1))
	}
	env.Sleep(c.untilLost(env, wait), c.changed)
	if c.untilLost(env, wait) <= 0 && c.session != nil && c.state == Suspended {
		c.lose(env)
	}
	return c.state != Closed
}

// untilLost shortens a wait, if necessary, so that it has ended by the time at which the client gives up its session by
// its own clock.
func (c *Client) untilLost(env sim.Env, wait time.Duration) time.Duration {
	if !c.config.CountsTimeout || c.session == nil || c.state != Suspended {
		return wait
	}
	return min(wait, c.since+c.session.Timeout-env.Monotonic())
}

// welcome handles a member's confirmation of a session, and sets the watches again.
func (c *Client) welcome(env sim.Env, sent time.Duration, s *Session) {
	if c.session == nil {
		c.session = s
	}
	c.session.deadline = max(c.session.deadline, sent+c.session.Timeout)
	c.broken = &sim.Signal{}
	c.sent, c.heard = sent, env.Monotonic()
	c.enter(env, Connected)
	if len(c.watchers) > 0 {
		c.setAgain(env)
	}
}

// setAgain sets all pending watches on the new member. If a watch's event has already happened, the watch fires at
// once.
func (c *Client) setAgain(env sim.Env) {
	var lists [watchChild + 1][]string
	for i := range c.watchers {
		w := &c.watchers[i]
		w.skip = 0
		lists[w.kind] = append(lists[w.kind], w.path)
	}
	fields := jute.Record(nil).Long(int64(c.zxid))
	for _, list := range lists {
		fields = fields.Texts(list)
	}
	epoch := c.epoch
	if _, err := c.ask(env, "", "watches", jute.SetWatches, fields); err != nil {
		c.breakOff(env, epoch) // without its watches, the client might wait forever
	}
}

// Close ends the session and the client. It reports whether a server has confirmed the end of the session; otherwise
// the session will expire.
func (c *Client) Close(env sim.Env) bool {
	_, err := c.ask(env, "", "close", jute.CloseSession, nil)
	env.Close(c.conn)
	c.epoch++
	c.broken.Raise()
	c.enter(env, Closed)
	return err == nil
}
