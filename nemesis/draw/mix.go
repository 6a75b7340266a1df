// Package draw draws random faults. A mix says which kinds of faults are drawn, how often, and how large they are. A
// generator uses a mix to draw faults that are possible for the processes in a run.
//
// Goals: the same seed gives the same faults everywhere, so that a seed in a report reproduces its run. Every drawn
// fault is valid and readable. Durations are spread over the orders of magnitude at which locks break. If faults are
// excluded from a mix, they are removed from each draw, and nothing else in the draw changes.
//
// Non-goals: this package does not inject faults, run scenarios or check runs. A mix does not say what is likely in
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
	// Fewest and Most limit the number of faults in one draw, before those in Without are removed: 0 <= Fewest <= Most
	// <= MaxFaults.
	Fewest, Most int
	// Weights says how often each kind is drawn, relative to the other kinds. A kind that is not possible in the run is
	// never drawn.
	Weights Weights
	// Ranges of durations. Pause is how long a process is paused, and Jump is how far a clock jumps in either
	// direction. Delay is how long a message is delayed, and Fsync is how much longer an fsync takes. Outage is how
	// long a cut, drift, slow link or slow fsync lasts. Downtime is the time until a restart.
	Pause, Jump, Delay, Fsync, Outage, Downtime Span
	// PPM is the largest drift in either direction. It must be from 1 to nemesis.MaxPPM.
	PPM int
	// Forever is the percentage of cuts and drifts that never end, and of crashes and shutdowns without a restart.
	Forever int
	// AtPoint is the percentage of triggers that are points. The rest are times.
	AtPoint int
	// Aimed is the percentage of faults that are moved to the time of an event in a fault-free run. Faults that strike
	// at a named point are neither moved nor counted. A Generator's caller must move the faults, because the Generator
	// does not have a fault-free run.
	Aimed int
	// Guided is the percentage of draws that are replaced by variations of an earlier plan whose run came close to
	// breaking a law. A Generator's caller must do this, because the Generator does not know how close a run came.
	Guided int
	// Points lists the points that triggers may use. It should contain only points that the protocol reaches.
	Points []sim.Point
	// Swarm makes each draw use only a random half of the kinds, so that some runs have only crashes and others only
	// pauses and cuts. Faults that can hide each other's effects then also occur alone (Groce et al., Swarm Testing,
	// 2012).
	Swarm bool
	// Without lists faults that are removed from each draw. The draw's other faults do not change.
	Without []nemesis.Exclusion
	// Messages is the largest message or reply number that is drawn. Passes is the largest n that is drawn for a
	// trigger such as "the n-th acquired", which waits until a client reaches a point for the n-th time. Both are at
	// least 1.
	Messages, Passes int

	ttl time.Duration // the TTL passed to For
}

// Weights contains one weight per kind, from 0 to MaxWeight, indexed by kind.
type Weights [nemesis.MaxKinds + 1]int

// defaultWeights returns the weights from the kinds' definitions.
func defaultWeights() Weights {
	var w Weights
	for _, k := range nemesis.Kinds {
		w[k] = k.Weight()
	}
	return w
}

// With returns the weights with the named kinds enabled. A named kind with weight 0 gets the average of the weights
// above zero, but at least 1. A kind that already has a weight keeps it. Names that are not kinds are ignored.
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

// Additions returns the kinds in the mix whose default weight is zero, which means that they are drawn only on request.
func (m *Mix) Additions() (kinds []nemesis.Kind) {
	for _, k := range nemesis.Kinds {
		if k.Weight() == 0 && m.Weights[k] > 0 {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// Span is a range of durations that includes both ends. Draws are whole milliseconds. They cover all orders of
// magnitude, but longer durations are more frequent: if the range is divided at Min, twice Min, four times Min and so
// on into n parts, the k-th part is drawn with probability (2k-1)/n².
type Span struct{ Min, Max time.Duration }

// Default returns a mix for locks with a TTL of 10 s.
func Default() Mix { return For(10 * time.Second) }

// For returns a mix with durations around the TTL, because locks break when something lasts slightly longer or slightly
// shorter than the TTL. A TTL below 100 ms is treated as 100 ms, and a TTL above an hour as an hour.
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

// allows reports whether three times of a fault lie within the mix's ranges: how long it lasts, the time until a
// restart, and the delay of a DelayMessage. The fault need not have been drawn from the mix. If a range equals the
// default for the TTL, it does not impose a limit: even a drawn fault may lie outside it, once it has been moved to the
// time of an event.
func (m *Mix) allows(f nemesis.Fault) bool {
	usual := For(m.ttl)
	within := func(length time.Duration, s, usual Span) bool {
		return length == 0 || s == usual || length >= s.Min && length <= s.Max
	}
	lasts := within(f.For, m.Outage, usual.Outage)
	if f.Kind == nemesis.Pause || f.Kind == nemesis.ClientPause {
		lasts = within(f.For, m.Pause, usual.Pause)
	}
	return lasts && within(f.Restart, m.Downtime, usual.Downtime) &&
		(f.Kind != nemesis.DelayMessage || within(f.By, m.Delay, usual.Delay))
}

// check returns an error if the mix is invalid.
func (m *Mix) check() error {
	for k, w := range m.Weights {
		if w != 0 && !slices.Contains(nemesis.Kinds, nemesis.Kind(k)) {
			return fmt.Errorf("mix: there is a weight for kind %d, which does not exist", k)
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

// Limits on a mix's settings.
const (
	MaxFaults = 1000      // maximum number of faults in one draw
	MaxWeight = 1_000_000 // maximum weight of a kind, so that the sum of all weights fits into an int32
)
