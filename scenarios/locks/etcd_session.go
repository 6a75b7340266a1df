package locks

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	rpc "github.com/fencepost-sim/fencepost/sim/etcd"
)

// etcdSession is a lease and the task that keeps it alive, like clientv3/concurrency.Session.
type etcdSession struct {
	caller  etcdCaller
	config  *Config
	own     etcdConfig
	attempt history.Attempt // attempt that requested the lease
	lease   int64
	stray   bool          // a request to put a key was repeated, so the first one may still be carried out at any time
	until   time.Duration // end of the lease by the client's count, on its monotonic clock
	lost    sim.Signal
	over    sim.Signal
	library *Library
}

// etcdCaller sends a client's requests to the members of a cluster in turn until one replies.
type etcdCaller struct {
	config *Config
	conn   int // number of the caller's connection to each member
	at     int // index of the member asked last
	// time at which the latest request was last sent, and whether it was repeated
	sent     time.Duration
	repeated bool
	calls    uint64 // number of calls that consisted of a single request
}

// Numbers of a client's connections. A watch must not wait behind a request, and a keepalive must not wait behind
// either of them.
const (
	etcdRequests = iota
	etcdKeepalives
	etcdWatches
)

// etcdRetry is how long a client waits before it asks the next member.
const etcdRetry = 20 * time.Millisecond

// leaseNotFound is etcd's error for a lease that has ended. Every member returns it.
const leaseNotFound = "etcdserver: requested lease not found"

// call sends a request until a member replies without an error, patience has passed, or a member says that the lease
// has ended. All of the protocol's requests can safely be repeated.
func (c *etcdCaller) call(env sim.Env, attempt history.Attempt, patience time.Duration,
	call rpc.Call) (r rpc.Response, ok bool) {
	start := env.Monotonic()
	for left := patience; left > 0; left = patience - (env.Monotonic() - start) {
		c.sent, c.repeated = env.Monotonic(), left < patience
		r, err := c.ask(env, attempt, min(c.config.Timeout, left), call)
		if err == nil || err.Error() == leaseNotFound {
			return r, err == nil
		}
		env.Close(c.member())
		c.at = (c.at + 1) % len(c.config.Servers)
		env.Sleep(min(etcdRetry, patience-(env.Monotonic()-start)))
	}
	return r, false
}

// ask sends a request only to the member that was asked last. Keepalives and watches use stream 1 of their connection.
// Every other call has its own stream.
func (c *etcdCaller) ask(env sim.Env, attempt history.Attempt, timeout time.Duration,
	call rpc.Call) (rpc.Response, error) {
	if call.Stream = 1; !rpc.Streaming(call.Path) {
		c.calls++
		call.Stream += 2 * c.calls
	}
	args := call.Args()
	return call.Read(&env.Call(timeout, nil, sim.Request{Conn: c.member(), Args: args, Attempt: attempt,
		Phase: rpc.Phase(rpc.Name(args))})[0])
}

func (c *etcdCaller) member() sim.Conn {
	return sim.Conn{Server: c.config.Servers[c.at], N: c.conn}
}

// openEtcdSession requests a lease and starts keeping it alive. It returns nil if no member replies within the given
// time.
func openEtcdSession(env sim.Env, l *etcd, attempt history.Attempt, patience time.Duration) *etcdSession {
	s := &etcdSession{config: l.config, own: l.own, attempt: attempt, library: l.library,
		caller: etcdCaller{config: l.config, conn: etcdKeepalives, at: l.caller.at}}
	r, ok := l.caller.call(env, attempt, patience, rpc.GrantLease(int64(s.config.TTL/time.Second), 0))
	if !ok {
		return nil
	}
	s.lease = r.Lease
	s.counted(env, l.caller.sent, r.TTL)
	env.Go("keepalive", s.keepalive)
	return s
}

// counted recalculates the end of the lease after a reply. sent is the time at which the request was sent. ttl is in
// seconds.
func (s *etcdSession) counted(env sim.Env, sent time.Duration, ttl int64) {
	if s.own.count == fromReceipt {
		sent = env.Monotonic()
	}
	s.until = sent + time.Duration(ttl)*time.Second
}

// keepalive extends the lease each time a third of its TTL has passed. With untilError it stops at the first request
// that fails. Otherwise it gives up the lease once the lease no longer exists or has ended by the client's own clock.
func (s *etcdSession) keepalive(env sim.Env) {
	for !env.Sleep(s.config.TTL/3, &s.over) {
		if s.own.keepAlive == untilError {
			if !s.refresh(env) {
				return
			}
			continue
		}
		r, ok := s.caller.call(env, s.attempt, s.until-env.Monotonic(), rpc.KeepLeaseAlive(s.lease))
		if s.over.Raised() {
			return
		}
		if !ok || r.TTL == 0 {
			s.giveUp(env)
			return
		}
		if s.counted(env, s.caller.sent, r.TTL); !s.alive(env) {
			s.giveUp(env)
			return
		}
		s.library.prolonged(env, s.deadline(), func(h *Hold) bool { return h.own == s })
	}
}

// refresh sends one request to one member to extend the lease, even if the lease may already have ended. It reports
// whether there was a reply. An error counts as no reply, unless it says that the lease no longer exists.
func (s *etcdSession) refresh(env sim.Env) bool {
	sent := env.Monotonic()
	r, err := s.caller.ask(env, s.attempt, s.config.Timeout, rpc.KeepLeaseAlive(s.lease))
	if err != nil {
		return false
	}
	if s.counted(env, sent, r.TTL); s.alive(env) {
		s.library.prolonged(env, s.deadline(), func(h *Hold) bool { return h.own == s })
	}
	return true
}

// looksEvery is how often clientv3 checks whether a lease has run out (deadlineLoop).
const looksEvery = 500 * time.Millisecond

// giveUp signals that the lease is lost. It does so at once if the client measures the lease from the time at which it
// sent the request, and otherwise at the client's next check.
func (s *etcdSession) giveUp(env sim.Env) {
	if s.own.count == fromReceipt {
		env.Sleep(looksEvery-env.Monotonic()%looksEvery, &s.over)
	}
	s.lost.Raise()
}

func (s *etcdSession) deadline() sim.Deadline {
	return sim.Deadline{Clock: sim.Monotonic, At: s.until}
}

// alive reports whether the client may still rely on its lease, by its own clock.
func (s *etcdSession) alive(env sim.Env) bool { return !s.lost.Raised() && env.Monotonic() < s.until }
