package locks

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
)

// The errors that Acquire and Extend return.
var (
	ErrPatience   = errors.New("locks: the client ran out of patience or attempts before it acquired the lock")
	ErrLost       = errors.New("locks: too few servers still consider this attempt the owner")
	ErrRefused    = errors.New("locks: too few servers accepted the request to extend the lock")
	ErrUnanswered = errors.New("locks: too few servers replied, so it is not known whether the lock was extended")
	ErrLate       = errors.New("locks: the replies arrived after the lock's validity had run out")
	ErrLimit      = errors.New("locks: the maximum number of extensions was reached")
)

// Lock is one client's lock, as provided by a client library.
type Lock interface {
	protocol
	// Reenter acquires the lock again for a client that already holds it. Each successful call needs its own Release.
	// Reenter returns false if the library has found that the lock is gone.
	Reenter(env sim.Env, h *Hold) bool
}

// Answer is the outcome of a release, as far as the client knows.
type Answer uint8

const (
	Denied     Answer = iota // on too few servers, the attempt was still the owner
	Refused                  // too few servers accepted the request and carried it out
	Unanswered               // too few servers replied, so the outcome is unknown
	Confirmed                // enough servers released the lock, or no server needed to be asked
)

// answered returns the outcome of a release on one server. r is the server's reply, or says why there is none.
func answered(r *sim.Reply) Answer {
	switch {
	case r.Status == sim.NoReply || r.Status == sim.Reset:
		return Unanswered
	case r.Status == sim.Refused || r.Error() != "":
		return Refused
	case isOne(r):
		return Confirmed
	}
	return Denied
}

// protocol is the part of Lock that each lock protocol implements itself.
type protocol interface {
	// Acquire keeps trying until it holds the lock. It returns ErrPatience once the limit set by Config.Patience or
	// Config.Attempts is reached.
	Acquire(env sim.Env) (*Hold, error)
	// Extend extends the hold and updates its Grant. If this fails, the error says why (ErrLost, ErrRefused,
	// ErrUnanswered, ErrLate, ErrLimit).
	Extend(env sim.Env, h *Hold) error
	// Release releases the lock.
	Release(env sim.Env, h *Hold) Answer
	// Close stops the library's background tasks.
	Close(env sim.Env)
}

// Hold is an acquired lock.
type Hold struct {
	Attempt history.Attempt
	Token   history.Token // fencing token; 0 if the protocol has none
	Grant   sim.Grant     // when the acquisition or the last extension granted the lock, and until when
	// Each signal in Ends is raised when the library learns that the lock is gone or may be gone.
	Ends []*sim.Signal
	// Prolonged, if set, is called after the library has extended the lock in the background and updated Grant.
	Prolonged func(env sim.Env)
	// Refresh, if set, asks the library how long the lock remains valid, and updates Grant.
	Refresh func(env sim.Env)
	// Suspended, if set, is raised when the library no longer knows whether it holds the lock. A client that reacts to
	// it pauses its work, and acquires the lock again after reconnecting.
	Suspended *sim.Signal
	Said      string // reason that the lock itself stated for refusing a release; "" if none
	value     string // owner value that is stored on the servers
	Shared    bool   // according to a foreign lock, others may have shared holds at the same time
	entered   int32  // how many times the client has reentered the lock without releasing it again
	extended  int    // number of extensions so far
	own       any    // data of the protocol; nil: none
}

// Remaining returns how much longer the lock is valid, by the clock that the protocol uses for this. It is 0 or
// negative once the validity has ended.
func (h *Hold) Remaining(env sim.Env) time.Duration {
	if h.Refresh != nil {
		h.Refresh(env)
	}
	switch until := h.Grant.Until; {
	case until.Announced != nil && *until.Announced != history.Never:
		return 0
	case until.At == sim.Forever:
		return sim.Forever
	default:
		return until.At - read(env, until.Clock)
	}
}

// read reads a clock and returns the time in the form stored in a Deadline.
func read(env sim.Env, kind sim.ClockKind) time.Duration {
	if kind == sim.Wall {
		return time.Duration(env.Wall().UnixNano())
	}
	return env.Monotonic()
}

// New returns the lock described by c, for one client. All of a client's locks share one Library.
func New(c *Config, of *Library) Lock {
	p := Define(c.Protocol).make(requester{config: c, library: of})
	if c.InObject {
		p = &object{p, of.field(c.Key)}
	}
	return &reentrant{protocol: p, config: c}
}

// object is a lock object shared by a client's tasks. It stores an owner value in a field, which each task that
// acquires the lock overwrites. Releases and extensions send whatever value the field contains at the time.
type object struct {
	protocol
	value *string // empty if, as far as the object knows, the lock is not held
}

