package verify

import (
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// deadline is an instant that depends on the wall clock of the process whose clock jumps.
type deadline struct {
	at      sim.Time
	process sim.ProcessID // the process that acts before or after the deadline
	sets    bool          // the target will set the deadline later by its own clock, so a jump forward postpones it
}

// jumps returns how far a process's wall clock may jump at opening o (a place where a fault can start), in ascending
// order. For each deadline on that clock and each later action, there is a jump that changes their order: it moves the
// deadline to just before the action, or to just after it. If the process will set the deadline later, by its own
// clock, there are three such jumps, a millisecond apart, because these deadlines are in whole milliseconds. Two more
// jumps go beyond all deadlines, one forward and one back.
func (g *grower) jumps(o *opening) []time.Duration {
	beyond := g.beyond.Duration()
	list := []time.Duration{-beyond, beyond}
	for _, d := range g.deadlines(o) {
		for _, act := range g.parent.acts(d.process, o.index) {
			by := (d.at - act).Duration()
			switch {
			case d.sets: // expiry times of keys are set in whole milliseconds
				list = append(list, -by-time.Millisecond, -by, -by+time.Millisecond)
			case by >= 0:
				list = append(list, by+1)
			default:
				list = append(list, by-1)
			}
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return slices.DeleteFunc(list, func(d time.Duration) bool { return d == 0 || d > beyond || d < -beyond })
}

// deadlines returns the deadlines that could be affected if the target's wall clock jumps at opening o. These are the
// deadlines that the target checks by its own clock, and those of keys that it later sets on other processes.
func (g *grower) deadlines(o *opening) []deadline {
	var list []deadline
	for _, m := range g.parent.due(o.at) {
		if m.process == o.target {
			list = append(list, deadline{at: m.at, process: o.target})
		}
	}
	for i := range g.parent.events {
		e := &g.parent.events[i]
		setter, _, _ := strings.Cut(string(e.By), "/")
		byClock := slices.Contains(g.subjects.Wall, sim.ProcessID(setter))
		own := e.Process == o.target
		switch {
		case own && e.Grant != nil:
			list = append(list, deadline{at: e.Grant.Until, process: o.target})
		case own && e.F == history.Acquire && e.Type == history.Invoke && g.patience[o.target] > 0:
			list = append(list, deadline{at: e.Time + g.patience[o.target], process: o.target})
		case own && e.F == history.KeySet && byClock && e.Time >= o.at:
			list = append(list, deadline{at: e.Until, process: o.target})
		case e.F == history.KeySet && sim.ProcessID(setter) == o.target && e.Time >= o.at:
			list = append(list, deadline{at: e.Until, process: e.Process, sets: true})
		}
	}
	return slices.DeleteFunc(list, func(d deadline) bool { return d.at == history.Never })
}
