package locktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/bubble"
)

// Lock is one client's lock, provided by the library under test. A Lock may also implement [Expiring], [LossNotifier],
// [Fenced], [Sharer], [Extender], [TaskLock] and [io.Closer]. Close is called once, when the client has finished its
// work or when the run ends. It must close connections and stop goroutines.
type Lock interface {
	// Lock acquires the lock, or returns an error if it fails. While another client is holding the lock, Lock must wait
	// for at least a second, or an eighth of the TTL if that is shorter. After that it may return an error. It must
	// return an error when ctx is done, which is at the end of the run at the latest. If Lock returns an error, the
	// client skips this cycle.
	Lock(ctx context.Context) error
	// Unlock releases the lock. It must return when ctx is done, with an error if it hasn't released the lock by then.
	// ctx is done at the end of the run at the latest. An Unlock that keeps retrying servers that do not answer is
	// reported as hanging.
	Unlock(ctx context.Context) error
}

// Expiring is a Lock that reports how long it is valid, by its client's wall clock (time.Now). ValidUntil is called
// when Lock or Extend has returned nil, whenever a server's answer has reached the client or the client checks its
// lock, and at the time that ValidUntil last returned. So a lock that renews itself counts as valid for exactly as long
// as it says. If ValidUntil returns the zero time after Lock, the Lock counts as not Expiring.
//
// ValidUntil may be called at any time while the lock is held, on a different goroutine than Lock, and must return
// immediately. A Lock that is neither Expiring nor a LossNotifier counts as valid for Config.TTL, measured from the
// first request in the round that acquired it.
type Expiring interface {
	ValidUntil() time.Time
}

// LossNotifier is a Lock that reports its loss by closing a channel. Lost is called when Lock or Extend has returned
// nil. It returns the channel for the current acquisition. A LossNotifier that is not Expiring counts as valid until it
// closes the channel.
type LossNotifier interface {
	Lost() <-chan struct{}
}

// Fenced is a Lock with a fencing token, which its client passes to the resource with each write. FencingToken is
// called when Lock or Extend has returned nil. Each acquisition must have a higher token than all earlier ones. With
// Precautions.Fences, the resource refuses a token that is lower than one it has already seen.
type Fenced interface {
	FencingToken() int64
}

// Extender is a Lock that its holder can extend. Extend is called every Precautions.ExtendEvery while the lock is held.
// If it returns nil, a Lock that is neither Expiring nor a LossNotifier counts as valid for Config.TTL from that call
// on. An error means that the lock was lost, unless it indicates that no server answered: a [net.Error], [io.EOF], or a
// context's error.
//
// Extend may be called on another goroutine while the same client's Lock or Unlock is running. If they share a
// connection, they must not use it at the same time.
type Extender interface {
	Extend(ctx context.Context) error
}

// Sharer is a Lock that several clients may hold at once, such as a read-write lock. Shared is called when Lock has
// returned nil. It reports whether the client holds the lock for reading, so that other clients may hold it for reading
// at the same time. Such a client reads the resource and does not write to it. A Lock that is not a Sharer is always
// exclusive. A semaphore's Locks (Config.Permits) cannot be Sharers.
type Sharer interface {
	Shared() bool
}

// Client is one client of the lock under test. New creates a Lock for it.
type Client struct {
	Name string // client-1, client-2 …; the last is probe, which tests whether the lock can still be acquired
	Key  string // name of the lock, and its key on the servers unless Config.Keys says otherwise
	// Addrs are the server addresses: first the masters, then the replicas and, if there are replicas but no Cluster,
	// the Sentinel.
	Addrs  []string
	guest  *bubble.Guest
	shared *common
}

// TaskLock is a Lock that provides a separate Lock for each of its client's tasks (Config.Tasks). Such a Lock is a
// handle with the data for one acquisition, such as the owner value. ForTask is called when a task first needs the
// lock. Tasks are numbered from 1. If a Lock has no ForTask method, all tasks use the Lock itself.
type TaskLock interface {
	ForTask(task int) Lock
}

// Addr returns the address of the i-th server, counting from 0. It panics if there is no such server.
func (c *Client) Addr(i int) string { return c.Addrs[i] }

// DialTimeout is the timeout of a dial whose context has no deadline.
const DialTimeout = 5 * time.Second

