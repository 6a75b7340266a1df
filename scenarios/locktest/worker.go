package locktest

import (
	"bytes"
	"context"
	cryptorand "crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand"
	mathrand "math/rand/v2"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/features"
	"github.com/fencepost-sim/fencepost/scenarios/margin"
	"github.com/fencepost-sim/fencepost/scenarios/remote"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/sim"
)

// task is a worker process's job. The process receives it as JSON in an environment variable.
type task struct {
	Test  string // full name of the test
	Call  int    // number of the call to Run within that test, from 0
	Seeds []uint64
	// Shrink, if set, is the violation to shrink. The task then has a single seed, whose run shows the violation.
	Shrink *finding
	Trial  bool // perform only the trial run
	List   bool `json:",omitempty"` // only list the single faults
	Alone  bool `json:",omitempty"` // perform each run in a separate process
	Show   bool `json:",omitempty"` // only describe the run of the first seed
	// Plans, if set, maps each seed to its plan, as drawn by an earlier worker.
	Plans map[uint64]string `json:",omitempty"`
	// Places is the path of a file that lists the places (start and target) of single faults. It is set for
	// Config.EachFault. A seed is then the number of a place.
	Places string `json:",omitempty"`
	// Shown is the path of a file with the results of earlier runs in the same block as the first seed. It is set if
	// plans depend on earlier runs.
	Shown string `json:",omitempty"`
}

// finding identifies a kind of violation. Runs with equal findings are reported together.
type finding struct {
	Law     checker.Law
	Cause   checker.Cause
	Limited bool `json:",omitempty"` // no lock with a lease could have kept the law
}

// findingOf returns the kind of a violation. If no lock with a lease could have upheld the law, it also returns the
// reason.
func findingOf(h *history.History, v checker.Verdict, f checker.Finding) (finding, limit) {
	l := limitOf(h, v, f)
	return finding{f.Law, f.Cause, l != ""}, l
}

// shownBy reports whether a history shows this kind of violation.
func (f finding) shownBy(h *history.History) bool {
	v := checker.Check(h)
	on := v.Of(f.Law)
	for b := range on.Breaches() {
		if got, _ := findingOf(h, v, *b); got == f {
			return true
		}
	}
	return false
}

// report is one line of a worker's output, as JSON.
type report struct {
	Began *uint64 `json:",omitempty"` // the seed whose run begins now
	Plan  string  `json:",omitempty"` // plan of the run of Began, with Config.EachFault or if runs guide plans
	Ran   *ran    `json:",omitempty"`
	// Finished is a seed whose runs are all complete.
	Finished *uint64 `json:",omitempty"`
	Listed   *listed `json:",omitempty"`
	Shrunk   *shrunk `json:",omitempty"`
	Text     string  `json:",omitempty"` // description of the run to be shown
	Done     bool    `json:",omitempty"` // the worker ends; another process may have to run the remaining seeds
	Left     bool    `json:",omitempty"` // Done, but goroutines remain: the parent must end the process
	Later    bool    `json:",omitempty"` // from now on, runs are not the first of their process
	Unsure   bool    `json:",omitempty"` // a process with Alone must repeat the task: see bubbles.go
	Problem  string  `json:",omitempty"` // a problem that concerns the whole task
	// Plans contains plans for the next seeds. The next worker will use them.
	Plans map[uint64]string `json:",omitempty"`
}

