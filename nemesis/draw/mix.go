// Package draw draws random faults: a mix says which kinds, how often and how large, and a generator draws from it what
// can strike the processes of a run.
//
// Goals: equal seeds give equal faults everywhere, so that a seed in a report reproduces its run; every fault drawn is
// valid and readable, and durations are spread over the orders of magnitude at which locks break; what a mix excludes
// is removed from a draw and changes nothing else in it.
//
// Non-goals: nothing here strikes, runs or judges. A mix does not say what is likely in production.
package draw

import (
	"fmt"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
)

// Mix says which faults are drawn, how often and how large.
type Mix struct {
	// Fewest and Most bound the number of faults in one draw; 0 <= Fewest <= Most <= MaxFaults.
	Fewest, Most int
	// Weights are how often each kind is drawn relative to the others. A kind for which the run has no process is never
	// drawn.
	Weights Weights
	// Pause, Jump, Delay, Fsync, Outage and Downtime are how long faults are: a pause; a clock jump (either way); the
	// delay of a message; the delay of an fsync; a cut, drift, slow link or slow fsync; the time until a restart.
	Pause, Jump, Delay, Fsync, Outage, Downtime Span
	// PPM is the largest drift, either way, from 1 to nemesis.MaxPPM.
	PPM int
	// Forever is the percentage of cuts and drifts that never end, and of crashes without a restart.
	Forever int
	// AtPoint is the percentage of triggers that are points; the others are times.
	AtPoint int
	// Aimed is the percentage of faults without a point that are turned to what happens in a run without faults.
	// Whoever has such runs does that: a Generator knows of none.
	Aimed int
	// Guided is the percentage of draws in whose place another plan is varied, whose run came close to breaking a law.
	// Whoever knows how close runs came does that.
	Guided int
	// Points are the points drawn; pass those that the protocol passes.
	Points []sim.Point
	// Swarm lets each draw choose from a random half of the kinds, so that some runs meet only crashes, others only
	// pauses and cuts: faults that hide each other's effect come alone as well (Groce and others, Swarm Testing, 2012).
	Swarm bool
	// Without lists faults that are removed from each draw; the others stay as they are.
	Without []nemesis.Exclusion
	// Messages is the largest number drawn for a message or a reply, from 1; Passes is that for the passing of a point.
	Messages, Passes int

	ttl time.Duration // of which For made it
}

// Weights holds one weight per kind, from 0 to MaxWeight, at the index of the kind.
type Weights [nemesis.MaxKinds + 1]int

// defaultWeights are those that the kinds themselves state.
func defaultWeights() Weights {
	var w Weights
	for _, k := range nemesis.Kinds {
		w[k] = k.Weight()
	}
	return w
}

// Span is a range of durations, ends included. Draws are whole milliseconds of every order of magnitude, long ones more
// often: of n doublings of the shortest, the k-th is drawn (2k-1)/n² of the time.
type Span struct{ Min, Max time.Duration }

// Default suits locks with a TTL of 10 s.
func Default() Mix { return For(10 * time.Second) }

// For is a mix whose durations lie around a TTL: what breaks locks is what outlasts them, or just fails to.
// A TTL below 100 ms counts as 100 ms, one above an hour as an hour.
func For(ttl time.Duration) Mix {
	ttl = min(max(ttl, 100*time.Millisecond), time.Hour)
	return Mix{
		ttl:    ttl,
		Fewest: 1, Most: 5,
		Weights:  defaultWeights(),
		Pause:    Span{ttl / 100, 3 * ttl},
		Jump:     Span{ttl / 100, 3 * ttl},
		Delay:    Span{max(ttl/1000, time.Millisecond), 3 * ttl},
		Fsync:    Span{ttl / 100, ttl / 2},
		Outage:   Span{ttl / 100, 3 * ttl},
		Downtime: Span{ttl / 100, 2 * ttl},
		PPM:      100_000,
		Forever:  10,
		AtPoint:  50,
		Aimed:    50,
		Guided:   50,
		Points:   sim.Points,
		Swarm:    true,
		Messages: 12, Passes: 3,
	}
}

// allows reports whether a fault that need not be drawn is as long as the mix says. Spans as For makes them bound
// nothing: what is aimed may be shorter or longer.
func (m *Mix) allows(f nemesis.Fault) bool {
	usual := For(m.ttl)
	within := func(length time.Duration, s, usual Span) bool {
		return length == 0 || s == usual || length >= s.Min && length <= s.Max
	}
	lasts := within(f.For, m.Outage, usual.Outage)
	if f.Kind == nemesis.Pause {
		lasts = within(f.For, m.Pause, usual.Pause)
	}
	return lasts && within(f.Restart, m.Downtime, usual.Downtime) &&
		(f.Kind != nemesis.DelayMessage || within(f.By, m.Delay, usual.Delay))
}

// check reports what is wrong with the mix; nil if nothing is.
func (m *Mix) check() error {
	for k, w := range m.Weights {
		if w != 0 && !slices.Contains(nemesis.Kinds, nemesis.Kind(k)) {
			return fmt.Errorf("mix: a weight is set at %d, which is no kind", k)
		}
		if w < 0 || w > MaxWeight {
			return fmt.Errorf("mix: the weight of %q is %d, not from 0 to %d", nemesis.Kind(k), w, MaxWeight)
		}
	}
	numbers := []struct {
		name             string
		value, low, high int
	}{
		{"Fewest", m.Fewest, 0, MaxFaults}, {"Most", m.Most, m.Fewest, MaxFaults},
		{"PPM", m.PPM, 1, nemesis.MaxPPM},
		{"Forever", m.Forever, 0, 100}, {"AtPoint", m.AtPoint, 0, 100}, {"Aimed", m.Aimed, 0, 100},
		{"Guided", m.Guided, 0, 100},
		{"Messages", m.Messages, 1, nemesis.MaxNumber}, {"Passes", m.Passes, 1, nemesis.MaxNumber},
	}
	for _, n := range numbers {
		if n.value < n.low || n.value > n.high {
			return fmt.Errorf("mix: %s is %d, not from %d to %d", n.name, n.value, n.low, n.high)
		}
	}
	spans := []struct {
		name string
		Span
	}{
		{"Pause", m.Pause}, {"Jump", m.Jump}, {"Delay", m.Delay}, {"Fsync", m.Fsync}, {"Outage", m.Outage},
		{"Downtime", m.Downtime},
	}
	for _, s := range spans {
		if s.Min < time.Millisecond || s.Max < s.Min || s.Max > nemesis.MaxDuration {
			return fmt.Errorf("mix: %s is %v to %v, not a range from 1ms to 24h", s.name, s.Min, s.Max)
		}
	}
	for _, p := range m.Points {
		if !slices.Contains(sim.Points, p) {
			return fmt.Errorf("mix: there is no point %q", p)
		}
	}
	return nil
}

// Bounds of a mix.
const (
	MaxFaults = 1000      // faults in one draw
	MaxWeight = 1_000_000 // of a kind: the sum of all weights stays an int32
)
