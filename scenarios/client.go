package scenarios

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
)

// client is one task of a simulated client. It uses one or more locks. In each of its Work.Cycles, it acquires the
// locks, works on the protected resource and releases the locks. It records each step as an outside observer would see
// it.
type client struct {
	work     Work
	task     history.Task  // number of the task; 0 if the client has only one
	locks    []*clientLock // in the order in which the client acquires them
	library  *locks.Library
	resource ResourceConfig
	writes   int       // number of values written so far; used to number the next one
	section  *section  // the latest critical section
	tasks    []*client // the other tasks of the same process, each with a lock of its own that shares the library
	// Reused buffers: a request to the resource, and the signals that interrupt a sleep.
	request [1]sim.Request
	signals []*sim.Signal
}

// clientLock is a lock along with its name on the servers.
type clientLock struct {
	locks.Lock
	name   history.Lock
	config *locks.Config
}

func newClient(c *Client, resource ResourceConfig, library *locks.Library) *client {
	k := newTask(c, resource, library)
	for i := range c.Work.Tasks - 1 {
		other := newTask(c, resource, library)
		k.task, other.task = 1, history.Task(i+2)
		k.tasks = append(k.tasks, other)
	}
	return k
}

func newTask(c *Client, resource ResourceConfig, library *locks.Library) *client {
	k := &client{work: c.Work, resource: resource, library: library}
	names := c.Work.Locks
	if len(names) == 0 {
		names = []history.Lock{c.Lock.Key}
	}
	for _, name := range names {
		config := &c.Lock
		if name != config.Key {
			other := c.Lock
			other.Key, config = name, &other
		}
		k.locks = append(k.locks, &clientLock{locks.New(config, k.library), name, config})
	}
	return k
}

func (c *client) main(env sim.Env) {
	over := make([]sim.Signal, len(c.tasks))
	for i, other := range c.tasks {
		env.Go("task-"+strconv.Itoa(i+2), func(env sim.Env) {
			other.cycles(env)
			over[i].Raise()
		})
	}
	c.cycles(env)
	for i := range over {
		env.Sleep(sim.Forever, &over[i])
	}
	for _, l := range c.locks {
		l.Close(env)
	}
}

func (c *client) cycles(env sim.Env) {
	for i := range c.work.Cycles {
		if i > 0 {
			env.Sleep(locks.Draw(env, c.work.Think))
		}
		c.cycle(env, i)
	}
}

// section is a critical section in progress.
type section struct {
	*client
	env  sim.Env
	held []*held     // in the order in which they were acquired
	key  *held       // the lock that guards the resource: the first of held; kept after its release
	job  string      // identifies the work; all clients that do the same work have the same job
	lost sim.Signal  // raised when a keepalive has failed to extend a lock
	over *sim.Signal // raised to end the keepalives, when Extension.Until says so; nil if there is no keepalive
}

// held is a lock that a section has acquired.
type held struct {
	*clientLock
	hold *locks.Hold
}

// cycle acquires the locks, does the work and releases the locks. If the client uses several locks and fails to acquire
// one of them, it releases the others, waits and starts over.
func (c *client) cycle(env sim.Env, i int) {
	s := &section{client: c, env: env, job: strconv.Itoa(i)}
	c.section = s
	for !s.acquire() {
		s.release()
		if len(c.locks) == 1 {
			return
		}
		env.Sleep(locks.Draw(env, c.locks[0].config.Retry))
	}
	if !s.run() {
		for _, h := range s.held {
			env.Record(h.event(history.Info, history.Lost))
		}
	}
	s.release()
}

// giveBack releases a section's locks. It runs in a separate task.
func (s *section) giveBack(env sim.Env) {
	s.env = env
	s.release()
}

// choice returns the locks that the next section acquires: either all of the client's locks or a random one.
func (c *client) choice(env sim.Env) []*clientLock {
	if c.work.Take == TakeOne && len(c.locks) > 1 {
		i := env.Rand() % uint64(len(c.locks))
		return c.locks[i : i+1]
	}
	return c.locks
}

// acquire acquires the locks one by one. It returns false if the client gave up on one of them.
func (s *section) acquire() bool {
	for _, l := range s.choice(s.env) {
		e := s.asking(l)
		s.env.Record(e)
		hold, err := l.Acquire(s.env)
		if err != nil {
			e.Type, e.Why, e.Value = history.Fail, history.AcquireTimeout, locks.Said(err)
			s.env.Record(e)
			return false
		}
		s.enter(&held{l, hold})
	}
	return true
}

// asking returns an event that says that the task is asking for a lock.
func (c *client) asking(l *clientLock) history.Event {
	return history.Event{Type: history.Invoke, F: history.Acquire, Lock: l.name, Shared: l.config.Shared, Task: c.task}
}

