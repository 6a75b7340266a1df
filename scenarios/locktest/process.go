package locktest

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/remote"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// slots limits how many worker processes can run at the same time, across all tests. Each worker occupies one element
// of the channel.
var slots = make(chan struct{}, runtime.NumCPU())

// seedsPerWorker is how many more seeds there must be for one more worker to be worth the time that it takes to start.
const seedsPerWorker = 4

// explore distributes the seeds among workers. If a worker hangs or dies, the seed that it was running fails, and the
// other workers continue.
func (p *parent) explore(seeds []uint64) {
	ctx, done := p.contextFor(runsShare)
	defer done()
	p.stop = done
	var all sync.WaitGroup
	for _, share := range p.shares(seeds, min(cap(slots), 1+len(seeds)/seedsPerWorker)) {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			p.exploreShare(ctx, share)
		})
	}
	all.Wait()
	if ctx.Err() != nil && p.finished < len(seeds) {
		why, what := timeUp, "runs were made"
		if p.stopped {
			why = "a run could not continue because it was waiting for a mutex, which ends all runs"
		}
		if p.config.EachFault {
			what = "possible faults were tried"
		}
		p.problem(fmt.Sprintf("%s: %d of %d %s", why, p.finished, len(seeds), what))
	}
}

// shares distributes seeds, which are in ascending order, evenly among at most the given number of workers. If the
// results of runs guide later plans, each block of seeds goes to a single worker as a whole. This worker also runs the
// earlier seeds of the block, even if they were not requested.
func (p *parent) shares(seeds []uint64, workers int) [][]uint64 {
	var units [][]uint64
	p.unasked = map[uint64]bool{}
	for i, seed := range seeds {
		if !p.guided {
			units = append(units, seeds[i:i+1])
			continue
		}
		block := search.BlockOf(seed)
		if i == 0 || search.BlockOf(seeds[i-1]) != block {
			units = append(units, nil)
			for earlier := block; earlier < seed; earlier++ {
				units[len(units)-1] = append(units[len(units)-1], earlier)
				p.unasked[earlier] = true
			}
		}
		units[len(units)-1] = append(units[len(units)-1], seed)
	}
	shares := make([][]uint64, min(workers, len(units)))
	for i, unit := range units {
		shares[i%len(shares)] = append(shares[i%len(shares)], unit...)
	}
	return shares
}

// The runs may use the fraction runsShare of the time until the test's deadline, and all work together may use
// allShare. The remaining time is for reporting.
const runsShare, allShare = 0.8, 0.9

// contextFor returns a context that ends after the given fraction of the time until the test's deadline. If the test
// does not have a deadline, neither does the context.
func (p *parent) contextFor(part float64) (context.Context, context.CancelFunc) {
	deadline, has := p.t.Deadline()
	if p.config.deadline != nil {
		deadline, has = *p.config.deadline, true
	}
	if !has {
		return context.WithCancel(context.Background())
	}
	return context.WithDeadline(context.Background(),
		p.begun.Add(time.Duration(part*float64(deadline.Sub(p.begun)))))
}

// exploreShare runs the seeds in one worker after another. It replaces a worker that dies, or in which too many
// goroutines remain. If a run fails and it was not the first in its process, exploreShare repeats it in a separate
// process. If it succeeds there, the library must have kept state from one run to the next, so from then on each run
// gets its own process.
func (p *parent) exploreShare(ctx context.Context, seeds []uint64) {
	s := share{parent: p, seeds: seeds}
	for len(s.seeds) > 0 && ctx.Err() == nil {
		k, err := s.task()
		if err != nil {
			p.problem(err.Error())
			return
		}
		var w working
		end := p.start(ctx, k, func(r report) { s.follow(&w, r) })
		doubtful := w.began != nil && (w.done || w.later)
		if doubtful {
			p.forget(*w.began) // because the seed will be run again
		}
		switch {
		case w.failed || ctx.Err() != nil:
			return
		case doubtful && w.unsure:
			s.alone = true
		case doubtful:
			s.suspect = true
		case w.began != nil:
			s.take(ran{Seed: *w.began, Failure: end.Error(), Plan: w.plan, Shown: &search.Shown{Plan: w.plan}})
			s.finish(*w.began)
		case !w.done:
			p.problem(fmt.Sprintf("a worker ended before its first run: %v", end))
			return
		case s.suspect:
			s.suspect, s.alone = false, !w.fails
		}
	}
}

