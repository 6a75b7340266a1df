package advise

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/sim"
)

type tallied = campaign.Finding

// Cost says how long an undisturbed client takes to acquire a lock, how many requests and servers the lock needs, and
// how long a crashed holder keeps other clients out (Lease).
type Cost struct {
	Acquire  time.Duration // median acquire time
	Requests float64       // number of requests to lock servers, for each lock acquired and released
	Servers  int           // number of masters and replicas, or of members
	Lease    time.Duration
}

// forever is Cost.Lease for a lock that does not expire.
const forever time.Duration = math.MaxInt64

// worker runs a lock and judges the runs.
type worker struct {
	*subject
	cast    map[string][]counterparts // by the text of a plan's faults
	tried   *Tried
	runner  *scenarios.Runner
	checker checker.Checker
}

// worker returns a worker that runs the lock with t's changes.
func (b *subject) worker(t *Tried) *worker {
	return &worker{subject: b, cast: map[string][]counterparts{}, tried: t, runner: scenarios.NewRunner(t.scenario)}
}

// patient returns a copy of a scenario whose runs may exceed its time limit, so that the effects of late or long faults
// can be seen.
func (b *subject) patient(s scenarios.Scenario) *scenarios.Scenario {
	s.Limit = min(patience*max(s.Limit, b.limitFor(longestTTL(&s))), nemesis.MaxDuration)
	return &s
}

// limitFor returns a time limit that is as long for the given TTL as the scenario's limit is for its own TTL.
func (b *subject) limitFor(ttl time.Duration) time.Duration {
	own := uint64(longestTTL(b.scenario))
	hi, lo := bits.Mul64(uint64(b.scenario.Limit), uint64(ttl)) // the product may exceed 64 bits
	if hi >= own {
		return nemesis.MaxDuration
	}
	limit, _ := bits.Div64(hi, lo, own)
	return time.Duration(min(limit, uint64(nemesis.MaxDuration)))
}

// patience is how long a run may take, as a multiple of the scenario's time limit.
const patience = 2

// run runs a plan, judges the run and adds the result to a trial. If the user's own code fails in the run, every law
// counts as undecided. But if the lock is unchanged and the faults are those that the advice is about, run returns an
// error instead.
func (w *worker) run(to *Trial, p nemesis.Plan) error {
	r, err := w.runner.Run(p)
	asked := len(w.tried.Changes) == 0 && to == &w.tried.Given
	var failed *scenarios.CodeError
	if err != nil && (asked || !errors.As(err, &failed)) {
		return fmt.Errorf("%s, seed %d: %w\n%s", w.tried, p.Seed, err, p)
	}
	if to.Laws == nil {
		to.Laws = campaign.NewLaws(checker.Laws)
	}
	to.Runs++
	w.budget.charge()
	if failed != nil {
		for i := range to.Laws {
			to.Laws[i].Count(checker.Undecided)
		}
		return nil
	}
	v := w.checker.Check(r.History)
	r.Qualify(v)
	for i := range r.History.Events {
		if e := &r.History.Events[i]; e.F == history.Acquire && e.Type == history.Fail {
			to.GivenUp++
		}
	}
	to.Laws.Count(v)
	to.Findings.Count(p.Seed, v)
	return nil
}

// hopeless reports whether all of the given laws have been broken. More runs are then useless, because the change was
// supposed to mend one of these laws.
func hopeless(t *Trial, laws []checker.Law) bool {
	return len(laws) > 0 && !slices.ContainsFunc(laws, func(l checker.Law) bool { return t.violated(l) == 0 })
}

// runGiven runs the plans that broke the unchanged lock. It stops early once all given laws have been broken.
func (w *worker) runGiven(ctx context.Context, until []checker.Law) error {
	t := w.tried
	for ; t.given < len(w.plans) && ctx.Err() == nil && !hopeless(&t.Given, until); t.given++ {
		p := w.plans[t.given]
		if err := w.strike(&t.Given, p, w.castings(p)[0]); err != nil {
			return err
		}
	}
	return nil
}

