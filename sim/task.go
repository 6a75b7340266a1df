package sim

import (
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// task is sequential client code that runs on a coroutine. The task's code runs only inside act, and parks whenever its
// Env blocks.
type task struct {
	p    *Process
	name string
	code func(Env)
	co   *coroutine // nil until the task first runs
	// wait is the number of the current wait. Wake-ups for earlier waits are ignored.
	wait    uint64
	done    bool
	dueMono int64 // reading of the monotonic clock at which the current wait times out
	timed   bool
	woken   bool // a signal ended the wait
	alarm   alarm
	call    pendingCall
	turns   turns
}

// pendingCall is the state of a Call while its task is waiting for replies.
type pendingCall struct {
	number  uint64 // number of the call; replies to earlier calls are dropped
	open    bool   // true while the call waits for replies
	left    int    // number of replies still missing
	enough  func([]Reply) bool
	replies []Reply
}

// killed is the panic that unwinds a task whose process has crashed.
type killed struct{}

func (p *Process) newTask(name string, code func(Env)) *task {
	t := &task{p: p, name: name, code: code}
	p.tasks = append(p.tasks, t)
	return t
}

func (t *task) run() {
	defer t.ended()
	t.code(t)
}

// ended marks the task as done. It also records the stack of a panic, because the code that resumes the coroutine
// cannot see that stack.
func (t *task) ended() {
	t.done = true
	if r := recover(); r != nil {
		if _, ok := r.(killed); !ok {
			t.p.w.fail(fmt.Errorf("%s (%s): panic: %v\n%s", t.p.id, t.name, r, debug.Stack()))
		}
	}
}

// act wakes the task if the wait with the given number is still its current wait.
func (t *task) act(wait uint64) {
	if t.done || wait != t.wait || t.early() || t.p.holds(t, wait) {
		return
	}
	t.resume()
}

// early reports whether the current timer event is firing too early. This happens if the event was scheduled before the
// clock's rate changed. In that case, rearm has already scheduled a later event.
func (t *task) early() bool {
	return t.timed && !t.woken && t.p.clock.monotonic(t.p.w.now) < t.dueMono
}

func (t *task) resume() {
	t.wait++
	t.timed, t.call.open = false, false
	w := t.p.w
	w.digest.word(uint64(w.now) ^ uint64(t.p.index)<<56)
	if t.nextTurn() {
		return
	}
	w.running = t
	if t.co == nil {
		t.co = w.stacks.hire(t)
	}
	t.co.resume()
	w.running = nil
}

// yield parks the task until it is woken.
func (t *task) yield() {
	t.co.park(struct{}{})
	t.alive()
}

// alive unwinds the task if its process has crashed, even if the task's code has recovered from an earlier unwinding.
func (t *task) alive() {
	if t.p.down {
		panic(killed{})
	}
}

// proceed parks the task if its process was paused while the task was running. It returns once the pause is over.
func (t *task) proceed() {
	t.alive()
	if t.p.paused > 0 {
		t.p.w.schedule(t.p.w.now, t, t.wait)
		t.yield()
	}
}

// sleepFor schedules the current wait's timeout. If d is Forever, the wait has no timeout.
func (t *task) sleepFor(d time.Duration) {
	if d == Forever {
		t.woken = false
		return
	}
	wait := min(int64(d), farthest)
	t.dueMono = t.p.clock.monotonic(t.p.w.now) + wait
	t.timed, t.woken = true, false
	t.alarm.set(t, t.p.w.now+t.p.clock.trueWait(wait))
}

// rearm reschedules the timeout of a wait after the clock's rate has changed.
func (t *task) rearm() {
	if t.done || !t.timed {
		return
	}
	left := max(t.dueMono-t.p.clock.monotonic(t.p.w.now), 0)
	t.alarm.set(t, t.p.w.now+t.p.clock.trueWait(left))
}

// The methods below implement Env.

func (t *task) Name() history.Process { return t.p.id }

func (t *task) Wall() time.Time {
	t.alive()
	return time.Unix(0, t.p.Wall()).UTC()
}

func (t *task) Monotonic() time.Duration {
	t.alive()
	return t.p.Monotonic()
}

func (t *task) Mark() Mark {
	t.alive()
	return Mark{t.p.w.now}
}

func (t *task) Rand() uint64 {
	t.alive()
	return t.p.stream.Uint64()
}

func (t *task) Sleep(d time.Duration, wake ...*Signal) bool {
	t.proceed()
	for _, s := range wake {
		if s.raised {
			return true
		}
	}
	for _, s := range wake {
		s.waiting = append(slices.DeleteFunc(s.waiting, waiter.isOver), waiter{t, t.wait})
	}
	t.sleepFor(max(d, 0))
	t.yield()
	return t.woken
}

func (t *task) Go(name string, code func(Env)) {
	t.alive()
	child := t.p.newTask(name, code)
	t.p.w.schedule(t.p.w.now, child, child.wait)
}

func (t *task) Point(point Point) {
	t.proceed()
	t.p.pass(point)
	t.proceed()
}

// pass records that the process is passing a point, and injects the faults that have been waiting for that.
func (p *Process) pass(point Point) {
	w := p.w
	c := p.count(point, w.watch != nil)
	if c == nil {
		return
	}
	c.passed++
	if w.watch != nil {
		w.watch(Moment{Kind: Passes, At: w.now, Process: p.id, Point: point, Pass: c.passed})
	}
	for _, s := range c.strikes {
		if s.nth == c.passed {
			s.f()
		}
	}
}

// count returns the counter for a point. If there is none yet, it creates one if wanted is true, and otherwise returns
// nil.
func (p *Process) count(point Point, wanted bool) *pointCount {
	for i := range p.points {
		if p.points[i].point == point {
			return &p.points[i]
		}
	}
	if !wanted {
		return nil
	}
	p.points = append(p.points, pointCount{point: point})
	return &p.points[len(p.points)-1]
}

func (t *task) Record(e history.Event) {
	t.alive()
	t.p.w.record(t.p.id, &e)
}

func (t *task) RecordGrant(e history.Event, g Grant) {
	t.alive()
	t.p.w.RecordGrant(t.p.id, e, g)
}

// Signal wakes the tasks that are sleeping on it. Once raised, a signal stays raised. The zero Signal is ready to use.
type Signal struct {
	raised  bool
	waiting []waiter
}

type waiter struct {
	t    *task
	wait uint64
}

// isOver reports whether the wait has ended.
func (x waiter) isOver() bool { return x.wait != x.t.wait || x.t.done }

// Raise wakes every task that sleeps on the signal.
func (s *Signal) Raise() {
	if s.raised {
		return
	}
	s.raised = true
	for _, x := range s.waiting {
		if !x.isOver() {
			x.t.woken = true
			x.t.p.w.schedule(x.t.p.w.now, x.t, x.wait)
		}
	}
	s.waiting = nil
}

// Raised reports whether the signal has been raised.
func (s *Signal) Raised() bool { return s.raised }
