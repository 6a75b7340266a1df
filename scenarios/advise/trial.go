package advise

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/mix"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/amend"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/tally"
)

type tallied = tally.Finding

// Cost is what a lock takes from one client that nobody disturbs, how many servers there are, and for how long a holder
// that has crashed keeps the others out.
type Cost struct {
	Acquire  time.Duration // median
	Requests float64       // to lock servers, for each lock acquired and released
	Servers  int           // masters with their replicas, or members
	Lease    time.Duration // zero: for ever
}

// worker makes the runs of one lock.
type worker struct {
	*subject
	tried   *Tried
	runner  *scenarios.Runner
	checker checker.Checker
}

// worker makes the runs of a lock. They may last for longer than the file says, so that what strikes late or lasts long
// is seen to its end.
func (b *subject) worker(t *Tried) *worker {
	s := *t.scenario
	s.Limit = min(patience*max(s.Limit, b.scenario.Limit*longestTTL(&s)/longestTTL(b.scenario)), nemesis.MaxDuration)
	t.scenario = &s
	return &worker{subject: b, tried: t, runner: scenarios.NewRunner(t.scenario)}
}

// patience is how much longer than the scenario's limit a run may last.
const patience = 2

// run judges a run of a plan and counts it in.
func (w *worker) run(to *Trial, p nemesis.Plan) error {
	r, err := w.runner.Run(p)
	if err != nil {
		return fmt.Errorf("%s, seed %d: %w\n%s", w.tried, p.Seed, err, p)
	}
	if to.Laws == nil {
		to.Laws = tally.NewLaws(checker.Laws)
	}
	v := w.checker.Check(r.History)
	to.Runs++
	for i := range r.History.Events {
		if e := &r.History.Events[i]; e.F == history.Acquire && e.Type == history.Fail {
			to.GivenUp++
		}
	}
	to.Laws.Count(v)
	to.Findings.Count(p.Seed, v)
	return nil
}

// hopeless reports that all of some laws are broken: no further run can tell more of a change that was to mend one of
// them.
func hopeless(t *Trial, laws []checker.Law) bool {
	return len(laws) > 0 && !slices.ContainsFunc(laws, func(l checker.Law) bool { return t.Violated(l) == 0 })
}

// given runs the plans that broke the lock, until all of the given laws are broken.
func (w *worker) given(ctx context.Context, until []checker.Law) error {
	t := w.tried
	restart := restartOf(t.Changes)
	for _, p := range w.plans {
		if ctx.Err() != nil || hopeless(&t.Given, until) {
			return nil
		}
		q, spared := translated(p, t.scenario, restart)
		for _, line := range spared {
			if !slices.Contains(t.Spared, line) {
				t.Spared = append(t.Spared, line)
			}
		}
		if q.Validate(t.scenario.Targets()) != nil {
			continue
		}
		if err := w.run(&t.Given, q); err != nil {
			return err
		}
	}
	return nil
}

// fresh runs plans that nobody has seen: of the mix, and of a scenario's own faults as many variations. It ends when
// all of the given laws are broken.
func (w *worker) fresh(ctx context.Context, until []checker.Law) error {
	t := w.tried
	var vary *variation
	if w.own {
		p, _ := translated(w.plans[0], t.scenario, restartOf(t.Changes))
		longer := float64(longestTTL(t.scenario)) / float64(longestTTL(w.scenario))
		if len(p.Faults) > 0 {
			vary = &variation{of: p, known: t.scenario.Targets(), longer: longer}
		}
	}
	return w.random(ctx, &t.Fresh, w.mix(t.scenario, t.Changes), vary, w.options.Seeds, until)
}

// others runs what every lock must bear, and plans of all kinds of faults where the fresh ones are not.
func (w *worker) others(ctx context.Context) error {
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
	all := mix.For(longestTTL(w.tried.scenario))
	return w.random(ctx, &w.tried.Others, all, nil, (w.options.Seeds+othersShare-1)/othersShare, nil)
}