// share is a list of seeds that are still to be run. One worker after another runs them.
type share struct {
	*parent
	seeds []uint64
	plans map[uint64]string // plans that an earlier worker drew, by seed
	block block
	// alone is set if each run gets a separate process. suspect is set if only the run with the next seed gets one.
	alone, suspect bool
}

// working is a worker's state, according to its reports.
type working struct {
	began        *uint64 // seed of the current run
	plan         string  // plan of that run
	later        bool    // that run is not the first in its process
	fails        bool    // the latest run that the worker reported failed
	done, failed bool
	unsure       bool // the task must be repeated with a separate process for each run
}

// task returns the task for the next worker.
func (s *share) task() (k task, err error) {
	k = task{Test: s.t.Name(), Call: s.call, Seeds: slices.Clone(s.seeds), Alone: s.alone || s.suspect}
	if s.suspect {
		k.Seeds = k.Seeds[:1]
	}
	if s.listed != nil {
		k.Places = s.listed.file
	}
	if s.guided {
		k.Shown, err = s.block.save(s.t.TempDir(), s.seeds[0])
	}
	if s.plans[s.seeds[0]] != "" {
		k.Plans = s.plans
		k.Seeds = slices.DeleteFunc(k.Seeds, func(seed uint64) bool { return s.plans[seed] == "" })
	}
	return k, err
}

// follow processes a worker's report.
func (s *share) follow(w *working, r report) {
	switch {
	case r.Plans != nil:
		s.plans = r.Plans
	case r.Later:
		w.later = true
	case r.Began != nil:
		w.began, w.plan = r.Began, r.Plan
	case r.Ran != nil:
		w.fails = r.Ran.Failure != ""
		s.take(*r.Ran)
	case r.Finished != nil:
		s.finish(*r.Finished)
		w.began = nil
	case r.Problem != "":
		s.problem(r.Problem)
		w.failed = true
	case r.Done:
		w.done, w.unsure = true, r.Unsure
	}
}

// take records a run's result.
func (s *share) take(r ran) {
	if s.guided {
		s.block.add(r.Seed, *r.Shown)
	}
	s.parent.take(r)
	s.stopFor(r.Failure)
}

// finish removes a seed from the list because all its runs are complete.
func (s *share) finish(seed uint64) {
	s.parent.finish(seed)
	s.seeds = slices.DeleteFunc(s.seeds, func(other uint64) bool { return other == seed })
	delete(s.plans, seed)
}

// block contains what later plans need to know about the runs in a worker's current block of seeds. The runs are in
// seed order and begin with the block's first seed.
type block []search.Shown

// add records the run with the next seed.
func (b *block) add(seed uint64, s search.Shown) { *b = append((*b)[:seed-search.BlockOf(seed)], s) }

// save writes a file in folder with the earlier results that a worker needs to continue with the given seed. It returns
// the file's path, or "" if there are no such results.
func (b *block) save(folder string, seed uint64) (file string, err error) {
	known := (*b)[:min(seed-search.BlockOf(seed), uint64(len(*b)))]
	if len(known) == 0 {
		return "", nil
	}
	text, err := json.Marshal(known)
	if err != nil {
		return "", err
	}
	const name = "shown.json"
	return filepath.Join(folder, name), save(folder, map[string]string{name: string(text)})
}

// trialHung is how much processor time the trial run may use before it counts as hung. The run takes a few
// milliseconds, even with the race detector.
const trialHung = 5 * time.Second

// try has a worker perform the trial run, and records any problem that the run reveals.
func (p *parent) try() {
	slots <- struct{}{}
	defer func() { <-slots }()
	ctx, cancel := p.contextFor(runsShare)
	defer cancel()
	done := false
	end := p.start(ctx, task{Test: p.t.Name(), Call: p.call, Trial: true}, func(r report) {
		if r.Problem != "" {
			p.problem(r.Problem)
		}
		done = done || r.Done
	})
	switch {
	case done:
	case ctx.Err() != nil:
		p.problem(fmt.Sprintf("%s before the trial run had ended", timeUp))
	default:
		p.problem(fmt.Sprintf("the trial run, which has no faults, failed: %s", end.Error()))
	}
}

// problem records a problem that is not specific to one run.
func (p *parent) problem(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.problems, text) {
		p.problems = append(p.problems, text)
	}
}

