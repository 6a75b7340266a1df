//go:build linux && amd64

package traced

import "github.com/fencepost-sim/fencepost/sim"

// uptime is what the monotonic clock of each process shows at time 0, in ns: a machine that has run for a day.
const uptime = 86_400_000_000_000

// clock holds both clocks of a process.
type clock struct {
	since int64 // virtual time at which the rate began
	mono  int64 // advance of the monotonic clock until then
	wall  int64 // wall minus the advance of the monotonic clock
	ppm   int64 // by how many millionths both run fast; at least -900,000
}

// advance returns by how much the clock has advanced since time 0.
func (c *clock) advance(now int64) int64 { return c.mono + sim.Elapse(now-c.since, c.ppm) }

func (c *clock) monotonic(now int64) int64 { return uptime + c.advance(now) }

func (c *clock) realtime(now int64) int64 { return c.wall + c.advance(now) }

func (c *clock) drift(now, ppm int64) { c.since, c.mono, c.ppm = now, c.advance(now), c.ppm+ppm }

// reached returns the first virtual time, not before now, at which the clock has advanced by at.
func (c *clock) reached(at, now int64) int64 {
	if at <= c.mono {
		return now
	}
	return max(now, c.since+sim.Unelapse(at-c.mono, c.ppm))
}
