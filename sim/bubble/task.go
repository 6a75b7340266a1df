package bubble

import (
	"context"
	"runtime/pprof"
	"unsafe" // also needed for go:linkname

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// A Task is one of several concurrent activities in a guest, which share the guest's memory and connections. If a call
// is made through a Task, everything that the call writes to a connection belongs to the task's attempt. This includes
// what is written by goroutines that the call has started, except those started inside [ForAllTasks].
//
// Calls are told apart by profiler labels, which a goroutine inherits from the goroutine that started it. Code that
// sets profiler labels itself does not belong to any task until it resets them.
type Task struct {
	*Guest
	number int
}

// Task returns one of the guest's tasks; tasks are numbered from 1. The guest's Front must be able to tell tasks apart
// ([sim.Tasks]), and the guest's own Begin and Try must not be used.
func (g *Guest) Task(number int) *Task {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.labels == nil {
		g.labels = map[unsafe.Pointer]*labeled{}
	}
	return &Task{g, number}
}

// Begin begins one of the task's attempts.
func (t *Task) Begin(a history.Attempt) {
	t.caller.(sim.Tasks).Turn(t.number, true)
	t.Guest.Begin(a)
}

// Try is like Guest.Try, but for the task's requests.
func (t *Task) Try() (since sim.Time, granted []sim.ProcessID) {
	t.caller.(sim.Tasks).Turn(t.number, true)
	return t.Guest.Try()
}

// Call is like Guest.Call, but everything that f sends belongs to the task.
func (t *Task) Call(env sim.Env, what string, f func(context.Context)) (returned sim.Time) {
	return t.Guest.Call(env, what, func(ctx context.Context) {
		ctx = pprof.WithLabels(ctx, pprof.Labels("task", what))
		pprof.SetGoroutineLabels(ctx)
		defer pprof.SetGoroutineLabels(context.Background())
		k := &labeled{task: t.number, calling: true}
		t.mu.Lock()
		t.labels[labelsOfGoroutine()] = k
		t.mu.Unlock()
		defer func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			k.calling = false
		}()
		f(ctx)
	})
}

// ForAllTasks runs f inside a call with the context ctx. Goroutines that f starts do not belong to any of the guest's
// tasks.
func ForAllTasks(ctx context.Context, f func()) {
	defer pprof.SetGoroutineLabels(ctx)
	pprof.SetGoroutineLabels(context.Background())
	f()
}

// labeled describes the goroutines that carry a call's profiler labels.
type labeled struct {
	task    int
	calling bool // the call has not returned
}

// turn identifies the task that wrote a connection's bytes up to the offset end.
type turn struct {
	end, task int
	calling   bool
}

// writer returns the turn for bytes that the calling goroutine writes: the task that the goroutine belongs to, if any,
// and end, the offset in the connection at which the bytes end. mu must be held.
func (g *Guest) writer(end int) turn {
	if k := g.labels[labelsOfGoroutine()]; k != nil {
		return turn{end, k.task, k.calling}
	}
	return turn{end: end}
}

// labelsOfGoroutine returns the profiler labels of the calling goroutine. Two goroutines have equal labels if one
// goroutine has inherited its labels from the other.
//
//go:linkname labelsOfGoroutine runtime/pprof.runtime_getProfLabel
func labelsOfGoroutine() unsafe.Pointer
