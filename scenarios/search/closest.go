package search

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/margin"
)

// Close is a close call: a run that almost violated a law in a certain way. Of all the search's runs that did not
// violate the law in this way, it came closest.
type Close struct {
	Law  checker.Law `json:"law"`
	Seed uint64      `json:"seed"`
	Plan []byte      `json:"plan,omitempty"` // the plan of the run, if it was recorded
	margin.Call
}

// File returns the name of the file that stores the close call's plan.
func (c *Close) File() string { return "closest-" + string(c.Law) + ".txt" }

// Closest contains a search's closest calls, at most one per law. If two runs came equally close, it contains the call
// from the run with the lower seed.
type Closest []Close

// Note adds those of a run's close calls that are worth reporting. p is the run's plan, which is stored with the calls,
// or nil if it need not be stored.
func (c *Closest) Note(seed uint64, p *nemesis.Plan, calls []margin.Call) {
	for i := range calls {
		if calls[i].Telling() {
			c.add(Close{Law: calls[i].Way.Law(), Seed: seed, Call: calls[i]}, p)
		}
	}
}

// consistent reports whether c can be the result of the given runs. c must have at most one close call per law, in the
// order of the laws, and each must have a seed in ran. If the description of a close call names a server, the call must
// list at least one.
func (c Closest) consistent(ran Ranges) bool {
	last := -1
	for _, call := range c {
		at := slices.Index(checker.Laws, call.Law)
		unnamed := len(call.Standing) == 0 && (call.Way == margin.Deposed || call.Way == margin.Requests)
		if at <= last || call.Way.Law() != call.Law || unnamed || len(ran.common(Ranges{{call.Seed, call.Seed}})) == 0 {
			return false
		}
		last = at
	}
	return true
}

// Add adds the closest calls from other runs.
func (c *Closest) Add(more Closest) {
	for _, call := range more {
		c.add(call, nil)
	}
}

// add adds a close call unless c has a closer one for the same law. p is the plan of the call's run, or nil if the call
// already contains it.
func (c *Closest) add(call Close, p *nemesis.Plan) {
	at, known := slices.BinarySearchFunc(*c, call.Law, func(o Close, l checker.Law) int {
		return slices.Index(checker.Laws, o.Law) - slices.Index(checker.Laws, l)
	})
	if known && cmp.Or(cmp.Compare(call.Value, (*c)[at].Value), cmp.Compare(call.Seed, (*c)[at].Seed)) >= 0 {
		return
	}
	if p != nil {
		call.Plan = []byte(p.String())
	}
	if !known {
		*c = slices.Insert(*c, at, Close{})
	}
	(*c)[at] = call
}

// Whole returns the close calls for laws that no run violated.
func (c Closest) Whole(laws campaign.Laws) (whole Closest) {
	for _, call := range c {
		if laws.Of(call.Law).Violated == 0 {
			whole = append(whole, call)
		}
	}
	return whole
}

// words describes the close call, for a text that has already named the law.
func (c *Close) words() string {
	return fmt.Sprintf("Its closest call, with seed %d: %s", c.Seed, c.Call.String())
}

// describe returns a sentence about the closest call for a law, or "" if there was none.
func (c Closest) describe(law checker.Law) string {
	i := slices.IndexFunc(c, func(o Close) bool { return o.Law == law })
	if i < 0 {
		return ""
	}
	return c[i].words()
}

// Facts describes each close call.
func (c Closest) Facts() document.Facts {
	facts := document.Facts{}
	for i := range c {
		facts = append(facts, document.Fact{Name: "closest",
			Value: fmt.Sprintf("%s held. %s", c[i].Law, c[i].words())})
	}
	return facts
}
