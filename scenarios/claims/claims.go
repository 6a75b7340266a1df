// Package claims holds what Fencepost says of a run to other runs that would show it false. What a report says beside
// its verdict: the faults that a story names, the order of cause and effect, the remedies, every number. And what must
// be true of two runs, or of two histories, whatever scenario, plan and seed: a fault on what nobody uses changes no
// verdict, a fault split in two acts as the whole, and so on.
//
// Goals: scenarios and plans that no search has chosen, the same ones whenever a test runs; whatever is false is left
// behind as a file that shows it. A mistake in the simulator or the checker that no expectation names shows as two runs
// that should agree and do not. FENCEPOST_FULL=1 tries many more. Non-goals: saying what is right in one run
// (checker/slow, and the catalogue). Nothing but tests imports this package.
package claims

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"sync"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/corpus"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// Subjects are the scenarios of the catalogue, the mutants of the corpus, and its sound locks, which break under the
// faults that they exclude. All tests of a process share them: they must not be changed.
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

// Run is a run with what was said of it.
type Run struct {
	Scenario         *scenarios.Scenario
	scenarios.Result // of a round after keptRounds valid until the next run
	Verdict          checker.Verdict
}

// Runs makes runs until visit returns false or there have been so many rounds. A round makes one of every subject: the
// first of its own faults, the others of a plan of a Walk, every other time on a variation of the subject.
// It must not be called by two goroutines at a time.
func Runs(t testing.TB, rounds int, visit func(*Run) bool) {
	t.Helper()
	all, walks, kept := Subjects(t), walksOfSubjects(), keptRuns()
	for round := range rounds {
		for _, s := range all {
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

// newRun makes the run of a subject in a round.
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

// walksOfSubjects and keptRuns hold those that a call of Runs has needed, for the next: no test changes a run.
var (
	walksOfSubjects = sync.OnceValue(func() map[*scenarios.Scenario]*Walk { return map[*scenarios.Scenario]*Walk{} })
	keptRuns        = sync.OnceValue(func() map[roundOf]*Run { return map[roundOf]*Run{} })
)

type roundOf struct {
	of    *scenarios.Scenario
	round int
}

// keptRounds are those that tests make every day.
const keptRounds = 2

func runOf(t testing.TB, s *scenarios.Scenario, r *scenarios.Runner, plan nemesis.Plan) *Run {
	t.Helper()
	result, err := r.Run(plan)
	if err != nil {
		t.Fatalf("%v\n%s", err, plan)
	}
	return &Run{s, result, checker.Check(result.History)}
}

// seedOf is another for each name and round, and stays the same when other subjects come and go.
func seedOf(name string, round int) uint64 {
	const rounds = 1000
	return uint64(crc32.ChecksumIEEE([]byte(name)))%10_000*rounds + uint64(round)%rounds
}

// Story is a breach of a law with the run that showed it.
type Story struct {
	*Run
	checker.Finding
}

// Stories gives the breaches of the runs to visit until that returns false, of one scenario, law and cause at most
// each.
func Stories(t testing.TB, rounds, each int, visit func(*Story) bool) {
	t.Helper()
	seen := map[string]int{}
	Runs(t, rounds, func(r *Run) bool {
		for b := range r.Verdict.Breaches() {
			key := fmt.Sprint(r.Scenario.Name, b.Law, b.Cause)
			if seen[key] == each {
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

// file is a scenario file with the faults of the run's plan in place of its own, and without what is expected of them.
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
