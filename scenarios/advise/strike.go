package advise

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/mix"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
)

// translated is a plan against other servers: what struck the third of the old ones strikes the third of the new ones,
// or the one whose turn it is where they are fewer. Spared are the faults that have nothing to strike there. Servers
// stay away at least for as long as restart says.
func translated(p nemesis.Plan, s *scenarios.Scenario, restart time.Duration) (q nemesis.Plan, spared []string) {
	known := s.Targets()
	q = p
	q.Faults = nil
	for _, f := range p.Faults {
		g := f.Renamed(func(id sim.ProcessID) sim.ProcessID {
			return counterpart(id, &known, !f.Kind.Has(nemesis.FieldSides))
		})
		if g.Kind == nemesis.FailOver && len(known.Groups) == 0 { // what it is the end of: the master is gone
			g = nemesis.Fault{Kind: nemesis.Crash, Target: g.Target, Loss: nemesis.LosesUnsynced,
				Restart: downAfterFailOver, Trigger: g.Trigger}
		}
		if g.Kind.Has(nemesis.FieldSides) {
			if g.Left, g.Right = sides(g.Left, g.Right); len(g.Left) == 0 || len(g.Right) == 0 {
				spared = append(spared, f.String())
				continue
			}
		}
		// its members have a disk
		if g.Loss == nemesis.LosesEverything && g.Target != f.Target && len(known.Consensus) > 0 {
			g.Loss = nemesis.LosesUnsynced
		}
		if g.Restart > 0 {
			g.Restart = max(g.Restart, restart)
		}
		if nemesis.Validate(g, known) != nil {
			plain := g
			plain.Loss = nemesis.LosesUnsynced
			if !g.Kind.Has(nemesis.FieldLoss) || nemesis.Validate(plain, known) != nil {
				spared = append(spared, f.String())
				continue
			}
			g = plain
		}
		q.Faults = append(q.Faults, g)
	}
	return q, spared
}

// downAfterFailOver is how long a server is down in place of a failover where nothing can take its place by a command.
const downAfterFailOver = 5 * time.Second

// counterpart is the process of a run that stands where another did in the run before; empty if none does. Where there
// are fewer servers than before, one may stand for several; not in a cut, which would part more than it did.
func counterpart(id sim.ProcessID, known *nemesis.Names, several bool) sim.ProcessID {
	servers := known.Servers()
	if slices.Contains(slices.Concat(known.Clients, servers), id) || id == known.Resource || id == known.Sentinel {
		return id
	}
	kind, rest, _ := strings.Cut(string(id), "-")
	if !slices.Contains(locks.Backends(), locks.Backend(kind)) {
		return ""
	}
	number, _, _ := strings.Cut(rest, "-")
	n, err := strconv.Atoi(number)
	if err != nil {
		return ""
	}
	masters := slices.DeleteFunc(servers, func(p sim.ProcessID) bool { return strings.Contains(string(p), "replica") })
	if n > len(masters) && !several {
		return ""
	}
	return masters[(n-1)%len(masters)]
}

// sides are those of a cut, without who has no counterpart and who would stand on both.
func sides(left, right []sim.ProcessID) (l, r []sim.ProcessID) {
	for _, p := range left {
		if p != "" && !slices.Contains(l, p) {
			l = append(l, p)
		}
	}
	for _, p := range right {
		if p != "" && !slices.Contains(r, p) && !slices.Contains(l, p) {
			r = append(r, p)
		}
	}
	return l, r
}

// mix is what fresh faults are drawn from for a lock: the mix of the file; without one the kinds of its own faults, of
// the same processes and with the same losses, or if it has none either the mix that suits the lock.
func (b *subject) mix(s *scenarios.Scenario, changes []Change) mix.Mix {
	m := s.Mix
	if b.own {
		m = likeOwn(b.scenario.Faults, m)
		if len(s.Targets().Groups) == 0 && m.Weights[nemesis.FailOver] > 0 {
			m.Weights[nemesis.Crash] += m.Weights[nemesis.FailOver]
		}
	}
	for _, c := range changes {
		if c.restart > 0 {
			m.Downtime = mix.Span{Min: c.restart, Max: max(m.Downtime.Max, 2*c.restart)}
			for i := range m.Without {
				if m.Without[i].Within > 0 && m.Without[i].Within <= c.restart {
					m.Without[i].Within = 0
				}
			}
		}
	}
	return m
}

// likeOwn restricts a mix to faults like the given ones.
func likeOwn(faults []nemesis.Fault, m mix.Mix) mix.Mix {
	m.Fewest, m.Most, m.Swarm = 1, len(faults)+1, false
	var weights mix.Weights
	seen := map[string]bool{}
	m.Forever = 0
	for _, f := range faults {
		weights[f.Kind] = max(1, m.Weights[f.Kind])
		for _, p := range f.On() {
			seen[fmt.Sprint(f.Kind, sortOf(p))] = true
		}
		seen[fmt.Sprint(f.Kind, "loss", f.Loss)] = true
		endless := f.Kind.Endless() && f.For == 0 ||
			f.Kind.Has(nemesis.FieldRestart) && f.Restart == 0 && sortOf(f.Target) == nemesis.AnyServer
		if endless {
			m.Forever = mix.Default().Forever
		}
	}
	m.Weights, m.Without = weights, slices.Clone(m.Without)
	for _, k := range nemesis.Kinds {
		for _, of := range []nemesis.Sort{nemesis.AnyClient, nemesis.AnyServer, nemesis.AnyResource} {
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

// sortOf is the kind of a process.
func sortOf(p sim.ProcessID) nemesis.Sort {
	switch {
	case strings.HasPrefix(string(p), "client-"):
		return nemesis.AnyClient
	case p == "resource":
		return nemesis.AnyResource
	}
	return nemesis.AnyServer
}