func (o *object) Acquire(env sim.Env) (*Hold, error) {
	h, err := o.protocol.Acquire(env)
	if err == nil {
		*o.value = h.value
	}
	return h, err
}

func (o *object) Extend(env sim.Env, h *Hold) error {
	if *o.value == "" {
		return ErrLost
	}
	now := *h
	now.value = *o.value
	err := o.protocol.Extend(env, &now)
	h.Grant, h.extended = now.Grant, now.extended
	return err
}

func (o *object) overwrite(env sim.Env, h *Hold) bool {
	one, can := o.protocol.(overwriter)
	return !can || one.overwrite(env, h)
}

func (o *object) enter(env sim.Env, h *Hold) bool {
	now := *h
	now.value = *o.value
	one, can := o.protocol.(counter)
	return !can || one.enter(env, &now)
}

func (o *object) leave(env sim.Env, h *Hold) Answer {
	now := *h
	now.value = *o.value
	if one, can := o.protocol.(counter); can {
		return one.leave(env, &now)
	}
	return Confirmed
}

func (o *object) Release(env sim.Env, h *Hold) Answer {
	now := *h
	now.value, *o.value = *o.value, ""
	if now.value == "" {
		return Denied
	}
	return o.protocol.Release(env, &now)
}

// reentrant makes a protocol reentrant: a client can acquire a lock that it already holds.
type reentrant struct {
	protocol
	config *Config
}

// overwriter is a protocol that can set the key again for its holder.
type overwriter interface {
	overwrite(sim.Env, *Hold) bool
}

// counter is a protocol whose server counts an owner's holds.
type counter interface {
	enter(sim.Env, *Hold) bool
	leave(sim.Env, *Hold) Answer
}

func (l *reentrant) Reenter(env sim.Env, h *Hold) bool {
	if one, can := l.protocol.(counter); can && !one.enter(env, h) {
		return false
	}
	if one, can := l.protocol.(overwriter); can && l.config.Reentry == OverwritingReentry && !one.overwrite(env, h) {
		return false
	}
	if l.config.Reentry != UncountedReentry {
		h.entered++
	}
	return true
}

func (l *reentrant) Release(env sim.Env, h *Hold) Answer {
	if h.entered > 0 {
		h.entered--
		if one, can := l.protocol.(counter); can {
			return one.leave(env, h)
		}
		return Confirmed
	}
	return l.protocol.Release(env, h)
}

// millis formats d in whole milliseconds, as PX requires.
func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// Library is the state shared by one client's locks: the number of its attempts, its ZooKeeper session, and its holds.
// The zero value is ready to use.
type Library struct {
	Foreign Foreign // creates the client's locks if their protocol is FromLibrary

	attempts  int
	taken     int // number of attempts that found the lock taken
	zooKeeper *zookeeper.Client
	holds     []*Hold                  // holds that a session or a leader keeps alive
	values    map[history.Lock]*string // the fields in which the client's lock objects store owner values
	owners    map[history.Lock]string  // the owner values that all attempts of the client use
}

// owner returns the owner value that the client uses in all attempts to acquire a lock.
func (l *Library) owner(env sim.Env, of history.Lock) string {
	if l.owners[of] == "" {
		if l.owners == nil {
			l.owners = map[history.Lock]string{}
		}
		l.owners[of] = newValue(env)
	}
	return l.owners[of]
}

// field returns the field in the client's lock object that stores the owner value.
func (l *Library) field(of history.Lock) *string {
	if l.values == nil {
		l.values = map[history.Lock]*string{}
	}
	if l.values[of] == nil {
		l.values[of] = new(string)
	}
	return l.values[of]
}

// Anew returns the Library for a client that has restarted. The new Library continues numbering attempts where l
// stopped.
func (l *Library) Anew() *Library { return &Library{Foreign: l.Foreign, attempts: l.attempts} }

// counted counts an attempt as taken if it found that another client held the lock.
func (l *Library) counted(taken bool) {
	if taken {
		l.taken++
	}
}

// Attempts returns how many attempts the client has made, and how many of them found that another client held the lock.
// An acquire that retries makes several attempts; one that waits in line makes only one.
func (l *Library) Attempts() (made, taken int) { return l.attempts, l.taken }

