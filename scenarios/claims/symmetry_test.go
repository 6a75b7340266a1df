package claims

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
)

// naming maps processes to their new names. A process that is not in the map keeps its name.
type naming map[sim.ProcessID]sim.ProcessID

func (n naming) newName(p sim.ProcessID) sim.ProcessID {
	if other, is := n[p]; is {
		return other
	}
	return p
}

// plan returns the plan for the same run with renamed processes.
func (n naming) plan(p nemesis.Plan) nemesis.Plan {
	q := withFaults(p)
	for _, f := range p.Faults {
		q.Faults = append(q.Faults, f.Renamed(n.newName))
	}
	return q
}

// shuffledNames returns a naming that randomly permutes the names of the given processes.
func shuffledNames(r *rand.Rand, ids []sim.ProcessID) naming {
	n := naming{}
	for i, j := range r.Perm(len(ids)) {
		n[ids[i]] = ids[j]
	}
	return n
}

// beforeProbe returns the part of the history before the probe (history.Probe) began. The probe is left out because it
// always has client-1's settings. Values that clients draw at random (for keys, and for their work) are removed,
// because they depend on the clients' names.
func beforeProbe(t *testing.T, s *scenarios.Scenario, p nemesis.Plan) *history.History {
	t.Helper()
	r, err := scenarios.NewRunner(s).Run(p)
	if err != nil {
		t.Fatalf("%s: %v\n%s", s.Name, err, p)
	}
	h := copied(r.History)
	if i := slices.IndexFunc(h.Events, func(e history.Event) bool { return e.Process == history.Probe }); i >= 0 {
		h.Header.End, h.Events = h.Events[i].Time, h.Events[:i]
	}
	h.Header.Clients = ordinary(h)
	for i := range h.Events {
		if e := &h.Events[i]; e.Process != history.Nemesis {
			e.Value = ""
		}
	}
	return h
}

// symmetric runs each scenario twice, the second time with other names, and checks that the two histories differ only
// in these names. change makes the second scenario. The runs have fixed delays and no random waits.
//
// One random choice still depends on names: when a client continues after a pause, whether it first processes the
// answers on a connection or its timers. Therefore, symmetric accepts a few runs that differ after such a pause.
func symmetric(t *testing.T, relation string, few, many int,
	change func(r *rand.Rand, s *scenarios.Scenario) (*scenarios.Scenario, naming)) {
	t.Helper()
	tried, drawn := newTally(t, relation), 0
	for _, s := range subjects(t) {
		if b := s.Servers.Backend; b == locks.OnZooKeeper || b == locks.OnKubernetes || b == locks.OnConsul ||
			slices.ContainsFunc(s.Clients, func(c scenarios.Client) bool { return c.Work.Take == scenarios.TakeOne }) {
			continue // clients wait for a random time before they reconnect or for an answer, or choose at random
		}
		if p := s.Clients[0].Lock.Protocol; p == locks.Semaphore || p == locks.ReadWrite || p == locks.Fair ||
			p == locks.HashCounter {
			// if several members expire together, their records are in the order of their random names; a hash
			// counter's records contain the random name of its field
			continue
		}
		for i, p := range plansOf(t, s, plans(few, many)) {
			fixed := scaled(s, 1)
			other, names := change(rand.New(rand.NewPCG(uint64(i), 5)), fixed)
			if other == nil {
				continue
			}
			q := names.plan(p)
			if err := q.Validate(other.Targets()); err != nil {
				t.Fatalf("%s: %v\n%s", s.Name, err, q)
			}
			before, after := beforeProbe(t, fixed, p), beforeProbe(t, other, q)
			tried.done()
			is := checker.Check(after)
			named := copied(before)
			rename(named, names.newName, func(l history.Lock) history.Lock { return l })
			if k := firstDifference(named.Events, after.Events); k >= 0 && clientContinued(named.Events[:k]) {
				drawn++
				continue
			} else if k >= 0 {
				t.Errorf("%s: the runs part at event %d\n%s\n%s\n%s%s", s.Name, k, eventText(named.Events, k),
					eventText(after.Events, k), p, q)
				continue
			}
			if was := checker.Check(before); laws(was, true) != laws(is, true) {
				t.Errorf("%s:\n%s\n%s\n%s%s", s.Name, laws(was, true), laws(is, true), p, q)
			}
		}
	}
	t.Logf("%d parted after a pause", drawn)
	if drawn > max(1, tried.tried/100) {
		t.Errorf("%d of %d parted after a pause: too many to say that names do not matter", drawn, tried.tried)
	}
}

// clientContinued reports whether any client continued after a pause.
func clientContinued(events []history.Event) bool {
	return slices.ContainsFunc(events, func(e history.Event) bool {
		return e.Process == history.Nemesis && e.Type != history.Invoke && e.F.Does() == history.Stops &&
			e.Fault != nil && slices.ContainsFunc(e.Fault.On, nemesis.IsClient)
	})
}

// firstDifference returns the index of the first difference between two histories, or -1 if there is none. The fault
// lines may differ.
func firstDifference(a, b []history.Event) int {
	for i := range a {
		if i == len(b) || a[i].Process != b[i].Process ||
			a[i].Process != history.Nemesis && line(&a[i]) != line(&b[i]) {
			return i
		}
	}
	if len(b) > len(a) {
		return len(a)
	}
	return -1
}

// TestPermutedClientsGiveThePermutedRun checks that if the clients are permuted, the run is permuted in the same way.
func TestPermutedClientsGiveThePermutedRun(t *testing.T) {
	symmetric(t, "permuted clients", 3, 100, func(r *rand.Rand, s *scenarios.Scenario) (*scenarios.Scenario, naming) {
		starts := map[time.Duration]bool{}
		for _, c := range s.Clients {
			starts[c.Work.Start.Lo] = true
		}
		if len(s.Clients) < 2 || len(starts) < len(s.Clients) {
			return nil, nil // if clients start at the same time, the one that is first in the list acts first
		}
		names := shuffledNames(r, s.Targets().Clients)
		other := *s
		other.Clients = make([]scenarios.Client, len(s.Clients))
		for i, c := range s.Clients {
			c.ID = names.newName(c.ID)
			j := slices.IndexFunc(s.Clients, func(d scenarios.Client) bool { return d.ID == c.ID })
			other.Clients[j] = s.Clients[i]
			other.Clients[j].ID = c.ID
		}
		return &other, names
	})
}

// TestPermutedServersGiveThePermutedRun checks that Redlock masters are interchangeable if a client sends requests to
// them in the same order.
func TestPermutedServersGiveThePermutedRun(t *testing.T) {
	symmetric(t, "permuted servers", 6, 200, func(r *rand.Rand, s *scenarios.Scenario) (*scenarios.Scenario, naming) {
		if (s.Servers.Backend != locks.OnRedis || s.Servers.N < 2) || s.Servers.Replicas > 0 {
			return nil, nil
		}
		names := shuffledNames(r, s.Targets().Redis)
		other := *s
		other.Clients = slices.Clone(s.Clients)
		for i := range other.Clients {
			servers := &other.Clients[i].Lock.Servers
			*servers = slices.Clone(*servers)
			for j, id := range *servers {
				(*servers)[j] = names.newName(id)
			}
		}
		return &other, names
	})
}
