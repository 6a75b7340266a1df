package advise

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/sim"
)

// translated adapts plan p to the changed lock s. with maps each server to its counterparts in the changed lock. A
// fault that strikes one process becomes one fault for each of its counterparts. A cut becomes a single cut between all
// counterparts. spared lists the faults that have no target in s. A crashed server stays down for at least the time
// restart.
func translated(
	p nemesis.Plan, s *scenarios.Scenario, with counterparts, restart time.Duration,
) (q nemesis.Plan, spared []string) {
	known := s.Targets()
	q = p
	q.Faults = nil
	for _, f := range p.Faults {
		struck := len(q.Faults)
		for _, g := range with.apply(f) {
			if g, ok := fitted(g, g.Target != f.Target, &known, restart); ok && !repeats(g, q.Faults[struck:]) {
				q.Faults = append(q.Faults, g)
			}
		}
		if len(q.Faults) == struck {
			spared = append(spared, f.String())
		}
	}
	return q, spared
}

// fitted adapts a fault to a lock. ok is false if the fault is not possible for the lock. moved says whether the fault
// originally struck another process. A process that restarts stays down for at least the time restart.
func fitted(f nemesis.Fault, moved bool, known *nemesis.Names, restart time.Duration) (g nemesis.Fault, ok bool) {
	g = f
	if g.Kind == nemesis.FailOver && len(known.Groups) == 0 { // there is no replica: the master crashes instead
		g = nemesis.Fault{Kind: nemesis.Crash, Target: g.Target, Loss: nemesis.LosesUnsynced,
			Restart: downAfterFailOver, Trigger: g.Trigger}
	}
	// Consensus service members have a disk, so they lose only what was not synced.
	if g.Loss == nemesis.LosesEverything && moved && len(known.Consensus) > 0 {
		g.Loss = nemesis.LosesUnsynced
	}
	if g.Restart > 0 {
		g.Restart = max(g.Restart, restart)
	}
	if nemesis.Validate(g, *known) == nil {
		return g, true
	}
	g.Loss = nemesis.LosesUnsynced
	return g, g.Kind.Has(nemesis.FieldLoss) && nemesis.Validate(g, *known) == nil
}

// repeats reports whether a fault equals one of the others. Two failovers of the same master count as equal.
func repeats(f nemesis.Fault, others []nemesis.Fault) bool {
	return slices.ContainsFunc(others, func(g nemesis.Fault) bool {
		return g.String() == f.String() || f.Kind == nemesis.FailOver && g.Kind == f.Kind && g.Target == f.Target
	})
}

// downAfterFailOver is how long a master without a replica stays down when the plan orders a failover. Such a master
// crashes instead of failing over.
const downAfterFailOver = 5 * time.Second

// mix returns the mix from which fresh faults for s are drawn, where changes are the changes to the lock. This is the
// scenario's mix. If the lock broke under its own faults, the mix is restricted to similar faults: of the same kinds,
// with the same losses, and striking the same kinds of processes. Servers stay down for as long as the changes require.
func (b *subject) mix(s *scenarios.Scenario, changes []Change) draw.Mix {
	m := s.Mix
	if b.own {
		m = likeOwn(b.scenario.Faults, m)
		if len(s.Targets().Groups) == 0 && m.Weights[nemesis.FailOver] > 0 {
			m.Weights[nemesis.Crash] += m.Weights[nemesis.FailOver]
		}
	}
	for _, c := range changes {
		if c.restart > 0 {
			m.Downtime = draw.Span{Min: c.restart, Max: max(m.Downtime.Max, 2*c.restart)}
			for i := range m.Without {
				if m.Without[i].Within > 0 && m.Without[i].Within <= c.restart {
					m.Without[i].Within = 0
				}
			}
		}
	}
	return m
}

// likeOwn restricts a mix to faults that resemble the given ones.
func likeOwn(faults []nemesis.Fault, m draw.Mix) draw.Mix {
	m.Fewest, m.Most, m.Swarm = 1, max(m.Most, len(faults)+1), false
	var weights draw.Weights
	seen := map[string]bool{}
	m.Forever = 0
	for _, f := range faults {
		weights[f.Kind] = max(1, m.Weights[f.Kind])
		for _, p := range f.On() {
			seen[fmt.Sprint(f.Kind, processKindOf(p))] = true
		}
		seen[fmt.Sprint(f.Kind, "loss", f.Loss)] = true
		endless := f.Kind.Endless() && f.For == 0 ||
			f.Kind.Has(nemesis.FieldRestart) && f.Restart == 0 && processKindOf(f.Target) == nemesis.AnyServer
		if endless {
			m.Forever = draw.Default().Forever
		}
	}
	m.Weights, m.Without = weights, slices.Clone(m.Without)
	for _, k := range nemesis.Kinds {
		for _, of := range []nemesis.ProcessKind{nemesis.AnyClient, nemesis.AnyServer, nemesis.AnyResource} {
			if weights[k] > 0 && k.StrikesOne(of) && !seen[fmt.Sprint(k, of)] {
				m.Without = append(m.Without, nemesis.Exclusion{Kind: k, Of: of})
			}
		}
	}
	for _, k := range nemesis.Kinds {
		loss := nemesis.LosesEverything
		if weights[k] > 0 && k.Has(nemesis.FieldLoss) && !seen[fmt.Sprint(k, "loss", loss)] {
			m.Without = append(m.Without, nemesis.Exclusion{Kind: k, Loss: loss})
		}
	}
	return m
}

// processKindOf returns a process's kind: client, resource or server.
func processKindOf(p sim.ProcessID) nemesis.ProcessKind {
	switch {
	case strings.HasPrefix(string(p), "client-"):
		return nemesis.AnyClient
	case p == "resource":
		return nemesis.AnyResource
	}
	return nemesis.AnyServer
}
