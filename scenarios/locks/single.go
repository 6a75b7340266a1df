package locks

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/sim"
)

// single is a lock on one Redis server. The protocols differ in how they set the key.
type single struct {
	requester
	masters
	millis string
	set    setKey
	expiry func(env sim.Env, ttl time.Duration) expiry // returns the expiry of a key that is set now
	// token gets the fencing token after the lock has been acquired. It is nil if this does not take a separate step.
	token func(*single, sim.Env, *Hold) bool
	// These functions return the requests that extend and release the lock. They are nil if the lock is an ordinary key
	// that contains the owner value.
	prolong  func(env sim.Env, h *Hold, ttl time.Duration) []string
	giveBack func(*Hold) []string

	prepared bool          // whatever the lock needs on the server exists
	wrote    sim.ProcessID // the server on which the key was last written
	taken    bool          // the latest attempt found that another client has the lock
	listens  sim.ProcessID // server on which the client is subscribed; empty: none
}

// setKey asks the server to set the lock's key. held reports whether the client has the lock. taken reports whether,
// according to the reply, another client has it.
type setKey func(l *single, env sim.Env, h *Hold, due expiry) (held, taken bool)

// expiry is a key's expiry, as an option of the SET command.
type expiry struct {
	unit, at string
	ttl      time.Duration // the same expiry as a TTL on the client's clock
}

// afterTTL returns an expiry that the server computes from its own clock.
func afterTTL(ttl time.Duration) expiry { return expiry{"PX", millis(ttl), ttl} }

// onOne returns a constructor for a protocol on a single Redis server. set sets the lock's key.
func onOne(set setKey) func(requester) protocol {
	return func(r requester) protocol { return newSingle(r, set) }
}

func newSingle(r requester, set setKey) *single {
	return &single{requester: r, millis: millis(r.config.TTL), set: set,
		expiry: func(_ sim.Env, ttl time.Duration) expiry { return afterTTL(ttl) }}
}

// onOneRedis returns the settings common to all locks that store a string with an expiry on a single Redis server,
// followed by the given settings.
func onOneRedis(own ...Setting) []Setting {
	modes := format.Only(extensionMode, ExtendChecked, ExtendCAS, ExtendAnyAnswer, ExtendIgnoreElapsed,
		ExtendOrAcquire, ExtendExpire, ExtendRelease)
	return slices.Concat([]Setting{ttlKey, retryKey, retryDelay, retryPatience, retryCount, retryClock, patienceEnds,
		retryWake, timeoutKey, releaseOnFailure, valueKey, valueInKey, clockKey,
		elapsedCheckIfCareful, driftAllowance, extensionKey, modes}, extensionKeys[1:], []Setting{waitKey}, waitKeys,
		own)
}

var withoutOnOneRedis = map[string]string{
	"extension.mode.unchecked": "unchecked ignores the quorum, but a single Redis has no quorum: " +
		"use any-answer or ignore-elapsed",
	"extension.mode.reacquire": "reacquire asks a majority again, " +
		"but on a single Redis SET NX fails on the client's own key: use or-acquire",
}

func (l *single) Acquire(env sim.Env) (*Hold, error) { return l.retry(env, l.try, l.rest) }

// try makes one attempt. It returns nil if it did not get the lock.
func (l *single) try(env sim.Env) *Hold {
	attempt, value := l.next(env)
	h := l.attempt(env, &Hold{Attempt: attempt, value: value})
	l.library.counted(l.taken)
	return h
}

// attempt makes the attempt that h describes. It returns nil if the attempt did not get the lock.
func (l *single) attempt(env sim.Env, h *Hold) *Hold {
	due := l.expiry(env, l.config.TTL)
	env.Point(sim.AcquireStart)
	r := begin(env, l.config)
	env.Point(sim.ClockRead)
	l.findMasters(env, l.config)
	l.wrote = l.current[0]
	held, taken := l.set(l, env, h, due)
	if l.config.Cluster {
		l.wrote = l.current[0] // the request may have been redirected to another server
	}
	l.taken = taken
	switch {
	case !held:
		l.clean(env, h, taken)
		return nil
	case !l.replicated(env, h):
		return nil
	}
	env.Point(sim.QuorumReached)
	l.granted(env, h, r)
	if l.config.ElapsedCheck && h.Remaining(env) <= 0 {
		l.clean(env, h, false)
		return nil // the reply came too late: the key may have expired, and another client may have the lock
	}
	env.Point(sim.ValidityChecked)
	if l.token != nil && !l.token(l, env, h) {
		l.Release(env, h)
		return nil
	}
	return h
}

// clean deletes the key that a failed attempt may have left behind, if the client is configured to do so. If taken is
// set, another client has the lock, so the attempt cannot have left a key behind.
func (l *single) clean(env sim.Env, h *Hold, taken bool) {
	if l.config.ReleaseOnFailure && !taken {
		l.left = 0
		l.Release(env, h)
	}
}

