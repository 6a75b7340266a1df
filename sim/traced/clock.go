//go:build linux && amd64

package traced

import "github.com/fencepost-sim/fencepost/sim"

// uptime is what each process's monotonic clock shows at time 0, in ns: one day, as if the machine had been running for
// that long.
const uptime = 86_400_000_000_000

// clock contains a process's wall clock and monotonic clock.
type clock struct {
	since int64 // virtual time since which the clocks run at the current rate
	mono  int64 // how far the monotonic clock had advanced at that time
	wall  int64 // wall clock minus the advance of the monotonic clock
	ppm   int64 // how fast both clocks run, in millionths above the normal rate; at least -900,000
}

// advance returns how far the clock has advanced since time 0.
func (c *clock) advance(now int64) int64 { return c.mono + sim.Elapse(now-c.since, c.ppm) }

func (c *clock) monotonic(now int64) int64 { return uptime + c.advance(now) }

func (c *clock) realtime(now int64) int64 { return c.wall + c.advance(now) }

func (c *clock) drift(now, ppm int64) { c.since, c.mono, c.ppm = now, c.advance(now), c.ppm+ppm }

// reached returns the first virtual time, not before now, at which the clock has advanced by the given amount.
func (c *clock) reached(at, now int64) int64 {
	if at <= c.mono {
		return now
	}
	return max(now, c.since+sim.Unelapse(at-c.mono, c.ppm))
}
