package verify

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/sim"
)

// never is the end time of a fault that does not end.
const never = history.Never

// travelTimes are a scenario's fixed message delays.
type travelTimes struct {
	usual sim.Time
	links map[[2]sim.ProcessID]sim.Time
}

func travelOf(s *scenarios.Scenario) travelTimes {
	t := travelTimes{history.Of(s.Network.Delay.Lo), map[[2]sim.ProcessID]sim.Time{}}
	for _, l := range s.Network.Links {
		t.links[[2]sim.ProcessID{l.From, l.To}] = history.Of(l.Delay.Lo)
	}
	return t
}

// of returns a message's delay. The delay from a process to itself is 0.
func (t *travelTimes) of(from, to sim.ProcessID) sim.Time {
	if from == to {
		return 0
	}
	if d, own := t.links[[2]sim.ProcessID{from, to}]; own {
		return d
	}
	return t.usual
}

// mark is an instant at which a process may act differently if a fault has already ended.
type mark struct {
	at        sim.Time
	process   sim.ProcessID
	threshold bool // also try a fault that ends just after this instant
}

// marks returns the marks between strike, the instant at which a fault strikes, and until. c must be the course of a
// run in which the fault never ends.
func (c *course) marks(strike, until sim.Time) []mark {
	var list []mark
	add := func(at sim.Time, p sim.ProcessID, threshold bool) {
		if at > strike && at < until {
			list = append(list, mark{at, p, threshold})
		}
	}
	probed := sim.Time(0)
	acted := map[sim.ProcessID]bool{}
	for i := range c.moments {
		m := &c.moments[i]
		probed = max(probed, m.At)
		if m.Kind == sim.Acts && m.At > strike && !acted[m.Process] {
			acted[m.Process] = true
			add(m.At, m.Process, false)
		}
	}
	for i := range c.events {
		e := &c.events[i]
		if e.Time > probed {
			break // the probe acts only after all faults have ended
		}
		if e.Process != history.Nemesis && !e.F.IsCopy() {
			add(e.Time, e.Process, e.Why == history.Expired)
		}
		if e.Grant != nil {
			add(e.Grant.Until, e.Process, true)
		}
	}
	for _, m := range c.due(strike) {
		add(m.at, m.process, true)
	}
	return list
}

// due returns the expiry times of the keys that exist at the given instant, as marks (see mark).
func (c *course) due(at sim.Time) []mark {
	type place struct {
		server sim.ProcessID
		key    history.Lock
	}
	var places []place
	until := map[place]sim.Time{}
	for i := range c.events {
		e := &c.events[i]
		p := place{e.Process, e.Lock}
		switch {
		case e.Time >= at:
		case e.F == history.KeySet, e.F == history.KeyProlonged:
			if _, known := until[p]; !known {
				places = append(places, p)
			}
			until[p] = e.Until
		case e.F == history.KeyGone:
			until[p] = 0
		}
	}
	var list []mark
	for _, p := range places {
		if t := until[p]; t > at && t != history.Never {
			list = append(list, mark{t, p.server, true})
		}
	}
	return list
}

// ends returns the instants, in ascending order, at which a fault may end. p is the process that acts when the fault
// has ended. There is one instant for each mark: if the fault ends then and p acts at once, the effect of its action or
// of its message comes just before the mark. If the mark is a threshold, there is another instant, for which the effect
// comes just after the mark.
func ends(marks []mark, p sim.ProcessID, travel travelTimes) []sim.Time {
	var list []sim.Time
	for _, m := range marks {
		at := m.at - travel.of(p, m.process)
		list = append(list, at-1)
		if m.threshold {
			list = append(list, at+1)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
