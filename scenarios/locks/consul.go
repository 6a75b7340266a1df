package locks

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/consul"
)

// Consul is the lock of Consul's Go library (api.Lock), in which a session with a TTL acquires a key.
const Consul Protocol = "consul"

func init() {
	Register(&Definition{
		Name: Consul, Place: 9, Service: history.Consul,
		Text: "Consul's lock: a session with a TTL acquires a key; " +
			"after the session has ended, the lock delay passes before another session can acquire the key; " +
			"the fencing token is an index of the key",
		Backend: OnConsul, Several: true, Expires: true, Renews: true, Tokens: true,
		Settings: slices.Concat([]Setting{
			ttlKey.With(func(f *format.Form) {
				f.Least, f.Most, f.Step = int64(consul.MinTTL), int64(consul.MaxTTL), int64(time.Millisecond)
			}).Standing(format.Value{N: int64(15 * time.Second)}),
			retryKey, retryDelay, retryPatience, timeoutKey.Standing(format.Value{N: int64(time.Second)}),
			format.Only(reentrantKey, CountedReentry, UncountedReentry),
		}, ownSettings(consulKeys...)),
		Without: withoutConsul(),
		badName: badPath("key in the API of Consul"),
		lasts: func(c *Config) time.Duration { // a client notices the end of a lock delay only when it asks again
			return consul.TTLMultiplier*c.TTL + ownOf[consulConfig](c).lockDelay + ConsulRetry
		},
		make: func(r requester) protocol {
			return &consulLock{requester: r, own: ownOf[consulConfig](r.config), caller: consulCaller{config: r.config}}
		},
		Measures: func(c *Config) []history.Measure {
			list := []history.Measure{history.OwnValue, history.ElapsedCheck}
			own := ownOf[consulConfig](c)
			if own.unlock == releasesKey {
				list = append(list, history.OwnerCheck)
			}
			if own.sequencer == modifyIndex || own.behavior == consul.Release && own.unlock == releasesKey {
				list = append(list, history.GrantToken)
			}
			if !own.monitorOnly {
				list = append(list, history.StopWhenLost)
			}
			return list
		},
	})
}

func withoutConsul() map[string]string {
	all := withoutRedis(Consul, "session")
	all["release"] = "a client of Consul either releases or deletes its key: set unlock"
	return all
}

// consulConfig contains the settings that are specific to this protocol.
type consulConfig struct {
	lockDelay   time.Duration // how long a lock cannot be acquired after its holder's session ended; default 15 s
	behavior    string        // what the servers do with a lock whose session has ended; default consul.Release
	unlock      unlocking     // default releasesKey
	sequencer   sequencer     // default modifyIndex
	monitorOnly bool          // only the query that watches the lock shows that it is lost, not the TTL; default off
}

// unlocking determines how a Consul client releases its lock.
type unlocking string

const (
	releasesKey unlocking = "release" // PUT with ?release, which only the session that holds the key can do
	deletesKey  unlocking = "delete"  // DELETE, even if another session holds the key
)

// sequencer determines which index of the key a Consul client uses as its fencing token.
type sequencer string

const (
	modifyIndex sequencer = "modify-index" // index in the log of the last change of the key
	// the token is how many times the key has been acquired since it was created, as in Consul's documentation
	lockIndex sequencer = "lock-index"
)

var consulKeys = []format.Key[consulConfig]{
	format.Time("lock-delay", func(c *consulConfig) *time.Duration { return &c.lockDelay }, consul.DefaultLockDelay,
		"how long nobody can acquire the lock after the session that held it has ended").With(func(f *format.Form) {
		f.Most = int64(time.Minute)
	}),
	format.Choice("behavior", func(c *consulConfig) *string { return &c.behavior },
		"what the servers do with a lock whose session has ended",
		format.Option[string]{Word: "release", Value: consul.Release},
		format.Option[string]{Word: "delete", Value: consul.Delete}),
	format.Choice("unlock", func(c *consulConfig) *unlocking { return &c.unlock },
		"`release` releases the lock of the client's own session; `delete` removes the lock, whoever holds it",
		format.Options(releasesKey, deletesKey)...),
	format.Choice("sequencer", func(c *consulConfig) *sequencer { return &c.sequencer },
		"the fencing token: `modify-index`, the position of the acquisition in the log, or `lock-index`, "+
			"the number of the acquisition, which starts over after a deletion or a plain write",
		format.Options(modifyIndex, lockIndex)...),
	format.Switch("monitor-only", func(c *consulConfig) *bool { return &c.monitorOnly }, false,
		"the client learns that the lock is lost only from the query that watches it, as with api.Lock; "+
			"this query reports nothing when the connection is cut. "+
			"`off`: the client also counts down the TTL itself, starting at its last renewal that got a reply"),
}

// consulLock acquires a key as api.Lock does (consul/api v1.18.0, lock.go). It creates a session, uses blocking queries
// to wait until nobody holds the key, acquires it, and watches it. It sends requests to one server after another until
// one answers, as Consul's agent on the client's machine would.
//
// api.Lock itself does not provide a fencing token and does not measure the TTL. With monitor-only, this lock does not
// measure the TTL either.
type consulLock struct {
	requester
	own     consulConfig
	caller  consulCaller
	session *consulSession // nil if no session is open
}

