package search

import (
	"slices"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/margin"
)

// variation is a copy of a plan that came close to violating a law. Its methods change the copy's faults.
type variation struct {
	archer
	plans  *Plans
	faults []nemesis.Fault
	call   *margin.Call
}

// vary tries at least one random change to the plan. After each try, a coin toss decides whether to make another one. A
// plan without faults only gets new ones. vary may add faults that are listed in drawn.
func (v *variation) vary(drawn []nemesis.Fault) {
	if len(v.faults) == 0 {
		v.add(v.strike()...)
		return
	}
	for again := true; again; again = v.below(2) == 0 {
		switch k := v.below(14); {
		case k < 2:
			v.change(v.focus)
		case k < 6 && len(drawn) > 0:
			v.add(v.focus(drawn[v.below(len(drawn))]))
		case k < 8:
			v.mirror()
		default:
			v.add(v.strike()...)
		}
	}
}

// change picks a fault at random and calls edit with it. If the mix allows the resulting fault, change replaces the old
// one with it.
func (v *variation) change(edit func(nemesis.Fault) nemesis.Fault) {
	i := v.below(len(v.faults))
	if f := edit(v.faults[i]); v.plans.generator.Allows(f) {
		v.faults[i] = f
	}
}

// add adds faults that belong together, unless there are more of them than the mix allows in a plan, or the mix does
// not draw one of their kinds or does not allow one of them. If the plan then has too many faults, add removes others.
func (v *variation) add(some ...nemesis.Fault) {
	mix := &v.plans.scenario.Mix
	if len(some) > mix.Most {
		return
	}
	for _, f := range some {
		if f.Kind == 0 || mix.Weights[f.Kind] == 0 || !v.plans.generator.Allows(f) {
			return
		}
	}
	for len(v.faults)+len(some) > mix.Most && len(v.faults) > 0 {
		i := v.below(len(v.faults))
		v.faults = slices.Delete(v.faults, i, i+1)
	}
	v.faults = append(v.faults, some...)
}
