package locktest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/bubble"
)

// Try makes the trial run alone, and fails the test for what it shows. No fault strikes in it. Three clients,
// worker-10, worker-1 and worker-100, have the lock in turn:
//
//   - each can have it and give it back, and the next has it then;
//   - nobody enters while another holds it; Lock waits meanwhile, for a second at least;
//   - the keys are those that Config names, with the TTL that it names;
//   - a release that comes when the lease has ended and another has the lock leaves that one's key alone, if
//     Config.Laws have ownership (a lock that renews itself is held until it is given back);
//   - nothing runs on when all is closed.
//
// Run and Explore make it before their first seed, and go no further if it fails.
func Try(t *testing.T, c Config) {
	t.Helper()
	p, seeds := begin(t, c)
	if p == nil {
		return
	}
	if seeds != nil {
		t.Fatal("locktest: Try has no faults: a plan is run by Run")
	}
	p.try()
	p.reportProblems()
}

// workers are the clients of the trial: a lock that takes the start of an owner value for the whole mistakes one for
// another.
var workers = [...]sim.ProcessID{"worker-10", "worker-1", "worker-100"}

// trial is a run without faults, by clients of its own.
type trial struct {
	*worker
	ttl  time.Duration
	key  history.Lock
	done sim.Signal
	hand [len(workers)]*hand

	mu    sync.Mutex
	wrong []string // what went wrong
}

// hand is a client of the trial.
type hand struct {
	*bubble.Guest
	name    sim.ProcessID
	lock    Lock
	granted time.Time
}

// try makes the trial run and reports what went wrong in it, what explains the rest first.
func (w *worker) try() {
	s := *w.scenario
	t := &trial{worker: w, ttl: s.Clients[0].Lock.TTL, key: s.Clients[0].Lock.Key}
	one := s.Clients[0]
	s.Clients, s.Faults, s.Network.Links, s.Limit = nil, nil, nil, 24*time.Hour
	for _, name := range workers {
		one.ID = name
		s.Clients = append(s.Clients, one)
	}
	w.keys = nil // the trial wants the names of keys in the records
	result, err := scenarios.NewRunnerWith(&s, t).Run(nemesis.Plan{Scenario: s.Name, Seed: 1})
	if err != nil {
		say(report{Problem: w.failure(err)})
		return
	}
	problems := t.wrong
	switch missing := t.missing(); {
	case missing != "":
		problems = []string{missing}
	default:
		problems = append(t.records(result.History), problems...)
	}
	if len(problems) == 0 {
		if left := w.leaked(); left != "" {
			problems = append(problems, left)
		}
	}
	for _, p := range problems {
		say(report{Problem: p})
	}
}

// Client makes the first client's task follow the script; those of the others wait until it is through.
func (t *trial) Client(c *scenarios.Client, _ time.Duration) func(sim.Env) {
	return func(env sim.Env) {
		i := slices.Index(workers[:], c.ID)
		g := t.Guest(c.ID)
		g.Begin(attempt(i))
		t.hand[i] = &hand{Guest: g, name: c.ID}
		if i < len(workers)-1 {
			env.Sleep(sim.Forever, &t.done)
			return
		}
		g.Call(env, "the trial", t.script)
		t.done.Raise()
	}
}

// attempt is that of the i-th client.
func attempt(i int) history.Attempt { return history.Attempt(workers[i]) + "/1" }

// Server is the scenario's own.
func (t *trial) Server(_ sim.ProcessID, own sim.Server) sim.Server { return own }

// Foreign is true: the code of the lock is unknown.
func (t *trial) Foreign() bool { return true }

// script lets one after another acquire the lock, until something goes wrong.
func (t *trial) script(ctx context.Context) {
	defer t.close()
	first, second, third := t.hand[0], t.hand[1], t.hand[2]
	if !t.have(first, t.locks(first), trialPatience) {
		return
	}
	waits := t.locks(second)
	if !t.excludes(second, first, waits, atLeast) {
		return
	}
	if !t.gives(first) || !t.have(second, waits, t.ttl+trialPatience) {
		return
	}
	waits = t.locks(third)
	if !t.excludes(third, second, waits, atLeast) {
		return
	}
	if waits = t.asks(third, waits, t.ttl+t.ttl/2); waits.returned() { // nobody has renewed the lease of the second
		t.late(second)
	} else if !t.gives(second) {
		return
	}
	if t.have(third, waits, t.ttl+trialPatience) {
		t.gives(third)
	}
}