// ran is the result of one run.
type ran struct {
	Seed     uint64
	Digest   sim.Digest
	Outcomes []checker.Outcome // outcome of each law, in the order of checker.Laws
	// Open maps each undecided law to the reason why it is undecided.
	Open   map[checker.Law]string `json:",omitempty"`
	Guided bool                   `json:",omitempty"` // whether the plan depends on other runs
	Broken []broken
	// Unrenewed is set if mutual exclusion is not promised and was violated because no request renewed a lease.
	Unrenewed  bool               `json:",omitempty"`
	Excused    []checker.Law      `json:",omitempty"` // laws that were violated only with causes that break no promise
	Closest    search.Closest     `json:",omitempty"` // close calls of the run
	Situations []features.Feature `json:",omitempty"` // situations that occurred
	// Unsimulated lists the requests that were refused because they are not simulated.
	Unsimulated []string `json:",omitempty"`
	Failure     string   // failure of the lock's own code: it panicked, or did not return
	Differs     bool     // a second run of the seed had a different result
	// Ignored is set if Failure mentions a function in Config.IgnoredGoroutines.
	Ignored bool `json:",omitempty"`
	// Kind is the kind of fault that the run injects. It is set only for Config.EachFault.
	Kind nemesis.Kind `json:",omitempty"`
	// Plan is the plan of a run that broke a law or failed. It is set with Config.EachFault. If plans depend on the
	// results of earlier runs, the parent process copies it from Shown. Otherwise, it is empty.
	Plan string `json:",omitempty"`
	// Shown contains what later plans need to know about this run. It is set if plans depend on the results of earlier
	// runs.
	Shown *search.Shown `json:",omitempty"`
	// Missed lists messages that faults refer to but that were never sent. It is set only if the faults were specified,
	// not drawn at random.
	Missed []nemesis.Missed `json:",omitempty"`
	// Refused says why the plan cannot be run: it contains a name that matches several requests.
	Refused string `json:",omitempty"`
}

type broken struct {
	finding
	Story string
	Limit limit `json:",omitempty"`
}

type shrunk struct {
	finding
	Plan       search.PlanParts // the plan file
	Scenario   string           // contents of the scenario file
	Text, Page string           // the report on its run
	Ending     campaign.Ending
}

func say(r report) {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	// ignore errors: if nobody is reading the output anymore, there is nothing else to do
	_ = remote.Say(os.Stdout, os.Stderr, b)
}

// serve performs runs for another process until that process stops sending requests.
func serve(t *testing.T, s *scenarios.Scenario, c *Config) {
	collectBetweenRuns()
	offline()
	w := newWorker(t, s, c)
	w.serves = true
	if err := remote.Serve(os.Stdin, os.Stdout, os.Stderr, w.answer); err != nil {
		t.Error(err)
	}
}

// work performs a task in a worker process and reports the results.
func work(t *testing.T, s *scenarios.Scenario, c *Config, k task) {
	remote.EndWithParent(os.Stdin)
	collectBetweenRuns()
	offline()
	say(report{}) // tells the parent that it has started
	w := newWorker(t, s, c)
	if k.Alone {
		end, err := w.goElsewhere(k.Test)
		if err != nil {
			say(report{Problem: err.Error()})
			return
		}
		defer end()
	}
	w.given, w.later = k.Plans, k.Plans != nil || k.Shown != ""
	switch err := errors.Join(w.drawPlans(k), w.enumerate(k.Places)); {
	case err != nil:
		say(report{Problem: err.Error()})
	case k.Trial:
		w.try()
	case k.List:
		w.list()
	case k.Shrink != nil:
		w.shrink(k.Seeds[0], *k.Shrink)
	case k.Show:
		w.show(k.Seeds[0])
	default:
		w.explore(k.Seeds)
	}
	left := w.left.frozen > 0
	say(report{Done: true, Left: left, Unsure: w.left.kept})
	if left {
		_, _ = io.Copy(io.Discard, os.Stdin) // wait for the parent to end this process
	}
}

// goElsewhere makes a separate process perform each run from now on. end stops these processes.
func (w *worker) goElsewhere(test string) (end func(), err error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	each, err := remote.Open(exe, ".", test)
	if err != nil {
		return nil, err
	}
	each.OneRunEach()
	each.SetFlags(passedOn())
	w.scenario = w.scenario.With(&scenarios.Code{Elsewhere: each.Run})
	w.runner = scenarios.NewRunner(w.scenario)
	alive := time.NewTicker(time.Second) // if another process hangs, this one must not seem to hang
	go func() {
		for range alive.C {
			say(report{})
		}
	}()
	return each.Close, nil
}

// collectBetweenRuns turns automatic garbage collection off, so that only explicit calls collect garbage.
func collectBetweenRuns() { debug.SetGCPercent(-1) }