// enter records that the section has acquired a lock, and starts the lock's keepalive, if any.
func (s *section) enter(h *held) {
	h.hold.Prolonged = func(env sim.Env) { env.RecordGrant(h.event(history.OK, history.Extend), h.hold.Grant) }
	if len(s.held) == 0 {
		s.key = h
	}
	s.held = append(s.held, h)
	got := h.event(history.OK, history.Acquire)
	got.Task = s.task
	s.env.RecordGrant(got, h.hold.Grant)
	s.env.Point(sim.Acquired)
	if x := h.config.Extension; x != nil && x.Background {
		if s.over == nil {
			s.over = &sim.Signal{}
		}
		over := s.over
		s.env.Go("keepalive", func(env sim.Env) { s.keepalive(env, h, over) })
	}
}

func (h *held) event(t history.Type, f history.F) history.Event {
	return history.Event{Type: t, F: f, Lock: h.name, Shared: h.shared() && f == history.Acquire,
		Attempt: h.hold.Attempt, Token: h.hold.Token}
}

// shared reports whether the hold is shared, so that other clients may share the lock at the same time.
func (h *held) shared() bool { return h.config.Shared || h.hold.Shared }

// guard returns the lock that guards the resource: the first lock that the section acquired.
func (s *section) guard() *held { return s.key }

// run does the section's work. It returns false if the client stopped because it noticed that it had lost its lock.
func (s *section) run() bool {
	work := s.updates
	if s.work.Nested {
		work = s.nested
	}
	return work() && s.stay()
}

// nested calls a function that acquires the lock, does the work and releases the lock, even though its caller already
// holds the lock.
func (s *section) nested() bool {
	if h := s.guard(); h.Reenter(s.env, h.hold) {
		done := s.updates()
		h.Release(s.env, h.hold)
		if s.over != nil && h.config.Extension.Until == locks.EndsWithFirst {
			s.over.Raise()
		}
		return done
	}
	return false
}

func (s *section) updates() bool {
	for i := range s.work.Writes {
		last := i == s.work.Writes-1
		if !s.update(last && s.work.ReleaseFirst && !s.work.Nested) {
			return false
		}
	}
	return true
}

// valid reports whether the client may continue with its work. With StopWhenLost, it may not continue once it has
// learned that a lock is lost. With CheckValidity, it may not continue once a lease has ended by its own clock.
func (s *section) valid() bool {
	return !(s.work.StopWhenLost && s.isLost()) && !(s.work.CheckValidity && s.remaining() <= 0)
}

// interrupts returns the signals that are raised when one of the section's locks is lost or when the client must pause
// its work. The slice is valid until the next call.
func (s *section) interrupts() []*sim.Signal {
	s.signals = append(s.signals[:0], &s.lost)
	for _, h := range s.held {
		s.signals = append(s.signals, h.hold.Ends...)
		if h.hold.Suspended != nil {
			s.signals = append(s.signals, h.hold.Suspended)
		}
	}
	return s.signals
}

func (s *section) isLost() bool {
	return s.lost.Raised() || slices.ContainsFunc(s.held, func(h *held) bool {
		return slices.ContainsFunc(h.hold.Ends, (*sim.Signal).Raised)
	})
}

// remaining returns the section's shortest remaining lock validity.
func (s *section) remaining() time.Duration {
	least := sim.Forever
	for _, h := range s.held {
		least = min(least, h.hold.Remaining(s.env))
	}
	return least
}

// update reads the resource, computes a new value, and writes it. It skips the write if the read failed or if other
// clients may share the lock. If early is true, it releases the section's locks before writing. It returns false if the
// client must stop.
func (s *section) update(early bool) bool {
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
	writes := ok && !s.guard().shared()
	if writes && early {
		s.release()
	}
	s.env.Point(sim.BeforeWrite)
	if writes {
		s.write(value)
	}
	return true
}

// pass spends the time d on work. It returns true if the client must stop: it noticed that its lock is lost, or gave up
// acquiring it again.
func (s *section) pass(d time.Duration) (lost bool) {
	if !s.work.StopWhenLost {
		s.env.Sleep(d)
		return false
	}
	for end := s.env.Monotonic() + d; ; {
		woken := s.env.Sleep(end-s.env.Monotonic(), s.interrupts()...)
		if !woken || s.isLost() {
			return woken
		}
		if !s.reacquire() {
			return true
		}
	}
}

// reacquire acquires the lock again. The client has paused its work, because its library could not tell whether it
// still held the lock (it may still hold it). reacquire returns false if the client gave up.
func (s *section) reacquire() bool {
	h := s.guard()
	h.hold.Suspended = nil
	e := s.asking(h.clientLock)
	s.env.Record(e)
	hold, err := h.Acquire(s.env)
	if err != nil {
		e.Type, e.Why, e.Value = history.Fail, history.AcquireTimeout, locks.Said(err)
		s.env.Record(e)
		return false
	}
	s.enter(&held{h.clientLock, hold})
	return true
}

