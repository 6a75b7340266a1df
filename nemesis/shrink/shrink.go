// Package shrink makes a failing plan small: it removes and simplifies faults as long as the plan still fails.
//
// Goals: no remaining fault can be removed or replaced by a simpler one without the failure going away or becoming
// rarer. The plan uses round numbers, as a person would. The result depends only on the inputs.
//
// Non-goals: this package does not decide whether a plan fails; the caller does. It does not reduce a scenario's
// clients, cycles or servers.
package shrink

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
)

// OtherSeeds is the number of additional seeds (1 to 16) to try before a fault is considered necessary. The plan's own
// seed is not enough: without the fault, the failure may go away only because messages happen to arrive in a different
// order.
const OtherSeeds = 16

// Shrink makes a failing plan small. The result has two properties. If any fault is removed, the failure goes away
// under the plan's own seed and under each of the OtherSeeds. If any fault is replaced by one that Simpler lists for
// it, the failure goes away or becomes rarer, which means that fewer of the OtherSeeds show it. So the result contains
// nothing unnecessary, and depends as little as possible on a lucky seed.
//
// fails reports whether a plan fails in the intended way. It must give the same answer for the same plan, and is called
// twice for many plans. The caller can stop the search by letting fails return false from then on. Shrink then soon
// returns the smallest failing plan that it has found. p must fail and must be valid for a run with the known
// processes. Every plan that Shrink tries is also valid for this run.
func Shrink(p nemesis.Plan, known nemesis.Names, fails func(nemesis.Plan) bool) nemesis.Plan {
	s := shrinker{known, func(p nemesis.Plan) bool { return p.Validate(known) == nil && fails(p) }}
	for again := true; again; {
		before := p
		p = s.tidy(s.renumber(s.simplify(Reduce(p, s.fails))))
		if again = !reflect.DeepEqual(p, before); !again {
			p, again = s.exchange(p)
		}
	}
	return p
}

// Reduce is the first half of Shrink. It removes faults until each of the remaining ones is necessary: without it, the
// plan fails neither under its own seed nor under any of the OtherSeeds. If the plan also fails under one of the
// OtherSeeds that is lower than its own seed, Reduce then changes the seed to the lowest of these.
//
// This is delta debugging (Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input, 2002): Reduce
// tries to remove all faults at once, then halves, quarters and so on down to single faults.
func Reduce(p nemesis.Plan, fails func(nemesis.Plan) bool) nemesis.Plan {
	for again := true; again; {
		p = reduceUnderOwnSeed(p, fails)
		p, again = reduceUnderOthers(p, fails)
	}
	for seed := uint64(1); seed <= OtherSeeds && seed < p.Seed; seed++ {
		if q := withSeed(p, seed); fails(q) {
			return q
		}
	}
	return p
}

func reduceUnderOwnSeed(p nemesis.Plan, fails func(nemesis.Plan) bool) nemesis.Plan {
	for n := len(p.Faults); n > 0; {
		taken := false
		for from := 0; from < len(p.Faults); {
			if q := withoutFaults(p, from, min(n, len(p.Faults)-from)); fails(q) {
				p, taken = q, true
			} else {
				from += n
			}
		}
		if n > 1 || !taken { // removing one fault may make another one removable
			n /= 2
		}
	}
	return p
}

// reduceUnderOthers looks for a smaller plan that fails under the plan's own seed or one of the OtherSeeds. It tries
// the plan without any faults, then with only one of its faults, and then without one of its faults.
func reduceUnderOthers(p nemesis.Plan, fails func(nemesis.Plan) bool) (fewer nemesis.Plan, found bool) {
	n := len(p.Faults)
	if n == 0 {
		return p, false
	}
	plans := []nemesis.Plan{withoutFaults(p, 0, n)}
	for i := 0; i < n && n > 2; i++ {
		plans = append(plans, withoutFaults(withoutFaults(p, i+1, n-i-1), 0, i))
	}
	for i := 0; i < n && n > 1; i++ {
		plans = append(plans, withoutFaults(p, i, 1))
	}
	for _, q := range plans {
		if q, ok := UnderSomeSeed(q, fails); ok {
			return q, true
		}
	}
	return p, false
}

// UnderSomeSeed returns the plan with a seed that makes it fail. It tries the plan's own seed first, and then each of
// the OtherSeeds.
func UnderSomeSeed(p nemesis.Plan, fails func(nemesis.Plan) bool) (failing nemesis.Plan, found bool) {
	if fails(p) {
		return p, true
	}
	for seed := uint64(1); seed <= OtherSeeds; seed++ {
		if q := withSeed(p, seed); seed != p.Seed && fails(q) {
			return q, true
		}
	}
	return p, false
}

// Often returns how many of the OtherSeeds make the plan fail.
func Often(p nemesis.Plan, fails func(nemesis.Plan) bool) int {
	n := 0
	for seed := uint64(1); seed <= OtherSeeds; seed++ {
		if fails(withSeed(p, seed)) {
			n++
		}
	}
	return n
}

type shrinker struct {
	known nemesis.Names
	fails func(nemesis.Plan) bool // reports whether a plan is valid and fails
}