// answer performs the run that another process requests.
func (w *worker) answer(r remote.Request) (a remote.Answer) {
	if r.Scenario == "" {
		a.Scenario = string(w.scenario.Text())
		return a
	}
	err := w.turnTo(r.Scenario)
	var plan nemesis.Plan
	if err == nil {
		plan, err = nemesis.ParsePlan("plan", []byte(r.Plan))
	}
	if err != nil {
		return remote.Answer{Failure: err.Error()}
	}
	w.runner.ReportSent(r.Sent)
	run, err := w.runner.Run(plan)
	a.Last, a.Unsure = w.left.frozen > frozenCrowd, w.left.kept
	var ambiguous *nemesis.AmbiguousError
	switch {
	case errors.As(err, &ambiguous):
		a.Refused = err.Error()
	case err != nil:
		a.Failure = w.failure(err)
	default:
		a.History, a.Digest, a.Events, a.Limited = run.History, run.Digest, run.Events, run.Limited
		a.Missed, a.Sent = run.Missed, run.Sent
	}
	return a
}

// turnTo makes subsequent runs use the scenario with the given text.
func (w *worker) turnTo(text string) error {
	if text == string(w.scenario.Text()) {
		return nil
	}
	s, err := w.scenario.Parse("scenario.yaml", []byte(text))
	if err != nil {
		return err
	}
	w.scenario, w.runner, w.locks = s, scenarios.NewRunner(s), s.Locks()
	w.keys, err = w.config.newKeys(s.Locks())
	return err
}

// worker performs runs one after another in a worker process.
type worker struct {
	*host
	t *testing.T
	// a channel made outside any synctest bubble: a goroutine that is waiting for it stops its bubble's clock
	never    chan struct{}
	left     left
	random   *source
	config   *Config
	scenario *scenarios.Scenario
	plans    *search.Plans // nil if the faults are the scenario's own, or if the plans are given
	given    map[uint64]string
	runner   *scenarios.Runner
	checker  checker.Checker
	features features.Reader
	margins  margin.Reader
	promise  checker.Promise
	runs     int
	crowded  func()   // function that ends the shrinking, because this process cannot perform another run
	serves   bool     // the worker performs runs for another process and writes the answers to its output
	failed   bool     // a run failed because of the lock's own code, so leftover goroutines mean nothing
	singles  *singles // with Config.EachFault
	later    bool     // an earlier worker has performed runs of the task and has checked for leaks
}

func newWorker(t *testing.T, s *scenarios.Scenario, c *Config) *worker {
	watchMutexes()
	h := &host{new: c.New, keys: c.keys, locks: s.Locks(), together: len(s.Targets().Consensus) > 0,
		permits: s.Clients[0].Lock.Permits}
	for i := range s.Clients {
		h.tasks = max(h.tasks, s.Clients[i].Work.Tasks)
	}
	w := &worker{host: h, t: t, config: c, promise: c.promise(), random: new(source), never: make(chan struct{})}
	w.left = left{counts: kinds(), everyRun: map[string]bool{}}
	w.random.seed(0) // servers that are created before the first run use it, without effect
	cryptorand.Reader = w.random
	net.DefaultResolver = resolver(h)
	w.scenario = s.With(&scenarios.Code{Host: w, Lock: w.foreign})
	w.runner = scenarios.NewRunner(w.scenario)
	return w
}

// drawPlans prepares to draw plans, unless the runs' faults are fixed.
func (w *worker) drawPlans(k task) (err error) {
	if k.Trial || k.List || !w.config.draws(w.scenario) || w.given != nil {
		return nil
	}
	draw := search.NewPlans
	if w.config.guides(w.scenario) {
		draw = search.NewGuidedPlans
	}
	if w.plans, err = draw(w.scenario); err != nil {
		return err
	}
	return w.readShown(k.Seeds[0], k.Shown)
}

// readShown reads the results of earlier runs in a seed's block from a file, so that the worker can continue drawing
// plans where the earlier worker stopped.
func (w *worker) readShown(seed uint64, file string) error {
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var shown []search.Shown
	if err := json.Unmarshal(text, &shown); err != nil {
		return err
	}
	return w.plans.Resume(seed, shown)
}

