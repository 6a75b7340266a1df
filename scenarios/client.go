package scenarios

import (
	"errors"
	"strconv"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
)

// client is one client of a lock: it acquires, works on the protected resource, releases, as often as its Work says,
// and records each step as an outside observer would.
type client struct {
	work     Work
	lock     locks.Lock
	name     history.Lock
	config   *locks.Config
	resource ResourceConfig
	writes   int // numbers the values written
}

func (c *client) main(env sim.Env) {
	for i := range c.work.Cycles {
		if i > 0 {
			env.Sleep(between(env, c.work.Think))
		}
		c.cycle(env, i)
	}
}

// between draws evenly from a range.
func between(env sim.Env, d sim.Delay) time.Duration {
	if d.Hi <= d.Lo {
		return d.Lo
	}
	return d.Lo + time.Duration(env.Rand()%uint64(d.Hi-d.Lo+1))
}

// section is a critical section in progress.
type section struct {
	*client
	env  sim.Env
	hold *locks.Hold
	job  string      // what the work is, the same for all clients that do it
	lost *sim.Signal // raised when an extension failed
	over *sim.Signal // raised when the work is done, to end the keepalive
}

func (c *client) cycle(env sim.Env, i int) {
	env.Record(history.Event{Type: history.Invoke, F: history.Acquire, Lock: c.name})
	hold, err := c.lock.Acquire(env)
	if err != nil {
		env.Record(history.Event{Type: history.Fail, F: history.Acquire, Lock: c.name, Why: history.AcquireTimeout})
		return
	}
	s := &section{client: c, env: env, hold: hold, job: strconv.Itoa(i), lost: &sim.Signal{}, over: &sim.Signal{}}
	env.RecordGrant(s.event(history.OK, history.Acquire), hold.Grant)
	env.Point(sim.Acquired)
	if x := c.config.Extension; x != nil && x.Background {
		env.Go("keepalive", s.keepalive)
	}
	if !s.run() {
		env.Record(s.event(history.Info, history.Lost))
	}
	s.over.Raise()
	s.release()
}

func (s *section) event(t history.Type, f history.F) history.Event {
	return history.Event{Type: t, F: f, Lock: s.name, Attempt: s.hold.Attempt, Token: s.hold.Token}
}

// run does the work. It reports false if the client stopped because it learned that its lock is gone.
func (s *section) run() bool {
	for range s.work.Writes {
		if !s.update() {
			return false
		}
	}
	return s.stay()
}

// valid says whether the client, if it cares, still believes in its lock.
func (s *section) valid() bool {
	return !(s.work.StopWhenLost && s.lost.Raised()) && !(s.work.CheckValidity && s.hold.Remaining(s.env) <= 0)
}

// update reads the resource, computes, and writes.
func (s *section) update() bool {
	if !s.valid() {
		return false
	}
	value, ok := s.read()
	s.env.Point(sim.AfterRead)
	if s.pass(s.work.Compute) {
		return false
	}
	if !s.valid() {
		return false
	}
	s.env.Point(sim.BeforeWrite)
	if ok {
		s.write(value)
	}
	return true
}

// pass lets time pass at work. It reports true if the client was told meanwhile that its lock is lost, and cares.
func (s *section) pass(d time.Duration) (lost bool) {
	if s.work.StopWhenLost {
		return s.env.Sleep(d, s.lost)
	}
	s.env.Sleep(d)
	return false
}

func (s *section) read() (value string, ok bool) {
	s.env.Record(s.event(history.Invoke, history.Read))
	r := s.ask("read", "READ", string(s.name), s.token())
	value, ok = r.Bulk()
	e := s.event(history.OK, history.Read)
	e.Value = value
	switch {
	case ok:
	case r.Status == sim.Answered:
		e.Type, e.Why = history.Fail, history.StaleToken
	default:
		e.Type, e.Why = history.Fail, history.NoReply // a read without an answer has no effect on anyone
	}
	s.env.Record(e)
	return value, ok
}

func (s *section) write(seen string) {
	s.writes++
	e := s.event(history.Invoke, history.Write)
	e.Value = string(s.hold.Attempt) + "." + strconv.Itoa(s.writes)
	s.env.Record(e)
	r := s.ask("write", "WRITE", string(s.name), s.token(), e.Value, seen, s.job)
	n, answered := r.Int()
	switch {
	case answered && n == 1:
		e.Type = history.OK
	case answered && n == 2:
		e.Type, e.Why = history.Fail, history.AlreadyApplied
	case answered:
		e.Type, e.Why = history.Fail, s.refusal()
	default:
		e.Type, e.Why = history.Info, history.NoReply
	}
	s.env.Record(e)
}

func (s *section) refusal() history.Why {
	if s.resource.Writes == CompareAndSet && s.resource.Fencing == FencingOff {
		return history.CompareFailed
	}
	return history.StaleToken
}

func (s *section) token() string { return strconv.FormatInt(int64(s.hold.Token), 10) }

func (s *section) ask(phase string, args ...string) *sim.Reply {
	conn := sim.Conn{Server: history.Resource}
	r := &s.env.Call(s.resource.Timeout, nil, sim.Request{Conn: conn, Args: args, Attempt: s.hold.Attempt, Phase: phase})[0]
	if r.Status != sim.Answered {
		s.env.Close(conn)
	}
	return r
}

// stay spends the rest of the section, in steps if the lock is extended between steps.
func (s *section) stay() bool {
	left := s.work.Hold
	switch s.work.HoldKind {
	case HoldValidity:
		left = max(0, s.hold.Remaining(s.env))
	case HoldForever:
		left = 1000 * time.Hour
	}
	x := s.config.Extension
	if x == nil || x.Background {
		return !s.pass(left)
	}
	for left > x.Every {
		s.env.Sleep(x.Every)
		left -= x.Every
		if err := s.extend(s.env); err != nil && !errors.Is(err, locks.ErrLimit) && s.work.StopWhenLost || !s.valid() {
			return false
		}
	}
	s.env.Sleep(left)
	return true
}

// extend prolongs the lock once.
func (s *section) extend(env sim.Env) error {
	env.Point(sim.BeforeExtend)
	env.Record(s.event(history.Invoke, history.Extend))
	err := s.lock.Extend(env, s.hold)
	e := s.event(history.OK, history.Extend)
	switch {
	case err == nil:
		env.RecordGrant(e, s.hold.Grant)
		return nil
	case errors.Is(err, locks.ErrLimit):
		e.Type, e.Why = history.Fail, history.ExtendLimit
	default:
		e.Type, e.Why = history.Fail, history.NotOwner
	}
	env.Record(e)
	return err
}

// keepalive extends the lock beside the work until the work is over, the lock is lost or the limit is reached.
func (s *section) keepalive(env sim.Env) {
	for !env.Sleep(s.config.Extension.Every, s.over) {
		switch err := s.extend(env); {
		case errors.Is(err, locks.ErrLimit):
			return
		case err != nil:
			s.lost.Raise()
			return
		}
	}
}

func (s *section) release() {
	s.env.Point(sim.BeforeRelease)
	e := s.event(history.Invoke, history.Release)
	s.env.Record(e)
	if s.lock.Release(s.env, s.hold) {
		e.Type = history.OK
	} else {
		e.Type, e.Why = history.Fail, history.NotOwner
	}
	s.env.Record(e)
	s.env.Point(sim.Released)
}
