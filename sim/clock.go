package sim

import (
	"math"
	"time"
)

// Epoch is the time that wall clocks show by default at the start of a run: 2026-01-01 00:00:00 UTC, in ns since the
// Unix epoch.
const Epoch int64 = 1767225600_000000000

// ClockKind distinguishes a process's two clocks.
type ClockKind uint8

const (
	Monotonic ClockKind = iota + 1 // never jumps; drifts
	Wall                           // jumps and drifts
)

const million = 1_000_000

// segment is a period of true time in which a clock does not jump and its rate does not change.
type segment struct {
	start Time
	// since is the true time at which the clock got its current rate, and mono is the monotonic reading at that time,
	// in ns. A jump does not change the rate and must not change these fields either: recomputing them would round the
	// readings again and so shift them.
	since Time
	mono  int64
	wall  int64 // wall minus monotonic, ns
	// ppm is the rate error in parts per million: with 20000, the clock runs two percent fast. It is at least -900000,
	// so that time never stops or runs backward, and times fit into 64 bits.
	ppm int64
}

// clock represents a process's two clocks as a list of segments. The last segment is the current one. Readings are
// computed with integers from the time at which the current rate began, so they do not depend on how often the clock
// was read before.
type clock struct {
	segments []segment
}

func (c *clock) reset(wall int64) {
	c.segments = append(c.segments[:0], segment{wall: wall})
}

func (c *clock) last() *segment { return &c.segments[len(c.segments)-1] }

func (c *clock) monotonic(now Time) int64 { return c.last().monotonic(now) }

func (c *clock) wall(now Time) int64 { return c.last().monotonic(now) + c.last().wall }

func (s *segment) monotonic(now Time) int64 { return s.mono + Elapse(int64(now-s.since), s.ppm) }

// jump moves the wall clock by d.
func (c *clock) jump(now Time, d time.Duration) {
	s := *c.last()
	c.segments = append(c.segments, segment{now, s.since, s.mono, s.wall + int64(d), s.ppm})
}

// drift adds ppm to the clock's rate error. If several faults overlap, their errors add up.
func (c *clock) drift(now Time, ppm int64) {
	s := *c.last()
	c.segments = append(c.segments, segment{now, now, s.monotonic(now), s.wall, s.ppm + ppm})
}

// trueWait returns how much true time passes from now until the monotonic clock has advanced by d.
func (c *clock) trueWait(d int64) Time { return Time(Unelapse(min(d, farthest), c.last().ppm)) }

// farthest is the longest possible wait in ns, about seven years. Longer waits are shortened to it, so that sums of
// times fit into 64 bits even if the slowest possible clock makes the wait ten times as long.
const farthest int64 = math.MaxInt64 / 40

// trueTime returns the first true time at or after earliest at which the clock shows the given reading or a later one.
// It assumes that the clock's current segment continues forever.
func (c *clock) trueTime(kind ClockKind, at int64, earliest Time) Time {
	for i := range c.segments {
		s := &c.segments[i]
		end := Time(-1)
		if i+1 < len(c.segments) {
			end = c.segments[i+1].start
			if end <= earliest {
				continue
			}
		}
		local := s.mono
		if kind == Wall {
			local += s.wall
		}
		t := max(s.start, earliest)
		if at > local {
			t = max(t, s.since+Time(Unelapse(at-local, s.ppm)))
		}
		if end < 0 || t < end {
			return t
		}
	}
	return earliest
}

// Elapse returns how far a clock with the given rate error advances in d ns of true time, rounded down. d must not be
// negative. The multiplication is done in two parts, so that durations of days do not overflow.
func Elapse(d, ppm int64) int64 {
	if ppm == 0 {
		return d
	}
	part := d % million * ppm
	if part < 0 {
		part -= million - 1 // integer division rounds towards zero
	}
	return d + d/million*ppm + part/million
}

// Unelapse returns the shortest true duration in which a clock with the given rate error advances by at least d. d must
// not be negative.
func Unelapse(d, ppm int64) int64 {
	if ppm == 0 {
		return d
	}
	rate := million + ppm
	t := d/rate*million + (d%rate*million+rate-1)/rate
	for t > 0 && Elapse(t-1, ppm) >= d {
		t--
	}
	for Elapse(t, ppm) < d {
		t++
	}
	return t
}
