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
	pending int // number of faults that are still to begin or to end at a scheduled time
	passages
}

// Over reports whether every fault that begins or ends at a known time has done so. Faults that wait for a point or a
// message do not count, nor do faults that last forever.
func (n *Installed) Over() bool { return n.pending == 0 }

// Install schedules the faults in a world, which must already have all its processes. Times in the plan, and the number
// of times that a client has passed a point, are counted from the call to Install. The faults must have been validated
// against names. Each fault is recorded in the history when it begins and when it ends.
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
			s.strike() // before the first step of any client, so that the first message is affected too
		}
	}
	return n
}

// striker injects one fault.
type striker struct {
	*Installed
	Fault
	how    *definition
	line   string
	struck *history.Fault
	// ending is set if the end of the fault was scheduled before the fault struck. It is cleared if it turns out that
	// nothing needs to end.
	ending bool
}

// timed reports whether the fault's trigger is a time.
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
				s.strike() // at this moment, the client has the answer but has not acted on it
			default: // wait until the sender or receiver has finished
				s.schedule(0, s.strike)
			}
			return none
		})
	case t.Point != "":
		s.w.AtPoint(s.PassedBy(), t.Point, t.Pass, s.strike)
	case t.Time > 0:
		s.schedule(t.Time, s.strike)
	}
}

// arrangeEnd schedules the end of a fault if its time is known from the start. At any given instant, faults begin
// before others end. So if one fault begins just as another ends, the effect is that of a single longer fault.
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
	s.record(history.Invoke) // recorded before it takes effect, because a checker sees only the order of events
	s.how.begin(s)
	if d, ends := s.duration(); ends && !s.ending {
		s.schedule(d, s.finish)
	}
}

// finish ends the fault. It does not record the end until all effects of the fault are over, because checks may expect
// normal behavior from then on.
func (s *striker) finish() {
	if s.how.end != nil {
		s.how.end(s)
	}
	if s.how.aftermath != nil {
		s.schedule(s.how.aftermath(&s.Fault), func() { s.record(history.OK) })
		return
	}
	s.record(history.OK)
}

// schedule calls f after the given time. The plan is not over until then.
func (s *striker) schedule(d time.Duration, f func()) {
	s.pending++
	s.w.At(s.w.Now()+history.Of(d), func() {
		s.pending--
		f()
	})
}

// recordLate records a fault that delays one message. The fault begins when the message is sent and lasts as long as
// the delay.
func (s *striker) recordLate() {
	s.record(history.Invoke)
	s.schedule(s.By, func() { s.record(history.OK) })
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

// idle reports whether a crash or shutdown would have no effect because the process is already down.
func (s *striker) idle() bool { return s.how.words.IsDown() && s.w.Down(s.Target) }

// recordsItself reports whether the fault is not recorded when it begins, but later: when the message that it delays is
// sent, or when the replica that it promotes has become master.
func (s *striker) recordsItself() bool {
	return s.how.recordsItself != nil && s.how.recordsItself(&s.Fault)
}