// trialPatience is how long a call may take that has nothing to wait for, and atLeast how long Lock must wait for a
// lock that is taken.
const (
	trialPatience = 20 * time.Second
	atLeast       = time.Second
)

// calling is a call of a Lock's method that is under way.
type calling struct {
	what   string
	asked  time.Time
	cancel context.CancelFunc
	done   <-chan struct{}
	err    error // once done
}

// within waits for the return of a call.
func (c *calling) within(d time.Duration) bool {
	select {
	case <-c.done:
	case <-time.After(d):
	}
	return c.returned()
}

func (c *calling) returned() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// call begins a call.
func (t *trial) call(h *hand, what string, f func(ctx context.Context) error) *calling {
	c := &calling{what: what + " of " + string(h.name), asked: time.Now()}
	ctx, cancel := context.WithCancel(h.Context())
	c.cancel = cancel
	c.done = h.Start(what, func(context.Context) { c.err = f(ctx) })
	return c
}

// locks calls Lock.
func (t *trial) locks(h *hand) *calling {
	return t.call(h, "Lock", func(ctx context.Context) error {
		if h.lock == nil {
			h.lock = t.open(&Client{Name: string(h.name), Key: string(t.key), Addrs: h.Addrs(), guest: h.Guest})
		}
		err := h.lock.Lock(ctx)
		h.granted = time.Now()
		return err
	})
}

// asks waits until Lock has succeeded, which may give up and be called again, or until the time for that is over; it
// returns the latest call.
func (t *trial) asks(h *hand, c *calling, patience time.Duration) *calling {
	for end := time.Now().Add(patience); c.within(time.Until(end)) && c.err != nil; c = t.locks(h) {
		if time.Since(c.asked) < atLeast {
			return c
		}
	}
	return c
}

// have waits until Lock has succeeded, which may give up and be called again.
func (t *trial) have(h *hand, c *calling, patience time.Duration) bool {
	for end := time.Now().Add(patience); ; c = t.locks(h) {
		left := time.Until(end)
		switch returned := c.within(left); {
		case !returned:
			c.cancel()
			words := "nor when its context was cancelled"
			if c.within(trialPatience) {
				words = "and when its context was cancelled, " + outcome(c.err)
			}
			t.fail("%s did not return within %v although nobody has the lock, %s", c.what, patience, words)
			return false
		case c.err == nil:
			return true
		case left < time.Second || time.Since(c.asked) < atLeast:
			t.fail("%s returned %q although nobody has the lock", c.what, said(c.err))
			return false
		}
	}
}

// excludes checks that a Lock waits while another has the lock.
func (t *trial) excludes(h, holder *hand, c *calling, d time.Duration) bool {
	switch {
	case !c.within(d):
		return true
	case c.err == nil:
		t.fail("%s returned nil after %v, while %s had the lock: two have it at once, without any fault", c.what,
			rounded(h.granted.Sub(c.asked)), holder.name)
	default:
		t.fail("%s returned %q after %v, while %s had the lock: it must wait until the lock is free, or ctx is done",
			c.what, said(c.err), rounded(time.Since(c.asked)), holder.name)
	}
	return false
}

// gives calls Unlock before the lease has ended.
func (t *trial) gives(h *hand) bool {
	c := t.call(h, "Unlock", h.lock.Unlock)
	switch {
	case !c.within(trialPatience):
		t.fail("%s did not return within %v", c.what, trialPatience)
	case c.err != nil:
		t.fail("%s returned %q although the lock was its own", c.what, said(c.err))
	default:
		return true
	}
	return false
}

// late calls Unlock after the lease has ended: whatever it returns, the records show what it did.
func (t *trial) late(h *hand) { t.call(h, "Unlock", h.lock.Unlock).within(trialPatience) }

// close closes all locks.
func (t *trial) close() {
	for _, h := range t.hand {
		if c, can := h.lock.(Closer); can {
			t.call(h, "Close", func(context.Context) error { return c.Close() }).within(trialPatience)
		}
	}
}

func (t *trial) fail(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wrong = append(t.wrong, fmt.Sprintf(format, args...))
}

// outcome describes the result of a call.
func outcome(err error) string {
	if err == nil {
		return "it returned nil"
	}
	return fmt.Sprintf("it returned %q", said(err))
}

