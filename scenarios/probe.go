package scenarios

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
)

// moreAsks is how many times the probe may repeat its request.
const moreAsks = 3

// prober makes the probe request the locks. It repeats the request if the result says nothing about the lock. That is
// the case if a fault has struck since it acquired a lock, or if it had to wait for too long and one of its own
// messages was in the network's slow tail. The last request waits as long as necessary: a network that delays
// everything is a genuine reason for a long wait.
type prober struct {
	*Runner
	client *client
	sound  history.Time // how long the probe may wait before the lock counts as stuck
	from   int          // index of the first event of its current request
	again  int          // how many times it has repeated the request
	late   bool         // whether one of its messages was in the slow tail
	until  history.Time // when the run is to end
}

// runProbe adds the probe and lets events happen until the probe is served. The probe acts as if the first client
// requested the lock once more, so it has that client's clocks, however wrong they are by then. runProbe reports
// whether its time ran out.
func (r *Runner) runProbe(over func() bool) (limited bool) {
	w := r.world
	p := &prober{Runner: r, sound: r.header.TTL + r.header.Hold + r.header.Slack, from: len(w.SoFar()),
		client: r.newProbe(r.scenario.library())}
	begin := w.Now() + history.Of(r.lease())
	if anyWaits(w.SoFar()) { // for something that no pending event brings, but perhaps the probe's use of the lock
		begin += p.sound
	}
	p.until = begin + 2*p.sound
	w.AddSuccessor(history.Probe, r.scenario.Clients[0].ID, begin, p.client.main)
	w.OnTail(p.delayed)
	for {
		limited = p.drive(p.until, over)
		switch {
		case limited && w.Now() < p.until: // the probe is about to repeat its request
		case limited || p.again == moreAsks || !p.outdated():
			return limited
		default:
			p.askAgain(0)
		}
	}
}

// anyWaits reports whether a live client has requested a lock and has got no answer.
func anyWaits(events []history.Event) bool {
	waiting := map[history.Process]bool{}
	for i := range events {
		switch e := &events[i]; e.F {
		case history.Acquire:
			waiting[e.Process] = e.Type == history.Invoke
		case history.Crashed:
			waiting[e.Process] = false
		}
	}
	for _, waits := range waiting {
		if waits {
			return true
		}
	}
	return false
}

// newProbe makes a client that takes each lock once.
func (r *Runner) newProbe(library *locks.Library) *client {
	c := r.scenario.Clients[0]
	c.ID, c.Work = history.Probe, Work{Cycles: 1, Locks: r.header.Locks}
	c.Lock.Patience, c.Lock.Attempts = 0, 0 // a probe that gave up would not show that a lock is stuck
	return newClient(&c, r.scenario.Resource, library)
}

// lease returns how long a lock must go without requests until it is certainly free: slightly longer than a lease.
func (r *Runner) lease() time.Duration { return r.header.TTL.Duration() + time.Millisecond }

// outdated reports whether a fault struck or ended after the probe's current request acquired a lock. The probe has
// then not seen the state after the last fault.
func (p *prober) outdated() bool {
	acquired := false
	for _, e := range p.world.SoFar()[p.from:] {
		if e.Process == history.Nemesis && acquired {
			return true
		}
		acquired = acquired || e.Process == history.Probe && e.F == history.Acquire && e.Type == history.OK
	}
	return false
}

// delayed records that a message was in the network's slow tail. If the probe had already waited for too long, that
// message is not the reason. The check is an event of its own, because the probe may be sending the message at this
// moment.
func (p *prober) delayed(from, to sim.ProcessID) {
	if p.late || from != history.Probe && to != history.Probe {
		return
	}
	if call := p.waiting(); call == nil || call.Time+p.sound > p.world.Now() {
		p.late = true
		p.world.At(p.world.Now(), p.watch)
	}
}

// watch makes the probe give up if it has waited long enough. Otherwise, or afterwards, it schedules its next check.
func (p *prober) watch() {
	now := p.world.Now()
	next := now + p.sound
	if call := p.waiting(); call != nil {
		if next = call.Time + p.sound; next <= now {
			p.giveUp(*call)
			next = now + p.sound
		}
	}
	if p.again < moreAsks {
		p.world.At(next, p.watch)
	}
}

// waiting returns the call of the acquire for which the probe is waiting, or nil if there is none.
func (p *prober) waiting() *history.Event {
	events := p.world.SoFar()
	for i := len(events) - 1; i >= p.from; i-- {
		if e := &events[i]; e.Process == history.Probe && e.F == history.Acquire {
			if e.Type == history.Invoke {
				return e
			}
			return nil
		}
	}
	return nil
}

// giveUp ends an acquire. It makes the probe repeat its request once everything that it has sent must have arrived,
// which may take three one-way delays with a new connection.
func (p *prober) giveUp(call history.Event) {
	call.Type, call.Why = history.Fail, history.AcquireTimeout
	p.world.Record(history.Probe, call)
	p.askAgain(3 * p.scenario.Network.Tail.Delay.Hi)
}

// askAgain makes the probe release what it holds and then take each lock once more, after the given time plus the
// time in which everything that it held expires.
func (p *prober) askAgain(after time.Duration) {
	before := p.client
	p.again++
	p.client = p.newProbe(before.library.Anew())
	p.from = len(p.world.SoFar())
	p.until = p.world.Now() + history.Of(after+p.lease()) + 2*p.sound
	next := p.client
	p.world.BeginAgain(history.Probe, p.world.Now(), func(env sim.Env) {
		if !p.scenario.Servers.consensus() { // with consensus, sessions end by themselves
			before.section.giveBack(env)
		}
		env.Sleep(after + p.lease())
		next.main(env)
	})
}
