package advise

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
)

// variation draws plans that resemble a given plan. Their faults are longer or shorter, strike earlier or later, strike
// at other points, or affect other processes. Some faults may be missing, and there may be up to two more. A change
// that helps only against the exact faults of the given plan does not survive these plans.
type variation struct {
	of    []nemesis.Plan // the given plan; for a changed lock, also its translations to other servers
	known nemesis.Names
	// growth is the lock's current TTL divided by its original TTL. Fault durations are multiplied by this factor,
	// because a fault breaks a lock only if it lasts longer than the lease.
	growth float64
}

// plan returns the ith variation, counted from 0, and gives it the seed.
//
// The first len(sim.Points) variations change when each fault strikes. A fault that strikes at a point in the lock's
// life strikes at the ith point instead. A fault that strikes at a given time strikes a little later, since the lock
// may have become slower. A fault that strikes with a message strikes with a later one.
//
// The next len(lengths) variations change how long the faults last, but not when they strike. All other variations are
// drawn at random. If one of the first variations is not a valid plan, a random one takes its place.
func (v *variation) plan(i int, seed uint64) nemesis.Plan {
	p := v.of[0]
	p.Seed, p.Faults = seed, slices.Clone(p.Faults)
	moved, grow := i < len(sim.Points), max(1, v.growth)
	if n := i - len(sim.Points); !moved && n < len(lengths) {
		grow *= lengths[n]
	}
	for k := range p.Faults {
		f := &p.Faults[k]
		f.For, f.By, f.Restart = lengthened(f.For, grow), lengthened(f.By, grow), lengthened(f.Restart, grow)
		switch t := &f.Trigger; {
		case !moved:
		case t.Message.Named():
			t.Message.Nth += i
		case !f.Kind.Has(nemesis.FieldTrigger):
			f.Number += i
		case t.Point != "":
			t.Point = sim.Points[i]
		default:
			t.Time += time.Duration(i) * shift
		}
	}
	if i >= systematic || p.Validate(v.known) != nil {
		return v.draw(seed)
	}
	return p
}

// lengths are the factors by which variations multiply fault durations.
var lengths = []float64{0.5, 1.5, 2, 3, 4, 6}

// systematic is the number of variations that are not drawn at random.
var systematic = len(sim.Points) + len(lengths)

// shift is the time unit for the first variations: if a fault strikes at a given time, variation i delays it by i
// units.
const shift = 2 * time.Millisecond

// lengthened returns a duration multiplied by a factor, truncated to whole milliseconds. It returns the duration
// unchanged if the factor is 1 or the product is less than a millisecond.
func lengthened(d time.Duration, by float64) time.Duration {
	if by == 1 || time.Duration(float64(d)*by).Abs() < time.Millisecond {
		return d
	}
	return time.Duration(float64(d) * by).Truncate(time.Millisecond)
}

// draw returns a random variation with the given seed.
func (v *variation) draw(seed uint64) nemesis.Plan {
	s := sim.NewStream(seed, "advise/variation")
	below := func(n int) int { return int(s.Uint64() % uint64(n)) }
	p := v.of[below(len(v.of))]
	faults := p.Faults
	p.Seed, p.Faults = seed, nil
	grow := max(1, v.growth)
	turn := below(2) * below(97) // half of the plans strike the processes that the given plan names
	add := func(f nemesis.Fault, turn int) {
		g := f.Renamed(func(id sim.ProcessID) sim.ProcessID { return v.turned(id, turn) })
		g.For, g.By, g.Restart = scaled(g.For, below, grow), scaled(g.By, below, grow), scaled(g.Restart, below, grow)
		switch t := &g.Trigger; {
		case g.Number > 0:
			g.Number = 1 + below(2*g.Number+2)
		case t.Message.Named():
			t.Message.Nth = 1 + below(2*t.Message.Nth+2)
		case t.Point != "" && below(2) == 0:
			t.Point = sim.Points[below(len(sim.Points))]
		case t.Point == "":
			t.Time = scaled(t.Time, below, 1)
		}
		for _, alternative := range []nemesis.Fault{g, f} {
			if nemesis.Validate(alternative, v.known) == nil {
				p.Faults = append(p.Faults, alternative)
				return
			}
		}
	}
	for i, f := range faults {
		if i < len(faults)-1 && below(4) == 0 { // remove this fault: it may prevent the effect of another
			continue
		}
		add(f, turn)
	}
	for range below(3) {
		add(faults[below(len(faults))], turn+1+below(7))
	}
	if p.Scenario == "" || p.Validate(v.known) != nil { // for example, if its drifts add up to too much
		p.Faults = faults
	}
	return p
}

// scales are the factors, in sixteenths, by which a fault's duration, size or time is multiplied.
var scales = []int64{1, 4, 8, 16, 16, 32, 64}

// scaled returns a duration multiplied by a random factor, in whole milliseconds. Zero stays zero.
func scaled(d time.Duration, below func(int) int, grow float64) time.Duration {
	by := time.Duration(scales[below(len(scales))])
	if d == 0 {
		return 0
	}
	drawn := time.Duration(float64(d/16*by) * grow).Truncate(time.Millisecond)
	switch {
	case drawn != 0:
		return min(max(drawn, -nemesis.MaxDuration), nemesis.MaxDuration)
	case d < 0:
		return -time.Millisecond
	}
	return time.Millisecond
}

// turned returns another process of the same kind: the one that comes turn places later in the list of these processes,
// which wraps around. A replica is replaced by another master's replica.
func (v *variation) turned(id sim.ProcessID, turn int) sim.ProcessID {
	masters := slices.DeleteFunc(v.known.Servers(), func(p sim.ProcessID) bool {
		return strings.Contains(string(p), "replica")
	})
	for _, of := range [][]sim.ProcessID{v.known.Clients, masters} {
		for i, p := range of {
			other := of[(i+turn)%len(of)]
			if id == p {
				return other
			}
			if rest, replica := strings.CutPrefix(string(id), string(p)+"-replica-"); replica {
				return sim.ProcessID(fmt.Sprintf("%s-replica-%s", other, rest))
			}
		}
	}
	return id
}
