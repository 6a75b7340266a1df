package search

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/margin"
	"github.com/fencepost-sim/fencepost/sim"
)

// variation changes the faults of a plan whose run came close to violating a law.
type variation struct {
	archer
	plans  *Plans
	faults []nemesis.Fault
	call   *margin.Call
	niche  *niche
	added  *[]nemesis.Kind
}

// vary makes one change, and another one each time that a coin toss says so. drawn are faults that it may add. A good
// third of the changes are independent of the close call; the others aim at it.
func (v *variation) vary(drawn []nemesis.Fault) {
	if len(v.faults) == 0 {
		v.add(v.strike()...)
		return
	}
	for again := true; again; again = v.below(2) == 0 {
		switch k := v.below(23); {
		case k < 9:
			v.blindly()
		case k < 11:
			v.change(v.focus)
		case k < 15:
			v.add(v.focus(v.pick(drawn)))
		case k < 17:
			v.mirror()
		default:
			v.add(v.strike()...)
		}
	}
}

// blindly makes a change that does not depend on what the close call was about.
func (v *variation) blindly() {
	switch v.below(9) {
	case 0, 1:
		v.change(v.turn)
	case 2:
		v.change(v.shift)
	case 3:
		v.change(v.stretch)
	case 4:
		v.change(v.neighbour)
	case 5:
		v.drop()
	case 6:
		v.change(v.elsewhere)
	case 7:
		v.add(v.elsewhere(v.faults[v.below(len(v.faults))]))
	case 8:
		if other := v.niche.elites[v.below(len(v.niche.elites))].plan.Faults; len(other) > 0 {
			v.add(other[v.below(len(other))])
		}
	}
}

// change replaces one fault by the result of how, if the mix allows that result.
func (v *variation) change(how func(nemesis.Fault) nemesis.Fault) {
	i := v.below(len(v.faults))
	if f := how(v.faults[i]); v.plans.generator.Allows(f) {
		v.faults[i] = f
	}
}

// add adds faults that belong together, if the mix draws their kinds and allows all of them. If there are too many
// faults then, it removes others.
func (v *variation) add(some ...nemesis.Fault) {
	mix := &v.plans.scenario.Mix
	for _, f := range some {
		if f.Kind == 0 || mix.Weights[f.Kind] == 0 || !v.plans.generator.Allows(f) {
			return
		}
	}
	for len(v.faults)+len(some) > mix.Most && len(v.faults) > 0 {
		i := v.below(len(v.faults))
		v.faults = slices.Delete(v.faults, i, i+1)
	}
	if len(some) <= mix.Most {
		v.faults = append(v.faults, some...)
	}
}

// pick picks one of the faults at random. It prefers kinds whose addition has often brought the niche closer. It
// returns the zero Fault if some is empty.
func (v *variation) pick(some []nemesis.Fault) nemesis.Fault {
	weight := func(f *nemesis.Fault) int {
		k := v.niche.kinds[f.Kind]
		return 1 + 1000*(1+2*k.helped)/(10+k.added)
	}
	sum := 0
	for i := range some {
		sum += weight(&some[i])
	}
	if sum == 0 {
		return nemesis.Fault{}
	}
	at, i := v.below(sum), 0
	for ; at >= weight(&some[i]); i++ {
		at -= weight(&some[i])
	}
	*v.added = append(*v.added, some[i].Kind)
	return some[i]
}

// drop removes a fault, if enough are left.
func (v *variation) drop() {
	if n := len(v.faults); n > max(v.plans.scenario.Mix.Fewest, 1) {
		i := v.below(n)
		v.faults = slices.Delete(v.faults, i, i+1)
	}
}

// elsewhere returns the fault with one of its processes swapped for another of the same sort: a fault that strikes one
// of several servers may have to strike more of them.
func (v *variation) elsewhere(f nemesis.Fault) nemesis.Fault {
	on := f.On()
	from := on[v.below(len(on))]
	targets := v.plans.scenario.Targets()
	for _, alike := range [][]sim.ProcessID{targets.Clients, targets.Redis, targets.Consensus} {
		if !slices.Contains(alike, from) {
			continue
		}
		to := alike[v.below(len(alike))]
		return f.Renamed(func(p sim.ProcessID) sim.ProcessID {
			switch p {
			case from:
				return to
			case to:
				return from
			}
			return p
		})
	}
	return f
}

// shift moves the time at which a fault strikes, if it strikes at a time.
func (v *variation) shift(f nemesis.Fault) nemesis.Fault {
	if f.Trigger.Time > 0 {
		f.Trigger.Time = v.about(f.Trigger.Time)
	}
	return f
}

// stretch makes a fault longer or shorter.
func (v *variation) stretch(f nemesis.Fault) nemesis.Fault {
	for _, length := range []*time.Duration{&f.For, &f.Restart, &f.By} {
		if *length <= 0 {
			continue
		}
		switch v.below(3) {
		case 0:
			*length *= 2
		case 1:
			*length = max(*length/2, time.Millisecond)
		default:
			*length = v.about(*length)
		}
	}
	return f
}

// about returns a time some whole milliseconds away from t, by at most 1 %, 10 % or 100 % of t, and at least 1 ms.
func (v *variation) about(t time.Duration) time.Duration {
	most := max(int(t/time.Millisecond)/[...]int{100, 10, 1}[v.below(3)], 1)
	return max(t+time.Duration(v.below(2*most+1)-most)*time.Millisecond, time.Millisecond)
}

// neighbour moves a fault to the message, or the passing of a point, before or after its own, or from a request to its
// answer and back.
func (v *variation) neighbour(f nemesis.Fault) nemesis.Fault {
	t, step := &f.Trigger, 2*v.below(2)-1
	switch {
	case t.Message.Named() && f.Kind.Has(nemesis.FieldTrigger) && v.below(2) == 0:
		t.Message.Answer = !t.Message.Answer
	case t.Message.Named():
		t.Message.Nth = max(t.Message.Nth+step, 1)
	case f.Number > 0:
		f.Number = max(f.Number+step, 1)
	case t.Pass > 0:
		t.Pass = max(t.Pass+step, 1)
	}
	return f
}
