// Package draw draws random faults. A mix says which kinds of faults are drawn, how often, and how large they are. A
// generator draws from a mix the faults that can strike the processes of a run.
//
// Goals: equal seeds give equal faults everywhere, so that a seed in a report reproduces its run; every fault drawn is
// valid and readable; durations are spread over the orders of magnitude at which locks break; excluding faults from a
// mix removes them from a draw and changes nothing else in it.
//
// Non-goals: nothing here carries out a fault, runs a scenario or judges a run. A mix does not say what is likely in
// production.
package draw

import (
	"fmt"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
)

// Mix says which faults are drawn, how often, and how large they are.
type Mix struct {
	// Fewest and Most bound the number of faults in one draw: 0 <= Fewest <= Most <= MaxFaults.
	Fewest, Most int
	// Weights says how often each kind is drawn relative to the others. A kind that cannot strike any process of the
	// run is never drawn.
	Weights Weights
	// Pause, Jump, Delay, Fsync, Outage and Downtime are ranges of durations: the length of a pause; how far a clock
	// jumps, in either direction; the delay of a message; the delay of an fsync; the length of a cut, drift, slow link
	// or slow fsync; the time until a restart.
	Pause, Jump, Delay, Fsync, Outage, Downtime Span
	// PPM is the largest drift, in either direction, from 1 to nemesis.MaxPPM.
	PPM int
	// Forever is the percentage of cuts and drifts that never end, and of crashes and shutdowns without a restart.
	Forever int
	// AtPoint is the percentage of triggers that are points. The other triggers are times.
	AtPoint int
	// Aimed is the percentage of faults without a point that are moved to an event of a run without faults. A Generator
	// does not know such a run, so its caller moves them.
	Aimed int
	// Guided is the percentage of draws that are replaced by a variation of another plan, whose run came close to
	// breaking a law. A Generator does not know how close a run came, so its caller replaces them.
	Guided int
	// Points are the points at which faults may be drawn. List only points that the protocol passes.
	Points []sim.Point
	// Swarm lets each draw choose from a random half of the kinds. So some runs have only crashes, others only pauses
	// and cuts, and faults that hide each other's effects also occur alone (Groce and others, Swarm Testing, 2012).
	Swarm bool
	// Without lists faults that are removed from each draw. The other faults of the draw do not change.
	Without []nemesis.Exclusion
	// Messages is the largest number drawn for a message or a reply, from 1. Passes is the largest number drawn for the
	// passing of a point, from 1.
	Messages, Passes int

	ttl time.Duration // the TTL that was passed to For
}

// Weights holds one weight per kind, from 0 to MaxWeight, indexed by kind.
type Weights [nemesis.MaxKinds + 1]int

// defaultWeights returns the weights that the definitions of the kinds state.
func defaultWeights() Weights {
	var w Weights
	for _, k := range nemesis.Kinds {
		w[k] = k.Weight()
	}
	return w
}

// With returns the weights with those of the named kinds raised to the average of the weights above zero, but to at
// least 1. A kind that has a weight keeps it, and a name that is no kind's is ignored.
func (w Weights) With(kinds []string) Weights {
	sum, drawn := 0, 0
	for _, weight := range w {
		if weight > 0 {
			sum, drawn = sum+weight, drawn+1
		}
	}
	for _, k := range nemesis.Kinds {
		if w[k] == 0 && slices.Contains(kinds, k.String()) {
			w[k] = max(1, sum/max(drawn, 1))
		}
	}
	return w
}

// Additions lists the kinds that the mix draws although no mix draws them unless it asks for them.
func (m *Mix) Additions() (kinds []nemesis.Kind) {
	for _, k := range nemesis.Kinds {
		if k.Weight() == 0 && m.Weights[k] > 0 {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// Span is a range of durations, both ends included. Draws are whole milliseconds of every order of magnitude, long ones
// more often: if Min can be doubled n times, the k-th doubling is drawn with probability (2k-1)/n².
type Span struct{ Min, Max time.Duration }

// Default returns a mix that suits locks with a TTL of 10 s.
func Default() Mix { return For(10 * time.Second) }

// For returns a mix with durations around a TTL, because a lock breaks when something outlasts the TTL, or just fails
// to. A TTL below 100 ms counts as 100 ms, a TTL above an hour as an hour.
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

// allows reports whether the durations of a fault, which need not have been drawn, lie within the mix's ranges. A range
// that equals the one that For sets for the same TTL does not limit them: an aimed fault may be shorter or longer.
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

// check returns an error if the mix is invalid.
func (m *Mix) check() error {
	for k, w := range m.Weights {
		if w != 0 && !slices.Contains(nemesis.Kinds, nemesis.Kind(k)) {
			return fmt.Errorf("mix: a weight is set at %d, which is no kind", k)
		}
		if w < 0 || w > MaxWeight {
			return fmt.Errorf("mix: the weight of %q is %d; it must be between 0 and %d", nemesis.Kind(k), w, MaxWeight)
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
			return fmt.Errorf("mix: %s is %d; it must be between %d and %d", n.name, n.value, n.low, n.high)
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

// Limits of a mix.
const (
	MaxFaults = 1000      // faults in one draw
	MaxWeight = 1_000_000 // per kind, so that the sum of all weights fits an int32
)