// elsewhereEach is how many castings (assignments of faults to the changed servers) runElsewhere tries at most for each
// plan, not counting the first one.
const elsewhereEach = 3

// runElsewhere runs the same plans with their faults moved to other servers, until stop returns true.
func (w *worker) runElsewhere(ctx context.Context, stop func() bool) error {
	t := w.tried
	for ; t.moved < elsewhereEach*len(w.plans) && ctx.Err() == nil && !stop(); t.moved++ {
		p := w.plans[t.moved/elsewhereEach]
		others := w.castings(p)[1:]
		if t.moved%elsewhereEach >= len(others) {
			continue
		}
		if err := w.strike(&t.Elsewhere, p, others[t.moved%len(others)]); err != nil {
			return err
		}
	}
	return nil
}

// castings returns the castings for a plan's faults. Each casting says which of the changed servers each fault strikes.
// Faults that do not have a target in any casting are recorded in w.tried.Spared.
func (w *worker) castings(p nemesis.Plan) []counterparts {
	t, key := w.tried, fmt.Sprint(p.Faults)
	if w.cast[key] != nil {
		return w.cast[key]
	}
	list, times := castings(p.Faults, w.scenario.Targets(), t.scenario.Targets()), map[string]int{}
	w.cast[key] = list
	for _, with := range list {
		_, spared := translated(p, t.scenario, with, 0)
		slices.Sort(spared)
		for _, line := range slices.Compact(spared) {
			if times[line]++; times[line] == len(list) && !slices.Contains(t.Spared, line) {
				t.Spared = append(t.Spared, line)
			}
		}
	}
	return list
}

// strike runs a plan with each server replaced by its counterparts. It skips plans that the lock's servers cannot run.
func (w *worker) strike(to *Trial, p nemesis.Plan, with counterparts) error {
	q, _ := translated(p, w.tried.scenario, with, restartOf(w.tried.Changes))
	if q.Validate(w.tried.scenario.Targets()) != nil {
		return nil
	}
	return w.run(to, q)
}

// runFresh runs new plans until it has run the given number of them, or until stop returns true.
func (w *worker) runFresh(ctx context.Context, upTo int, stop func() bool) error {
	t := w.tried
	draw, err := w.freshPlans()
	if draw == nil {
		t.met = upTo
	}
	for ; err == nil && t.met < upTo && ctx.Err() == nil && !stop(); t.met++ {
		err = w.strike(&t.Fresh, draw(t.met), nil)
	}
	return err
}

// freshPlans returns a function that returns the ith fresh plan, counting from 0. Plans are drawn from the mix. If the
// scenario broke under its own faults, drawn plans alternate with variations of these faults. If it broke without
// faults, only the seeds differ. If there is nothing that a plan could contain, freshPlans returns nil.
func (w *worker) freshPlans() (func(i int) nemesis.Plan, error) {
	t := w.tried
	if w.own && len(w.scenario.Faults) == 0 {
		return func(i int) nemesis.Plan {
			return nemesis.Plan{Scenario: w.scenario.Name, Seed: w.freshSeed(i)}
		}, nil
	}
	var vary *variation
	if w.own {
		known := t.scenario.Targets()
		v := variation{known: known, growth: float64(longestTTL(t.scenario)) / float64(longestTTL(w.scenario))}
		for _, with := range w.castings(w.plans[0]) {
			p, _ := translated(w.plans[0], t.scenario, with, restartOf(t.Changes))
			if len(p.Faults) > 0 && p.Validate(known) == nil {
				v.of = append(v.of, p)
			}
		}
		if len(v.of) > 0 {
			vary = &v
		}
	}
	return w.draws(w.mix(t.scenario, t.Changes), vary)
}

// freshSeed returns the ith fresh plan's seed. It is larger than the seeds used in the search for plans.
func (w *worker) freshSeed(i int) uint64 { return w.options.From + uint64(w.options.Seeds+i) }