// DialContext opens a connection to the server with the given address, like [net.Dialer.DialContext]. Use it as a
// client library's dialer. If ctx has no deadline, the dial times out after DialTimeout, as with the go-redis and
// rueidis dialers. If the library's own dialer waits longer (redigo's waits for 30 s), give ctx a matching deadline.
// Dials fail as on a real network. Dialing an address that does not belong to a server fails the run.
func (c *Client) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if _, ends := ctx.Deadline(); !ends {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, DialTimeout)
		defer cancel()
	}
	return c.guest.DialContext(ctx, network, addr)
}

// Dial calls DialContext with the client's Context.
func (c *Client) Dial(network, addr string) (net.Conn, error) {
	return c.DialContext(c.guest.Context(), network, addr)
}

// Context returns a context that is canceled at the end of the run.
func (c *Client) Context() context.Context { return c.guest.Context() }

// host connects the library's locks with the simulated clients of a run.
type host struct {
	*bubble.Driver // driver of the latest run
	stacks         *sim.Stacks
	new            func(*Client) (Lock, error)
	keys           *keys                         // nil if each lock has one key, which has the lock's name
	locks          []history.Lock                // locks of the scenario
	world          *sim.World                    // world of the run
	waits          map[sim.ProcessID]*sim.Signal // for each client, a signal that the next answer raises
	closeless      atomic.Bool                   // some Lock has no Close method
	made           map[Lock]string               // for each Lock of the run that is a pointer, its client
	objects        map[objectKey]*object         // the lock objects of the run
	common         map[history.Process]*common   // what the locks of each client have in common
	together       bool                          // all servers grant a lock together, as one service
	permits        int                           // number of simultaneous holders that the Config allows
	tasks          int                           // the largest number of tasks of a client
}

// open creates a client's lock by calling New. If New returns an error, all calls to the returned lock fail with this
// error. The run fails if New returns neither a Lock nor an error, or if it returns another client's Lock. Clients
// represent processes, which share neither memory nor connections.
func (h *host) open(c *Client) Lock {
	l, err := h.new(c)
	if err != nil {
		return unopened{err}
	}
	if v := reflect.ValueOf(l); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return h.fail(fmt.Errorf("Config.New returned neither a Lock nor an error for %s: "+
			"return a Lock, or the error that explains why it cannot be made", c.Name))
	}
	if v := reflect.ValueOf(l); v.Kind() == reflect.Pointer && v.Type().Elem().Size() > 0 {
		if of, again := h.made[l]; again && of != c.Name {
			return h.fail(fmt.Errorf("Config.New returned the same Lock for %s as for %s: "+
				"create one Lock for each client, with its own connections", c.Name, of))
		}
		h.made[l] = c.Name
	}
	if _, shares := l.(Sharer); shares && h.permits > 1 {
		return h.fail(errors.New(
			"the Lock reports which of its holds are shared (Shared), " +
				"but Config.Permits makes it a semaphore, in which each holder has a permit: " +
				"remove Permits, or return Locks without Shared"))
	}
	if _, closes := l.(io.Closer); !closes {
		h.closeless.Store(true)
	}
	return l
}

// fail fails the run and returns a lock whose methods return err.
func (h *host) fail(err error) Lock {
	h.Fail(err)
	return unopened{err}
}

// unopened stands in for a lock that could not be created.
type unopened struct{ err error }

func (u unopened) Lock(context.Context) error   { return u.err }
func (u unopened) Unlock(context.Context) error { return u.err }

// Prepare sets a run's options so that the simulated world uses the synctest bubble's coroutines and clock, and passes
// each event to keep.
func (h *host) Prepare(o *sim.Options) {
	o.Stacks, o.Wall, o.Nameless = h.stacks, h.Wall(), true
	o.Keep = h.keep
}

// keep assigns a server's event about a key to the lock that uses the key. If the event was caused by a request, keep
// also passes it to the driver.
func (h *host) keep(e *history.Event) (kept bool) {
	if !e.F.IsKey() {
		return true
	}
	if h.keys != nil {
		h.keys.connect(e)
	}
	if e.By != "" && slices.Contains(h.locks, e.Lock) {
		h.Recorded(e)
	}
	return true
}

// Begin starts a run.
func (h *host) Begin(world *sim.World, servers []sim.ProcessID, front sim.Front) {
	h.world, h.waits, h.made, h.objects = world, nil, map[Lock]string{}, map[objectKey]*object{}
	h.common = map[history.Process]*common{}
	h.Driver.Begin(world, servers, front)
}

