package locks

import (
	"strconv"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// single is a lock on one Redis instance. The protocols differ in how the key is set and how it is removed.
type single struct {
	requester
	masters
	millis string
}

func (l *single) Acquire(env sim.Env) (*Hold, error) { return l.retry(env, l.try) }

// try makes one attempt; nil if it did not get the lock.
func (l *single) try(env sim.Env) *Hold {
	attempt, value := l.next(env)
	h := &Hold{Attempt: attempt, value: value}
	unit, expiry := l.expiry(env)
	env.Point(sim.AcquireStart)
	h.Grant.Since = env.Mark()
	asked := env.Monotonic()
	env.Point(sim.ClockRead)
	l.findMaster(env, l.config)
	h.server = l.master
	if !l.set(env, h, unit, expiry) || !l.replicated(env, h) {
		return nil
	}
	env.Point(sim.QuorumReached)
	l.granted(env, h, asked)
	if l.config.CountsFromRequest && h.Remaining(env) <= 0 {
		return nil // the answer came too late: the key may have expired by now, and another may have it
	}
	env.Point(sim.ValidityChecked)
	if l.config.TokenRead == TokenLater && !l.readToken(env, h) {
		l.Release(env, h)
		return nil
	}
	return h
}

// expiry is when the key is to expire, and how SET takes that.
func (l *single) expiry(env sim.Env) (unit, when string) {
	if l.config.Expiry == AbsoluteExpiry {
		return "PXAT", strconv.FormatInt(env.Wall().Add(l.config.TTL).UnixMilli(), 10)
	}
	return "PX", l.millis
}

// readToken takes what the counter says now for the hold's fencing token.
func (l *single) readToken(env sim.Env, h *Hold) bool {
	text, _ := l.ask(env, h, "token", "GET", tokenCounter(l.config.Key)).Bulk()
	n, err := strconv.ParseInt(text, 10, 64)
	h.Token = history.Token(n)
	return err == nil
}

// set asks the server for the key.
func (l *single) set(env sim.Env, h *Hold, unit, expiry string) bool {
	key := string(l.config.Key)
	switch l.config.Protocol {
	case SetNX:
		n, _ := l.ask(env, h, "set", "SETNX", key, h.value).Int()
		return n == 1
	case SetNXExpire:
		if n, _ := l.ask(env, h, "set", "SETNX", key, h.value).Int(); n != 1 {
			return false
		}
		env.Point(sim.BeforeExpire)
		seconds := max(1, (l.config.TTL.Milliseconds()+999)/1000)
		l.ask(env, h, "expire", "EXPIRE", key, strconv.FormatInt(seconds, 10))
		return true // the sample code does not look at EXPIRE's answer
	case Fenced:
		n, _ := l.ask(env, h, "set", "EVAL", fencedScript, "2", key, tokenCounter(l.config.Key), h.value, l.millis).Int()
		h.Token = history.Token(n)
		return n > 0
	default:
		return l.ask(env, h, "set", "SET", key, h.value, "NX", unit, expiry).OK()
	}
}

// replicated waits for replicas to have the lock, if so configured. It reports false, and has given the lock back, if too
// few have it and the client obeys.
func (l *single) replicated(env sim.Env, h *Hold) bool {
	w := l.config.Wait
	if w == nil {
		return true
	}
	env.Point(sim.BeforeWait)
	if l.wait(env, h) >= w.Replicas || !w.Obey {
		return true
	}
	l.Release(env, h)
	return false
}

// wait asks how many replicas have what its connection wrote. Once the master has changed, a connection to the new one has
// written nothing, and the new one says that all replicas have that.
func (l *single) wait(env sim.Env, h *Hold) int {
	w := l.config.Wait
	r := l.request(h, "wait", "WAIT", strconv.Itoa(w.Replicas), millis(w.Timeout))
	if w.SameConnection {
		r.Conn.Server = h.server
	}
	timeout := l.config.Timeout + w.Timeout
	if w.Timeout == 0 {
		timeout = sim.Forever
	}
	n, _ := ask(env, timeout, r).Int()
	return int(n)
}

// granted notes the decision and the validity. These protocols state none: it is TTL from the answer, or from the
// request if the client counts as one must that checks or renews.
func (l *single) granted(env sim.Env, h *Hold, asked time.Duration) {
	h.Grant.Granted = env.Mark()
	h.Grant.Counted = []sim.ProcessID{l.master}
	until := sim.Forever
	if l.config.Protocol != SetNX {
		from := asked
		if !l.config.CountsFromRequest {
			from = env.Monotonic()
		}
		until = from + l.config.TTL
	}
	h.Grant.Until = sim.Deadline{Clock: sim.Monotonic, At: until}
}

// Extend renews the key by script, or does what shipped libraries did instead.
func (l *single) Extend(env sim.Env, h *Hold) error {
	x := l.config.Extension
	if x.Limit > 0 && h.extended >= x.Limit {
		return ErrLimit
	}
	h.extended++
	g := sim.Grant{Since: env.Mark(), Counted: []sim.ProcessID{l.master}}
	from := env.Monotonic()
	held := x.Mode.says(l.ask(env, h, "extend", x.Mode.args(l.config.Key, h.value, l.millis)...))
	if !held && !(x.Mode == ExtendOrAcquire && l.set(env, h, "PX", l.millis)) {
		return ErrLost
	}
	if !x.Mode.obeysElapsed() {
		from = env.Monotonic()
	}
	if env.Monotonic() >= from+l.config.TTL {
		return ErrLost // the answer came too late to build on
	}
	g.Granted = env.Mark()
	g.Until = sim.Deadline{Clock: sim.Monotonic, At: from + l.config.TTL}
	h.Grant = g
	return nil
}

// overwrite sets the key anew if it was the client's own when it looked. It reports false if it was not.
func (l *single) overwrite(env sim.Env, h *Hold) bool {
	if owner, _ := l.ask(env, h, "compare", "GET", string(l.config.Key)).Bulk(); owner != h.value {
		return false
	}
	env.Point(sim.OwnerCompared)
	return l.ask(env, h, "overwrite", "SET", string(l.config.Key), h.value, "PX", l.millis).OK()
}

// Release removes the key in the configured way.
func (l *single) Release(env sim.Env, h *Hold) bool {
	key := string(l.config.Key)
	h.server = l.master
	var n int64
	switch l.config.Release {
	case ReleaseDel:
		n, _ = l.ask(env, h, "release", "DEL", key).Int()
	case ReleaseGetThenDel:
		if owner, _ := l.ask(env, h, "compare", "GET", key).Bulk(); owner != h.value {
			return false
		}
		env.Point(sim.OwnerCompared)
		n, _ = l.ask(env, h, "release", "DEL", key).Int()
	case ReleaseCAD:
		n, _ = l.ask(env, h, "release", "CAD", key, h.value).Int()
	case ReleaseDelex:
		n, _ = l.ask(env, h, "release", "DELEX", key, "IFEQ", h.value).Int()
	default:
		n, _ = l.ask(env, h, "release", releaseArgs(l.config.Key, h.value)...).Int()
	}
	if w := l.config.Wait; w != nil && w.Release {
		l.wait(env, h)
	}
	return n == 1
}

// Close has nothing to end: the topology task ends with the client.
func (l *single) Close(sim.Env) {}

func (l *single) ask(env sim.Env, h *Hold, phase string, args ...string) *sim.Reply {
	return ask(env, l.config.Timeout, l.request(h, phase, args...))
}

func (l *single) request(h *Hold, phase string, args ...string) sim.Request {
	return sim.Request{Conn: sim.Conn{Server: l.master}, Args: args, Attempt: h.Attempt, Phase: phase}
}
