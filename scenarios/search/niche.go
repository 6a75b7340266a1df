package search

import (
	"slices"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/margin"
	"github.com/fencepost-sim/fencepost/sim"
)

// niches is the number of niches: two for each way in which a law can be violated (margin.Way). One contains plans
// whose close call came before any key was lost, and the other plans whose close call came after that. Losing a key is
// a step toward a violation, so plans that lose a key must not be displaced by closer calls that lose none.
const niches = 2 * margin.Ways

// nicheOf returns the index of the niche (a group of plans worth varying) for a plan with the given close call.
func nicheOf(c *margin.Call) int {
	if len(c.Gone) > 0 && c.Way != margin.Mixed {
		return margin.Ways + int(c.Way)
	}
	return int(c.Way)
}

// niche contains the plans that came closest to violating a law in one particular way (margin.Way).
type niche struct {
	elites []*elite // sorted, the closest first
	broken int      // number of variations of its plans that violated the law
	idle   int      // number of variations without progress; halved after each success, 0 after a new closest plan
}

// elite is a plan that is worth varying.
type elite struct {
	plan   nemesis.Plan
	seed   uint64 // the seed for which the plan was drawn; its runs use plan.Seed
	call   margin.Call
	digest sim.Digest
	kinds  string      // the kinds of the plan's faults
	tried  int         // number of variations tried since the last one that came closer
	aim    *aim        // what happens in the plan's run; nil if not known
	find   func() *aim // computes aim as long as the result of the run is available; nil otherwise
}

const (
	most     = 6  // maximum number of plans in a niche
	alike    = 2  // maximum number of plans with the same kinds of faults in a niche
	patience = 40 // number of variations without a closer one after which a plan is dropped
)

// kindsOf returns a string that lists the faults' distinct kinds.
func kindsOf(faults []nemesis.Fault) string {
	var b []byte
	for i := range faults {
		b = append(b, byte(faults[i].Kind)+'A')
	}
	slices.Sort(b)
	return string(slices.Compact(b))
}

// admits reports whether a plan with the given close call came close enough to a violation to be added to the niche.
func (n *niche) admits(c *margin.Call) bool {
	return len(n.elites) < most || c.Value <= n.elites[len(n.elites)-1].call.Value
}

// keep adds a plan to the niche if the plan's run came close enough to a violation. If the niche already has a plan
// with the same kinds of faults and the same margin, the new plan replaces it. Otherwise, the niche may now have too
// many plans with these kinds of faults, or too many in total. Then keep removes the one of them with the largest
// margin, which may be the new plan.
func (n *niche) keep(e elite) {
	if !n.admits(&e.call) {
		return
	}
	if len(n.elites) == 0 || e.call.Value < n.elites[0].call.Value {
		n.idle = 0
	}
	same, last, twin := 0, -1, -1
	for i, o := range n.elites {
		if o.kinds == e.kinds {
			same, last = same+1, i
			if o.call.Value == e.call.Value {
				twin = i
			}
		}
	}
	replaced := -1
	switch {
	case twin >= 0:
		replaced, e.tried = twin, n.elites[twin].tried // e keeps the count of variations of the plan that it replaces
	case same >= alike:
		if replaced = last; e.call.Value > n.elites[last].call.Value {
			return
		}
	case len(n.elites) >= most:
		replaced = len(n.elites) - 1
	}
	if replaced >= 0 {
		n.elites = slices.Delete(n.elites, replaced, replaced+1)
	}
	if e.find != nil {
		e.aim, e.find = e.find(), nil
	}
	at := slices.IndexFunc(n.elites, func(o *elite) bool { return o.call.Value >= e.call.Value })
	if at < 0 {
		at = len(n.elites)
	}
	n.elites = slices.Insert(n.elites, at, &e)
}

// credit records that a variation of one of the niche's plans was run, and whether it came closer to a violation or
// broke a law.
func (n *niche) credit(c *choice, closer, broken bool) {
	n.idle++
	c.parent.tried++
	if broken {
		n.broken++
	}
	if closer {
		c.parent.tried = 0
	}
	if closer || broken {
		n.idle /= 2
	}
	n.elites = slices.DeleteFunc(n.elites, func(e *elite) bool { return e.tried >= patience })
}

// weight returns how often the niche (a group of plans worth varying) is chosen relative to others. It decreases with
// the number of violations already found, and with the number of variations that made no progress.
func (n *niche) weight() int {
	if len(n.elites) == 0 {
		return 0
	}
	const unit = 64 // after this many variations without progress, the weight is halved
	return max(max(1000/(1+n.broken), 200)*unit/(unit+n.idle), 20)
}

// choose picks a niche at random, with a probability proportional to its weight, and then one of its plans. It prefers
// plans whose runs came closer to a violation. It returns nil if no run came close to one.
func (g *guide) choose(random *sim.Stream) (*elite, int) {
	sum := 0
	for i := range g.niches {
		sum += g.niches[i].weight()
	}
	if sum == 0 {
		return nil, 0
	}
	at, i := int(random.Uint64()%uint64(sum)), 0
	for ; at >= g.niches[i].weight(); i++ {
		at -= g.niches[i].weight()
	}
	list := g.niches[i].elites
	a, b := random.Uint64()%uint64(len(list)), random.Uint64()%uint64(len(list))
	return list[min(a, b)], i
}
