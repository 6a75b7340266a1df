package sim

import (
	"testing"
	"time"
)

// TestAJumpLeavesTheMonotonicClockAlone compares a clock that jumps many times with one that never does. At every rate,
// both must have the same monotonic reading, to the nanosecond.
func TestAJumpLeavesTheMonotonicClockAlone(t *testing.T) {
	for _, ppm := range []int64{-900_000, -333_333, -5, -1, 0, 1, 7, 999_999} {
		var jumps, steady clock
		for _, c := range []*clock{&jumps, &steady} {
			c.reset(Epoch)
			c.drift(3, ppm)
		}
		for at := Time(10); at < 5_000_000; at += 4_999 {
			jumps.jump(at, time.Duration(at%7)*time.Second)
			for now := at; now < at+40; now += 13 {
				if got, want := jumps.monotonic(now), steady.monotonic(now); got != want {
					t.Fatalf("%d ppm, %d ns: %d, and without jumps %d", ppm, now, got, want)
				}
			}
			got, want := jumps.trueTime(Monotonic, int64(at), 0), steady.trueTime(Monotonic, int64(at), 0)
			if got != want {
				t.Fatalf("%d ppm: the clock shows %d at %d, and without jumps at %d", ppm, at, got, want)
			}
		}
	}
}

// TestWhoWaitsWhileTheClockJumpsWakes makes a sleeping client's clock jump, in each run at a different time, and at
// rates at which readings must be rounded. The client must wake at exactly the same time as it would without the jump.
func TestWhoWaitsWhileTheClockJumpsWakes(t *testing.T) {
	for _, ppm := range []int64{-900_000, -5, 7, 333_333} {
		woken := func(jump Time) (at Time) {
			w := New(1, Options{})
			w.AddClient("client-1", 0, func(env Env) {
				env.Sleep(1_000_003)
				at = w.Now()
			})
			w.At(0, func() { w.Drift("client-1", ppm) })
			if jump > 0 {
				w.At(jump, func() { w.Jump("client-1", -time.Second) })
			}
			w.Run(Time(time.Second), func() bool { return at > 0 })
			w.Finish()
			return at
		}
		want := woken(0)
		for jump := Time(1); jump < 500_000; jump += 977 {
			if got := woken(jump); got != want || got == 0 {
				t.Fatalf("%d ppm, a jump at %d ns: awake at %d, not at %d", ppm, jump, got, want)
			}
		}
	}
}