// everyday are what befalls every lock: a client dies at the points at which it leaves most behind, a server is gone
// for good, a client is cut off for longer than a lease. A lock that excludes because nobody gets it does not come
// through this.
func (w *worker) everyday() (plans []nemesis.Plan) {
	known := w.tried.scenario.Targets()
	servers := known.Servers()
	var names []string
	for _, p := range servers {
		names = append(names, string(p))
	}
	lines := []string{"crash client-1 after acquired", "crash client-1 at before-expire",
		"crash client-1 after quorum-reached",
		fmt.Sprintf("shut down %s at 0s", servers[0]),
		fmt.Sprintf("shut down %s after acquired by client-1", servers[len(servers)-1]),
		fmt.Sprintf("cut client-1 | %s after acquired for %s", strings.Join(names, " "),
			nemesis.FormatDuration(3*longestTTL(w.tried.scenario)))}
	for _, line := range lines {
		if f, err := nemesis.ParseFor(line, known); err == nil {
			plans = append(plans,
				nemesis.Plan{Scenario: w.scenario.Name, Seed: w.options.From, Faults: []nemesis.Fault{f}})
		}
	}
	// as many servers as the lock as it is could lose
	gone := nemesis.Plan{Scenario: w.scenario.Name, Seed: w.options.From}
	for i := range min((w.asked()-1)/2, len(servers)) {
		gone.Faults = append(gone.Faults, nemesis.Fault{Kind: nemesis.ShutDown, Target: servers[len(servers)-1-i]})
	}
	return append(plans, gone)
}

// othersShare is how many fresh plans there are for each of all kinds.
const othersShare = 4

// random runs n plans of a mix, or in turn one of them and a variation, with seeds that the search for plans has not
// used. A mix that can strike nothing here has none.
func (w *worker) random(
	ctx context.Context, to *Trial, from mix.Mix, vary *variation, n int, until []checker.Law,
) error {
	s := *w.tried.scenario
	s.Mix = from
	plans, err := search.NewPlans(&s)
	if nothing := errors.Is(err, mix.ErrNothing); err != nil && !nothing {
		return err
	} else if nothing && vary == nil {
		return nil
	}
	restart := restartOf(w.tried.Changes)
	for i := range n {
		if ctx.Err() != nil || hopeless(to, until) {
			return nil
		}
		seed := w.options.From + uint64(w.options.Seeds+i)
		var p nemesis.Plan
		if vary != nil && (i < systematic || i%2 == 0 || err != nil) {
			p = vary.plan(i, seed)
		} else {
			p = plans.Plan(seed)
		}
		if p, _ = translated(p, w.tried.scenario, restart); p.Validate(s.Targets()) != nil {
			continue
		}
		if err := w.run(to, p); err != nil {
			return err
		}
	}
	return nil
}

// restartOf is how long servers stay away at least with some changes.
func restartOf(changes []Change) (d time.Duration) {
	for _, c := range changes {
		d = max(d, c.restart)
	}
	return d
}

// changed is the document with some changes, without what says what strikes and what is expected.
func (b *subject) changed(changes []Change) *format.Document {
	doc := b.doc.Clone()
	amend.To(doc, edits(changes))
	for _, key := range []string{"faults", "expect", "promise"} {
		doc.Remove(key)
	}
	return doc
}

// build makes the scenario with the changes of t; nil if the format does not take them together.
func (b *subject) build(t *Tried) *Tried {
	s, err := scenarios.Parse("changed", []byte(b.changed(t.Changes).String()))
	if err != nil {
		return nil
	}
	t.scenario = s
	return t
}

