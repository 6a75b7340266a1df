package verify

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/sim"
)

// try runs and judges a plan that consists of the current branch's faults and f. f strikes at the given instant, within
// opening o. instants is the number of possible start times that the run represents; if it is above 0, more faults may
// be added to the plan. try returns nil if there was nothing for f to strike. Otherwise it returns the course of the
// run, which is valid until the next run. The course contains the moments of the run only if watch is set.
func (g *grower) try(f nemesis.Fault, o *opening, at sim.Time, instants float64, watch bool) (*course, error) {
	result, c, err := g.run(&f, watch)
	if err != nil {
		return nil, err
	}
	if c.digest == g.parent.digest {
		g.Idle++
		return nil, nil
	}
	stands := g.stands * instants
	g.judge(result, stands)
	if g.deeper && instants > 0 && g.newStory(c.events) {
		g.next = append(g.next, branch{g.assignment, append(slices.Clone(g.faults), f), g.parent.earliestNext(o, at),
			stands})
	}
	return &c, nil
}

// run runs g.plan(f).
func (g *grower) run(f *nemesis.Fault, watch bool) (scenarios.Result, course, error) {
	if err := g.ctx.Err(); err != nil {
		return scenarios.Result{}, course{}, err
	}
	r := g.runners[g.assignment]
	g.moments, g.settles = g.moments[:0], g.settles[:0]
	r.Watch(nil)
	if watch {
		r.Watch(g.see)
	}
	g.Runs++
	result, err := r.Run(g.plan(f))
	if err != nil {
		return result, course{}, err
	}
	return result, course{g.moments, g.settles, result.History.Events, result.Digest, result.Sent}, nil
}

// plan returns a plan with the current branch's faults, plus f if f is not nil.
func (g *grower) plan(f *nemesis.Fault) nemesis.Plan {
	s := g.v.Assignments[g.assignment].Scenario
	plan := nemesis.Plan{Scenario: s.Name, Seed: g.v.Options.Seed, Faults: slices.Concat(s.Faults, g.faults)}
	if f != nil {
		plan.Faults = append(plan.Faults, *f)
	}
	return plan
}

func (g *grower) see(m sim.Moment) {
	if m.Kind == sim.Settles {
		g.settles = append(g.settles, m)
		return
	}
	g.moments = append(g.moments, m)
}

// judge checks the promised laws in a run and counts the outcomes. It stores the first violation of a promise.
func (g *grower) judge(r scenarios.Result, stands float64) {
	g.Schedules++
	g.Stands += stands
	promise := g.v.Scenario.Promise
	verdict := g.checker.CheckOnly(r.History, promise.Laws)
	r.Qualify(verdict)
	g.Laws.Count(verdict)
	g.Laws.Excuse(verdict, promise)
	for i := range verdict.Findings {
		if b := promise.BrokenBy(&verdict.Findings[i]); b != nil && g.found == nil {
			g.found = &Counterexample{Plan: r.Plan, Assignment: g.assignment, Law: b.Law, Cause: b.Cause}
		}
	}
}

// newStory reports whether another fault should be added to this run's plan. This is the case if no earlier run had the
// same sequence of events. Only runs with the same fault at the same place are compared; they differ in when the fault
// ends. If Options.AllEnds is set, newStory always returns true.
func (g *grower) newStory(events []history.Event) bool {
	if g.v.Options.AllEnds {
		return true
	}
	story := storyOf(events)
	if g.seen[story] {
		return false
	}
	g.seen[story] = true
	return true
}

// storyOf returns a string with the sequence of events recorded by each process, and the order in which all processes
// entered and left sections. It omits times and faults.
func storyOf(events []history.Event) string {
	var processes []history.Process
	lines := map[history.Process]*strings.Builder{}
	of := func(p history.Process) *strings.Builder {
		if lines[p] == nil {
			processes = append(processes, p)
			lines[p] = &strings.Builder{}
		}
		return lines[p]
	}
	for i := range events {
		e := &events[i]
		if e.Process == history.Nemesis || e.F.IsCopy() {
			continue
		}
		b := of(e.Process)
		for _, word := range []string{e.Type.String(), string(e.F), string(e.Lock), string(e.Attempt), string(e.Of),
			string(e.By), string(e.Why), e.Value} {
			b.WriteString(word)
			b.WriteByte(' ')
		}
		enters := e.F == history.Acquire && e.Type == history.OK
		leaves := e.F == history.Release && e.Type == history.Invoke || e.F == history.Lost || e.F == history.Crashed
		if enters || leaves {
			all := of("")
			all.WriteString(string(e.F) + " " + string(e.Process) + " ")
		}
	}
	slices.Sort(processes)
	var story strings.Builder
	for _, p := range processes {
		story.WriteString(string(p) + ": " + lines[p].String() + "\n")
	}
	return story.String()
}