func (s *section) read() (value string, ok bool) {
	s.env.Record(s.guard().event(history.Invoke, history.Read))
	r := s.ask("read", "READ", string(s.guard().name), s.token())
	value, ok = r.Bulk()
	e := s.guard().event(history.OK, history.Read)
	e.Value = value
	switch {
	case ok:
	case r.Status == sim.Answered:
		e.Type, e.Why = history.Fail, history.StaleToken
	default:
		e.Type, e.Why = history.Fail, history.NoReply // a read without a reply has no effect on others
	}
	s.env.Record(e)
	return value, ok
}

func (s *section) write(seen string) {
	s.writes++
	e := s.guard().event(history.Invoke, history.Write)
	e.Value = string(s.guard().hold.Attempt) + "." + strconv.Itoa(s.writes)
	s.env.Record(e)
	r := s.ask("write", "WRITE", string(s.guard().name), s.token(), e.Value, seen, s.job)
	if n, answered := r.Int(); !answered {
		e.Type, e.Why = history.Info, history.NoReply
	} else if e.Type, e.Why = history.OK, WhyRefused(n); e.Why != "" {
		e.Type = history.Fail
	}
	s.env.Record(e)
}

func (s *section) token() string { return strconv.FormatInt(int64(s.guard().hold.Token), 10) }

func (s *section) ask(phase string, args ...string) *sim.Reply {
	conn := sim.Conn{Server: history.Resource}
	s.request[0] = sim.Request{Conn: conn, Args: args, Attempt: s.guard().hold.Attempt, Phase: phase}
	r := &s.env.Call(s.resource.Timeout, nil, s.request[:]...)[0]
	if r.Status != sim.Answered {
		s.env.Close(conn)
	}
	return r
}

// stay waits for as long as the client must hold its locks. A client without a background keepalive extends its locks
// during this wait. stay returns false if the client must stop.
func (s *section) stay() bool {
	left := s.work.Hold
	switch s.work.HoldKind {
	case HoldValidity:
		if left = 0; len(s.held) > 0 {
			left = max(0, s.remaining())
		}
	case HoldForever:
		left = 1000 * time.Hour
	}
	x := s.guard().config.Extension
	if x == nil || x.Background {
		return !s.pass(left)
	}
	for left > x.Every {
		s.env.Sleep(x.Every)
		left -= x.Every
		for _, h := range s.held {
			if err := s.extend(s.env, h); err != nil && !errors.Is(err, locks.ErrLimit) && s.work.StopWhenLost {
				return false
			}
		}
		if !s.valid() {
			return false
		}
	}
	s.env.Sleep(left)
	return true
}

// extend extends a lock once.
func (s *section) extend(env sim.Env, h *held) error {
	env.Point(sim.BeforeExtend)
	env.Record(h.event(history.Invoke, history.Extend))
	err := h.Extend(env, h.hold)
	e := h.event(history.OK, history.Extend)
	e.Value = locks.Said(err)
	switch {
	case err == nil:
		env.RecordGrant(e, h.hold.Grant)
		return nil
	case errors.Is(err, locks.ErrLimit):
		e.Type, e.Why = history.Fail, history.ExtendLimit
	case errors.Is(err, locks.ErrUnanswered):
		e.Type, e.Why = history.Info, history.NoReply
	case errors.Is(err, locks.ErrRefused):
		e.Type, e.Why = history.Fail, history.Refused
	case errors.Is(err, locks.ErrLate):
		e.Type, e.Why = history.Fail, history.LeaseNotValid
	default:
		e.Type, e.Why = history.Fail, history.NotOwner
	}
	env.Record(e)
	return err
}

// keepalive extends a lock in the background until over is raised, an extension fails, or the maximum number of
// extensions is reached. After a failure, it counts the lock as lost.
func (s *section) keepalive(env sim.Env, h *held, over *sim.Signal) {
	for !env.Sleep(h.config.Extension.Every, over) {
		switch err := s.extend(env, h); {
		case errors.Is(err, locks.ErrLimit):
			return
		case err != nil:
			s.lost.Raise()
			return
		}
	}
}

// release releases the section's locks in reverse order.
func (s *section) release() {
	if s.over != nil && s.guard().config.Extension.Until != locks.NeverEnds {
		s.over.Raise()
	}
	for _, h := range slices.Backward(s.held) {
		s.env.Point(sim.BeforeRelease)
		e := h.event(history.Invoke, history.Release)
		s.env.Record(e)
		switch h.Release(s.env, h.hold) {
		case locks.Confirmed:
			e.Type = history.OK
		case locks.Unanswered:
			e.Type, e.Why = history.Info, history.NoReply
		case locks.Refused:
			e.Type, e.Why = history.Fail, history.Refused
		case locks.Denied:
			e.Type, e.Why = history.Fail, history.NotOwner
		}
		e.Value = h.hold.Said
		s.env.Record(e)
		s.env.Point(sim.Released)
	}
	s.held = nil
	if s.over != nil {
		s.over = &sim.Signal{}
	}
}