func rounded(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// missing describes what the Config asks for and the lock does not provide; empty if nothing is missing.
func (t *trial) missing() string {
	first := t.hand[0]
	care := t.config.Care
	_, tokens := first.lock.(Tokener)
	_, extends := first.lock.(Extender)
	switch {
	case first.Dialled() == 0:
		text := fmt.Sprintf("the lock opened no connection: pass c.DialContext to its client of %s, and an address of "+
			"c.Addrs", t.scenario.Servers.Called())
		if len(t.wrong) > 0 {
			text += ". " + t.wrong[0]
		}
		return text
	case care.Fences && !tokens:
		return "Config.Care.Fences asks for a Lock with a method Token() int64"
	case care.Extends > 0 && !extends:
		return "Config.Care.Extends asks for a Lock with a method Extend(context.Context) error"
	}
	return ""
}

// records describes what is wrong with what the servers recorded.
func (t *trial) records(h *history.History) (problems []string) {
	keys := []string{string(t.key)}
	if t.config.Keys != nil {
		keys = t.config.Keys(string(t.key))
	}
	var seen []string
	var set *history.Event // when the first client's lock was given a TTL
	for i := range h.Events {
		e := &h.Events[i]
		if e.F != history.KeySet && e.F != history.KeyProlonged && e.F != history.KeyGone {
			continue
		}
		name := string(e.Lock)
		if !slices.Contains(seen, name) {
			seen = append(seen, name)
		}
		if !slices.Contains(keys, name) {
			continue
		}
		if e.F != history.KeyGone && e.By == attempt(0) && e.Until != history.Never && set == nil {
			set = e
		}
		if problem := t.misused(h, e); problem != "" && len(problems) == 0 {
			problems = append(problems, problem)
		}
	}
	if !slices.ContainsFunc(keys, func(k string) bool { return slices.Contains(seen, k) }) {
		if len(seen) == 0 && len(t.wrong) > 0 {
			return nil // which explains it better
		}
		return []string{strange(keys, seen)}
	}
	if set != nil {
		got := (set.Until - set.Time).Duration()
		if off := got - t.ttl; off > t.ttl/20 || off < -t.ttl/20 {
			problems = append(problems, fmt.Sprintf("the key %q ends %v after Lock has set it, and Config.TTL says "+
				"%v: make them equal", string(set.Lock), got.Round(10*time.Millisecond), t.ttl))
		}
	}
	return problems
}

// strange reports that none of the lock's keys were seen.
func strange(keys, seen []string) string {
	text := fmt.Sprintf("servers saw no key %s; they saw none at all: does Lock ask them?", quoted(keys))
	if len(seen) > 0 {
		text = fmt.Sprintf("servers saw no key %s; they saw %s: set Config.Keys, or have the lock use c.Key",
			quoted(keys), quoted(seen))
	}
	return text
}

func quoted(names []string) string {
	var all []string
	for _, n := range names {
		all = append(all, fmt.Sprintf("%q", n))
	}
	return strings.Join(all, ", ")
}

// misused reports that somebody has deleted or extended the key of another; empty if not, or if the lock need not
// prevent it.
func (t *trial) misused(h *history.History, e *history.Event) string {
	if !slices.Contains(t.promise.Laws, checker.Ownership) || e.By == "" || e.By == e.Of || e.F == history.KeySet ||
		e.F == history.KeyGone && e.Why != history.Deleted {
		return ""
	}
	did, advice := "deleted", "Compare the owner value and delete in one step"
	if e.F == history.KeyProlonged {
		did, advice = "prolonged", "Compare the owner value and prolong in one step"
	}
	text := fmt.Sprintf("%s %s the key %q of %s, which had the lock by then. %s", owner(e.By), did, string(e.Lock),
		owner(e.Of), advice)
	if by, of := value(h, e.Lock, e.By), value(h, e.Lock, e.Of); by != of && by != "" && strings.HasPrefix(of, by) {
		text += fmt.Sprintf(", and compare all of it: %q begins with %q", of, by)
	}
	return text
}

// owner is the client of an attempt.
func owner(a history.Attempt) string { name, _, _ := strings.Cut(string(a), "/"); return name }

// value is what an attempt has set a key to.
func value(h *history.History, key history.Lock, of history.Attempt) string {
	for i := range h.Events {
		if e := &h.Events[i]; e.F == history.KeySet && e.Lock == key && e.Of == of {
			return e.Value
		}
	}
	return ""
}
