package advise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/shrink"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// subject is a scenario with a lock to repair, and the search settings.
type subject struct {
	scenario   *scenarios.Scenario
	doc        *format.Document
	definition *locks.Definition
	options    Options
	budget     *budget
	own        bool // the lock is judged under the file's own faults, or without any
	mixed      bool // the file has a mix
	stated     bool // the file states its promises in a promise section
	promised   checker.Promise
	plans      []nemesis.Plan // plans that break the lock
	broken     []checker.Law  // promised laws that these plans break
}

// Numbers of runs and plans, not including the random plans of an exploration.
const (
	ownSeeds   = 20  // seeds with which the scenario's own faults are run
	foundSeeds = 5   // seeds with which each plan that was found is run: its own seed and the next ones
	mostPlans  = 6   // maximum number of plans that are kept
	shrinkRuns = 200 // maximum number of runs to shrink one plan
	costRuns   = 3   // runs to measure the cost of a lock
)

func newSubject(s *scenarios.Scenario, o Options) (*subject, error) {
	doc, err := format.ParseDocument(s.Name, s.Text())
	if err != nil {
		return nil, err
	}
	b := &subject{scenario: s, doc: doc, definition: locks.Define(s.Clients[0].Lock.Protocol), options: o,
		budget:   &budget{},
		promised: checker.Promise{Laws: checker.Laws}, mixed: len(doc.Keys("mix")) > 0}
	if b.stated = len(doc.List("promise")) > 0; b.stated {
		b.promised = s.Promise
	}
	if b.own = len(s.Faults) > 0 && !b.mixed; b.own {
		b.plans = b.ownPlans()
	}
	return b, nil
}

// ownPlans returns the plans for the file's own faults, one for each seed.
func (b *subject) ownPlans() (plans []nemesis.Plan) {
	for i := range ownSeeds {
		plans = append(plans, b.scenario.Plan(b.options.From+uint64(i)))
	}
	return plans
}

// withoutFaults finds out whether the scenario breaks a promise even without faults. If it does, the advice covers only
// such violations, and not those that random faults may cause as well.
func (b *subject) withoutFaults(ctx context.Context) error {
	t := &Tried{scenario: b.patient(*b.scenario)}
	w, plans := b.worker(t), b.ownPlans()
	for _, p := range plans {
		if ctx.Err() != nil {
			return nil
		}
		if err := w.run(&t.Given, p); err != nil {
			return err
		}
		if slices.ContainsFunc(b.promised.Laws, func(l checker.Law) bool { return t.Given.violated(l) > 0 }) {
			b.own, b.plans = true, plans
			return nil
		}
	}
	return nil
}

// explore looks for random plans that break a promise, and shrinks them. It returns the number of plans that it has
// run. If it has run all of them, open lists the reasons why it is undecided whether the promises are kept.
func (b *subject) explore(ctx context.Context) (runs int, open []string, err error) {
	e, err := search.NewExploration(b.scenario, b.options.From, b.options.Seeds, search.Whole)
	if err != nil {
		return 0, nil, err
	}
	progress := func() {
		b.budget.charge()
		b.options.Report("runs", e.Done(), e.Size())
	}
	if b.options.Hands == nil {
		err = e.Run(ctx, b.scenario, b.options.Workers, progress)
	} else if err = e.RunBy(ctx, b.options.Hands, progress); ctx.Err() != nil {
		err = nil
	} else if err == nil && e.Done() < e.Size() {
		err = fmt.Errorf("only %d of %d runs were completed", e.Done(), e.Size())
	}
	if err != nil {
		return e.Done(), nil, err
	}
	if e.Failed.Runs > 0 && e.Failed.Runs == e.Done() {
		return e.Done(), nil, fmt.Errorf("no run could be judged: %s, first with seed %d: %s",
			b.scenario.Failing(), e.Failed.First, strings.Join(e.Failed.Why, "\n"))
	}
	if e.Finished() {
		_, open = e.Standing(b.scenario)
	}
	plans, err := e.Plans(b.scenario)
	if err != nil {
		return e.Done(), nil, err
	}
	found := slices.Clone(e.Findings)
	slices.SortStableFunc(found, func(f, g tallied) int { return cmp.Compare(g.Runs, f.Runs) })
	kept := 0
	for _, f := range found {
		if !b.promised.Covers(f.Law, f.Cause) || kept == mostPlans || ctx.Err() != nil {
			continue
		}
		kept++
		small, err := b.shrunk(plans.Plan(f.First), f)
		if err != nil {
			return e.Done(), nil, err
		}
		for i := range foundSeeds {
			small.Seed += uint64(min(i, 1))
			b.plans = append(b.plans, small)
		}
	}
	return e.Done(), open, nil
}

// shrunk reduces the plan to what is needed to cause a finding.
func (b *subject) shrunk(p nemesis.Plan, f tallied) (nemesis.Plan, error) {
	runner, runs := scenarios.NewRunner(b.scenario), 0
	var judge checker.Checker
	var failed error
	fails := func(p nemesis.Plan) bool {
		if runs++; runs > shrinkRuns || failed != nil {
			return false
		}
		r, err := runner.Run(p)
		b.budget.charge()
		if own := (*scenarios.CodeError)(nil); errors.As(err, &own) { // this plan shows a different problem
			return false
		}
		if failed = err; err != nil {
			return false
		}
		got := judge.CheckOnly(r.History, []checker.Law{f.Law}).Findings[0]
		return got.By(f.Cause) != nil
	}
	small := shrink.Shrink(p, b.scenario.Targets(), fails)
	return small, failed
}

// asItIs runs the unchanged lock and records in t which promises it breaks.
func (b *subject) asItIs(ctx context.Context, t *Tried) error {
	w := b.worker(t)
	err := w.runGiven(ctx, nil)
	if err != nil {
		return err
	}
	if b.breaks(t); len(b.broken) == 0 {
		return nil
	}
	if err = w.runFresh(ctx, b.options.Seeds, func() bool { return false }); err == nil {
		err = w.runOthers(ctx)
	}
	if err == nil {
		t.Cost, err = b.cost(b.doc)
	}
	return err
}

// breaks records which promises the unchanged lock, t, breaks.
func (b *subject) breaks(t *Tried) {
	b.broken = nil
	for _, law := range b.promised.Laws {
		if t.Given.violated(law) > 0 {
			b.broken = append(b.broken, law)
		}
	}
	t.Left = b.broken
}