// simplify replaces each fault with the simplest one that does not make the failure rarer, until no fault can be
// simplified further.
func (s *shrinker) simplify(p nemesis.Plan) nemesis.Plan {
	often := Often(p, s.fails)
	for i := 0; i < len(p.Faults); {
		simpler, found := p, false
		for _, f := range Simpler(p.Faults[i], s.known) {
			if q := withFault(p, i, f); s.fails(q) {
				if n := Often(q, s.fails); n >= often {
					simpler, often, found = q, n, true
					break
				}
			}
		}
		if p = simpler; !found {
			i++
		}
	}
	return p
}

// renumber lowers the numbers of the processes in a plan, and names earlier locks. For example, client-3 may become
// client-1. It swaps two processes of the same kind, or two locks, in all faults at once. It keeps a swap only if the
// failure does not become rarer.
func (s *shrinker) renumber(p nemesis.Plan) nemesis.Plan {
	for again := true; again; {
		again = false
		for _, swap := range append(processSwaps(p, s.known), lockSwaps(p, s.known)...) {
			q := p
			q.Faults = make([]nemesis.Fault, len(p.Faults))
			for i, f := range p.Faults {
				q.Faults[i] = swap(f)
			}
			if s.fails(q) && Often(q, s.fails) >= Often(p, s.fails) {
				p, again = q, true
				break
			}
		}
	}
	return p
}

// swap exchanges two names in a fault.
type swap func(nemesis.Fault) nemesis.Fault

// processSwaps returns the swaps of two processes that would lower the sum of all process numbers in the plan.
func processSwaps(p nemesis.Plan, known nemesis.Names) []swap {
	times := map[sim.ProcessID]int{} // how many times each process is named
	var all []sim.ProcessID
	for i := range p.Faults {
		for _, id := range named(&p.Faults[i]) {
			if times[id]++; times[id] == 1 {
				all = append(all, id)
			}
		}
	}
	var list []swap
	for _, id := range all {
		for _, lower := range lowerProcesses(&known, id) {
			if times[lower] < times[id] {
				list = append(list, func(f nemesis.Fault) nemesis.Fault {
					return f.Renamed(func(p sim.ProcessID) sim.ProcessID { return swapped(p, lower, id) })
				})
			}
		}
	}
	return list
}

// lockSwaps returns the swaps of two locks that would let the plan name earlier locks.
func lockSwaps(p nemesis.Plan, known nemesis.Names) []swap {
	times := map[history.Lock]int{} // how many times each lock is named
	for i := range p.Faults {
		times[p.Faults[i].Lock]++
	}
	var list []swap
	for _, lock := range known.Locks {
		for _, earlier := range earlierLocks(&known, lock) {
			if times[earlier] < times[lock] {
				list = append(list, func(f nemesis.Fault) nemesis.Fault {
					f.Lock = swapped(f.Lock, earlier, lock)
					return f
				})
			}
		}
	}
	return list
}

// swapped returns b for a, a for b, and any other name unchanged.
func swapped[N comparable](name, a, b N) N {
	switch name {
	case a:
		return b
	case b:
		return a
	}
	return name
}

// tidy sorts the faults by when they are likely to strike. It keeps the old order if sorting makes the failure go away
// or become rarer.
func (s *shrinker) tidy(p nemesis.Plan) nemesis.Plan {
	q := p
	q.Faults = slices.Clone(p.Faults)
	slices.SortStableFunc(q.Faults, func(a, b nemesis.Fault) int {
		return cmp.Or(
			cmp.Compare(class(&a.Trigger), class(&b.Trigger)),
			cmp.Compare(slices.Index(sim.Points, a.Trigger.Point), slices.Index(sim.Points, b.Trigger.Point)),
			cmp.Compare(a.Trigger.Time, b.Trigger.Time),
			strings.Compare(a.String(), b.String()))
	})
	if s.fails(q) && Often(q, s.fails) >= Often(p, s.fails) {
		return q
	}
	return p
}

// exchange looks for a single fault that can replace a plan's two faults. It tries each of the two alone, with one
// property changed. For example, a lock may break if a clock jumps by 1s and the holder crashes. If a jump of 10s alone
// breaks it, the crash is not needed.
func (s *shrinker) exchange(p nemesis.Plan) (alone nemesis.Plan, found bool) {
	if len(p.Faults) != 2 {
		return p, false // with more faults, trying all pairs would take too many runs
	}
	for i := range p.Faults {
		for _, f := range variantsOf(p.Faults[i], s.known) {
			if q := withFault(withoutFaults(p, 1-i, 1), 0, f); s.fails(q) {
				return q, true
			}
		}
	}
	return p, false
}

func withSeed(p nemesis.Plan, seed uint64) nemesis.Plan {
	p.Seed = seed
	return p
}

// withoutFaults returns the plan without the n faults that start at index from.
func withoutFaults(p nemesis.Plan, from, n int) nemesis.Plan {
	p.Faults = slices.Delete(slices.Clone(p.Faults), from, from+n)
	return p
}

// withFault returns the plan with fault i replaced by f.
func withFault(p nemesis.Plan, i int, f nemesis.Fault) nemesis.Plan {
	p.Faults = slices.Clone(p.Faults)
	p.Faults[i] = f
	return p
}
