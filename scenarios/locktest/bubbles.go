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

// Each run has a bubble of its own (testing/synctest). So all runs begin at the same virtual time, and nothing of one
// run takes part in another. If goroutines of a run do not end, their bubble is frozen: its first goroutine waits for
// something outside the bubble, so the bubble's clock never moves again. The goroutines left in it then cost nothing
// but memory.
//
// A library that keeps something for the whole program breaks this rule, if it makes a goroutine, a channel or a timer
// in one run and uses it in the next. Therefore a run that is not the first of its process is not trusted if it fails,
// or if the library may keep a goroutine. Such a run is made again, and so are all that follow, each in a process of
// its own.

// frozenCrowd is the number of goroutines in frozen bubbles above which another process makes the next runs.
const frozenCrowd = 160

// settling is how long the goroutines of a finished run may take to end before their bubble is frozen. patience is how
// long they may take before they are reported. Both are virtual time.
const settling, patience = 10 * time.Second, 10 * time.Minute

// left counts the goroutines that the runs of a process have left behind.
type left struct {
	frozen    int // goroutines in frozen bubbles
	strangers int // goroutines among them that Config.IgnoredGoroutines does not name
	leak      string
	counts    map[string]int  // goroutines of the program after the latest run, by kind
	everyRun  map[string]bool // kinds of which some run has left a goroutine
	kept      bool            // a kind of everyRun did not grow in some run: the library may keep it
}

// Within makes a run in a bubble of its own.
func (w *worker) Within(run func()) {
	switch w.runs++; {
	case w.serves:
	case w.runs == 2:
		say(report{Later: true})
	case w.runs%16 == 0:
		say(report{}) // tells the parent that this process is alive
	}
	runtime.GC() // two collections empty every sync.Pool: timers and channels of one bubble cannot be used in another
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

// inBubble makes a run. If no goroutine is left of the run, it closes over. Otherwise it closes frozen and never
// returns.
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

// settle lets the goroutines of a finished run end, and returns the number of those that do not.
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

// freeze records the n goroutines that a run leaves behind.
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

// grew compares the goroutines of the program, by kind, with those before the latest run. now is nil if that run left
// none.
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

// kinds counts the goroutines of the program by their first function, except our own. If a stack is too deep for the
// runtime's profile, it counts by its outermost known function.
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

// ours reports whether goroutines with the given first function belong to a run itself, and not to the library.
func ours(kind string) bool {
	return kind == "runtime.corostart" || strings.HasSuffix(kind, "/bubble.(*Driver).work.func1") ||
		strings.HasSuffix(kind, "/locktest.(*worker).inBubble")
}

// nameOf returns the name of the function at pc, which comes from a stack of the profile.
func nameOf(pc uintptr) string { return runtime.FuncForPC(pc - 1).Name() }