// Begin starts a run and seeds the random numbers for it.
func (w *worker) Begin(world *sim.World, servers []sim.ProcessID) {
	w.random.seed(world.Seed())
	//lint:ignore SA1019 nothing else seeds the global source that libraries use
	rand.Seed(int64(world.Seed())) // works with GODEBUG=randseednop=0, as workers have it
	w.host.Begin(world, servers, w.scenario.Servers.Front())
}

// source replaces crypto/rand in a worker. It can be seeded again even while code from an earlier run is still reading
// from it.
type source struct {
	mu  sync.Mutex
	own *mathrand.ChaCha8
}

func (s *source) seed(seed uint64) {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own = mathrand.NewChaCha8(key)
}

func (s *source) Read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.own.Read(b)
}

// explore runs the seeds and reports each of them. It stops early if another process must perform the next run.
func (w *worker) explore(seeds []uint64) {
	for ; len(seeds) > 0 && w.left.frozen <= frozenCrowd && w.runSeed(seeds[0]); seeds = seeds[1:] {
		say(report{Finished: &seeds[0]})
	}
	if problem := w.leaked(); problem != "" {
		say(report{Problem: problem})
		return
	}
	w.passOn(seeds)
}

// runSeed performs a run with the given seed and reports it. With Config.EachFault, seed is the number of a place (the
// start and the target of faults), and runSeed tries all single faults at that place. ok is false if the result cannot
// be trusted.
func (w *worker) runSeed(seed uint64) (ok bool) {
	if w.config.EachFault {
		return w.tryPlace(seed)
	}
	say(report{Began: &seed})
	plan := w.plan(seed)
	if w.guides() { // not before, because drawing the plan may have required runs
		say(report{Began: &seed, Plan: plan.String()})
	}
	r := w.run(seed, plan)
	switch {
	case r.Refused != "":
		say(report{Problem: r.Refused})
		return false
	case w.doubts(&r):
		return false
	}
	if r.bad() {
		again := w.run(seed, plan)
		if w.doubts(&again) {
			return false
		}
		r.Differs = again.Digest != r.Digest
	}
	say(report{Ran: &r})
	return true
}

// doubts reports whether a run's result cannot be trusted because something may be left over from an earlier run.
func (w *worker) doubts(r *ran) bool { return w.left.kept || r.Failure != "" && w.runs > 1 }

func (w *worker) plan(seed uint64) nemesis.Plan {
	switch {
	case w.config.plan != nil:
		return *w.config.plan
	case w.given != nil:
		plan, err := nemesis.ParsePlan("plan", []byte(w.given[seed]))
		if err != nil {
			panic(err) // an earlier worker has written the file
		}
		return plan
	case w.plans != nil:
		return w.plans.Plan(seed)
	}
	return w.scenario.Plan(seed)
}

// plansAhead is the number of plans that a worker draws for the next worker before it ends. Without these plans, the
// next worker would first have to perform a run in order to draw them.
const plansAhead = 100

// passOn sends the plans for the next seeds to the parent process. It does not send guided plans, because they depend
// on the results of runs that have not been performed yet.
func (w *worker) passOn(seeds []uint64) {
	if w.plans == nil || w.guides() {
		return
	}
	plans := map[uint64]string{}
	for _, seed := range seeds[:min(len(seeds), plansAhead)] {
		plans[seed] = w.plan(seed).String()
	}
	say(report{Plans: plans})
}

// guides reports whether the plans of later runs depend on the results of earlier runs.
func (w *worker) guides() bool { return w.plans != nil && w.config.guides(w.scenario) }

func (w *worker) run(seed uint64, p nemesis.Plan) ran {
	w.runner.ReportSent(w.guides())
	result, err := w.runner.Run(p)
	out, verdict := w.judge(seed, result, err)
	var judged search.Judged
	if err == nil {
		judged = search.Judged{Result: &result,
			Calls: w.margins.Read(w.checker.Trace(result.History), &verdict, result.Sent)}
		out.Closest.Note(seed, nil, judged.Calls)
	}
	if !w.guides() {
		return out
	}
	out.Guided = !w.plans.Free(seed)
	w.plans.Learn(seed, judged)
	shown := w.plans.Shown()
	out.Shown = &shown
	return out
}

