package locktest

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/bubble"
)

// Each run has a bubble of its own (testing/synctest), so that all runs begin at the same time of day and nothing of
// one takes part in another. If goroutines of a run do not end, their bubble is frozen: its first goroutine waits for
// something from outside, so that its clock never moves again and the others cost nothing but memory.
//
// What a library keeps for the whole program breaks that rule: a goroutine, a channel or a timer that was made in one
// run and is used in the next. A run that is not the first of its process, and fails or finds such a goroutine, is
// therefore not trusted. It is made again, as are all that follow, each by a process of its own.

// frozenCrowd is how many goroutines may be in frozen bubbles before another process makes the next runs.
const frozenCrowd = 160

// settling is how long the goroutines of a run that is over may take to end before their bubble is frozen, and patience
// how long they may take before they are reported. Both are virtual time.
const settling, patience = 10 * time.Second, 10 * time.Minute

// left is what the runs of a process have left behind.
type left struct {
	frozen    int // goroutines in frozen bubbles
	strangers int // those of them that are not tolerated
	leak      string
	counts    map[string]int  // goroutines of the program by kind, after the latest run
	everyRun  map[string]bool // the kinds of which some run has left one
	kept      bool            // a kind of them did not grow: it may be one that the library keeps
}

// Within carries out a run in a bubble of its own.
func (w *worker) Within(run func()) {
	switch w.runs++; {
	case w.serves:
	case w.runs == 2:
		say(report{Later: true})
	case w.runs%16 == 0:
		say(report{}) // it is alive
	}
	runtime.GC() // two collections empty every sync.Pool: timers and channels of a bubble are of no use in another
	runtime.GC()
	over, frozen := make(chan struct{}), make(chan struct{})
	go w.inBubble(run, over, frozen)
	select {
	case <-over:
	case <-frozen:
	}
	if w.crowded != nil && (w.left.frozen > frozenCrowd || w.left.kept) {
		w.crowded()
	}
}

// inBubble carries out a run. It closes over when nothing is left of the run, and otherwise frozen, and never returns.
func (w *worker) inBubble(run func(), over, frozen chan struct{}) {
	defer close(over)
	synctest.Test(w.t, func(*testing.T) {
		before := runtime.NumGoroutine()
		w.Driver, w.stacks = bubble.NewDriver(), new(sim.Stacks)
		run()
		if n := w.settle(before); n > 0 {
			w.freeze(n)
			close(frozen)
			<-w.never
		}
	})
}

// settle lets the goroutines of a run that is over end, and returns how many do not.
func (w *worker) settle(before int) int {
	end := func() int {
		w.Dismiss()
		w.stacks.Close()
		synctest.Wait()
		return runtime.NumGoroutine() - before
	}
	if end() == 0 {
		w.left.grew(nil)
		return 0
	}
	time.Sleep(settling)
	return end()
}

// freeze takes note of n goroutines that a run leaves behind.
func (w *worker) freeze(n int) {
	w.left.frozen += n
	w.left.grew(kinds())
	if strangers := w.strangers(); len(strangers) > 0 {
		w.left.strangers += len(strangers)
		if w.left.leak == "" {
			time.Sleep(patience - settling)
			synctest.Wait()
			w.left.leak = w.leakOf(w.strangers())
		}
	}
}

// grew compares the goroutines of the program, by kind, with those before the latest run; nil if it has left none.
func (l *left) grew(now map[string]int) {
	for kind := range l.everyRun {
		l.kept = l.kept || now[kind] <= l.counts[kind]
	}
	if now == nil {
		return
	}
	for kind, n := range now {
		if n > l.counts[kind] {
			l.everyRun[kind] = true
		}
	}
	l.counts = now
}

// kinds counts the goroutines of the program by the function that they began with, without our own. A stack too deep
// for the runtime's profile counts by its outermost known function.
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
		if !ours(kind) {
			by[kind]++
		}
	}
	return by
}

// ours reports whether goroutines that begin with a function are those of a run itself.
func ours(kind string) bool {
	return kind == "runtime.corostart" || strings.HasSuffix(kind, "/bubble.(*Driver).work.func1") ||
		strings.HasSuffix(kind, "/locktest.(*worker).inBubble")
}

// nameOf is the function in which a stack of the profile has pc.
func nameOf(pc uintptr) string { return runtime.FuncForPC(pc - 1).Name() }
