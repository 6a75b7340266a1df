package locktest

import (
	"context"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
)

// stating is a lock that says until when it is held, while it is held: from the return of Lock to the call of Unlock.
type stating struct {
	*foreign
	lock Untiler
	hold *locks.Hold
	over sim.Signal // raised when Unlock is called
	busy bool       // Extend is under way; the lock is asked when it has returned
}

// follow asks a lock again while it is held, when a server's answer has reached its client and when the validity that
// it stated ends, since the lock may have renewed itself.
func (l *foreign) follow(env sim.Env, h *locks.Hold) {
	u, says := l.lock.(Untiler)
	if !says {
		return
	}
	s := &stating{foreign: l, lock: u, hold: h}
	l.stating, h.Refresh = s, s.ask
	env.Go("until", s.watch)
}

func (s *stating) watch(env sim.Env) {
	for !s.over.Raised() {
		left := s.hold.Grant.Until.At - time.Duration(env.Wall().UnixNano())
		if left <= 0 {
			left = sim.Forever
		}
		env.Sleep(left, &s.over, s.answers(env.Name()))
		s.ask(env)
	}
}

// ask asks the lock until when it is held, and records a changed answer. An end in the past adds nothing to the lease.
func (s *stating) ask(env sim.Env) {
	if s.over.Raised() || s.busy {
		return
	}
	var until, now time.Time
	at := s.guest.Call(env, "Until", func(context.Context) { until, now = s.lock.Until(), time.Now() })
	stated := time.Unix(0, int64(s.hold.Grant.Until.At))
	if until.Before(now) {
		until = now
	}
	if s.over.Raised() || s.busy || until.Equal(stated) || !until.After(now) && !stated.After(now) {
		return
	}
	s.hold.Grant.Granted = s.guest.Mark(at)
	s.hold.Grant.Until.At = time.Duration(until.UnixNano())
	s.hold.Prolonged(env)
}
