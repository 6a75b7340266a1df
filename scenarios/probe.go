package scenarios

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
)

// moreAsks is how many times the probe may repeat its request.
const moreAsks = 3

// prober makes the probe acquire the locks. The probe is a client that checks, at the end of a run, that each lock can
// still be acquired. It repeats an acquire whose result says nothing about the lock. There are two such cases: a fault
// struck or ended after the probe had acquired a lock, or the probe waited too long while one of its own messages was
// in the slow tail of the network's delays. The last acquire is not cut short: it may wait until the run ends, because
// a network that delays everything is a genuine reason for a long wait.
type prober struct {
	*Runner
	client *client
	sound  history.Time // how long the probe may wait before the lock counts as stuck
	from   int          // number of events before the probe's current request
	again  int          // number of repeated requests so far
	late   bool         // whether one of the probe's messages was in the slow tail
	until  history.Time // when the run must end
}

// runProbe adds the probe and runs the simulation until the probe has acquired the locks. The probe behaves as if the
// first client asked for the lock once more. It has that client's clocks, even if they are currently wrong. runProbe
// reports whether the time limit was reached.
func (r *Runner) runProbe(over func() bool) (limited bool) {
	w := r.world
	p := &prober{Runner: r, sound: r.header.TTL + r.header.Hold + r.header.Slack, from: len(w.SoFar()),
		client: r.newProbe(r.scenario.library())}
	begin := w.Now() + history.Of(r.lease())
	// a client is still waiting although no event is pending, so only the probe's use of the lock can wake it
	if anyWaits(w.SoFar()) {
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

// anyWaits reports whether a client that has not crashed is still waiting for a lock.
func anyWaits(events []history.Event) bool {
	waiting := map[history.Process]int{} // how many tasks wait
	for i := range events {
		switch e := &events[i]; e.F {
		case history.Acquire:
			waiting[e.Process] += map[bool]int{true: 1, false: -1}[e.Type == history.Invoke]
		case history.Crashed:
			waiting[e.Process] = 0
		}
	}
	for _, waits := range waiting {
		if waits > 0 {
			return true
		}
	}
	return false
}

// newProbe creates a client that acquires each lock once.
func (r *Runner) newProbe(library *locks.Library) *client {
	c := r.scenario.Clients[0]
	c.ID, c.Work = history.Probe, Work{Cycles: 1, Tasks: 1, Locks: r.header.Locks}
	c.Lock.InObject = false
	c.Lock.Patience, c.Lock.Attempts = 0, 0 // if the probe gave up, it could not show that a lock is stuck
	return newClient(&c, r.scenario.Resource, library)
}

// lease returns how soon a lock must be free if no client sends any requests: one TTL and a millisecond.
func (r *Runner) lease() time.Duration { return r.header.TTL.Duration() + time.Millisecond }

// outdated reports whether a fault struck or ended after the probe acquired a lock in its current cycle. If so, the
// probe has not tested the state after the last fault.
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

// delayed records that one of the probe's messages was in the slow tail of the network's delays. If the probe has
// already waited too long, delayed ignores the message, because it is not the reason for the wait. From then on, watch
// checks how long the probe has been waiting. It runs as a separate event, because the probe may be sending the message
// right now.
func (p *prober) delayed(from, to sim.ProcessID) {
	if p.late || from != history.Probe && to != history.Probe {
		return
	}
	if call := p.waiting(); call == nil || call.Time+p.sound > p.world.Now() {
		p.late = true
		p.world.At(p.world.Now(), p.watch)
	}
}

// watch makes the probe give up its request if it has waited long enough. It then schedules the next check, unless the
// probe has no repetitions left.
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

// waiting returns the invocation of the acquire that the probe is waiting for, or nil if there is none.
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

// giveUp ends one of the probe's acquires. The probe then waits until everything it has sent must have arrived, and
// repeats its request. On a new connection, a message may take up to three one-way delays to arrive.
func (p *prober) giveUp(call history.Event) {
	call.Type, call.Why = history.Fail, history.AcquireTimeout
	p.world.Record(history.Probe, call)
	p.askAgain(3 * p.scenario.Network.Tail.Delay.Hi)
}

// askAgain makes the probe release its locks and then acquire each lock once more. Before it asks again, the probe
// waits until the given time has passed and all the locks that it held have expired.
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