// try tries some changes together, as long as they may mend one of the wanted laws. It is nil if an interruption came
// first.
func (b *subject) try(ctx context.Context, base *Tried, changes []Change, wanted []checker.Law) (*Tried, error) {
	t := &Tried{Changes: changes, Left: b.broken}
	if b.build(t) == nil {
		t.unfit = true
		return t, nil
	}
	w := b.worker(t)
	err := w.given(ctx, wanted)
	if err != nil {
		return nil, err
	}
	if t.Mended = b.kept(&t.Given); len(t.Mended) > 0 {
		if err = w.fresh(ctx, t.Mended); err != nil {
			return nil, err
		}
	}
	t.Mended = slices.DeleteFunc(t.Mended, func(l checker.Law) bool { return !b.staysMended(base, t, l) })
	t.Left = slices.DeleteFunc(slices.Clone(b.broken), func(l checker.Law) bool { return slices.Contains(t.Mended, l) })
	if len(t.Mended) > 0 {
		if err = w.others(ctx); err == nil {
			t.Cost, err = b.cost(b.changed(changes))
		}
		t.Anew = b.anew(base, t)
		t.GivesUp = t.Given.GivenUp > base.Given.GivenUp
	}
	if ctx.Err() != nil {
		return nil, err
	}
	return t, err
}

// staysMended reports whether a law that holds under the given faults is not broken under fresh ones either: not by
// what broke it before, and by nothing that does not break the lock as it is. What else breaks it there is noted, and
// if the law is promised in so many words that counts as well.
func (b *subject) staysMended(base, t *Tried, law checker.Law) bool {
	by := func(of *Trial, c checker.Cause) bool {
		return slices.ContainsFunc(of.Findings,
			func(f tally.Finding) bool { return f.Law == law && f.Cause.Kind == c.Kind })
	}
	for _, f := range t.Fresh.Findings {
		if f.Law != law {
			continue
		}
		if b.stated || by(&base.Given, f.Cause) || !by(&base.Fresh, f.Cause) {
			return false
		}
		t.Otherwise = append(t.Otherwise, f)
	}
	return t.Fresh.Laws.Of(law).Undecided <= base.Fresh.Laws.Of(law).Undecided
}

// edits are those of all changes, in their order.
func edits(changes []Change) (all []amend.Edit) {
	for _, c := range changes {
		all = append(all, c.edits...)
	}
	return all
}

// kept are the broken laws that a trial keeps.
func (b *subject) kept(t *Trial) (laws []checker.Law) {
	for _, law := range b.broken {
		if t.keeps(law) {
			laws = append(laws, law)
		}
	}
	return laws
}

// anew are the other promises that a lock breaks, and the lock as it is does not, but that its lease can end
// while its holder does not know: no lock with a lease is without that.
func (b *subject) anew(base, t *Tried) (list []tally.Finding) {
	for _, law := range b.promised {
		if slices.Contains(b.broken, law) {
			continue
		}
		f := tally.Finding{Law: law}
		trials := [][2]*Trial{{&base.Given, &t.Given}, {&base.Fresh, &t.Fresh}, {&base.Others, &t.Others}}
		for i := range t.Everyday {
			trials = append(trials, [2]*Trial{&base.Everyday[i], &t.Everyday[i]})
		}
		for _, of := range trials {
			for _, g := range of[1].Findings {
				waived := !b.stated && law == checker.MutualExclusion && g.Cause.Kind == checker.HolderOutlivedLease &&
					g.Cause.Detail != checker.BySlowWork
				if g.Law == law && of[0].Violated(law) == 0 && !waived && f.Runs == 0 {
					f = g
				}
			}
		}
		unseen := base.Given.keeps(law) && !t.Given.keeps(law)
		if f.Runs > 0 || unseen {
			list = append(list, f)
		}
	}
	return list
}

// cost measures one client that takes and gives back the lock, back to back.
func (b *subject) cost(changed *format.Document) (c Cost, err error) {
	doc := changed.Clone()
	for _, key := range []string{"faults", "expect", "promise", "mix", "overrides", "work", "network.links", "limit"} {
		doc.Remove(key)
	}
	doc.Set("clients", "1")
	doc.Set("work.cycles", strconv.Itoa(costCycles))
	doc.Set("work.hold", "0s")
	s, err := scenarios.Parse("costs", []byte(doc.String()))
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
	c.Servers = len(known.Redis) + len(known.Consensus)
	if locks.Define(s.Clients[0].Lock.Protocol).Expires {
		c.Lease = longestTTL(s)
	}
	return c, nil
}

// costCycles is how often it does.
const costCycles = 20
