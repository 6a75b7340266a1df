package verify

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// fresh is the first of a range of seeds that no verification uses to draw plans.
const fresh = 1 << 40

// trial runs a scenario with random faults of one kind. It records which promised laws hold in the fault-free run.
type trial struct {
	scenario *scenarios.Scenario
	runner   *scenarios.Runner
	plans    *search.Plans
	kind     nemesis.Kind
	kept     []checker.Law
	way      string // outcome of the fault-free run
	checker  checker.Checker
}

func newTrial(t *testing.T, s *scenarios.Scenario, k nemesis.Kind) *trial {
	t.Helper()
	all, err := assign(s, &Options{Delays: 1})
	if err != nil {
		t.Fatal(err)
	}
	x := &trial{scenario: all[0].Scenario, runner: scenarios.NewRunner(all[0].Scenario), kind: k}
	if x.plans, err = search.NewPlans(withMix(x.scenario, k, 1)); err != nil {
		t.Fatal(err)
	}
	v, way := x.judge(t, nil)
	x.way = way
	for _, f := range v.Findings {
		if f.Outcome != checker.Violated {
			x.kept = append(x.kept, f.Law)
		}
	}
	return x
}

func (x *trial) judge(t *testing.T, faults []nemesis.Fault) (v checker.Verdict, way string) {
	t.Helper()
	r, err := x.runner.Run(nemesis.Plan{Scenario: x.scenario.Name, Seed: 1, Faults: faults})
	if err != nil {
		t.Fatal(err)
	}
	return x.checker.CheckOnly(r.History, x.scenario.Promise.Laws), shown(r.History.Events, 0)
}

// breaking tries n random faults of kind x.kind for which inQuestion returns true. It returns how many faults it tried,
// how many of them change the run, and the faults that break a law that holds in the fault-free run.
func (x *trial) breaking(t *testing.T, n int, inQuestion func(nemesis.Fault) bool) (tried, changing int,
	bad []nemesis.Fault) {
	t.Helper()
	for seed := uint64(fresh); tried < n && seed < fresh+uint64(20*n); seed++ {
		faults := x.plans.Plan(seed).Faults
		if len(faults) == 0 || faults[0].Kind != x.kind || !inQuestion(faults[0]) {
			continue
		}
		tried++
		v, way := x.judge(t, faults)
		if way != x.way {
			changing++
		}
		if slices.ContainsFunc(v.Findings, func(f checker.Finding) bool {
			return f.Outcome == checker.Violated && slices.Contains(x.kept, f.Law)
		}) {
			bad = append(bad, faults[0])
		}
	}
	return tried, changing, bad
}

// clocked lists scenarios in which clients, and sometimes servers, read their wall clocks. Each scenario excludes
// different faults.
var clocked = []string{
	"servers: {redis: 1}\nlock: {protocol: set-nx-px, ttl: 3s, expiry: absolute}\nwork: {hold: 2s}\n",
	"servers: {redis: 1}\nlock: {protocol: set-nx-px, ttl: 3s, expiry: absolute}\nwork: {hold: 2s}\n" +
		"mix: {without: [jump of clients]}\n",
	"servers: {redis: 1}\nlock: {protocol: fenced, ttl: 3s, clock: wall}\nwork: {hold: validity}\n" +
		"mix: {without: [jump of servers]}\n",
	"servers: {redis: 3}\nlock: {protocol: redlock, ttl: 3s, retry: {patience: 2s, patience-clock: wall}}\n",
	"servers: {etcd: 3}\nlock: {protocol: etcd, ttl: 3s}\nmix: {without: [drift]}\n",
	"servers: {zookeeper: 3}\nlock: {protocol: zookeeper, ttl: 4s}\n",
	"servers: {redis: 2}\nlock: {protocol: redlock, ttl: 3s}\noverrides: {client-2: {lock: {clock: wall}}}\n" +
		"mix: {without: [jump of servers]}\n",
}

