package locktest

import (
	"context"
	"fmt"
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

// Lock is the lock of one client, as the library under test offers it. Further abilities of the library are the
// interfaces below, which a Lock may implement.
type Lock interface {
	// Lock acquires the lock, or returns an error if it has not acquired it. While another client has the lock, it must
	// wait for at least a second, or an eighth of the TTL if that is shorter; then it may give up. When ctx is done, it
	// must return an error. ctx is done at the latest when the run ends. If Lock returns an error, the client skips
	// this cycle.
	Lock(ctx context.Context) error
	// Unlock releases the lock. When ctx is done, it must return, with an error if it has not released the lock. ctx is
	// done at the latest when the run ends. An Unlock that continues to ask servers that do not answer is reported as
	// hanging.
	Unlock(ctx context.Context) error
}

// Untiler is a Lock that says until when it is held. Until is called when Lock or Extend has returned, when a server's
// answer has reached the client, when the stated end has come, and whenever the client checks its lock. So a lock that
// renews itself is valid for as long as it says, and no longer. Until may be called at any time while the lock is held,
// on another goroutine than Lock, and must return at once. A lock that is neither an Untiler nor a Loser counts as
// valid for the TTL, counted from the first request of the round that acquired it.
type Untiler interface{ Until() time.Time }

// Loser is a Lock that reports its loss by closing a channel. Lost is called after each Lock. If such a lock is not an
// Untiler, it counts as valid until it reports its loss.
type Loser interface{ Lost() <-chan struct{} }

// Tokener is a Lock with a fencing token, which the client passes to the resource.
type Tokener interface{ Token() int64 }

// Extender is a Lock that its holder can extend. Extend may be called from another goroutine while Lock or Unlock of
// the same client is running. If they share a connection, it must carry one request after the other.
type Extender interface {
	Extend(ctx context.Context) error
}

// Closer is a Lock with resources to close, such as connections.
type Closer interface{ Close() error }

// Client is the client for which New makes a Lock.
type Client struct {
	Name  string   // client-1, client-2 …; probe comes last, and tests whether the lock can still be acquired
	Key   string   // name of the lock, and its key on the servers unless Config.Keys says otherwise
	Addrs []string // of the servers: masters first, replicas after them, and last, if there are replicas, the Sentinel
	guest *bubble.Guest
}

// Addr returns the address of the i-th server, from 0.
func (c *Client) Addr(i int) string { return c.Addrs[i] }

// DialTimeout is the longest duration of a dial whose context has no deadline.
const DialTimeout = 5 * time.Second

// DialContext opens a connection to a server, by its address, like [net.Dialer.DialContext]. It replaces the dialer of
// a client library. Unless ctx has a deadline, it has the timeout that the dialers of go-redis and rueidis have,
// DialTimeout. If the library's own dialer waits longer (redigo's waits for 30 s), pass a ctx with that deadline.
func (c *Client) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if _, ends := ctx.Deadline(); !ends {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, DialTimeout)
		defer cancel()
	}
	return c.guest.DialContext(ctx, network, addr)
}

// Dial is DialContext without a context.
func (c *Client) Dial(network, addr string) (net.Conn, error) {
	return c.DialContext(c.guest.Context(), network, addr)
}

// Context returns a context that is canceled when the run is over.
func (c *Client) Context() context.Context { return c.guest.Context() }

// host connects the library's locks with the simulated clients.
type host struct {
	*bubble.Driver // driver of the latest run
	stacks         *sim.Stacks
	new            func(*Client) Lock
	keys           *keys                         // nil: each lock has one key of its own name
	locks          []history.Lock                // locks of the scenario
	world          *sim.World                    // world of the run
	waits          map[sim.ProcessID]*sim.Signal // raised by the next answer, by client
	closeless      atomic.Bool                   // a Lock without Close was seen
	made           map[Lock]string               // the client of each Lock of the run; pointers only
	together       bool                          // all servers grant a lock together
}

// open makes the lock of a client. The run fails if New returns nil or the Lock of another client: clients stand for
// processes, which share neither memory nor connections.
func (h *host) open(c *Client) Lock {
	l := h.new(c)
	if v := reflect.ValueOf(l); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		err := fmt.Errorf("Config.New returned nil for %s: return a Lock, or locktest.Refused(err) if none can be made",
			c.Name)
		h.Fail(err)
		return Refused(err)
	}
	if v := reflect.ValueOf(l); v.Kind() == reflect.Pointer && v.Type().Elem().Size() > 0 {
		if of, again := h.made[l]; again && of != c.Name {
			err := fmt.Errorf("Config.New returned the same Lock for %s as for %s: make one for each, with "+
				"connections of its own", c.Name, of)
			h.Fail(err)
			return Refused(err)
		}
		h.made[l] = c.Name
	}
	if _, closes := l.(Closer); !closes {
		h.closeless.Store(true)
	}
	return l
}

// Prepare makes the world of a run use the stacks and the clock of the bubble.
func (h *host) Prepare(o *sim.Options) {
	o.Stacks, o.Wall, o.Nameless = h.stacks, h.Wall(), true
	o.Keep = h.keep
}

// keep assigns a server's record of a key to the lock that the key belongs to, and passes on what a request did.
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
	h.world, h.waits, h.made = world, nil, map[Lock]string{}
	h.Driver.Begin(world, servers, front)
}

// answer returns a signal that is raised when the next answer of a server has reached a client.
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

// foreign returns the lock of one client.
func (h *host) foreign(client sim.ProcessID, c *locks.Config, of *locks.Library) locks.ForeignLock {
	return &foreign{open: h.open, answers: h.answer, guest: h.Guest(client), config: c, library: of,
		together: h.together}
}