// ConsulRetry is how long api.Lock waits between attempts during a lock delay (DefaultLockRetryTime).
const ConsulRetry = 5 * time.Second

// More of api.Lock's constants.
const (
	lockWaitTime = 15 * time.Second // duration of a blocking query (DefaultLockWaitTime)
	sessionName  = "Consul API Lock"
)

// Acquire keeps trying until the client's session holds the key.
func (l *consulLock) Acquire(env sim.Env) (*Hold, error) { return l.retryFor(env, l.try) }

// try makes one attempt with a new session. It returns nil if it did not get the lock.
func (l *consulLock) try(env sim.Env, patience time.Duration) *Hold {
	attempt, _ := l.next(env)
	h := &Hold{Attempt: attempt}
	env.Point(sim.AcquireStart)
	h.Grant.Since = env.Mark()
	s := openConsulSession(env, l, attempt)
	if s == nil {
		return nil
	}
	l.session, h.own = s, s
	if !l.enter(env, h, patience) {
		l.Close(env)
		return nil
	}
	env.Point(sim.QuorumReached)
	pair, index, ok := l.look(env, attempt, l.config.TTL, true, 0, 0)
	if !ok || pair.Session != s.id || !l.own.monitorOnly && !s.alive(env) {
		l.Close(env)
		return nil
	}
	h.Token = history.Token(pair.ModifyIndex)
	if l.own.sequencer == lockIndex {
		h.Token = history.Token(pair.LockIndex)
	}
	h.Grant.Granted, h.Grant.Counted = env.Mark(), l.config.Servers
	h.Grant.Until = s.deadline()
	h.Ends = []*sim.Signal{&s.lost}
	l.library.keep(h)
	env.Go("monitor", func(env sim.Env) { s.monitor(env, index) })
	env.Point(sim.ValidityChecked)
	return h
}

// enter waits up to patience for the session to acquire the key, and reports whether it has.
func (l *consulLock) enter(env sim.Env, h *Hold, patience time.Duration) bool {
	s, start, index, taken := h.own.(*consulSession), env.Monotonic(), uint64(0), false
	defer func() { l.library.counted(taken) }()
	for {
		left := sim.Forever
		if patience != sim.Forever {
			left = patience - (env.Monotonic() - start)
		}
		if left <= 0 || s.lost.Raised() {
			return false
		}
		pair, seen, ok := l.look(env, h.Attempt, l.config.TTL, false, index, min(left, lockWaitTime))
		switch {
		case !ok:
			return false
		case pair.Session == s.id:
			return true
		case pair.Session != "":
			index, taken = seen, true
			continue
		case index > 0:
			env.Record(history.Event{Type: history.Info, F: history.Woken, Lock: l.config.Key, Attempt: h.Attempt})
		}
		a := l.caller.call(env, h.Attempt, l.config.TTL, consul.Acquire(string(l.config.Key), s.id, string(h.Attempt)))
		if a.True() || a.Code != 200 {
			return a.True()
		}
		if pair, index, ok = l.look(env, h.Attempt, l.config.TTL, false, 0, 0); !ok {
			return false
		}
		taken = true
		if pair.Session == "" { // nobody holds the key, so its lock delay is not over yet
			index = 0
			env.Sleep(min(ConsulRetry, left), &s.lost)
		}
	}
}

// look reads the key. If index is not 0, it first waits until the key has changed since that index, but no longer than
// wait.
func (l *consulLock) look(env sim.Env, attempt history.Attempt, patience time.Duration, consistent bool, index uint64,
	wait time.Duration) (p consul.Pair, seen uint64, ok bool) {
	l.caller.blocking = 0
	if index > 0 {
		l.caller.blocking = wait + wait/16
	}
	a := l.caller.call(env, attempt, patience+l.caller.blocking,
		consul.GetKey(string(l.config.Key), consistent, index, wait))
	l.caller.blocking = 0
	p, ok = a.Pair()
	return p, a.Index, ok
}

// Extend does nothing, because the session is renewed in the background.
func (l *consulLock) Extend(sim.Env, *Hold) error { return nil }

// Release releases the key and ends the session. If there was no reply, it repeats the request. If it then turns out
// that the session is alive but does not hold the key, the first request must have released the key.
func (l *consulLock) Release(env sim.Env, h *Hold) Answer {
	l.library.drop(h)
	s, key := h.own.(*consulSession), string(l.config.Key)
	s.over.Raise()
	defer l.Close(env)
	request := consul.ReleaseKey(key, s.id, string(h.Attempt))
	if l.own.unlock == deletesKey {
		request = consul.DeleteKey(key)
	}
	switch a := l.caller.call(env, h.Attempt, l.config.TTL, request); {
	case a.True(), a.Code == 200 && l.caller.repeated && s.alive(env):
		return Confirmed
	case a.Code == 200:
		return Denied
	}
	return Unanswered
}

// Close ends the session.
func (l *consulLock) Close(env sim.Env) {
	if s := l.session; s != nil {
		s.over.Raise()
		l.session = nil
		l.caller.call(env, s.attempt, l.config.Timeout, consul.DestroySession(s.id))
	}
}
