package etcd

import (
	"fmt"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// session is a lease with a task that keeps it alive, like clientv3/concurrency.Session.
type session struct {
	env     sim.Env
	servers []sim.ProcessID
	at      int // index of the server that was asked last
	ttl     int // TTL of the lease in s
	lease   int64
	until   time.Duration // when the lease ends according to the client, on its monotonic clock
	granted history.Attempt
	lost    sim.Signal
	over    sim.Signal
	hold    *mutex           // the mutex that holds the lock; keepalives extend its grant
	sent    [3]time.Duration // when the last request on each connection was sent
	receipt bool             // measures the lease from the time of the reply, as the original client does
}

// Numbers of a client's connections.
const (
	requestConn = iota
	keepaliveConn
	watchConn
)

// call asks one server after another until it gets a reply that is not an error. It gives up after the given time.
func (s *session) call(env sim.Env, conn int, attempt history.Attempt, patience time.Duration,
	ask Call) (Response, bool) {
	end := env.Monotonic() + patience
	for env.Monotonic() < end {
		c := sim.Conn{Server: s.servers[s.at], N: conn}
		s.sent[conn] = env.Monotonic()
		ask.Stream = 1
		r, err := ask.Read(&env.Call(min(time.Second, end-env.Monotonic()), nil,
			sim.Request{Conn: c, Args: ask.Args(), Attempt: attempt, Phase: ask.Path})[0])
		if err == nil {
			return r, true
		}
		env.Close(c)
		s.at = (s.at + 1) % len(s.servers)
		env.Sleep(10 * time.Millisecond)
	}
	return Response{}, false
}

func newSession(env sim.Env, servers []sim.ProcessID, at, ttl int, attempt history.Attempt) *session {
	s := &session{env: env, servers: servers, at: at, ttl: ttl, granted: attempt}
	r, ok := s.call(env, requestConn, attempt, time.Minute, GrantLease(int64(ttl), 0))
	if !ok {
		return nil
	}
	s.lease, s.until = r.Lease, s.sent[requestConn]+time.Duration(r.TTL)*time.Second
	env.Go("keepalive", s.keepalive)
	return s
}

func (s *session) keepalive(env sim.Env) {
	for !env.Sleep(time.Duration(s.ttl)*time.Second/3, &s.over, &s.lost) {
		r, ok := s.call(env, keepaliveConn, s.granted, s.until-env.Monotonic(), KeepLeaseAlive(s.lease))
		if s.over.Raised() {
			return
		}
		if !ok || r.TTL == 0 {
			s.lost.Raise()
			return
		}
		sent := s.sent[keepaliveConn]
		if s.receipt {
			sent = env.Monotonic()
		}
		s.until = sent + time.Duration(r.TTL)*time.Second
		if s.hold != nil {
			env.RecordGrant(history.Event{Type: history.OK, F: history.Extend, Lock: s.hold.name,
				Attempt: s.hold.attempt}, s.hold.grant(env))
		}
	}
}

func (s *session) close() {
	s.over.Raise()
	s.call(s.env, requestConn, s.granted, 2*time.Second, RevokeLease(s.lease))
}

// mutex works like clientv3/concurrency.Mutex.
type mutex struct {
	*session
	name     history.Lock
	attempt  history.Attempt
	since    sim.Mark
	revision int64
	careless bool // does not check after waiting whether its own key still exists (like etcd before 3.4.4)
}

func (l *mutex) key() string { return fmt.Sprint(l.name, "/", l.lease) }

// line returns the range that contains only the queue's oldest key.
func (l *mutex) line() Op {
	o := all(string(l.name) + "/")
	o.Order, o.Limit = ByCreate, 1
	return o
}

func (l *mutex) grant(env sim.Env) sim.Grant {
	return sim.Grant{Since: l.since, Granted: env.Mark(), Until: sim.Deadline{Clock: sim.Monotonic, At: l.until},
		Counted: l.servers}
}

// lock waits until no key is older than the mutex's own. It returns false if the session ends first.
func (l *mutex) lock(patience time.Duration) bool {
	env := l.env
	l.since = env.Mark()
	end := env.Monotonic() + patience
	enter := Txn{Conditions: []Compare{{Target: "CREATE", Key: l.key(), Rel: '='}},
		Then: []Op{put(l.key(), "", l.lease), l.line()}, Else: []Op{get(l.key()), l.line()}}
	r, ok := l.call(env, requestConn, l.attempt, patience, enter.Call())
	if !ok {
		return false
	}
	l.revision = r.Revision
	if !r.Succeeded {
		l.revision = r.Results[0].Keys[0].Create
	}
	if r.Results[1].Keys[0].Create == l.revision {
		return true
	}
	for env.Monotonic() < end {
		older := l.line()
		older.Descending, older.MaxCreate = true, l.revision-1
		r, ok := l.call(env, requestConn, l.attempt, end-env.Monotonic(), older.Call())
		if !ok {
			return false
		}
		if len(r.Keys) > 0 {
			l.waitDelete(r.Keys[0].Key, r.Revision, end)
			continue
		}
		return l.careless || l.stands()
	}
	return false
}

// stands reports whether the mutex's own key still exists.
func (l *mutex) stands() bool {
	r, ok := l.call(l.env, requestConn, l.attempt, time.Minute, get(l.key()).Call())
	return ok && len(r.Keys) == 1
}

// waitDelete watches a key, beginning with the given revision, until the key is deleted. If the server stops answering,
// it watches the key on another server.
func (l *mutex) waitDelete(key string, revision int64, end time.Duration) {
	env := l.env
	for env.Monotonic() < end {
		if _, ok := l.call(env, watchConn, l.attempt, end-env.Monotonic(),
			Watch{Key: key, From: revision}.Call()); !ok {
			return
		}
		c := sim.Conn{Server: l.servers[l.at], N: watchConn}
		for {
			data, status := env.Receive(c, time.Second)
			if status == sim.Answered {
				shown, _ := ReadPush(data)
				if slices.ContainsFunc(shown.Events, func(e WatchEvent) bool { return e.Deleted }) {
					return
				}
				continue
			}
			is := AskStatus()
			is.Stream = 3
			r, err := is.Read(&env.Call(time.Second, nil, sim.Request{Conn: c, Args: is.Args(), Phase: "status"})[0])
			if status == sim.Reset || err != nil || r.Leader == 0 {
				break
			}
		}
		env.Close(c)
		l.at = (l.at + 1) % len(l.servers)
	}
}

func (l *mutex) unlock() bool {
	_, ok := l.call(l.env, requestConn, l.attempt, 10*time.Second, remove(l.key()).Call())
	return ok
}

// worker is a client that repeatedly acquires a lock, works and releases the lock.
type worker struct {
	servers  []sim.ProcessID
	at       int
	ttl      int
	cycles   int
	hold     time.Duration
	think    time.Duration
	careless bool
	obeys    bool // stops its work when the session is lost
	receipt  bool
	done     *int // counts the completed cycles
}

func (c worker) main(env sim.Env) {
	var s *session
	for i := range c.cycles {
		attempt := history.Attempt(fmt.Sprintf("%s/%d", env.Name(), i+1))
		if s == nil || s.lost.Raised() {
			if s = newSession(env, c.servers, c.at, c.ttl, attempt); s == nil {
				return
			}
			s.receipt = c.receipt
		}
		c.cycle(env, &mutex{session: s, name: "orders", attempt: attempt, careless: c.careless})
		env.Sleep(c.think)
	}
	if s != nil && !s.lost.Raised() {
		s.close()
	}
}

func (c worker) cycle(env sim.Env, l *mutex) {
	e := history.Event{Type: history.Invoke, F: history.Acquire, Lock: l.name}
	env.Record(e)
	if !l.lock(time.Minute) {
		e.Type, e.Why = history.Fail, history.AcquireTimeout
		env.Record(e)
		l.unlock()
		return
	}
	e = history.Event{Type: history.OK, F: history.Acquire, Lock: l.name, Attempt: l.attempt,
		Token: history.Token(l.revision)}
	env.RecordGrant(e, l.grant(env))
	l.session.hold = l
	env.Point(sim.Acquired)
	if c.obeys {
		if env.Sleep(c.hold, &l.lost) {
			env.Record(history.Event{Type: history.Info, F: history.Lost, Lock: l.name, Attempt: l.attempt})
		}
	} else {
		env.Sleep(c.hold)
	}
	l.session.hold = nil
	e = history.Event{Type: history.Invoke, F: history.Release, Lock: l.name, Attempt: l.attempt}
	env.Record(e)
	if e.Type = history.Info; l.unlock() {
		e.Type = history.OK
		*c.done++
	}
	env.Record(e)
}