// foreign is a lock whose methods a goroutine calls while the task of its client waits.
type foreign struct {
	open    func(*Client) Lock
	answers func(sim.ProcessID) *sim.Signal
	guest   *bubble.Guest
	config  *locks.Config
	library *locks.Library
	lock    Lock
	closed  bool
	stating *stating // nil if the lock does not say until when it is held, or is not held
	// together says that all servers grant a lock together.
	together bool
}

// Acquire calls Lock.
func (l *foreign) Acquire(env sim.Env) (*locks.Hold, error) {
	h := &locks.Hold{Attempt: l.library.Attempt(env)}
	env.Point(sim.AcquireStart)
	l.guest.Begin(h.Attempt)
	var err error
	var stated state
	at := l.guest.Call(env, "Lock", func(ctx context.Context) {
		if l.lock == nil {
			l.lock = l.open(l.client(env.Name()))
			l.guest.AtEnd("Close", func() { l.close() })
		}
		if p := l.config.Patience; p > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, p)
			defer cancel()
		}
		if err = l.lock.Lock(ctx); err == nil {
			stated = l.stated()
		}
	})
	since, granted := l.guest.Try()
	if err != nil {
		return nil, &locks.RefusedError{Said: said(err), Err: locks.ErrPatience}
	}
	if l.together {
		granted = l.config.Servers
	}
	h.Token = stated.token
	h.Grant = sim.Grant{Since: l.guest.Mark(since), Granted: l.guest.Mark(at), Until: l.until(stated, since),
		Counted: granted}
	if stated.lost != nil {
		lost := sim.Time(history.Never)
		h.Grant.Until.Announced = &lost
		h.Ends = append(h.Ends, l.listen(stated.lost, &lost))
	}
	if !stated.until.IsZero() {
		l.follow(env, h)
	}
	return h, nil
}

func (l *foreign) client(name sim.ProcessID) *Client {
	return &Client{Name: string(name), Key: string(l.config.Key), Addrs: l.guest.Addrs(), guest: l.guest}
}

// state is what a lock reports about itself once it is held.
type state struct {
	until time.Time
	lost  <-chan struct{}
	token history.Token
}

// stated asks a lock for everything that it can report. It runs on the guest's goroutine.
func (l *foreign) stated() (s state) {
	if u, ok := l.lock.(Untiler); ok {
		s.until = u.Until()
	}
	if o, ok := l.lock.(Loser); ok {
		s.lost = o.Lost()
	}
	if t, ok := l.lock.(Tokener); ok {
		s.token = history.Token(t.Token())
	}
	return s
}

// until returns how long a lock says that it is held. asked is when the round that acquired it began.
func (l *foreign) until(s state, asked sim.Time) sim.Deadline {
	switch {
	case !s.until.IsZero():
		return sim.Deadline{Clock: sim.Wall, At: time.Duration(s.until.UnixNano())}
	case s.lost != nil:
		return sim.Deadline{Clock: sim.Monotonic, At: sim.Forever, Open: true}
	}
	return sim.Deadline{Clock: sim.Monotonic, At: asked.Duration() + l.config.TTL}
}

// listen records when the library reports that the lock is lost, and raises a signal.
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

// Extend calls Extend.
func (l *foreign) Extend(env sim.Env, h *locks.Hold) error {
	x, can := l.lock.(Extender)
	if !can {
		return locks.ErrLimit
	}
	asked := env.Monotonic()
	var err error
	var stated state
	if s := l.stating; s != nil {
		s.busy = true
		defer func() { s.busy = false }()
	}
	at := l.guest.Call(env, "Extend", func(ctx context.Context) {
		if err = x.Extend(ctx); err == nil {
			stated = l.stated()
		}
	})
	if err != nil {
		return &locks.RefusedError{Said: said(err), Err: answered(err, locks.ErrLost, locks.ErrUnanswered)}
	}
	lost := h.Grant.Until.Announced
	h.Grant.Granted = l.guest.Mark(at)
	h.Grant.Until = l.until(stated, history.Of(asked))
	h.Grant.Until.Announced = lost
	return nil
}

// Release calls Unlock.
func (l *foreign) Release(env sim.Env, h *locks.Hold) locks.Answer {
	var err error
	if l.stating != nil {
		l.stating.over.Raise()
		l.stating = nil
	}
	l.guest.Call(env, "Unlock", func(ctx context.Context) { err = l.lock.Unlock(ctx) })
	if err == nil {
		return locks.Confirmed
	}
	h.Said = said(err)
	return answered(err, locks.Denied, locks.Unanswered)
}

// answered returns yes if an error is a server's reply, and no if it says that there was no reply.
func answered[T any](err error, yes, no T) T {
	if unanswered(err) {
		return no
	}
	return yes
}

// Close calls Close.
func (l *foreign) Close(env sim.Env) {
	l.guest.Call(env, "Close", func(context.Context) { l.close() })
}

// close closes the lock once: at the end of its client's work, or, if the client did not get that far, at the end
// of the run.
func (l *foreign) close() {
	if c, can := l.lock.(Closer); can && !l.closed {
		l.closed = true
		c.Close()
	}
}

// Refused returns a Lock for New to return if it cannot make one. Its Lock and Unlock return err.
func Refused(err error) Lock { return refused{err} }

type refused struct{ err error }

func (r refused) Lock(context.Context) error   { return r.err }
func (r refused) Unlock(context.Context) error { return r.err }
