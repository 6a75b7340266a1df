package locks

import (
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/consul"
	"github.com/fencepost-sim/fencepost/sim/http1"
)

// consulSession is a session, with the tasks that renew it and watch its key (api.Session.RenewPeriodic and
// api.Lock.monitorLock).
type consulSession struct {
	caller  consulCaller // caller for renewals
	watcher consulCaller
	own     consulConfig
	attempt history.Attempt
	id      string
	until   time.Duration // end of the TTL by the client's own reckoning, on its monotonic clock
	lost    sim.Signal
	over    sim.Signal
	library *Library
}

// A client's connection numbers. Blocking queries have their own connection, so that they do not delay other requests
// or renewals.
const (
	consulRequests = iota
	consulRenewals
	consulMonitor
)

// consulRetry is how long a client waits after a failed request before it asks another server.
const consulRetry = 20 * time.Millisecond

// consulCaller sends a client's requests to one server after another until one answers.
type consulCaller struct {
	config   *Config
	conn     int           // number of the caller's connection to each server
	at       int           // index of the last server asked
	blocking time.Duration // how long the server may wait before it answers
	// when the latest request was last sent, and whether it has been sent more than once
	sent     time.Duration
	repeated bool
}

// call sends a request to one server after another until one gives a final answer or patience has elapsed. If no server
// answers in time, the returned answer has no Code.
func (c *consulCaller) call(env sim.Env, attempt history.Attempt, patience time.Duration,
	request http1.Request) (a consul.Answer) {
	start := env.Monotonic()
	for left := patience; left > 0; left = patience - (env.Monotonic() - start) {
		c.sent, c.repeated = env.Monotonic(), left < patience
		a := c.ask(env, attempt, min(c.config.Timeout+c.blocking, left), request)
		if a.Code != 0 && a.Code < 500 || isFinal(a) {
			return a
		}
		c.at = (c.at + 1) % len(c.config.Servers)
		env.Sleep(min(consulRetry, patience-(env.Monotonic()-start)))
	}
	return a
}

// isFinal reports whether an answer is an error that every server would return. Any other error only means that this
// server does not know of a leader.
func isFinal(a consul.Answer) bool {
	return a.Code >= 500 && strings.Contains(a.Body, "invalid session")
}

// ask sends a request only to the last server that was asked. If there is no answer, it closes the connection.
func (c *consulCaller) ask(env sim.Env, attempt history.Attempt, timeout time.Duration,
	request http1.Request) consul.Answer {
	conn := sim.Conn{Server: c.config.Servers[c.at], N: c.conn}
	args := request.Args()
	a := consul.ReadAnswer(&env.Call(timeout, nil, sim.Request{Conn: conn, Args: args, Attempt: attempt,
		Phase: consul.Name(args)})[0])
	if a.Code == 0 {
		env.Close(conn)
	}
	return a
}

// openConsulSession creates a session and starts renewing it. It returns nil if no server answers within the TTL.
func openConsulSession(env sim.Env, l *consulLock, attempt history.Attempt) *consulSession {
	other := func(conn int) consulCaller { return consulCaller{config: l.config, conn: conn, at: l.caller.at} }
	a := l.caller.call(env, attempt, l.config.TTL, consul.CreateSession(consul.SessionOptions{Name: sessionName,
		TTL: l.config.TTL.String(), LockDelay: l.own.lockDelay.String(), Behavior: l.own.behavior}))
	s := &consulSession{caller: other(consulRenewals), watcher: other(consulMonitor), own: l.own, attempt: attempt,
		id: a.Session(), until: l.caller.sent + l.config.TTL, library: l.library}
	if s.id == "" {
		return nil
	}
	env.Go("renewal", s.renew)
	return s
}

// renew renews the session every half TTL, or every second after a failure. It stops when the TTL has passed without a
// renewal, or when a server says that the session does not exist. The lock is then lost, unless the client relies only
// on the monitor.
func (s *consulSession) renew(env sim.Env) {
	ttl := s.caller.config.TTL
	for wait := ttl / 2; s.alive(env); {
		if env.Sleep(min(wait, s.until-env.Monotonic()), &s.over) {
			return
		}
		sent := env.Monotonic()
		if sent >= s.until {
			break
		}
		a := s.caller.ask(env, s.attempt, min(s.caller.config.Timeout, s.until-sent), consul.RenewSession(s.id))
		if s.over.Raised() {
			return
		}
		if a.Code == 404 {
			break
		}
		if a.Code != 200 {
			s.caller.at = (s.caller.at + 1) % len(s.caller.config.Servers)
			wait = time.Second
			continue
		}
		s.until, wait = sent+ttl, ttl/2
		s.library.prolonged(env, s.deadline(), func(h *Hold) bool { return h.own == s })
	}
	if !s.own.monitorOnly {
		s.lost.Raise()
	}
}

// monitor watches the key until the session no longer holds it or until a query fails. index is the key's index when
// the session acquired it.
func (s *consulSession) monitor(env sim.Env, index uint64) {
	key := string(s.watcher.config.Key)
	for !s.over.Raised() && !s.lost.Raised() {
		a := s.watcher.ask(env, s.attempt, sim.Forever, consul.GetKey(key, true, index, 0))
		pair, ok := a.Pair()
		if !ok || pair.Session != s.id {
			break
		}
		index = a.Index
	}
	s.lost.Raise()
}

func (s *consulSession) deadline() sim.Deadline {
	return sim.Deadline{Clock: sim.Monotonic, At: s.until}
}

// alive reports whether the client may still rely on its session, going by its own measurement of the TTL.
func (s *consulSession) alive(env sim.Env) bool { return !s.lost.Raised() && env.Monotonic() < s.until }
