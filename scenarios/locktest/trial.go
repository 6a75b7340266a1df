package locktest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/bubble"
)

// RunTrial performs only the trial run, which has no faults. It reports a test error for each problem that this run
// shows. Three clients, worker-10, worker-1 and worker-100, acquire the lock in turn. The run is judged only by the
// servers' records and the results of calls. It checks the following:
//
//   - Lock returns nil when the lock is free: within 20 s, or within the TTL and a minute if it had to wait. It may
//     send any number of requests in the meantime.
//   - While another client has the lock, Lock waits for at least a second, or an eighth of the TTL if that is shorter.
//     After that it may give up with an error, and is called again. If it returns nil and both clients share the lock
//     ([Sharer]), both call Unlock, and the trial ends. To get the whole trial, let New return exclusive locks for
//     clients whose names begin with "worker".
//   - A Lock whose context is canceled while another client has the lock does not return nil.
//   - Unlock returns nil and frees the lock. On each server where the holder has one of the lock's keys, some key of
//     the lock must change before that key expires: it must be deleted, or overwritten with the value that means
//     "free". If the next client acquires the lock before the key expires, the lock was released in some other way,
//     which is accepted. This is not checked for Kubernetes, whose elections let the lease run out by default.
//   - The second client does not call Unlock within its lease, as if it had crashed. If its key expires, a
//     [LossNotifier] must have closed Lost half a TTL later (unless Config.Precautions.ExtendEvery is set), and the
//     third client acquires the lock. The second client's late Unlock may return anything, but it must not touch the
//     third client's key if Config.Laws include ownership. If the key is extended instead, the second client keeps the
//     lock until it calls Unlock.
//   - No client deletes its last key before it calls Unlock, if another client then gets the lock, or if Unlock then
//     fails.
//   - The lock uses the keys and the TTL that Config specifies. No client sets one of these keys while it is waiting.
//   - None of the lock's goroutines are still running after all locks have been closed.
//
// Run and Explore perform the trial run before their first seed, and stop there if it fails.
func RunTrial(t *testing.T, c Config) {
	t.Helper()
	p, seeds := begin(t, c)
	if p == nil {
		return
	}
	if seeds != nil {
		t.Fatal("locktest: RunTrial cannot run a plan, because a trial has no faults: use Run")
	}
	p.try()
	p.reportProblems()
}

// workers are the trial's clients. Their names share a prefix, so a lock that compares only the beginning of an owner
// value would mistake one client for another.
var workers = [...]sim.ProcessID{"worker-10", "worker-1", "worker-100"}

// trial is the fault-free trial run (see RunTrial).
type trial struct {
	*worker
	ttl   time.Duration
	key   history.Lock
	keys  []string // the lock's keys on the servers
	done  sim.Signal
	began time.Time // time at which the simulated world starts
	hand  [len(workers)]*hand
	freed freed

	mu    sync.Mutex
	wrong []string        // the problems found, one sentence each
	seen  []history.Event // the servers' records of keys
}

// freed describes how the lock became free. It is the zero value until a client has released or lost the lock.
type freed struct {
	at  sim.Time
	how string // for example "Unlock of worker-10 has returned"
	by  *held
}

// hand is one of the trial's clients, with its lock and the periods in which it held the lock.
type hand struct {
	*bubble.Guest
	name    sim.ProcessID
	attempt history.Attempt
	lock    Lock
	lost    <-chan struct{} // the channel of a LossNotifier, as returned after its latest grant
	held    []*held
}

// held is a period during which a client had the lock, from Lock's return to the call to Unlock.
type held struct {
	from, to sim.Time // to is Never until Unlock is called
	until    sim.Time // the end of the lease that an Expiring lock stated at time from; 0: not stated
	released bool     // whether Unlock has returned nil
	refused  bool     // whether Unlock has returned an error although the lease had not expired
	shared   bool     // whether the hold is shared, as a Sharer reported at time from
	next     sim.Time // when the next waiting client got the lock; Never: it did not get it; 0: no client waited
}

// last returns the most recent period in which the client had the lock.
func (h *hand) last() *held { return h.held[len(h.held)-1] }

// had reports whether the client had the lock at a given time.
func (h *hand) had(at sim.Time) bool {
	return slices.ContainsFunc(h.held, func(x *held) bool { return x.from <= at && at < x.to })
}

