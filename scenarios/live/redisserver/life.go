package redisserver

import (
	"errors"
	"strings"
	"sync"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// life is the period from the start of a server process until it next stops. Its executor is a goroutine that carries
// out jobs with the process, one at a time.
type life struct {
	*fleet.Life
	s *Server

	mu   sync.Mutex
	jobs []func() error
	now  history.Attempt // the attempt whose request the process is carrying out
	more chan struct{}   // contains one element if there may be jobs in the queue

	// The fields below are used only by the executor.
	admin *wire
	ear   *ear // nil: no records are kept
	links map[uint64]*link
	trip  *link // an otherwise unused connection; it shows when the server closes all connections
}

// queue adds a job to the executor's queue.
func (x *life) queue(job func() error) {
	x.mu.Lock()
	x.jobs = append(x.jobs, job)
	x.mu.Unlock()
	select {
	case x.more <- struct{}{}:
	default:
	}
}

// next waits for the next job and returns it. It returns nil once the life has ended.
func (x *life) next() func() error {
	for {
		x.mu.Lock()
		if len(x.jobs) > 0 {
			job := x.jobs[0]
			x.jobs[0] = nil
			x.jobs = x.jobs[1:]
			x.mu.Unlock()
			return job
		}
		x.mu.Unlock()
		select {
		case <-x.more:
		case <-x.Context.Done():
			return nil
		}
	}
}

// run is the executor: it runs queued jobs until the life ends. If one of its own connections fails while the process
// is alive, it reopens them. For example, a server closes all connections when its role changes.
func (x *life) run() {
	for job := x.next(); job != nil && !x.IsOver(); job = x.next() {
		if err := job(); err != nil && !x.IsOver() {
			if err := x.reopen(); err != nil {
				x.Explain(err)
				return
			}
		}
	}
}

// underWay returns the attempt whose request the process is currently carrying out, or "" if that is unknown.
func (x *life) underWay() history.Attempt {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.now
}

func (x *life) setUnderWay(of history.Attempt) {
	x.mu.Lock()
	x.now = of
	x.mu.Unlock()
}

// do runs f on the world's goroutine and waits until it has returned. If the life ends first, do does not run f. So
// when a life ends, at most one request has been carried out without being recorded.
func (x *life) do(f func()) {
	done := make(chan struct{})
	x.Do(func() {
		defer close(done)
		f()
	})
	select {
	case <-done:
	case <-x.Context.Done():
	}
}

// open opens the executor's own connections.
func (x *life) open() (err error) {
	if x.admin, err = x.s.at.dial(); err != nil {
		return err
	}
	if x.s.sentinel != nil {
		return x.s.sentinel.listen(x)
	}
	if !x.s.reports {
		return nil
	}
	if x.ear, err = listenAt(x.s.at); err != nil {
		return err
	}
	w, err := x.s.at.dial()
	if err != nil {
		return err
	}
	var trip *link
	trip = newLink(0, w, func() {
		x.queue(func() error {
			if x.trip == trip {
				return errLinkEnded
			}
			return nil
		})
	})
	x.trip = trip
	return nil
}

func (x *life) closeAll() {
	for _, w := range x.wires() {
		w.close()
	}
	for _, l := range x.links {
		l.w.close()
	}
}

func (x *life) wires() (list []*wire) {
	if x.admin != nil {
		list = append(list, x.admin)
	}
	if x.ear != nil {
		list = append(list, x.ear.w)
	}
	if x.trip != nil {
		list = append(list, x.trip.w)
	}
	return list
}

// reopen reopens the executor's connections after the server has closed them, and records what has changed in the
// meantime.
func (x *life) reopen() error {
	for _, w := range x.wires() {
		w.close()
	}
	x.admin, x.ear, x.trip = nil, nil, nil
	if err := x.open(); err != nil {
		return err
	}
	return x.survey()
}

// survey reads all keys from the server, and records the changes since they were last recorded.
func (x *life) survey() error {
	if !x.s.reports {
		return nil
	}
	if _, err := x.ear.barrier(); err != nil {
		return err
	}
	role, err := x.admin.ask("ROLE")
	if err != nil {
		return err
	}
	keys, err := allKeys(x.admin, x.s.cfg.seven)
	if err != nil {
		return err
	}
	replica := len(role.List) > 0 && role.List[0].Text != "master"
	x.do(func() { x.s.surveyed(replica, keys) })
	return nil
}

// link returns the connection that carries one client connection's requests to the process, and opens it if necessary.
// id is the client connection's number.
func (x *life) link(id uint64) (*link, error) {
	if l := x.links[id]; l != nil {
		return l, nil
	}
	w, err := x.s.at.dial()
	if err != nil {
		return nil, err
	}
	l := newLink(id, w, func() { x.queue(func() error { return x.drain(id) }) })
	x.links[id] = l
	return l, nil
}

// serve makes the process carry out a request.
func (x *life) serve(r *request) error {
	name := strings.ToLower(r.args[0])
	if trouble := x.s.refusal(name, r.args); trouble != "" {
		x.do(func() { r.Reply(sim.AppendLine(nil, '-', trouble)) })
		return nil
	}
	l, err := x.link(r.conn)
	if err != nil {
		x.do(r.Drop)
		return nil
	}
	if l.blocked != nil {
		l.behind = append(l.behind, r)
		return nil
	}
	if x.s.guard != nil {
		return x.serveGuarded(l, name, r)
	}
	want := l.answers(name, r.args)
	blocks := !l.multi && mayBlock(name, r.args)
	x.setUnderWay(r.attempt)
	defer x.setUnderWay("")
	if l.w.send(r.args) != nil {
		return x.lose(l, r)
	}
	if blocks {
		l.blocked, l.want = r, want
		return x.untilBlocked(l)
	}
	pushes, answer, err := l.await(want, x.Context.Done())
	if err != nil {
		return x.lost(l, r, pushes, err)
	}
	l.keepTransaction(name, r, answer)
	return x.finish(l, r, pushes, answer)
}

// finish records a request's effects, and sends the reply to the client.
func (x *life) finish(l *link, r *request, pushes [][]byte, answer []byte) error {
	x.setUnderWay(r.attempt)
	defer x.setUnderWay("")
	said, keys, err := x.observe()
	x.do(func() {
		for _, p := range pushes {
			x.s.push(l, p)
		}
		x.s.observed(r, said, keys, err)
		r.Reply(x.s.named(answer, r.commands...))
	})
	return err
}

// observe returns what has happened to keys since the last call.
func (x *life) observe() (said []notice, keys []store.Key, err error) {
	if x.ear == nil {
		return nil, nil, nil
	}
	if said, err = x.ear.barrier(); err != nil || len(said) == 0 {
		return said, nil, err
	}
	keys, err = look(x.admin, x.s.cfg.seven, touched(said))
	return said, keys, err
}

// lose handles a connection that the server has closed. Requests pending on it do not get a reply.
func (x *life) lose(l *link, r *request) error { return x.lost(l, r, nil, errLinkEnded) }

func (x *life) lost(l *link, r *request, pushes [][]byte, why error) error {
	if errors.Is(why, fleet.ErrOver) {
		return why
	}
	x.forget(l.id)
	said, keys, err := x.observe()
	x.do(func() {
		for _, p := range pushes {
			x.s.push(l, p)
		}
		x.s.observed(r, said, keys, err)
		if r != nil {
			r.Drop()
		}
		for _, b := range l.behind {
			b.Drop()
		}
		x.s.Host.HangUp(l.id)
	})
	return err
}

// forget closes the connection that carries one client connection's requests to the process. id is the client
// connection's number.
func (x *life) forget(id uint64) {
	if l := x.links[id]; l != nil {
		l.w.close()
		delete(x.links, id)
	}
}

// drain handles what the server has sent on a connection while no goroutine was waiting for a reply: pushes, the reply
// to a blocked request, or the end of the connection.
func (x *life) drain(id uint64) error {
	l := x.links[id]
	if l == nil {
		return nil
	}
	r, want := l.blocked, 0
	if r != nil {
		want = l.want
	}
	pushes, answer, whole, err := l.take(want)
	switch {
	case err != nil:
		l.blocked = nil
		return x.lost(l, r, pushes, err)
	case whole:
		l.blocked = nil
		if answer, err = x.withoutLimit(l, answer); err != nil {
			return err
		}
		behind := l.behind
		l.behind = nil
		for _, b := range behind {
			x.queue(func() error { return x.serve(b) })
		}
		return x.finish(l, r, pushes, answer)
	case len(pushes) > 0:
		x.do(func() {
			for _, p := range pushes {
				x.s.push(l, p)
			}
		})
	}
	return nil
}

// untilBlocked waits until a request that may block has been answered or is blocked.
func (x *life) untilBlocked(l *link) error {
	for {
		v, err := x.admin.ask("INFO", "clients")
		if err != nil {
			return err
		}
		if l.hasValue() {
			return x.drain(l.id)
		}
		if blockedClients(v.Text) >= x.blocked() || x.IsOver() {
			break
		}
	}
	said, keys, err := x.observe()
	if err != nil {
		return err
	}
	r := l.blocked
	x.do(func() { x.s.observed(r, said, keys, nil) })
	return nil
}

// blocked returns how many connections have a request that is blocked on the server.
func (x *life) blocked() (n int64) {
	for _, l := range x.links {
		if l.blocked != nil && !l.hasValue() {
			n++
		}
	}
	return n
}

// blockedClients returns how many blocked clients an INFO reply reports.
func blockedClients(info string) int64 {
	_, rest, _ := strings.Cut(info, "blocked_clients:")
	number, _, _ := strings.Cut(rest, "\r")
	return resp.Value{Text: number}.Number()
}

// removeKeys removes a key, or all keys if name is empty, as an operator would. A replica refuses to do this.
func (x *life) removeKeys(name history.Lock, why history.Why) error {
	before, keys, err := x.observe()
	if err != nil {
		return err
	}
	command := []string{"FLUSHALL"}
	if name != "" {
		command = []string{"DEL", string(name)}
	}
	if _, err := x.admin.ask(command...); err != nil {
		return err
	}
	said, left, err := x.observe()
	x.do(func() {
		x.s.observed(nil, before, keys, nil)
		if err == nil {
			x.s.removed(why, said, left)
		}
	})
	return err
}

// touch reads keys whose deadlines have passed, which makes the server delete those that have expired.
func (x *life) touch(names []string) error {
	if _, err := look(x.admin, x.s.cfg.seven, names); err != nil {
		return err
	}
	said, keys, err := x.observe()
	if err == nil {
		x.do(func() { x.s.touchedDue(said, keys) })
	}
	return err
}
