package locktest

import (
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/bubble"
)

// Each run takes place in its own bubble (testing/synctest). All runs thus begin at the same virtual time, and no
// goroutine from one run takes part in another. If a run's goroutines do not end, their bubble is frozen: its first
// goroutine waits for something outside the bubble, so the bubble's clock never moves again. The goroutines left in it
// then cost nothing but memory.
//
// The runs are not separate if a library has global state and creates a goroutine, a channel or a timer in one run and
// uses it in the next. So if a later run in the same process fails, or if the library may have kept a goroutine from an
// earlier run, the result is not trusted. The run is repeated in its own process, as are all later runs.

// frozenCrowd is the maximum number of goroutines in frozen bubbles. When a process exceeds it, the remaining runs move
// to a new process.
const frozenCrowd = 160

// settling is how long a finished run's goroutines may take to end. After that, their synctest bubble is frozen.
// patience is how long they may take before they are reported as leaked. Both are virtual time.
const settling, patience = 10 * time.Second, 10 * time.Minute

// muchGarbage is the minimum amount of garbage, in bytes, that is worth collecting before a run. There must also be
// more garbage than memory in use.
const muchGarbage = 8 << 20

// left describes the goroutines that a process's runs have left behind.
type left struct {
	frozen    int // number of goroutines in frozen bubbles
	strangers int // number of these goroutines that Config.IgnoredGoroutines does not name
	leak      string
	counts    map[string]int  // number of goroutines that remain after the latest run, by kind
	everyRun  map[string]bool // kinds of goroutines that some run has left behind
	// kept is set if the library may have started a goroutine that it uses for the rest of the process: one run left a
	// goroutine of some kind behind, and a later run did not leave another one of that kind.
	kept bool
}

// Within performs a run in its own synctest bubble.
func (w *worker) Within(run func()) {
	switch w.runs++; {
	case w.serves:
	case w.runs == 2:
		say(report{Later: true})
	case w.runs%16 == 0:
		say(report{}) // tells the parent that this process is alive
	}
	bubble.EmptyPools() // timers and channels of one bubble cannot be used in another
	collect()
	for range 100 { // goroutines that are about to end must do so, or settle would count too few goroutines of the run
		runtime.Gosched()
	}
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

// collect runs the garbage collector if there is a lot of garbage. The collector does not start on its own during runs
// (see collectBetweenRuns).
func collect() {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}}
	if metrics.Read(heap); heap[0].Value.Uint64() > 2*heap[1].Value.Uint64()+muchGarbage {
		runtime.GC()
	}
}

// inBubble performs a run in a synctest bubble. If the run does not leave any goroutines behind, inBubble closes the
// first channel. Otherwise, it closes the second channel and never returns.
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

// settle waits for a finished run's goroutines to end, and returns the number of those that do not.
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

// freeze records the n goroutines that a run has left behind.
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

// grew updates l after a run. now contains the number of goroutines of each kind, or is nil if the run did not leave
// any behind. If there are more goroutines of a kind than after the previous run, this run has left some behind. If
// there are not, but an earlier run had left some of that kind behind, grew sets l.kept.
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

// kinds counts the program's goroutines by kind, except those of locktest itself. A goroutine's kind is the name of its
// first function. If the stack is too deep for the runtime's profile, it is the outermost function in the profile.
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
		if !isOurs(kind) {
			by[kind]++
		}
	}
	return by
}

// isOurs reports whether goroutines belong to locktest itself rather than to the library. kind is the name of their
// first function.
func isOurs(kind string) bool {
	return kind == "runtime.corostart" || strings.HasSuffix(kind, "/bubble.(*Driver).work.func1") ||
		strings.HasSuffix(kind, "/locktest.(*worker).inBubble")
}

// nameOf returns the name of the function that contains pc, a return address from a stack in the goroutine profile.
func nameOf(pc uintptr) string { return runtime.FuncForPC(pc - 1).Name() }
