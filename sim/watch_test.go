package sim

import (
	"fmt"
	"testing"
	"time"
)

// record logs a moment as one line of text.
func (l *lab) record(m Moment) {
	early := ""
	if m.Early {
		early = " early"
	}
	switch m.Kind {
	case Acts:
		l.log = append(l.log, fmt.Sprintf("%v %s acts%s", m.At.Duration(), m.Process, early))
	case Passes:
		l.log = append(l.log, fmt.Sprintf("%v %s passes %s %d", m.At.Duration(), m.Process, m.Point, m.Pass))
	case Sends:
		l.log = append(l.log, fmt.Sprintf("%v %s sends %s %d%s", m.At.Duration(), m.Process, m.To, m.Number, early))
	case Settles:
		l.log = append(l.log, fmt.Sprintf("%v %s settles", m.At.Duration(), m.Process))
	}
}

func TestAWatchReportsActsPointsAndMessages(t *testing.T) {
	l := newLab(t)
	l.client("c", func(env Env) {
		env.Point(Acquired)
		env.Call(50*ms, nil, to("s-1", "A"))
		env.Point(Acquired)
		env.Sleep(3 * ms)
	})
	l.Watch(l.record)
	l.run()
	l.want(l.log, "0s c acts early", "0s c passes acquired 1", "0s c sends s-1 1 early", "1ms s-1 acts",
		"1ms s-1 sends c 1", "2ms c acts", "2ms c passes acquired 2", "5ms c acts")
}

// TestAPausedProcessActsWhenItIsResumed checks that if a message arrives during a pause, the process handles it when
// the pause ends.
func TestAPausedProcessActsWhenItIsResumed(t *testing.T) {
	l := newLab(t)
	l.client("c", func(env Env) { env.Call(50*ms, nil, to("s-1", "A")) })
	l.Watch(l.record)
	l.At(Time(ms), func() { l.Pause("s-1") })
	l.At(Time(9*ms), func() { l.Resume("s-1") })
	l.run()
	l.want(l.log, "0s c acts early", "0s c sends s-1 1 early", "9ms s-1 acts", "9ms s-1 sends c 1", "10ms c acts")
}

// TestAFaultOfAnInstantStrikesAfterEarlyActsAndBeforeAllOthers checks the order documented in Moment.Early.
func TestAFaultOfAnInstantStrikesAfterEarlyActsAndBeforeAllOthers(t *testing.T) {
	l := newLab(t)
	l.AddClient("late", Time(ms), func(env Env) { l.say("late begins") })
	l.client("c", func(env Env) {
		env.Sleep(ms)
		l.say("c goes on")
	})
	l.Watch(func(m Moment) {
		if m.At == Time(ms) {
			l.say("%s early %v", m.Process, m.Early)
		}
	})
	l.At(Time(ms), func() { l.say("strike") })
	l.run()
	l.want(l.log, "1ms late early true", "1ms late begins", "1ms strike", "1ms c early false", "1ms c goes on")
}

// settling is a server whose writes become durable one at a time, 10 ms apart.
type settling struct {
	echo
	report time.Duration
}

func (s *settling) Settled(now time.Duration) (at []time.Duration) {
	for ; s.report+10*ms <= now; s.report += 10 * ms {
		at = append(at, s.report+10*ms)
	}
	return at
}

func TestAWatchReportsWhatHasSettledBeforeTheNextActAndAtItsEnd(t *testing.T) {
	l := newLab(t)
	l.AddServer("disk", &settling{echo: echo{w: l.World}})
	l.client("c", func(env Env) {
		env.Sleep(24 * ms)
		env.Call(50*ms, nil, to("disk", "A"))
		env.Sleep(9 * ms)
	})
	l.Watch(l.record)
	l.Run(Time(36*ms), nil)
	l.Watch(nil)
	l.want(l.log, "0s c acts early", "24ms c acts", "24ms c sends disk 1", "10ms disk settles", "20ms disk settles",
		"25ms disk acts", "25ms disk sends c 1", "26ms c acts", "35ms c acts", "30ms disk settles")
}