// stopFor ends all runs if failure says that a wait for a mutex stopped a run, since such waits would stop other runs
// too. It does nothing if Config.IgnoredGoroutines names the waiting goroutine.
func (p *parent) stopFor(failure string) {
	if strings.HasPrefix(failure, remote.Standstill) && !p.config.expects(failure) {
		p.mu.Lock()
		p.stopped = true
		p.mu.Unlock()
		p.stop()
	}
}

// expects reports whether a failure mentions a function listed in IgnoredGoroutines.
func (c *Config) expects(failure string) bool {
	return slices.ContainsFunc(c.IgnoredGoroutines, func(name string) bool { return strings.Contains(failure, name) })
}

func (p *parent) take(r ran) {
	r.Ignored = r.Failure != "" && p.config.expects(r.Failure)
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := r.Shown; s != nil && s.Differing != nil {
		p.differ = append(p.differ, *s.Differing)
	}
	if s := r.Shown; s != nil && (r.bad() || p.one) {
		r.Plan = s.Plan
	}
	if r.Shown = nil; !p.unasked[r.Seed] {
		p.runs = append(p.runs, r)
	}
}

// finish counts a seed as finished once all its runs are complete.
func (p *parent) finish(seed uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.unasked[seed] {
		p.finished++
	}
}

// forget discards the results of a seed's runs, because the seed will be run again.
func (p *parent) forget(seed uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs = slices.DeleteFunc(p.runs, func(r ran) bool { return r.Seed == seed })
}

// spent adds a finished process's processor time to the total, and updates the peak memory use.
func (p *parent) spent(worker *remote.Process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cpu += worker.CPU()
	p.memory = max(p.memory, worker.Memory())
}

// do performs a task in a worker, and calls handle for each of the worker's reports. The reports cannot be trusted if
// an earlier run may have affected a later one. do then discards them, and another worker repeats the task with a
// separate process for each run.
func (p *parent) do(ctx context.Context, k task, handle func(report)) error {
	for {
		var all []report
		later, unsure, done := false, false, false
		end := p.start(ctx, k, func(r report) {
			later, done = later || r.Later, done || r.Done
			unsure = unsure || r.Unsure || later && r.Problem != ""
			all = append(all, r)
		})
		if !k.Alone && ctx.Err() == nil && (unsure || later && !done) {
			k.Alone = true
			continue
		}
		for _, r := range all {
			handle(r)
		}
		return end
	}
}

// start starts a worker process for a task, calls handle for each of its reports, and returns the error that the
// process ended with. When ctx is done, start kills the process.
func (p *parent) start(ctx context.Context, k task, handle func(report)) error {
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"-test.run=" + remote.Pattern(p.t.Name()), "-test.count=1", "-test.v=false",
		"-locktest.plan=" + *planFlag}
	if folder := flag.Lookup("test.gocoverdir").Value.String(); folder != "" {
		// when the worker ends, this process adds the coverage files in that folder to its own
		args = append(args, "-test.gocoverdir="+folder)
	}
	args = append(args, passedOn()...)
	patience := p.config.hung
	if k.Trial {
		patience = cmp.Or(patience, trialHung)
	}
	worker, err := remote.Start(exe, "", environment+"="+string(text), patience, args...)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, worker.Kill)()
	defer func() { p.spent(worker) }()
	started := false
	for {
		line, err := worker.Next()
		switch {
		case err != nil && !started && worker.Succeeded():
			return fmt.Errorf("its process ended before it reached this call to locktest in %s. "+
				"Each worker process executes the test again, "+
				"so the test must have the same subtests and make the same calls to locktest every time", p.t.Name())
		case err != nil:
			return err
		}
		started = true
		var r report
		if err := json.Unmarshal(line, &r); err != nil {
			worker.Close()
			return err
		}
		handle(r)
		if r.Done && r.Left {
			worker.Close()
			return nil
		}
	}
}

// passedOn returns those of this process's command-line arguments that are passed on to worker processes.
func passedOn() []string { return remote.Flags("locktest.plan") }

// seedAsked returns the seed that the -run flag requests by selecting the test's WORD=SEED subtest. If the flag's
// pattern does not select such a subtest, one is false.
func seedAsked(test, word string) (seed uint64, one bool) {
	f := flag.Lookup("test.run")
	if f == nil {
		return 0, false
	}
	parts := strings.Split(f.Value.String(), "/")
	if at := strings.Count(test, "/") + 1; at < len(parts) {
		text, is := strings.CutPrefix(strings.Trim(parts[at], "^$"), word+"=")
		n, err := strconv.ParseUint(text, 10, 64)
		return n, is && err == nil
	}
	return 0, false
}