// prolonged extends all holds that depend on a session which was extended until the given deadline. depends reports
// whether a hold does. If the client was paused and did not read the reply until after the deadline, nothing is
// extended. If the client has not received a hold yet, only the hold's deadline is updated. In real time, holds may be
// added or removed while a hold's client is being notified.
func (l *Library) prolonged(env sim.Env, until sim.Deadline, depends func(*Hold) bool) {
	if until.At <= read(env, until.Clock) {
		return
	}
	for _, h := range slices.Clone(l.holds) {
		if !slices.Contains(l.holds, h) || !depends(h) {
			continue
		}
		if h.Grant.Until = until; h.Prolonged != nil {
			h.Grant.Granted = env.Mark()
			h.Prolonged(env)
		}
	}
}

func (l *Library) keep(h *Hold) { l.holds = append(l.holds, h) }

func (l *Library) drop(h *Hold) {
	l.holds = slices.DeleteFunc(l.holds, func(x *Hold) bool { return x == h })
}

// requester numbers a client's attempts and chooses the owner values for them.
type requester struct {
	config  *Config
	library *Library
	value   string // owner value of the latest attempt; with PerAcquire, later attempts of the same acquire use it too
	// left is the time that remains for the current attempt's requests. 0 means that only the usual timeout applies.
	left time.Duration
}

// timeout returns how long a client waits for the reply to a request that it is about to send.
func (r *requester) timeout() time.Duration {
	if r.left > 0 {
		return min(r.left, r.config.Timeout)
	}
	return r.config.Timeout
}

// fixedValue is the owner value if all clients use the same constant (CLIENT_ID in Collins's code).
const fixedValue = "client_A_123"

// next starts an attempt and returns its name and owner value.
func (r *requester) next(env sim.Env) (history.Attempt, string) {
	r.library.attempts++
	a := history.Attempt(string(env.Name()) + "/" + strconv.Itoa(r.library.attempts))
	switch {
	case r.config.TokenScope == Fixed:
		return a, fixedValue
	case r.config.TokenScope == PerClient:
		return a, r.library.owner(env, r.config.Key)
	case r.config.TokenScope == PerAcquire && r.value != "":
		return a, r.value
	}
	r.value = newValue(env)
	return a, r.value
}

func newValue(env sim.Env) string { return strconv.FormatUint(env.Rand(), 36) }

// resting is a function that waits between two attempts. delay is a random delay, and left is how much longer the
// client is willing to wait.
type resting func(env sim.Env, delay, left time.Duration)

// left returns how much longer a client is willing to wait for an acquire. start is the time at which the acquire
// began, on the client's monotonic clock.
func (c *Config) left(env sim.Env, start time.Duration) time.Duration {
	if c.Patience == 0 {
		return sim.Forever
	}
	return c.Patience - (env.Monotonic() - start)
}

// retryFor calls try until it returns a hold or Config.Patience has passed. It tells try how much of Config.Patience
// remains.
func (r *requester) retryFor(env sim.Env, try func(env sim.Env, left time.Duration) *Hold) (*Hold, error) {
	for start := env.Monotonic(); ; {
		left := r.config.left(env, start)
		if left <= 0 {
			return nil, ErrPatience
		}
		if h := try(env, left); h != nil {
			return h, nil
		}
		env.Sleep(Draw(env, r.config.Retry))
	}
}

// retry calls try until it returns a hold. It returns ErrPatience once the limit set by Config.Patience or
// Config.Attempts is reached.
func (r *requester) retry(env sim.Env, try func(sim.Env) *Hold, rest resting) (*Hold, error) {
	start := read(env, r.config.Waits)
	if r.config.TokenScope == PerAcquire {
		r.value = ""
	}
	defer func() { r.left = 0 }()
	for n := 1; ; n++ {
		if r.config.Abrupt && r.config.Patience > 0 {
			r.left = max(1, r.config.Patience-(read(env, r.config.Waits)-start))
		}
		if h := try(env); h != nil {
			return h, nil
		}
		if n == r.config.Attempts {
			return nil, ErrPatience
		}
		wait := Draw(env, r.config.Retry)
		left := sim.Forever
		if p := r.config.Patience; p > 0 {
			if left = p - (read(env, r.config.Waits) - start); left <= wait {
				return nil, ErrPatience
			}
		}
		rest(env, wait, left)
	}
}

// sleep is the resting function that most clients use. It sleeps for the given delay.
func sleep(env sim.Env, delay, _ time.Duration) { env.Sleep(delay) }

// Draw returns a uniformly distributed random duration from the range d. It uses the process's random numbers.
func Draw(env sim.Env, d sim.Delay) time.Duration {
	if d.Hi <= d.Lo {
		return d.Lo
	}
	return d.Lo + time.Duration(env.Rand()%uint64(d.Hi-d.Lo+1))
}
