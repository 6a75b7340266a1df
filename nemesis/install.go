package nemesis

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Installed is a plan that has been installed in a world.
type Installed struct {
	w       *sim.World
	names   Names
	pending int // scheduled starts and ends of faults that are still to come
	passages
}

// Over reports whether all faults that strike at a given time have struck, and all faults that have struck and do not
// last forever have ended. A fault that still waits for a point or a message does not count.
func (n *Installed) Over() bool { return n.pending == 0 }

// Install schedules every fault in the world, which must already have all its processes. The plan's times count from
// the call of Install, and so do the passings of points. The faults must have been validated against the same names.
// Each fault records when it strikes and, if it does, when it ends.
func Install(w *sim.World, names Names, faults []Fault) *Installed {
	n := &Installed{w: w, names: names}
	strikers := make([]*striker, len(faults))
	for i := range faults {
		strikers[i] = &striker{Installed: n, Fault: faults[i], how: faults[i].Kind.definition()}
		strikers[i].arrange()
	}
	for _, s := range strikers {
		s.arrangeEnd()
	}
	for _, s := range strikers {
		if s.timed() && s.Trigger.Time == 0 {
			s.strike() // before any client's first step, so that it also affects the first message
		}
	}
	return n
}

// striker carries out one fault.
type striker struct {
	*Installed
	Fault
	how    *definition
	line   string
	struck *history.Fault
	// ending is set if the end was scheduled before the strike. It is cleared if there turns out to be nothing to end.
	ending bool
}

// timed reports whether the fault strikes at a given time.
func (s *striker) timed() bool {
	return s.Kind.Has(FieldTrigger) && s.Trigger.Timed()
}

func (s *striker) arrange() {
	switch t := s.Trigger; {
	case s.how.arrange != nil:
		s.how.arrange(s)
	case t.Message.Named():
		s.await(t.Message, s.PassedBy(), func(arrives bool) (none sim.Interference) {
			switch {
			case arrives == t.SaidAt:
			case s.how.holds && t.Message.Answer && arrives && s.Target == s.PassedBy():
				s.strike() // the client has the answer but has not acted on it
			default: // let the sender or the receiver finish first
				s.after(0, s.strike)
			}
			return none
		})
	case t.Point != "":
		s.w.AtPoint(s.PassedBy(), t.Point, t.Pass, s.strike)
	case t.Time > 0:
		s.after(t.Time, s.strike)
	}
}

// arrangeEnd schedules the end of a fault whose times are known from the start. At each instant, all strikes of the
// plan precede all ends. So if a fault is split in two and the second part strikes when the first ends, the two have
// the same effect as the whole.
func (s *striker) arrangeEnd() {
	d, ends := s.duration()
	if !s.timed() || !ends || s.recordsItself() {
		return
	}
	s.ending = true
	s.pending++
	s.w.At(s.w.Now()+history.Of(s.Trigger.Time)+history.Of(d), func() {
		if s.ending {
			s.pending--
			s.finish()
		}
	})
}

// strike begins the fault and schedules its end.
func (s *striker) strike() {
	if s.idle() {
		if s.ending {
			s.ending = false
			s.pending--
		}
		return
	}
	if s.recordsItself() {
		s.how.begin(s)
		return
	}
	s.record(history.Invoke) // before its effects: a checker sees only the order of events
	s.how.begin(s)
	if d, ends := s.duration(); ends && !s.ending {
		s.after(d, s.finish)
	}
}

// finish ends the fault. It records the end only after the aftermath: until then, no check may expect normal behavior.
func (s *striker) finish() {
	if s.how.end != nil {
		s.how.end(s)
	}
	if s.how.aftermath != nil {
		s.after(s.how.aftermath(&s.Fault), func() { s.record(history.OK) })
		return
	}
	s.record(history.OK)
}

// after calls f after d. The plan is not over before that.
func (s *striker) after(d time.Duration, f func()) {
	s.pending++
	s.w.At(s.w.Now()+history.Of(d), func() {
		s.pending--
		f()
	})
}

// late records that one message is delayed, from its sending until the delay is over.
func (s *striker) late() {
	s.record(history.Invoke)
	s.after(s.By, func() { s.record(history.OK) })
}

// instant records a fault that ends as soon as it strikes.
func (s *striker) instant() {
	s.record(history.Invoke)
	s.record(history.OK)
}

func (s *striker) record(t history.Type) {
	if s.line == "" {
		s.line, s.struck = s.Recorded(), s.Struck()
	}
	s.w.Record(history.Nemesis, history.Event{Type: t, F: s.how.words, Value: s.line, Fault: s.struck,
		Lock: s.Lock})
}

// idle reports whether the fault has nothing to strike: a crash or shutdown of a process that is already down.
func (s *striker) idle() bool { return s.how.words.IsDown() && s.w.Down(s.Target) }

// recordsItself reports whether the fault is recorded later than it begins: when the message that it delays is sent, or
// when the replica has become master.
func (s *striker) recordsItself() bool {
	return s.how.recordsItself != nil && s.how.recordsItself(&s.Fault)
}
