package search

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
)

// variation changes the faults of a plan whose run is known.
type variation struct {
	archer
	plans  *Plans
	faults []nemesis.Fault
}

// vary makes one change, and with every coin that shows heads one more. drawn are faults for it to add.
func (v *variation) vary(drawn []nemesis.Fault) {
	if len(v.faults) == 0 {
		v.add(drawn)
		return
	}
	for again := true; again; again = v.below(2) == 0 {
		switch v.below(10) {
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
			v.add(drawn)
		case 7:
			v.change(v.elsewhere)
		case 8:
			v.add([]nemesis.Fault{v.elsewhere(v.faults[v.below(len(v.faults))])})
		case 9:
			kept := v.plans.pursuit.kept
			v.add(kept[v.below(len(kept))].plan.Faults)
		}
	}
}

// change replaces one fault, if the mix allows what it becomes.
func (v *variation) change(how func(nemesis.Fault) nemesis.Fault) {
	i := v.below(len(v.faults))
	if f := how(v.faults[i]); v.plans.generator.Allows(f) {
		v.faults[i] = f
	}
}

// add adds one of some faults, as it is or turned to what happens in the run.
func (v *variation) add(some []nemesis.Fault) {
	if len(some) == 0 || len(v.faults) >= v.plans.scenario.Mix.Most {
		return
	}
	f := some[v.below(len(some))]
	if v.below(2) == 0 {
		f = v.turn(f)
	}
	if v.plans.generator.Allows(f) {
		v.faults = append(v.faults, f)
	}
}

// drop takes a fault away.
func (v *variation) drop() {
	if n := len(v.faults); n > max(v.plans.scenario.Mix.Fewest, 1) {
		i := v.below(n)
		v.faults = slices.Delete(v.faults, i, i+1)
	}
}

// elsewhere is the fault with another process in the place of one of its own: what hits one of several servers may have
// to hit more of them.
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

// shift moves the strike of a fault that has a time.
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

// about is some whole milliseconds away from a time: up to a hundredth of it, a tenth, or all. It is at least 1 ms.
func (v *variation) about(t time.Duration) time.Duration {
	most := max(int(t/time.Millisecond)/[...]int{100, 10, 1}[v.below(3)], 1)
	return max(t+time.Duration(v.below(2*most+1)-most)*time.Millisecond, time.Millisecond)
}

// neighbour is the fault at the message or the passing before or after its own, or at the answer in place of the
// request.
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