// answer returns a signal that is raised when the next answer from a server reaches the client.
func (h *host) answer(client sim.ProcessID) *sim.Signal {
	if h.waits == nil {
		h.waits = map[sim.ProcessID]*sim.Signal{}
		h.world.Inspect(func(p sim.Passage) (none sim.Interference) {
			if waiting := h.waits[p.Client]; waiting != nil && p.Answer && p.Arrives {
				delete(h.waits, p.Client)
				waiting.Raise()
			}
			return none
		})
	}
	if h.waits[client] == nil {
		h.waits[client] = new(sim.Signal)
	}
	return h.waits[client]
}

// foreign returns an object through which the simulation can call the lock that one of a client's tasks uses.
func (h *host) foreign(client sim.ProcessID, c *locks.Config, of *locks.Library) locks.ForeignLock {
	l := &foreign{answers: h.answer, guest: h.Guest(client), config: c, library: of, together: h.together}
	l.caller = l.guest
	key := objectKey{of, c.Key}
	if l.object = h.objects[key]; l.object == nil {
		l.object = &object{host: h, opening: make(chan struct{}, 1)}
		h.objects[key] = l.object
	}
	if h.tasks > 1 && client != history.Probe {
		l.object.tasks++
		l.task, l.caller = l.object.tasks, l.guest.Task(l.object.tasks)
	}
	return l
}

// objectKey identifies a client's lock object. After a restart, a client has a new library and therefore a new object.
type objectKey struct {
	of   *locks.Library
	lock history.Lock
}

// object contains the Lock that New returned for a client. The client's tasks share it.
type object struct {
	host    *host
	opening chan struct{} // contains one element while a task creates the lock
	lock    Lock
	tasks   int // number of tasks that have asked for the object
	closed  bool
}

// caller makes one task's calls to the library.
type caller interface {
	Begin(history.Attempt)
	Try() (since sim.Time, granted []sim.ProcessID)
	Call(env sim.Env, what string, f func(context.Context)) (returned sim.Time)
}

// foreign is a lock from the library under test. Its methods run on a separate goroutine while the simulated task of
// its client is waiting.
type foreign struct {
	*object
	caller
	answers func(sim.ProcessID) *sim.Signal
	guest   *bubble.Guest
	config  *locks.Config
	library *locks.Library
	task    int  // number of the task; 0 if the client has only one
	lock    Lock // the lock of the task
	// validity tracks how long the held lock is valid. It is nil if the lock is not being held or does not report its
	// validity.
	validity *validity
	// together is set if the servers form one service, which grants a lock as a whole.
	together bool
}

// Acquire calls Lock on the library's lock and records the result.
func (l *foreign) Acquire(env sim.Env) (*locks.Hold, error) {
	h := &locks.Hold{Attempt: l.library.Attempt(env)}
	env.Point(sim.AcquireStart)
	l.Begin(h.Attempt)
	var err error
	var stated state
	at := l.Call(env, "Lock", func(ctx context.Context) {
		l.ensureLock(ctx, env.Name())
		if p := l.config.Patience; p > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, p)
			defer cancel()
		}
		if err = l.lock.Lock(ctx); err == nil {
			stated = l.stated()
		}
	})
	since, granted := l.Try()
	if err != nil {
		return nil, &locks.RefusedError{Said: said(err), Err: locks.ErrPatience}
	}
	if l.together {
		granted = l.config.Servers
	}
	h.Token, h.Shared = stated.token, stated.shared
	h.Grant = sim.Grant{Since: l.guest.Mark(since), Granted: l.guest.Mark(at), Until: l.deadline(stated, since),
		Counted: granted}
	if stated.lost != nil {
		lost := sim.Time(history.Never)
		h.Grant.Until.Announced = &lost
		h.Ends = append(h.Ends, l.listen(stated.lost, &lost))
	}
	if !stated.validUntil.IsZero() {
		l.follow(env, h)
	}
	return h, nil
}

// ensureLock creates the client's lock object and the task's lock unless they already exist.
func (l *foreign) ensureLock(ctx context.Context, client sim.ProcessID) {
	if _, failed := l.lock.(unopened); l.lock != nil && !failed {
		return
	}
	l.opening <- struct{}{}
	defer func() { <-l.opening }()
	o := l.object
	if _, failed := o.lock.(unopened); o.lock == nil || failed {
		bubble.ForAllTasks(ctx, func() { o.lock = o.host.open(l.client(client)) })
		if !failed {
			l.guest.AtEnd("Close", o.close)
		}
	}
	l.lock = o.lock
	if t, each := o.lock.(TaskLock); each && l.task > 0 {
		if l.lock = t.ForTask(l.task); l.lock == nil {
			l.lock = o.host.fail(fmt.Errorf("ForTask returned no Lock for task %d of %s", l.task, client))
		}
	}
}

