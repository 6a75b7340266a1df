package advise

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
)

// variation draws plans that resemble one: the same faults, longer or shorter, sooner or later, at other points, on
// other processes, one less or up to two more. A change that only suits the faults as they are written does not survive
// it.
type variation struct {
	of    []nemesis.Plan // the plan, and where it strikes other servers of a changed lock
	known nemesis.Names
	// longer is how much longer than at first the lock's TTL is by now. What breaks a lock is what outlasts it, so
	// faults grow with it.
	longer float64
}

// plan is the ith variation, from 0, with a seed: first what strikes at a point strikes at each point of a lock's life,
// what strikes at a time a little later, as the lock may have become slower, and what strikes a message a later one;
// then as it is, but longer or shorter; then they are drawn.
func (v *variation) plan(i int, seed uint64) nemesis.Plan {
	p := v.of[0]
	p.Seed, p.Faults = seed, slices.Clone(p.Faults)
	moved, grow := i < len(sim.Points), max(1, v.longer)
	if n := i - len(sim.Points); !moved && n < len(lengths) {
		grow *= lengths[n]
	}
	for k := range p.Faults {
		f := &p.Faults[k]
		f.For, f.By, f.Restart = longer(f.For, grow), longer(f.By, grow), longer(f.Restart, grow)
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

// lengths are how much longer or shorter the faults are that follow.
var lengths = []float64{0.5, 1.5, 2, 3, 4, 6}

// systematic is how many variations are not drawn.
var systematic = len(sim.Points) + len(lengths)

// shift is how much later than the one before each of the first variations strikes.
const shift = 2 * time.Millisecond

// longer is a duration times a factor, in whole milliseconds unless it stays.
func longer(d time.Duration, by float64) time.Duration {
	if by == 1 || time.Duration(float64(d)*by).Abs() < time.Millisecond {
		return d
	}
	return time.Duration(float64(d) * by).Truncate(time.Millisecond)
}

// draw is the variation with a seed.
func (v *variation) draw(seed uint64) nemesis.Plan {
	s := sim.NewStream(seed, "advise/variation")
	below := func(n int) int { return int(s.Uint64() % uint64(n)) }
	p := v.of[below(len(v.of))]
	faults := p.Faults
	p.Seed, p.Faults = seed, nil
	grow := max(1, v.longer)
	turn := below(2) * below(97) // half of the plans strike the processes that they name
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
		if i < len(faults)-1 && below(4) == 0 { // one that keeps another from biting, perhaps
			continue
		}
		add(f, turn)
	}
	for range below(3) {
		add(faults[below(len(faults))], turn+1+below(7))
	}
	if p.Scenario == "" || p.Validate(v.known) != nil { // drifts that add up to too much
		p.Faults = faults
	}
	return p
}

// scales are how much longer, larger or later a fault becomes, in sixteenths.
var scales = []int64{1, 4, 8, 16, 16, 32, 64}

// scaled is a duration that is drawn anew, in whole milliseconds; zero stays.
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

// turned is the process so many places further among those of its kind; a replica goes with its master.
func (v *variation) turned(id sim.ProcessID, turn int) sim.ProcessID {
	masters := slices.DeleteFunc(slices.Concat(v.known.Redis, v.known.Consensus), func(p sim.ProcessID) bool {
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
