//go:build linux

package realtime

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// handClock is a host clock controlled by the test. Each wait takes the requested time plus stall.
type handClock struct {
	now    sim.Time
	stall  time.Duration // added to every wait
	before func()        // called during a wait
}

func (c *handClock) Now() sim.Time { return c.now }

func (c *handClock) Wait(d time.Duration, wake <-chan struct{}) {
	if f := c.before; f != nil {
		c.before = nil
		f()
	}
	select {
	case <-wake:
		return
	default:
	}
	c.now += sim.Time(d + c.stall)
}

func newLoop(c Clock) *Loop { return NewLoop(sim.New(1, sim.Options{Endless: true}), c) }

// TestEventsComeBeforeOperations checks that a posted function runs after all events that are due, and at the host's
// current time, no matter how late the host is.
func TestEventsComeBeforeOperations(t *testing.T) {
	for _, stall := range []time.Duration{0, 3 * time.Millisecond, 20 * time.Millisecond} {
		c := &handClock{stall: stall}
		l := newLoop(c)
		w := l.World()
		var said []string
		say := func(what string) { said = append(said, fmt.Sprint(what, " at ", w.Now().Duration())) }
		for _, ms := range []int{10, 12, 25} {
			at := time.Duration(ms) * time.Millisecond
			w.At(sim.Time(at), func() {
				say(fmt.Sprint("event ", at))
				if ms == 10 {
					l.Do(func() { say("operation") })
				}
			})
		}
		if limited := l.Run(sim.Time(30*time.Millisecond), nil); !limited {
			t.Error("the limit did not end it")
		}
		first := []string{"event 10ms at 10ms", "operation at 10ms", "event 12ms at 12ms", "event 25ms at 25ms"}
		switch stall {
		case 3 * time.Millisecond: // the loop wakes at 13 ms
			first = []string{"event 10ms at 10ms", "event 12ms at 12ms", "operation at 13ms", "event 25ms at 25ms"}
		case 20 * time.Millisecond: // the loop wakes at 30 ms
			first = []string{"event 10ms at 10ms", "event 12ms at 12ms", "event 25ms at 25ms", "operation at 30ms"}
		}
		if !slices.Equal(said, first) {
			t.Errorf("stall %v: %q, want %q", stall, said, first)
		}
		if w.Now() != sim.Time(30*time.Millisecond) {
			t.Errorf("it ended at %v", w.Now())
		}
	}
}

// TestOwnClientsSeeHowLateItIs checks that a late event happens at the host's actual time if the clients are code in
// this process.
func TestOwnClientsSeeHowLateItIs(t *testing.T) {
	c := &handClock{stall: 3 * time.Second}
	w := sim.New(1, sim.Options{Endless: true})
	l := NewOwnLoop(w, c)
	var read []time.Duration
	w.AddClient("client-1", 0, func(env sim.Env) {
		for range 2 {
			env.Sleep(time.Second)
			read = append(read, env.Monotonic())
		}
	})
	l.Run(sim.Time(time.Minute), func() bool { return len(read) == 2 })
	if want := []time.Duration{4 * time.Second, 8 * time.Second}; !slices.Equal(read, want) {
		t.Errorf("its clock shows %v, want %v", read, want)
	}
}

// TestAnOperationEndsAWait checks that a function posted from outside runs immediately, even if the loop is waiting for
// the next event.
func TestAnOperationEndsAWait(t *testing.T) {
	c := &handClock{}
	l := newLoop(c)
	var at sim.Time = -1
	c.before = func() {
		c.now = 7
		l.Do(func() { at = l.World().Now() })
	}
	l.Run(sim.Time(time.Hour), func() bool { return at >= 0 })
	if at != 7 {
		t.Errorf("it happened at %d, want 7", at)
	}
}

func TestAFailureEndsARun(t *testing.T) {
	l := newLoop(&handClock{})
	first := fmt.Errorf("the first")
	l.Do(func() {
		l.Fail(first)
		l.Fail(fmt.Errorf("the second"))
	})
	if limited := l.Run(sim.Time(time.Hour), nil); limited || l.Err() != first {
		t.Errorf("limited %t, %v", limited, l.Err())
	}
}

// TestLatenessIsMeasured checks that the lateness of each event that the loop had to wait for is recorded.
func TestLatenessIsMeasured(t *testing.T) {
	c := &handClock{stall: 4 * time.Millisecond}
	l := newLoop(c)
	for i := range 5 {
		l.World().At(sim.Time(i*10)*sim.Time(time.Millisecond), func() {})
	}
	l.Run(sim.Time(time.Second), nil)
	late := l.Late()
	if len(late) != 4 || late.Max() != 4*time.Millisecond || late.Quantile(0.5) != 4*time.Millisecond {
		t.Errorf("%d events, %v in the middle, %v at most", len(late), late.Quantile(0.5), late.Max())
	}
}

// TestQuantilesAreThoseOfASortedList checks that quantiles do not depend on the order of the measurements.
func TestQuantilesAreThoseOfASortedList(t *testing.T) {
	late := Lateness{4, 1, 3, 2}
	for q, want := range map[float64]time.Duration{0: 1, 0.25: 1, 0.26: 2, 0.5: 2, 0.75: 3, 0.76: 4, 1: 4} {
		if got := late.Quantile(q); got != want {
			t.Errorf("quantile %v is %d, want %d", q, got, want)
		}
	}
	if none := (Lateness{}); none.Quantile(0.5) != 0 || none.Max() != 0 {
		t.Error("of no events there is a lateness")
	}
}