// runOthers runs the plans that every lock must survive (see everyday). It then runs random faults of all kinds, unless
// the fresh plans already contain all kinds.
func (w *worker) runOthers(ctx context.Context) error {
	for _, p := range w.everyday() {
		if ctx.Err() != nil {
			return nil
		}
		var day Trial
		if err := w.run(&day, p); err != nil {
			return err
		}
		w.tried.Everyday = append(w.tried.Everyday, day)
	}
	if !w.own && !w.mixed {
		return nil
	}
	drawing, err := w.draws(draw.For(longestTTL(w.tried.scenario)), nil)
	if err != nil || drawing == nil {
		return err
	}
	for i := range (w.options.Seeds + othersShare - 1) / othersShare {
		if ctx.Err() != nil {
			return nil
		}
		if err := w.strike(&w.tried.Others, drawing(i), nil); err != nil {
			return err
		}
	}
	return nil
}

// everyday returns the plans that every lock must survive. The first plan has no faults. In the others, a server is
// lost forever, a client is cut off for longer than a lease, or a client crashes at the point where it leaves the most
// keys behind. These plans expose a lock that is exclusive only because nobody can acquire it.
func (w *worker) everyday() (plans []nemesis.Plan) {
	known := w.tried.scenario.Targets()
	var masters []sim.ProcessID
	var names []string
	for _, group := range groups(&known) {
		masters = append(masters, group[0])
	}
	for _, p := range known.Servers() {
		names = append(names, string(p))
	}
	lines := []string{"crash client-1 after acquired", "crash client-1 at before-expire",
		"crash client-1 after quorum-reached",
		fmt.Sprintf("shut down %s at 0s", masters[0]),
		fmt.Sprintf("shut down %s after acquired by client-1", masters[len(masters)-1]),
		fmt.Sprintf("cut client-1 | %s after acquired for %s", strings.Join(names, " "),
			nemesis.FormatDuration(3*longestTTL(w.tried.scenario)))}
	plans = append(plans, nemesis.Plan{Scenario: w.scenario.Name, Seed: w.options.From})
	for _, line := range lines {
		if f, err := nemesis.ParseFor(line, known); err == nil {
			plans = append(plans,
				nemesis.Plan{Scenario: w.scenario.Name, Seed: w.options.From, Faults: []nemesis.Fault{f}})
		}
	}
	// This plan shuts down as many servers as the unchanged lock could afford to lose.
	gone := nemesis.Plan{Scenario: w.scenario.Name, Seed: w.options.From}
	for i := range min((w.asked()-1)/2, len(masters)) {
		gone.Faults = append(gone.Faults, nemesis.Fault{Kind: nemesis.ShutDown, Target: masters[len(masters)-1-i]})
	}
	return append(plans, gone)
}

// For every othersShare seeds, one plan with random faults of all kinds is run.
const othersShare = 4

// draws returns a function that returns the ith plan. Plans are drawn from the mix. If vary is set, some plans are
// variations of the plan in vary instead: first the systematic ones, then random ones that alternate with drawn plans.
// If there is nothing that a plan could contain, draws returns nil.
func (w *worker) draws(from draw.Mix, vary *variation) (func(i int) nemesis.Plan, error) {
	s := *w.tried.scenario
	s.Mix = from
	plans, err := search.NewPlans(&s)
	nothing := errors.Is(err, draw.ErrNothing)
	switch {
	case nothing && vary == nil:
		return nil, nil
	case err != nil && !nothing:
		return nil, err
	}
	return func(i int) nemesis.Plan {
		seed := w.freshSeed(i)
		if vary != nil && (i < systematic || i%2 == 0 || nothing) {
			return vary.plan(i, seed)
		}
		return plans.Plan(seed)
	}, nil
}

// restartOf returns the minimum time that crashed servers must stay down with the given changes.
func restartOf(changes []Change) (d time.Duration) {
	for _, c := range changes {
		d = max(d, c.restart)
	}
	return d
}

// changed returns the scenario's document with the given changes, and without its faults, expectations and promises.
func (b *subject) changed(changes []Change) *format.Document {
	doc := b.doc.Clone()
	apply(doc, edits(changes))
	for _, key := range []string{"faults", "expect", "promise"} {
		doc.Remove(key)
	}
	return doc
}

