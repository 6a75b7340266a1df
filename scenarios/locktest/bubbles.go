package locktest

import (
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// bubbles are the bubbles in which one process makes runs, one after another. The clock of a bubble stops once it has
// been left: the goroutines that runs have left there never wake, and cost nothing but memory.
//
// What a library keeps for the whole program would stay behind as well. A bubble is therefore left only if each kind of
// goroutine in it was created again by every run; and what fails in a later bubble is tried again by another process.
type bubbles struct {
	task   task
	seeds  []uint64 // not yet run
	plans  *search.Plans
	clock  time.Time // shown by the bubbles, one after another
	frozen int       // goroutines in bubbles that have been left
	later  bool      // the bubble is not the first
	// everyRun are the kinds of goroutines of which every run leaves some, as the first bubble has shown.
	everyRun map[string]bool
	before   map[string]int // goroutines, by kind, before the first run of the bubble
	next     chan struct{}  // closed when another bubble is to follow
	// made outside of bubbles: a goroutine that waits for it keeps the clock of its bubble from moving
	never chan struct{}
}

// Each goroutine that a run leaves takes part in the runs that follow, if only by the timers that wake it. few is how
// many may do so if another bubble can make the next runs, and crowd if another process must. frozenCrowd is how many
// may be in bubbles that have been left, where they keep the memory of their runs.
const (
	few         = 3
	crowd       = 8
	frozenCrowd = 160
)

// work does a task, in a bubble; explorations may need several.
func work(t *testing.T, s *scenarios.Scenario, c *Config, k task) {
	collectBetweenRuns()
	offline()
	say(report{}) // it has started
	b := &bubbles{task: k, seeds: k.Seeds, never: make(chan struct{})}
	for another := true; another; {
		b.next = make(chan struct{})
		over := make(chan struct{})
		go func() {
			defer close(over)
			synctest.Test(t, func(*testing.T) {
				if b.work(newWorker(s, c)) {
					close(b.next)
					<-b.never
				}
			})
		}()
		select {
		case <-over:
			another = false
		case <-b.next:
			runtime.GC() // two collections empty every sync.Pool: timers and channels of a bubble are of no use in
			runtime.GC() // another
		}
	}
}

// work does the task, or the part of it that is done in one bubble. It reports whether another is to follow.
func (b *bubbles) work(w *worker) (another bool) {
	time.Sleep(time.Until(b.clock))
	b.before = kinds()
	w.given, w.plans, w.later = b.task.Plans, b.plans, b.later || b.task.Plans != nil || b.task.Shown != ""
	if w.plans != nil {
		w.plans.Move(w.scenario)
	}
	if b.task.Trial {
		w.try()
	} else if b.task.List {
		w.list()
	} else if err := b.prepare(w); err != nil {
		say(report{Problem: err.Error()})
	} else if b.task.Shrink != nil {
		w.shrink(b.task.Seeds[0], *b.task.Shrink)
	} else if b.explore(w) {
		b.frozen, b.plans, b.clock, b.later = b.frozen+w.left(), w.plans, time.Now(), true
		w.Dismiss()
		w.stacks.Close()
		synctest.Wait()
		return true
	}
	left := b.frozen+w.left() > 0
	say(report{Done: true, Left: left})
	if left {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the process is ended; the clock stands still meanwhile
	}
	w.Close()
	w.stacks.Close()
	return false
}

// prepare makes what the runs of the task need.
func (b *bubbles) prepare(w *worker) error {
	fresh := w.plans == nil
	if err := errors.Join(w.drawPlans(), w.enumerate(b.task.Places)); err != nil || !fresh {
		return err
	}
	return w.goOn(b.task.Seeds[0], b.task.Shown)
}

// explore runs seeds, until all have been run or the runs have left behind a crowd. It reports whether another bubble
// is to make the next runs; if not, another process is.
func (b *bubbles) explore(w *worker) (another bool) {
	alike := b.runAll(w)
	if problem := w.leaked(); problem != "" {
		say(report{Problem: problem})
		return false
	}
	another = alike && !b.task.Alone && b.frozen+w.left() <= frozenCrowd
	if !another {
		w.passOn(b.seeds)
	}
	return another
}

// runAll runs seeds and reports each. It ends early if too much is left behind, and then reports whether every run
// leaves goroutines of all these kinds.
func (b *bubbles) runAll(w *worker) (alike bool) {
	var first map[string]int // when one seed had been run
	runs := 0                // made by then
	for i := 0; len(b.seeds) > 0; i++ {
		switch left := w.left(); {
		case left > few && (b.later && i > 0 && b.known(kinds()) ||
			!b.later && i > 1 && b.learn(first, kinds(), w.runs-runs)):
			return true
		case left > crowd && i > 1:
			return false
		}
		seed := b.seeds[0]
		if !b.runSeed(w, seed) {
			return false // perhaps because of what has stayed behind
		}
		say(report{Finished: &seed})
		b.seeds = b.seeds[1:]
		if i == 0 && !b.later {
			first, runs = kinds(), w.runs
		}
	}
	return false
}

// runSeed makes the run of a seed, or those of the single faults with that number, and reports it; ok is false if it
// failed in a bubble that is not the first.
func (b *bubbles) runSeed(w *worker, seed uint64) (ok bool) {
	if w.config.Every == 1 {
		return w.tryPlace(seed, b.later)
	}
	say(report{Began: &seed, Later: b.later})
	plan := w.plan(seed)
	if w.pursues() { // to draw it, runs may have been made
		say(report{Began: &seed, Later: b.later, Plan: plan.String()})
	}
	r := w.run(seed, plan)
	switch {
	case r.Refused != "":
		say(report{Problem: r.Refused})
		b.seeds = b.seeds[:1]
		return true
	case r.Failure != "" && b.later:
		return false
	}
	if r.bad() {
		again := w.run(seed, plan)
		r.Differs = again.Digest != r.Digest
	}
	say(report{Ran: &r})
	return true
}

// learn reports whether all kinds of which there are more goroutines than before the first run were there after the
// first seed, and have grown by at least one in each of the runs since then. If so, it remembers them: every run leaves
// some.
func (b *bubbles) learn(first, now map[string]int, runs int) bool {
	b.everyRun = map[string]bool{}
	for kind, n := range now {
		if n > b.before[kind] {
			b.everyRun[kind] = true
			if first[kind] <= b.before[kind] || n < first[kind]+runs {
				return false
			}
		}
	}
	return true
}

// known reports whether all kinds of which there are more goroutines than before the first run are among those that
// learn remembers.
func (b *bubbles) known(now map[string]int) bool {
	for kind, n := range now {
		if n > b.before[kind] && !b.everyRun[kind] {
			return false
		}
	}
	return true
}

// kinds counts the goroutines of the program by the function that they began with, without those of sim and sim/bubble.
// A stack too deep for the runtime's profile counts by its outermost known function.
func kinds() map[string]int {
	all := make([]runtime.StackRecord, runtime.NumGoroutine()+8)
	n, ok := runtime.GoroutineProfile(all)
	for ; !ok; n, ok = runtime.GoroutineProfile(all) {
		all = make([]runtime.StackRecord, n+8)
	}
	by := map[string]int{}
	for i := range all[:n] {
		stack := all[i].Stack()
		kind := nameOf(stack[len(stack)-1])
		if kind == "runtime.goexit" && len(stack) > 1 {
			kind = nameOf(stack[len(stack)-2])
		}
		if kind != "runtime.corostart" && !strings.HasSuffix(kind, "/bubble.(*Driver).work.func1") {
			by[kind]++
		}
	}
	return by
}

// nameOf is the function in which a stack of the profile has pc.
func nameOf(pc uintptr) string { return runtime.FuncForPC(pc - 1).Name() }
