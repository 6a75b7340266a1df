package nemesis

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Installed is a plan at work in a world.
type Installed struct {
	w       *sim.World
	names   Names
	pending int // faults whose time or end is still to come
}

// Over reports whether every fault that strikes at a time has struck, and every one that ends has ended. A fault that
// waits for a point does not count.
func (n *Installed) Over() bool { return n.pending == 0 }

// Install arranges for every fault to strike the world, which must know all processes by now. The faults must have been
// validated against the same names. Each records when it strikes and, if it does, when it ends.
func Install(w *sim.World, names Names, faults []Fault) *Installed {
	n := &Installed{w: w, names: names}
	strikers := make([]*striker, len(faults))
	for i := range faults {
		strikers[i] = &striker{Installed: n, Fault: faults[i]}
		strikers[i].arrange()
	}
	for _, s := range strikers {
		s.arrangeEnd()
	}
	for _, s := range strikers {
		if s.timed() && s.Trigger.Time == 0 {
			s.strike() // before any client's first step: what holds from the start holds for the first message
		}
	}
	return n
}

// striker carries out one fault.
type striker struct {
	*Installed
	Fault
	line   string
	struck *history.Fault
	// ending is set if the end has been arranged before the strike. It is cleared where there is nothing to end.
	ending bool
}

// timed reports whether the fault strikes at a time, not at a point or with a message.
func (s *striker) timed() bool {
	return s.Kind != DelayMessage && s.Kind != Break && s.Trigger.Point == ""
}

func (s *striker) arrange() {
	switch t := s.Trigger; {
	case s.Kind == DelayMessage:
		s.w.DelayNth(s.Target, s.Peer, s.Number, s.By, s.late)
	case s.Kind == Break:
		s.w.BreakBefore(s.Target, s.Peer, s.Number, s.instant)
	case t.Point != "":
		s.w.AtPoint(s.PassedBy(), t.Point, t.Pass, s.strike)
	case t.Time > 0:
		s.after(t.Time, s.strike)
	}
}

// arrangeEnd arranges the end of a fault whose time is known from the start. Of what the plan does at one instant, all
// strikes come before all ends: a fault split in two, the second to strike as the first ends, acts as the whole.
func (s *striker) arrangeEnd() {
	d, ends := s.duration()
	if !s.timed() || !ends || s.recordsItself() {
		return
	}
	s.ending = true
	s.pending++
	s.w.At(history.Of(s.Trigger.Time)+history.Of(d), func() {
		if s.ending {
			s.pending--
			s.finish()
		}
	})
}

// strike begins the fault, and sees to its end.
func (s *striker) strike() {
	if s.idle() {
		if s.ending {
			s.ending = false
			s.pending--
		}
		return
	}
	if s.recordsItself() {
		s.begin()
		return
	}
	s.record(history.Invoke) // before its effects: an order of events is all that a checker sees
	s.begin()
	if d, ends := s.duration(); ends && !s.ending {
		s.after(d, s.finish)
	}
}

// finish ends the fault.
func (s *striker) finish() {
	s.end()
	if late := s.aftermath(); late > 0 {
		s.after(late, func() { s.record(history.OK) })
		return
	}
	s.record(history.OK)
}

// after calls f when d has passed; the plan is not over before that.
func (s *striker) after(d time.Duration, f func()) {
	s.pending++
	s.w.At(s.w.Now()+history.Of(d), func() {
		s.pending--
		f()
	})
}

// aftermath is how much longer than itself a fault acts. The last message that a slow link held up arrives that much
// later, and the last fsync that began while they were slow ends that much later: until then nobody may be held to act as
// if nothing were wrong.
func (s *striker) aftermath() time.Duration {
	if s.Kind == DelayLink || s.Kind == SlowFsync {
		return s.By
	}
	return 0
}

// late records that one message is held up, from its sending until it would have arrived without.
func (s *striker) late() {
	s.record(history.Invoke)
	s.after(s.By, func() { s.record(history.OK) })
}

// instant records a fault that is over as it strikes.
func (s *striker) instant() {
	s.record(history.Invoke)
	s.record(history.OK)
}

func (s *striker) record(t history.Type) {
	if s.line == "" {
		s.line, s.struck = s.String(), s.Struck()
	}
	s.w.Record(history.Nemesis, history.Event{Type: t, F: history.F(s.Kind.String()), Value: s.line, Fault: s.struck})
}

// idle reports whether there is nothing to strike: a crash of what is down already.
func (s *striker) idle() bool { return (s.Kind == Crash || s.Kind == ShutDown) && s.w.Down(s.Target) }

// recordsItself reports whether the fault is recorded later than it begins: when the message is sent that it holds up, or
// the replica has become master.
func (s *striker) recordsItself() bool {
	return s.Kind == DelayLink && s.For == 0 || s.Kind == FailOver
}

func (s *striker) begin() {
	w := s.w
	switch s.Kind {
	case Pause:
		w.Pause(s.Target)
	case Jump:
		w.Jump(s.Target, s.By)
	case Drift:
		w.Drift(s.Target, int64(s.PPM))
	case Crash:
		s.crash()
	case ShutDown:
		w.Stop(s.Target, sim.ShutDown)
	case Cut:
		s.eachDirection(w.Cut)
	case DelayLink:
		if s.For > 0 {
			w.Slow(s.Target, s.Peer, s.By)
		} else {
			w.DelayNext(s.Target, s.Peer, s.By, s.late)
		}
	case SlowFsync:
		w.ServerFault(s.Target, sim.ServerFault{Kind: sim.SlowFsync, By: s.By, Begin: true})
	case FailOver:
		w.ServerFault(s.names.Sentinel, sim.ServerFault{Kind: sim.FailOver, To: s.Peer})
	case ExpireSession:
		for _, member := range s.names.Consensus {
			w.ServerFault(member, sim.ServerFault{Kind: sim.ExpireSession, To: s.Target})
		}
	}
}

func (s *striker) crash() {
	switch s.Loss {
	case LosesUnsynced:
		s.w.Stop(s.Target, sim.PowerLoss)
	case LosesEverything:
		s.w.Stop(s.Target, sim.LoseAllState)
	default:
		s.w.Crash(s.Target)
	}
}

func (s *striker) end() {
	w := s.w
	switch s.Kind {
	case Pause:
		w.Resume(s.Target)
	case Drift:
		w.Drift(s.Target, -int64(s.PPM))
	case Crash, ShutDown:
		w.Restart(s.Target)
	case Cut:
		s.eachDirection(w.Heal)
	case DelayLink:
		w.Slow(s.Target, s.Peer, -s.By)
	case SlowFsync:
		w.ServerFault(s.Target, sim.ServerFault{Kind: sim.SlowFsync, By: s.By})
	}
}

func (s *striker) eachDirection(f func(from, to sim.ProcessID)) {
	for _, a := range s.Left {
		for _, b := range s.Right {
			f(a, b)
			if !s.OneWay {
				f(b, a)
			}
		}
	}
}