// build creates t's scenario with its changes. It returns nil if the format does not permit the combination.
func (b *subject) build(t *Tried) *Tried {
	s, err := b.scenario.Parse("changed", []byte(b.changed(t.Changes).String()))
	if err != nil {
		return nil
	}
	t.scenario = b.patient(*s)
	return t
}

// try tries t's changes, and stops when they can no longer mend any of the wanted laws. whole is false if it was
// interrupted.
func (b *subject) try(ctx context.Context, base, t *Tried, wanted []checker.Law) (whole bool, err error) {
	if b.build(t) == nil {
		t.unfit = true
		return true, nil
	}
	w := b.worker(t)
	if err := w.runGiven(ctx, wanted); err != nil {
		return false, err
	}
	b.judge(base, t)
	unmended := func() bool {
		return !slices.ContainsFunc(t.Mended, func(l checker.Law) bool { return b.mends(base, t, l) })
	}
	err = w.runFresh(ctx, b.options.Seeds, unmended)
	if err == nil {
		err = w.runElsewhere(ctx, unmended)
	}
	if err == nil && !unmended() {
		if err = w.runOthers(ctx); err == nil {
			t.Cost, err = b.cost(b.changed(t.Changes))
		}
	}
	if alone := (*scenarios.CodeError)(nil); errors.As(err, &alone) {
		*t = Tried{Changes: t.Changes, Left: b.broken, unfit: true}
		return true, nil
	}
	b.judge(base, t)
	return ctx.Err() == nil, err
}

// confirm runs a change under all plans that broke the lock, on the same servers and on others, and under many more
// fresh plans. It stops early if the change turns out not to mend anything, or if the lock seemed to keep every promise
// at first but no longer does.
func (b *subject) confirm(ctx context.Context, a *Advice, t *Tried) error {
	keeps, w := a.seemsToKeep(t), b.worker(t)
	stop := func() bool {
		b.judge(a.Base, t)
		return keeps && !a.seemsToKeep(t) || len(t.Mended) == 0
	}
	err := w.runGiven(ctx, nil)
	if err == nil {
		err = w.runElsewhere(ctx, stop)
	}
	if err == nil {
		err = w.runFresh(ctx, (1+confirming)*b.options.Seeds, stop)
	}
	b.judge(a.Base, t)
	return err
}

func edits(changes []Change) (all []edit) {
	for _, c := range changes {
		all = append(all, c.edits...)
	}
	return all
}

// cost measures what a lock costs a single client that keeps acquiring and releasing it.
func (b *subject) cost(changed *format.Document) (c Cost, err error) {
	doc := changed.Clone()
	for _, key := range []string{"faults", "expect", "promise", "mix", "overrides", "work", "network.links", "limit"} {
		doc.Remove(key)
	}
	doc.Set("clients", "1")
	doc.Set("work.cycles", strconv.Itoa(costCycles))
	doc.Set("work.hold", "0s")
	s, err := b.scenario.Parse("costs", []byte(doc.String()))
	if err != nil {
		return c, err
	}
	runner := scenarios.NewRunner(s)
	var acquire []time.Duration
	for seed := range uint64(costRuns) {
		r, err := runner.Run(s.Plan(seed + 1))
		if err != nil {
			return c, err
		}
		m := checker.Measure(r.History)
		p50, _ := m.Of("lock_acquisition_time_p50")
		requests, _ := m.Of("messages_per_acquire")
		acquire = append(acquire, time.Duration(p50.Value*float64(time.Second)))
		c.Requests += requests.Value / costRuns
	}
	slices.Sort(acquire)
	c.Acquire = acquire[costRuns/2]
	known := s.Targets()
	c.Servers = len(known.Servers())
	c.Lease = forever
	if locks.Define(s.Clients[0].Lock.Protocol).Expires {
		c.Lease = longestTTL(s)
	}
	return c, nil
}

// costCycles is how often the client acquires the lock to measure what it costs.
const costCycles = 20