// try performs the trial run and reports the problems it found. If one problem explains others, it comes first.
func (w *worker) try() {
	s := *w.scenario
	t := &trial{worker: w, ttl: s.Clients[0].Lock.TTL, key: s.Clients[0].Lock.Key}
	t.keys = []string{string(t.key)}
	if w.config.Keys != nil {
		t.keys = w.config.Keys(string(t.key))
	}
	one := s.Clients[0]
	s.Clients, s.Faults, s.Network.Links, s.Limit = nil, nil, nil, 24*time.Hour
	for _, name := range workers {
		one.ID = name
		s.Clients = append(s.Clients, one)
	}
	w.keys = nil // the trial needs the keys' own names in the records
	if _, err := scenarios.NewRunnerWith(&s, t).Run(nemesis.Plan{Scenario: s.Name, Seed: 1}); err != nil {
		say(report{Problem: w.failure(err)})
		return
	}
	problems := t.wrong
	switch missing := t.missing(); {
	case missing != "":
		problems = []string{missing}
	default:
		problems = append(t.records(), problems...)
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

// Prepare makes the trial receive the servers' key records during the run.
func (t *trial) Prepare(o *sim.Options) {
	t.host.Prepare(o)
	o.Keep = func(e *history.Event) bool {
		if e.F == history.KeySet || e.F == history.KeyProlonged || e.F == history.KeyGone {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.seen = append(t.seen, *e)
		}
		return true
	}
}

// Begin starts the run.
func (t *trial) Begin(world *sim.World, servers []sim.ProcessID) {
	t.worker.Begin(world, servers)
	t.began = time.Now()
}

// now returns the current virtual time, measured from the start of the run.
func (t *trial) now() sim.Time { return history.Of(time.Since(t.began)) }

// Client makes the last client's task run the script. The other clients' tasks only wait until the script has ended.
func (t *trial) Client(c *scenarios.Client, _ time.Duration) func(sim.Env) {
	return func(env sim.Env) {
		i := slices.Index(workers[:], c.ID)
		g := t.Guest(c.ID)
		t.hand[i] = &hand{Guest: g, name: c.ID, attempt: history.Attempt(c.ID) + "/1"}
		g.Begin(t.hand[i].attempt)
		if i < len(workers)-1 {
			env.Sleep(sim.Forever, &t.done)
			return
		}
		g.Call(env, "the trial", t.script)
		t.done.Raise()
	}
}

// Server returns the server unchanged.
func (t *trial) Server(_ sim.ProcessID, own sim.Server) sim.Server { return own }

// Foreign returns true, because Fencepost does not know the lock's code.
func (t *trial) Foreign() bool { return true }

// script makes the clients acquire the lock one after another, until something goes wrong.
func (t *trial) script(ctx context.Context) {
	defer t.close()
	first, second, third := t.hand[0], t.hand[1], t.hand[2]
	if !t.have(first, t.locks(first), trialPatience) {
		return
	}
	waits, ok := t.excludes(second, first)
	if !ok || !t.gives(first) || !t.have(second, waits, t.patience()) {
		return
	}
	waits, ok = t.excludes(third, second)
	if !ok {
		return
	}
	// By now the second client's lease has either been extended or ended.
	waits, came := t.await(third, waits, t.ttl+t.ttl/2)
	switch {
	case came == gaveUp:
		t.impatient(waits, second)
		return
	case came == waitsStill && t.stands(second):
		ok = t.gives(second)
	default:
		t.tells(second)
		t.late(second)
	}
	if !ok || !t.have(third, waits, t.patience()) {
		return
	}
	// The late Unlock may have deleted the third client's key. This is allowed if the lock does not promise ownership.
	if t.robbed(third) {
		t.unlocks(third)
		return
	}
	waits, ok = t.excludes(first, third)
	if !ok || !t.obeys(first, third, waits) || !t.gives(third) {
		return
	}
	if !waits.returned() && t.have(first, waits, t.patience()) { // Lock has ignored its context
		t.gives(first)
	}
}

// trialPatience is the maximum duration of a call that does not have to wait for another client.
const trialPatience = 20 * time.Second

// patience is how long Lock may take once the lock has become free, if Lock had to wait.
func (t *trial) patience() time.Duration { return t.ttl + time.Minute }

// minWait returns the minimum time that Lock must wait while another client has the lock.
func (t *trial) minWait() time.Duration { return min(time.Second, t.ttl/8) }

// calling is a call to one of a Lock's methods, in its own goroutine.
type calling struct {
	what   string
	asked  time.Time
	cancel context.CancelFunc
	done   <-chan struct{}
	// err and took are set before done is closed.
	err  error
	took time.Duration
}

// returnsWithin waits up to d for a call to return, and reports whether it did.
func (c *calling) returnsWithin(d time.Duration) bool {
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

// call calls a method of a client's lock in a new goroutine.
func (t *trial) call(h *hand, what string, f func(ctx context.Context) error) *calling {
	c := &calling{what: what + " of " + string(h.name), asked: time.Now()}
	ctx, cancel := context.WithCancel(h.Context())
	c.cancel = cancel
	c.done = h.Start(what, func(context.Context) {
		c.err = f(ctx)
		c.took = time.Since(c.asked)
	})
	return c
}

// locks starts a call to Lock for a client.
func (t *trial) locks(h *hand) *calling {
	return t.call(h, "Lock", func(ctx context.Context) error {
		if h.lock == nil {
			h.lock = t.open(&Client{Name: string(h.name), Key: string(t.key), Addrs: h.Addrs(), guest: h.Guest,
				shared: newCommon()})
		}
		err := h.lock.Lock(ctx)
		if err == nil {
			x := &held{from: t.now(), to: history.Never}
			h.held = append(h.held, x)
			if u, is := h.lock.(Expiring); is && !u.ValidUntil().IsZero() {
				x.until = history.Of(u.ValidUntil().Sub(t.began))
			}
			if o, is := h.lock.(LossNotifier); is {
				h.lost = o.Lost()
			}
			if r, is := h.lock.(Sharer); is {
				x.shared = r.Shared()
			}
		}
		return err
	})
}

// unlocks calls Unlock for a client and waits up to trialPatience for the call to return.
func (t *trial) unlocks(h *hand) *calling {
	x := h.last()
	x.to = t.now()
	c := t.call(h, "Unlock", h.lock.Unlock)
	if c.returnsWithin(trialPatience) && c.err == nil {
		x.released = true
	}
	t.freed = freed{t.now(), c.what + " has returned", x}
	return c
}

// waiting is the state of a call to Lock.
type waiting uint8

const (
	waitsStill waiting = iota // Lock has not returned
	granted                   // Lock has returned nil
	gaveUp                    // Lock has returned an error too early
)

// await waits until Lock returns nil, until Lock returns an error too early, or until patience has passed. If Lock
// waits long enough before returning an error, await calls it again. It returns the latest call and its state.
func (t *trial) await(h *hand, c *calling, patience time.Duration) (*calling, waiting) {
	for end := time.Now().Add(patience); ; c = t.locks(h) {
		switch {
		case !c.returnsWithin(time.Until(end)):
			return c, waitsStill
		case c.err == nil:
			return c, granted
		case c.took < t.minWait():
			return c, gaveUp
		}
	}
}

// have waits until Lock returns, and reports whether the client has the lock. Since the lock is free, it is a problem
// if Lock gives up or does not return within patience.
func (t *trial) have(h *hand, c *calling, patience time.Duration) bool {
	c, came := t.await(h, c, patience)
	next := sim.Time(history.Never)
	free := cmp.Or(t.freed.how, "nobody has the lock")
	switch {
	case came == granted:
		next = h.last().from
	case came == gaveUp:
		t.fail("%s returned %q after %v, although %s", c.what, said(c.err), rounded(c.took), free)
	default:
		what := fmt.Sprintf("%s did not return within %v, although %s", c.what, patience, free)
		if t.freed.by != nil {
			since := (t.now() - t.freed.at).Duration()
			what = fmt.Sprintf("%s was still waiting %v after %s", c.what, since.Round(time.Second), free)
		}
		c.cancel()
		t.fail("%s; when its context was canceled, it %s", what, outcome(c, trialPatience))
	}
	if t.freed.by != nil {
		t.freed.by.next = next
	}
	return came == granted
}

// excludes calls Lock for h while another client, holder, has the lock, and checks that it waits. It returns the call,
// and whether the trial can go on. The trial ends if Lock does not wait. That is a failure unless both holds are
// shared: the trial ends then, too, because the other checks are for locks with one holder.
func (t *trial) excludes(h, holder *hand) (*calling, bool) {
	c, came := t.await(h, t.locks(h), t.minWait())
	switch {
	case came == waitsStill:
		return c, true
	case came == gaveUp:
		t.impatient(c, holder)
	case t.hasExpired(holder):
		t.fail("the lease of %s ended less than %v after its Lock had returned nil", holder.name,
			(t.now() - holder.last().from).Duration().Round(10*time.Millisecond))
	case h.last().shared && holder.last().shared:
		_ = t.gives(h) && t.gives(holder)
	default:
		t.fail("%s returned nil after %v, while %s had the lock: "+
			"two clients hold the lock at once, without any fault", c.what,
			rounded(c.took), holder.name)
	}
	return c, false
}

// impatient reports that a call to Lock gave up too early.
func (t *trial) impatient(c *calling, holder *hand) {
	had := "had the lock"
	if t.hasExpired(holder) {
		had = "had held the lock until its lease ended"
	}
	t.fail("%s returned %q after %v, while %s %s: "+
		"Lock must wait for at least %v, unless ctx is done", c.what, said(c.err), rounded(c.took), holder.name, had,
		t.minWait())
}

// obeys cancels the context of a call to Lock while another client has the lock. It reports whether the client obeys:
// Lock may return an error or go on waiting, but must not return nil while the other client has the lock.
func (t *trial) obeys(h, holder *hand, c *calling) bool {
	c.cancel()
	if !c.returnsWithin(t.minWait()) || c.err != nil || t.hasExpired(holder) {
		return true
	}
	t.fail("%s returned nil after its context was canceled, while %s had the lock: "+
		"in that case, return an error, such as ctx.Err()", c.what, holder.name)
	return false
}

// gives calls Unlock for a client that has the lock, and checks the result.
func (t *trial) gives(h *hand) bool {
	over := t.hasExpired(h)
	switch c := t.unlocks(h); {
	case !c.returned():
		t.fail("%s did not return within %v", c.what, trialPatience)
	case c.err != nil && !over:
		h.last().refused = true
		t.fail("%s returned %q, although the client had the lock", c.what, said(c.err))
	default:
		return true
	}
	return false
}

// late calls Unlock for a client whose lease has ended. The result does not matter; the servers' records show the
// effect.
func (t *trial) late(h *hand) {
	t.unlocks(h)
	if keys, ended := t.expired(h); len(keys) > 0 {
		t.freed.at, t.freed.how = ended, fmt.Sprintf("the lease of %s had ended", h.name)
	}
}

// tells checks that a LossNotifier closed Lost no later than half a TTL after its key expired.
func (t *trial) tells(h *hand) {
	_, loses := h.lock.(LossNotifier)
	keys, ended := t.expired(h)
	if !loses || len(keys) == 0 || t.config.Precautions.ExtendEvery > 0 {
		return
	}
	grace := t.ttl / 2
	time.Sleep((ended - t.now()).Duration() + grace)
	select {
	case <-h.lost:
	default:
		lasted := (ended - h.last().from).Duration()
		t.fail(
			"the key %s of %s expired %v after Lock had returned nil and %s, and %v later Lost was still not closed: "+
				"renew the lease until Unlock is called, or close Lost before the lease ends", quoted(keys), h.name,
			lasted.Round(10*time.Millisecond), t.renewals(h), grace)
	}
}

func (t *trial) close() {
	for _, h := range t.hand {
		if c, can := h.lock.(io.Closer); can {
			t.call(h, "Close", func(context.Context) error { return c.Close() }).returnsWithin(trialPatience)
		}
	}
}

func (t *trial) fail(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wrong = append(t.wrong, fmt.Sprintf(format, args...))
}

// outcome describes how a call returned. If it did not return within patience, outcome says so.
func outcome(c *calling, patience time.Duration) string {
	switch {
	case !c.returnsWithin(patience):
		return fmt.Sprintf("did not return either, within %v", patience)
	case c.err == nil:
		return "returned nil"
	}
	return fmt.Sprintf("returned %q", said(c.err))
}

func rounded(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// missing describes something that the Config requires but the lock does not provide. It returns "" if nothing is
// missing.
func (t *trial) missing() string {
	first := t.hand[0]
	p := t.config.Precautions
	_, tokens := first.lock.(Fenced)
	_, extends := first.lock.(Extender)
	failed, isUnopened := first.lock.(unopened)
	switch {
	case isUnopened:
		return fmt.Sprintf("Config.New returned an error for %s: %s", first.name, said(failed.err))
	case first.Dialed() == 0:
		text := fmt.Sprintf("the lock opened no connection: "+
			"pass c.DialContext to its client of %s, and an address of c.Addrs", t.scenario.Servers.Called())
		if len(t.wrong) > 0 {
			text += ". " + t.wrong[0]
		}
		return text
	case p.Fences && !tokens:
		return "Config.Precautions.Fences requires a Lock with a method FencingToken() int64"
	case p.ExtendEvery > 0 && !extends:
		return "Config.Precautions.ExtendEvery requires a Lock with a method Extend(context.Context) error"
	}
	return ""
}
