package sim

import (
	"fmt"
	"testing"
)

// freezer is an echo server that is notified of pauses.
type freezer struct{ echo }

func (f *freezer) Pause()  { f.note("pause") }
func (f *freezer) Resume() { f.note("resume") }

// TestPauserIsCalledForTheFirstPauseAndTheLastResume checks nested pauses. Pause must be called only when the first
// pause begins, and Resume only when the last pause ends, even while the process is down. Resume must be called before
// any of the events that were held back.
func TestPauserIsCalledForTheFirstPauseAndTheLastResume(t *testing.T) {
	l := &lab{World: New(7, Options{Delay: Delay{ms, ms}}), t: t}
	s := &freezer{echo{w: l.World}}
	l.AddServer("s-1", s)
	l.At(Time(1*ms), func() { l.Pause("s-1"); l.Pause("s-1") })
	l.At(Time(2*ms), func() { l.Resume("s-1"); l.Stop("s-1", PowerLoss); l.Restart("s-1") })
	l.At(Time(3*ms), func() { l.Resume("s-1") })
	l.At(Time(4*ms), func() { l.Stop("s-1", PowerLoss); l.Pause("s-1"); l.Resume("s-1") })
	l.run()
	l.want(s.got, "0s start", "1ms pause", "2ms stop 2", "3ms resume", "3ms start", "4ms stop 2", "4ms pause",
		"4ms resume")
}

func TestRateIsTheSumOfTheDrifts(t *testing.T) {
	l := &lab{World: New(7, Options{Delay: Delay{ms, ms}}), t: t}
	s := &freezer{echo{w: l.World}}
	l.AddServer("s-1", s)
	rate := func() { s.note(fmt.Sprint(s.host.(Rated).Rate())) }
	l.At(Time(1*ms), func() { l.Drift("s-1", 500); rate(); l.Drift("s-1", -700); rate() })
	l.run()
	l.want(s.got, "0s start", "1ms clock changed", "1ms 500", "1ms clock changed", "1ms -200")
}