// bad reports whether a run broke a law or failed.
func (r *ran) bad() bool { return len(r.Broken) > 0 || r.Failure != "" }

// judge returns the result of a run, and the verdict on it if it could be judged.
func (w *worker) judge(seed uint64, result scenarios.Result, err error) (out ran, v checker.Verdict) {
	out.Seed = seed
	if w.Driver != nil { // the run took place in this process
		for _, r := range w.Refused() {
			if !slices.Contains(out.Unsimulated, r.Request) {
				out.Unsimulated = append(out.Unsimulated, r.Request)
			}
		}
	}
	if ambiguous := (*nemesis.AmbiguousError)(nil); errors.As(err, &ambiguous) {
		out.Refused = err.Error()
		return out, v
	}
	if err != nil {
		out.Failure = w.failure(err)
		return out, v
	}
	out.Digest, out.Situations = result.Digest, slices.Clone(w.features.Read(result.History))
	if w.plans == nil {
		out.Missed = result.Missed
	}
	v = w.checker.Check(result.History)
	for i := range v.Findings {
		f := &v.Findings[i]
		if out.Outcomes = append(out.Outcomes, f.Outcome); w.promise.ExcusesAll(f) {
			out.Excused = append(out.Excused, f.Law)
		}
		if f.Outcome == checker.Undecided {
			out.leaveOpen(f, result.Limited, w.scenario.Limit)
		}
		for b := range f.Breaches() {
			covered := w.promise.Covers(b.Law, b.Cause)
			out.Unrenewed = out.Unrenewed || !covered && b.Law == checker.MutualExclusion &&
				b.Cause.Kind == checker.NeverRenewed
			if covered {
				kind, why := findingOf(result.History, v, *b)
				out.Broken = append(out.Broken, broken{kind, b.Explanation, why})
			}
		}
	}
	return out, v
}

// leaveOpen records why a law is undecided. limited is set if the run reached its time limit before the clients had
// finished their work.
func (r *ran) leaveOpen(f *checker.Finding, limited bool, limit time.Duration) {
	if r.Open == nil {
		r.Open = map[checker.Law]string{}
	}
	r.Open[f.Law] = f.Explanation
	if limited {
		r.Open[f.Law] += fmt.Sprintf(" The run reached its limit of %v: lower Config.Hold or Config.Cycles.", limit)
	}
}

// shrinkRuns is the maximum number of runs used to shrink a violation. That many runs take about ten seconds.
const shrinkRuns = 500

// shrink shrinks a violation and reports the result.
func (w *worker) shrink(seed uint64, f finding) {
	ctx, crowded := context.WithCancel(context.Background())
	defer crowded()
	w.crowded = crowded
	small, err := search.Shrink(ctx, w.scenario, w.plan(seed), search.Violation{Law: f.Law, Cause: f.Cause,
		Accepts: f.shownBy}, shrinkRuns)
	if err == nil {
		var smallest shrunk
		if smallest, err = describe(small); err == nil {
			smallest.finding = f
			say(report{Shrunk: &smallest})
			return
		}
	}
	say(report{Problem: err.Error()})
}

// describe runs the shrunk plan again and returns it with the usual report.
func describe(small *search.Shrunk) (shrunk, error) {
	out := shrunk{Plan: small.PlanParts(), Scenario: string(small.Scenario.Text()), Ending: small.Ending}
	run, err := small.Explained()
	if err != nil {
		return out, err
	}
	run.HoldTo(checker.Promise{Laws: []checker.Law{small.Law}, Availability: true})
	var text, page bytes.Buffer
	d := run.Document()
	err = errors.Join(d.Text(&text, document.TextOptions{Width: width}), d.HTML(&page, "page.html"))
	out.Text, out.Page = text.String(), page.String()
	return out, err
}