// replicated waits until replicas have received the key, if the client is configured to do so. If too few have received
// it and the client is configured to obey the reply, replicated releases the lock and returns false.
func (l *single) replicated(env sim.Env, h *Hold) bool {
	w := l.config.Wait
	if w == nil {
		return true
	}
	env.Point(sim.BeforeWait)
	if l.wait(env, h) || !w.Obey {
		return true
	}
	l.Release(env, h)
	return false
}

// wait sends WAIT or WAITAOF, and reports whether the writes made on the client's connection have reached enough
// replicas or disks. After a failover, the client has a new connection to the new master. Nothing has been written on
// that connection, so the new master replies that all replicas are up to date.
func (l *single) wait(env sim.Env, h *Hold) bool {
	w := l.config.Wait
	r := l.request(h, "wait", w.args()...)
	if w.SameConnection {
		r.Conn.Server = l.wrote
	}
	return w.isSatisfiedBy(ask(env, w.patience(l.config.Timeout), r))
}

// granted records the grant and its validity in h. If the client ignores the elapsed time, the validity period starts
// when the reply arrives.
func (l *single) granted(env sim.Env, h *Hold, r round) {
	r.Counted = []sim.ProcessID{l.current[0]}
	r.decide(env, l.config)
	switch {
	case !Define(l.config.Protocol).Expires:
		r.Until = sim.Deadline{Clock: sim.Monotonic, At: sim.Forever}
	case !l.config.ElapsedCheck:
		r.restart(env, l.config)
	}
	h.Grant = r.Grant
}

// Extend extends the key with a script, or in one of the other ways that released libraries use.
func (l *single) Extend(env sim.Env, h *Hold) error {
	x := l.config.Extension
	if x.Limit > 0 && h.extended >= x.Limit {
		return ErrLimit
	}
	h.extended++
	r := begin(env, l.config)
	r.ttl = x.TTL
	r.Counted = []sim.ProcessID{l.current[0]}
	args := x.Mode.args(l.config.Key, h.value, millis(x.TTL))
	if l.prolong != nil {
		args = l.prolong(env, h, x.TTL)
	}
	reply := l.ask(env, h, "extend", args...)
	held := x.Mode.isSuccess(reply)
	if !held && x.Mode == ExtendOrAcquire {
		held, _ = l.set(l, env, h, afterTTL(x.TTL))
	}
	validity := r.decide(env, l.config)
	if !x.Mode.ObeysElapsed() {
		validity = r.restart(env, l.config)
	}
	switch {
	case !held && answered(reply) == Unanswered:
		return ErrUnanswered
	case !held && answered(reply) == Refused:
		return ErrRefused
	case !held:
		return ErrLost
	case validity <= 0:
		return ErrLate
	}
	h.Grant = r.Grant
	return nil
}

// overwrite reads the owner value and, if it is the client's own, sets the key again. It reports whether it has set the
// key.
func (l *single) overwrite(env sim.Env, h *Hold) bool {
	if owner, _ := l.ask(env, h, "compare", "GET", string(l.config.Key)).Bulk(); owner != h.value {
		return false
	}
	env.Point(sim.OwnerCompared)
	return l.ask(env, h, "overwrite", "SET", string(l.config.Key), h.value, "PX", l.millis).OK()
}

// Release releases the lock in the configured way.
func (l *single) Release(env sim.Env, h *Hold) Answer {
	key := string(l.config.Key)
	l.wrote = l.current[0]
	args := releaseArgs(l.config.Key, h.value)
	if l.giveBack != nil {
		args = l.giveBack(h)
	}
	switch l.config.Release {
	case ReleaseDel:
		args = []string{"DEL", key}
	case ReleaseGetThenDel:
		compared := l.ask(env, h, "compare", "GET", key)
		if owner, _ := compared.Bulk(); owner != h.value {
			return min(answered(compared), Unanswered)
		}
		env.Point(sim.OwnerCompared)
		args = []string{"DEL", key}
	case ReleaseCAD:
		args = []string{"CAD", key, h.value}
	case ReleaseDelex:
		args = []string{"DELEX", key, "IFEQ", h.value}
	case ReleaseNothing:
		return Confirmed
	}
	a := answered(l.ask(env, h, "release", args...))
	if w := l.config.Wait; w != nil && w.Release {
		l.wait(env, h)
	}
	if l.config.Wake.byMessage() && a == Confirmed {
		l.ask(env, h, "publish", "PUBLISH", l.channel(), "released")
	}
	return a
}

// Close does nothing. The task that follows failovers ends when the client does.
func (l *single) Close(sim.Env) {}

func (l *single) ask(env sim.Env, h *Hold, phase string, args ...string) *sim.Reply {
	if l.config.Cluster {
		return l.routed(env, l.request(h, phase, args...))
	}
	return ask(env, l.timeout(), l.request(h, phase, args...))
}

func (l *single) request(h *Hold, phase string, args ...string) sim.Request {
	return sim.Request{Conn: sim.Conn{Server: l.current[0]}, Args: args, Attempt: h.Attempt, Phase: phase}
}
