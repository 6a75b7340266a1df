package scenarios

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
)

// moreAsks limits how often the probe asks again.
const moreAsks = 3

// prober makes the probe ask. If the answer says nothing about the lock, it asks again: if it was not served in time
// and one of its own messages was in the network's tail, or if a fault has struck since it acquired a lock. The last
// time it waits as long as it takes: a network that delays everything is no artefact.
type prober struct {
	*Runner
	client *client
	sound  history.Time // how long a wait may last
	from   int          // index of the first event since it began to ask this time
	again  int          // how many times it has asked again
	late   bool         // one of its messages was in the tail
	until  history.Time // when the run is to end
}

// runProbe adds the probe and lets events happen until it is served. The probe stands for the first client asking once
// more, and so has that client's clocks, as wrong as they are by then. It reports whether the time for that ran out.
func (r *Runner) runProbe(over func() bool) (limited bool) {
	w := r.world
	p := &prober{Runner: r, sound: r.header.TTL + r.header.Hold + r.header.Slack, from: len(w.SoFar()),
		client: r.newProbe(r.scenario.library())}
	begin := w.Now() + history.Of(r.lease())
	if anyWaits(w.SoFar()) { // for something that no pending event brings; the probe's own use of the lock might
		begin += p.sound
	}
	p.until = begin + 2*p.sound
	w.AddSuccessor(history.Probe, r.scenario.Clients[0].ID, begin, p.client.main)
	w.OnTail(p.delayed)
	for {
		limited = p.drive(p.until, over)
		switch {
		case limited && w.Now() < p.until: // it is about to ask again
		case limited || p.again == moreAsks || !p.outdated():
			return limited
		default:
			p.askAgain(0)
		}
	}
}

// anyWaits reports whether a live client has asked for a lock and not been answered.
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
	c.Lock.Patience, c.Lock.Attempts = 0, 0 // one that gave up would not show that a lock is stuck
	return newClient(&c, r.scenario.Resource, library)
}

// lease is how long nobody must have asked for a lock for it to be free: longer than a lease lasts.
func (r *Runner) lease() time.Duration { return r.header.TTL.Duration() + time.Millisecond }

// outdated reports whether a fault struck or ended after the probe had acquired a lock this time: it has not seen the
// state after the last fault.
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

// delayed records a message in the network's tail.
func (p *prober) delayed(from, to sim.ProcessID) {
	if !p.late && (from == history.Probe || to == history.Probe) {
		p.late = true
		p.watch()
	}
}

// watch makes the probe give up when it has waited long enough, and checks again later if it has not.
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

// waiting is the call of the acquire that the probe waits for, nil if there is none.
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

// giveUp ends an acquire, and makes the probe ask again when all that it has sent has arrived, for which a new
// connection may take three one-way delays.
func (p *prober) giveUp(call history.Event) {
	call.Type, call.Why = history.Fail, history.AcquireTimeout
	p.world.Record(history.Probe, call)
	p.askAgain(3 * p.scenario.Network.Tail.Delay.Hi)
}

// askAgain makes the probe give back what it holds and, when that must be gone and the given time has passed, take each
// lock once more.
func (p *prober) askAgain(after time.Duration) {
	before := p.client
	p.again++
	p.client = p.newProbe(before.library.Anew())
	p.from = len(p.world.SoFar())
	p.until = p.world.Now() + history.Of(after+p.lease()) + 2*p.sound
	next := p.client
	p.world.BeginAgain(history.Probe, p.world.Now(), func(env sim.Env) {
		if !p.scenario.Servers.consensus() { // whose sessions end when nobody keeps them alive
			before.section.giveBack(env)
		}
		env.Sleep(after + p.lease())
		next.main(env)
	})
}
