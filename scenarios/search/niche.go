package search

import (
	"slices"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/margin"
	"github.com/fencepost-sim/fencepost/sim"
)

// niches is how many niches there are. Close calls in which nothing was lost yet and those in which something was are
// kept apart: the first key lost is a step on the way that others must not displace.
const niches = 2 * margin.Ways

// nicheOf is the niche of a close call.
func nicheOf(c *margin.Call) int {
	if len(c.Gone) > 0 && c.Way != margin.Mixed {
		return margin.Ways + int(c.Way)
	}
	return int(c.Way)
}

// niche is the plans that came closest to violating a law in one way.
type niche struct {
	elites []*elite // the closest first
	broken int      // how many of its variations violated the law
	idle   int      // how many were made since one came closer, halved each time that one does
	kinds  [nemesis.MaxKinds + 1]struct{ added, helped int }
}

// elite is a plan that is worth varying.
type elite struct {
	plan   nemesis.Plan
	seed   uint64 // whose plan it was; its own runs have the seed of the plan
	call   margin.Call
	digest sim.Digest
	kinds  string      // of its faults
	tried  int         // variations since one came closer
	aim    *aim        // what happens in its run; nil: that is not known
	find   func() *aim // finds that, as long as its run is at hand
}

const (
	most     = 6  // plans in a niche
	alike    = 2  // of these, with faults of the same kinds
	patience = 40 // variations of a plan, none of which comes closer, until it is dropped
)

// kindsOf names the kinds of some faults.
func kindsOf(faults []nemesis.Fault) string {
	var b []byte
	for i := range faults {
		b = append(b, byte(faults[i].Kind)+'A')
	}
	slices.Sort(b)
	return string(slices.Compact(b))
}

// admits reports whether a call may be among the closest.
func (n *niche) admits(c *margin.Call) bool {
	return len(n.elites) < most || c.Value <= n.elites[len(n.elites)-1].call.Value
}

// keep adds a plan, if it is close enough, in place of one of equal faults and value, or of the farthest.
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
		replaced, e.tried = twin, n.elites[twin].tried // it drifts
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

// credit counts a variation.
func (n *niche) credit(c *choice, closer, broken bool) {
	n.idle++
	c.parent.tried++
	if broken {
		n.broken++
	}
	if closer {
		c.parent.tried = 0
	}
	helped := closer || broken
	if helped {
		n.idle /= 2
	}
	for _, k := range c.added {
		n.kinds[k].added++
		if helped {
			n.kinds[k].helped++
		}
	}
	n.elites = slices.DeleteFunc(n.elites, func(e *elite) bool { return e.tried >= patience })
}

// weight is how often a niche is chosen against the others: less if it has shown what it can, or makes no progress.
func (n *niche) weight() int {
	if len(n.elites) == 0 {
		return 0
	}
	const unit = 64 // variations without progress that halve it
	return max(max(1000/(1+n.broken), 200)*unit/(unit+n.idle), 20)
}

// choose chooses a niche and one of its plans, the closer ones more often; nil if nothing came close.
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