// everyNth calls try for every nth scenario in the combined list of clocked and the catalog.
func everyNth(t *testing.T, n int, try func(*scenarios.Scenario)) {
	for i := 0; i < len(clocked)+len(scenarios.Names()); i += n {
		var s *scenarios.Scenario
		var err error
		if i < len(clocked) {
			s, err = scenarios.Parse("clocked.yaml", []byte("name: clocked\n"+clocked[i]))
		} else {
			s, err = scenarios.Named(scenarios.Names()[i-len(clocked)])
		}
		if err != nil {
			t.Fatal(err)
		}
		try(s)
	}
}

// TestWhatIsLeftUntriedChangesNothing checks that faults that a verification skips have no effect. It tries up to 500
// random ones for each kind of fault in a scenario. None of them may change anything that a process records before the
// probe (see history.Probe), or break a law that holds in the fault-free run.
func TestWhatIsLeftUntriedChangesNothing(t *testing.T) {
	each, nth, total := testkit.Size(10, 10, 500), testkit.Size(48, 12, 1), 0
	everyNth(t, nth, func(s *scenarios.Scenario) {
		scope, names := ScopeOf(s), s.Targets()
		targets := nemesis.TargetsOf(&names)
		for _, k := range nemesis.Kinds {
			wanted := candidates(subjectsOf(s), k)
			if !targets.Has(k) || k.Placement().Candidates == nil || s.Mix.Weights[k] == 0 {
				continue
			}
			x := newTrial(t, s, k)
			tried, changing, bad := x.breaking(t, each, func(f nemesis.Fault) bool {
				return !slices.ContainsFunc(wanted, func(w nemesis.Fault) bool { return w.Target == f.Target })
			})
			if changing > 0 || len(bad) > 0 {
				t.Errorf("%s: of %d placements of %s that are not tried %d change the run, and these break a law: %v; "+
					"%+v\n%s", s.Name, tried, k, changing, bad, scope.None, s.Text())
			}
			total += tried
		}
	})
	t.Logf("%d placements", total)
	if total < 80/nth*each {
		t.Errorf("only %d placements were tried", total)
	}
}

// TestRandomPlacementsBoundTheOthers checks the bound that is reported for kinds of faults whose placements are tried
// at random. If none of the placements tried so far broke a promise, the test tries up to 500 new ones. At most four of
// these may break a promise; if the bound is right, more than that are very unlikely. A full test uses every sixteenth
// scenario; with FENCEPOST_UNTRIED=1, the test uses all of them.
func TestRandomPlacementsBoundTheOthers(t *testing.T) {
	testkit.ThoroughOnly(t)
	nth := 1000
	switch {
	case os.Getenv("FENCEPOST_UNTRIED") != "":
		nth = 1
	case testkit.Full():
		nth = 16
	}
	const most = 4 // if the true rate is 0.15%, 5 or more of 500 occur in one of a thousand tests
	each, kept, refuted, total, broken := testkit.Size(100, 100, 500), 0, 0, 0, 0
	everyNth(t, nth, func(s *scenarios.Scenario) {
		scope := ScopeOf(s)
		for _, r := range scope.Random {
			if slices.Contains(scope.Every, r.Kind) {
				continue
			}
			v, err := Scenario(context.Background(), s,
				Options{Faults: 1, Delays: 1, Seed: 1, Kinds: []nemesis.Kind{r.Kind}})
			if err != nil {
				t.Fatal(err)
			}
			if v.Found != nil {
				refuted++
				continue
			}
			kept++
			x := newTrial(t, s, r.Kind)
			tried, _, bad := x.breaking(t, each, func(nemesis.Fault) bool { return true })
			total, broken = total+tried, broken+len(bad)
			t.Logf("%s, %s: %d of %d fresh placements broke a promise", s.Name, r.Kind, len(bad), tried)
			for _, f := range bad {
				t.Logf("%s: %s", s.Name, f)
			}
			if len(bad) > most {
				t.Errorf("%s, %s: %d of %d fresh placements break a promise, none of %d random ones did", s.Name,
					r.Kind, len(bad), tried, v.Random[0].Schedules)
			}
		}
	})
	t.Logf("%d kinds kept, %d refuted; of %d fresh placements %d broke a promise", kept, refuted, total, broken)
	if kept < 3 || testkit.Full() && (kept < 20 || refuted < 1) {
		t.Errorf("%d kinds kept, %d refuted: that shows little", kept, refuted)
	}
}
