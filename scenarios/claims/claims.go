// Package claims tests what Fencepost says about a run. It performs other runs that could prove it wrong. It covers
// what a report says in addition to its verdict: the faults that an explanation names, the order of cause and effect,
// the remedies, and every number. It also tests relations that must hold between any two related runs or histories, for
// every scenario, plan and seed. For example, a fault on something that nobody uses does not change any verdict, and a
// fault that is split in two has the same effect as the whole. In this package, a story is a violation together with
// the run that showed it.
//
// Goals: the scenarios and plans in the tests are not chosen by a search and are the same each time a test is run. Each
// false statement is stored as a file that reproduces it. The relations reveal mistakes in the simulator or the checker
// even where nobody knows the right result: two runs that should agree do not. FENCEPOST_FULL=1 performs many more
// runs. Non-goals: saying what is right in a single run (checker/slow and the catalog do that). Only tests import this
// package.
package claims

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"sync"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/corpus"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// Subjects returns the catalog's scenarios and the corpus's mutants and sound locks. A sound lock violates a law only
// under faults that its own scenario rules out. All tests in a process share these scenarios, so no test may change
// them.
func Subjects(t testing.TB) []*scenarios.Scenario {
	t.Helper()
	list, err := everySubject()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

var everySubject = sync.OnceValues(func() (list []*scenarios.Scenario, err error) {
	add := func(s *scenarios.Scenario, refused error) {
		list, err = append(list, s), cmp.Or(err, refused)
	}
	for _, name := range scenarios.Names() {
		add(scenarios.Named(name))
	}
	for _, m := range corpus.Mutants() {
		text, err := m.Text()
		if err != nil {
			return nil, err
		}
		add(scenarios.Parse(m.Name+".yaml", text))
	}
	for _, name := range corpus.Names() {
		add(corpus.Lock(name))
	}
	return list, err
})

// Run is a run together with its verdict.
type Run struct {
	Scenario         *scenarios.Scenario
	scenarios.Result // valid only until the next run, except in the first keptRounds rounds
	Verdict          checker.Verdict
}

// Runs performs the given number of rounds of runs and passes each run to visit, until visit returns false. A round
// runs every subject once or, by default, only every third subject. The first round uses the subject's own faults; each
// later round uses a plan of a Walk. In every other later round, each subject is replaced by a variation of
// it. Two goroutines must not call Runs at the same time.
func Runs(t testing.TB, rounds int, visit func(*Run) bool) {
	t.Helper()
	all, walks, kept := Subjects(t), walksOfSubjects(), keptRuns()
	for round := range rounds {
		for i, s := range all {
			if i%testkit.Size(3, 1, 1) > 0 {
				continue
			}
			of := roundOf{s, round}
			r := kept[of]
			if r == nil {
				r = newRun(t, s, round, walks)
			}
			if round < keptRounds {
				kept[of] = r
			}
			if !visit(r) {
				return
			}
		}
	}
}

// newRun performs scenario s's run in the given round.
func newRun(t testing.TB, s *scenarios.Scenario, round int, walks map[*scenarios.Scenario]*Walk) *Run {
	t.Helper()
	if round == 0 {
		return runOf(t, s, scenarios.NewRunner(s), s.Plan(1))
	}
	if walks[s] == nil {
		walks[s] = NewWalk(t, s)
	}
	w, seed := walks[s], seedOf(s.Name, round)
	if round%2 == 0 {
		varied, err := Variation(s, seed)
		if err != nil {
			t.Fatal(err)
		}
		w = NewWalk(t, varied)
	}
	runner := w.runner
	if round < keptRounds {
		runner = scenarios.NewRunner(w.scenario)
	}
	return runOf(t, w.scenario, runner, w.Plan(seed))
}

// walksOfSubjects and keptRuns store the results of one call to Runs for later calls. This is safe because no test
// changes a run.
var (
	walksOfSubjects = sync.OnceValue(func() map[*scenarios.Scenario]*Walk { return map[*scenarios.Scenario]*Walk{} })
	keptRuns        = sync.OnceValue(func() map[roundOf]*Run { return map[roundOf]*Run{} })
)

type roundOf struct {
	of    *scenarios.Scenario
	round int
}

// keptRounds is the number of rounds whose runs are stored. Tests perform this many rounds by default.
const keptRounds = 2

func runOf(t testing.TB, s *scenarios.Scenario, r *scenarios.Runner, plan nemesis.Plan) *Run {
	t.Helper()
	result, err := r.Run(plan)
	if err != nil {
		t.Fatalf("%v\n%s", err, plan)
	}
	return &Run{s, result, checker.Check(result.History)}
}

// seedOf returns a seed that depends only on the name and the round, so adding or removing other subjects does not
// change it.
func seedOf(name string, round int) uint64 {
	const rounds = 1000
	return uint64(crc32.ChecksumIEEE([]byte(name)))%10_000*rounds + uint64(round)%rounds
}

// Story is a violation of a law, with the run that showed it.
type Story struct {
	*Run
	checker.Finding
}

// Stories performs the given number of rounds of runs and passes each violation to visit, until visit returns false.
// For each combination of scenario, law and cause, it passes at most perCause violations.
func Stories(t testing.TB, rounds, perCause int, visit func(*Story) bool) {
	t.Helper()
	seen := map[string]int{}
	Runs(t, rounds, func(r *Run) bool {
		for b := range r.Verdict.Breaches() {
			key := fmt.Sprint(r.Scenario.Name, b.Law, b.Cause)
			if seen[key] == perCause {
				continue
			}
			seen[key]++
			story := &Story{r, *b}
			story.Further = nil
			if !visit(story) {
				return false
			}
		}
		return true
	})
}

// file returns a scenario file that reproduces the run. The file uses the faults in the run's plan instead of the
// scenario's own, and does not contain any expectations.
func (r *Run) file() (string, error) {
	d, err := format.ParseDocument(r.Scenario.Name, r.Scenario.Text())
	if err != nil {
		return "", err
	}
	for _, key := range describing {
		d.Remove(key)
	}
	var lines []string
	for _, f := range r.Plan.Faults {
		lines = append(lines, f.String())
	}
	if len(lines) > 0 {
		d.SetList("faults", lines)
	}
	return d.String(), nil
}
