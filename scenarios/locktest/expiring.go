package locktest

import (
	"context"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
)

// validity tracks how long an Expiring lock is valid while a client holds it, that is, from the return of Lock to the
// call to Unlock.
type validity struct {
	*foreign
	lock Expiring
	hold *locks.Hold
	over sim.Signal // raised when Unlock is called
	busy bool       // Extend is being called; the lock is asked again after Extend has returned
}

// follow keeps the recorded validity of a held lock up to date, because the lock may renew itself. It asks the lock
// again whenever a server's answer has reached the client, and whenever the validity that the lock last reported ends.
func (l *foreign) follow(env sim.Env, h *locks.Hold) {
	lock, says := l.lock.(Expiring)
	if !says {
		return
	}
	v := &validity{foreign: l, lock: lock, hold: h}
	l.validity, h.Refresh = v, v.ask
	env.Go("validity", v.watch)
}

func (v *validity) watch(env sim.Env) {
	for !v.over.Raised() {
		left := v.hold.Grant.Until.At - time.Duration(env.Wall().UnixNano())
		if left <= 0 {
			left = sim.Forever
		}
		env.Sleep(left, &v.over, v.answers(env.Name()))
		v.ask(env)
	}
}

// ask asks the lock how long it is valid, and records the answer if it has changed. If the answer is a time in the
// past, ask treats it as the current time. If the recorded validity had already ended as well, ask does not record
// anything.
func (v *validity) ask(env sim.Env) {
	if v.over.Raised() || v.busy {
		return
	}
	var until, now time.Time
	at := v.Call(env, "ValidUntil", func(context.Context) { until, now = v.lock.ValidUntil(), time.Now() })
	stated := time.Unix(0, int64(v.hold.Grant.Until.At))
	if until.Before(now) {
		until = now
	}
	if v.over.Raised() || v.busy || until.Equal(stated) || !until.After(now) && !stated.After(now) {
		return
	}
	v.hold.Grant.Granted = v.guest.Mark(at)
	v.hold.Grant.Until.At = time.Duration(until.UnixNano())
	v.hold.Prolonged(env)
}