func (l *foreign) client(name sim.ProcessID) *Client {
	return &Client{Name: string(name), Key: string(l.config.Key), Addrs: l.guest.Addrs(), guest: l.guest,
		shared: l.host.sharedBy(name)}
}

// state is what a lock says about itself once it has been acquired.
type state struct {
	validUntil time.Time // zero: not reported
	lost       <-chan struct{}
	token      history.Token
	shared     bool
}

// stated returns what the lock says about its acquisition. It runs on the goroutine that called Lock.
func (l *foreign) stated() (s state) {
	if e, ok := l.lock.(Expiring); ok {
		s.validUntil = e.ValidUntil()
	}
	if n, ok := l.lock.(LossNotifier); ok {
		s.lost = n.Lost()
	}
	if f, ok := l.lock.(Fenced); ok {
		s.token = history.Token(f.FencingToken())
	}
	if r, ok := l.lock.(Sharer); ok {
		s.shared = r.Shared()
	}
	return s
}

// deadline returns the time until which a lock counts as valid. asked is when the try that acquired the lock sent its
// first request (see sim.Caller).
func (l *foreign) deadline(s state, asked sim.Time) sim.Deadline {
	switch {
	case !s.validUntil.IsZero():
		return sim.Deadline{Clock: sim.Wall, At: time.Duration(s.validUntil.UnixNano())}
	case s.lost != nil:
		return sim.Deadline{Clock: sim.Monotonic, At: sim.Forever, Open: true}
	}
	return sim.Deadline{Clock: sim.Monotonic, At: asked.Duration() + l.config.TTL}
}

// listen waits in the background for the library to report that the lock is lost. It then sets *at to the current time
// and raises the returned signal.
func (l *foreign) listen(lost <-chan struct{}, at *sim.Time) *sim.Signal {
	raised := new(sim.Signal)
	l.guest.Go(func(ctx context.Context) {
		select {
		case <-lost:
			*at = l.guest.Raise(raised)
		case <-ctx.Done():
		}
	})
	return raised
}

// Extend calls Extend on the library's lock and records the result.
func (l *foreign) Extend(env sim.Env, h *locks.Hold) error {
	x, can := l.lock.(Extender)
	if !can {
		return locks.ErrLimit
	}
	asked := env.Monotonic()
	var err error
	var stated state
	if v := l.validity; v != nil {
		v.busy = true
		defer func() { v.busy = false }()
	}
	at := l.Call(env, "Extend", func(ctx context.Context) {
		if err = x.Extend(ctx); err == nil {
			stated = l.stated()
		}
	})
	if err != nil {
		return &locks.RefusedError{Said: said(err), Err: answered(err, locks.ErrLost, locks.ErrUnanswered)}
	}
	lost := h.Grant.Until.Announced
	h.Grant.Granted = l.guest.Mark(at)
	h.Grant.Until = l.deadline(stated, history.Of(asked))
	h.Grant.Until.Announced = lost
	return nil
}

// Release calls Unlock on the library's lock and records the result.
func (l *foreign) Release(env sim.Env, h *locks.Hold) locks.Answer {
	var err error
	if l.validity != nil {
		l.validity.over.Raise()
		l.validity = nil
	}
	l.Call(env, "Unlock", func(ctx context.Context) { err = l.lock.Unlock(ctx) })
	if err == nil {
		return locks.Confirmed
	}
	h.Said = said(err)
	return answered(err, locks.Denied, locks.Unanswered)
}

// answered returns yes if err shows that a server did answer, and no otherwise.
func answered[T any](err error, yes, no T) T {
	if unanswered(err) {
		return no
	}
	return yes
}

// Close calls the Close method of the user's lock.
func (l *foreign) Close(env sim.Env) {
	l.Call(env, "Close", func(context.Context) { l.object.close() })
}

// close closes the lock once: when its client has finished its work or, if the client does not get that far, at the end
// of the run.
func (o *object) close() {
	if c, can := o.lock.(io.Closer); can && !o.closed {
		o.closed = true
		c.Close()
	}
}
