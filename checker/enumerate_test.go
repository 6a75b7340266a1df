package checker

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/linear"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// TestEveryTwoOfThreeJudgesAgree compares three judges of mutual exclusion on every small history: the interval check,
// porcupine, and the literal definition. porcupine judges all operations at once and also in the smallest parts. A
// history is a sequence of calls, returns, losses and crashes of a few processes that request one lock. A loss or a
// crash counts as an operation. Of the histories that differ only in process names, the test tries only one. The
// outcomes of releases, and of acquires that were not granted, vary only in the rows that set outcomes.
//
// The test takes about half a minute on two cores, and several times as long with -race. Only a full run tries the
// largest rows, which take most of the time. On a developer's machine, the test omits a few others as well.
func TestEveryTwoOfThreeJudgesAgree(t *testing.T) {
	for _, c := range []struct {
		processes, operations int
		permits               int // number of permits of a semaphore; 0 for a mutex
		shared, outcomes      bool
		unseen                bool // crashes are noticed late
		want, violated        int
		long                  bool
	}{
		{processes: 2, operations: 4, outcomes: true, want: 23_692, violated: 1_437},
		{processes: 2, operations: 4, shared: true, want: 23_490, violated: 2_562},
		{processes: 3, operations: 4, want: 10_335, violated: 3_071},
		{processes: 3, operations: 4, outcomes: true, want: 65_438, violated: 9_255},
		{processes: 2, operations: 4, shared: true, outcomes: true, want: 178_960, violated: 8_718},
		{processes: 3, operations: 4, shared: true, want: 102_978, violated: 25_434},
		{processes: 3, operations: 4, unseen: true, want: 15_003, violated: 3_982},
		{processes: 3, operations: 4, unseen: true, shared: true, want: 135_620, violated: 30_771, long: true},
		{processes: 3, operations: 5, want: 222_962, violated: 72_202, long: true},
		{processes: 2, operations: 6, want: 318_868, violated: 52_066, long: true},
		{processes: 2, operations: 5, shared: true, want: 349_866, violated: 39_984, long: true},
		{processes: 3, operations: 5, shared: true, want: 3_345_554, violated: 881_679, long: true},
		{processes: 2, operations: 6, shared: true, want: 5_260_606, violated: 642_658, long: true},
		{processes: 3, operations: 4, permits: 2, want: 10_335, violated: 390},
		{processes: 3, operations: 4, permits: 2, unseen: true, want: 15_003, violated: 417},
		{processes: 4, operations: 5, permits: 3, want: 431_712, violated: 4_830, long: true},
		{processes: 3, operations: 5, permits: 2, want: 222_962, violated: 8_658, long: true},
		{processes: 4, operations: 5, permits: 2, want: 431_712, violated: 47_688, long: true},
		{processes: 3, operations: 5, permits: 2, unseen: true, want: 416_834, violated: 10_380, long: true},
	} {
		name := fmt.Sprintf("%d processes, %d operations, %d permits, shared %v, all outcomes %v, unseen ends %v",
			c.processes, c.operations, max(c.permits, 1), c.shared, c.outcomes, c.unseen)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			switch {
			case c.long:
				testkit.FullOnly(t)
			case c.want > 30_000:
				testkit.ThoroughOnly(t)
			}
			e := enumeration{t: t, outcomes: c.outcomes, shared: c.shared, unseen: c.unseen, ps: make([]walker,
				c.processes)}
			e.h.Header.Permits = c.permits
			e.walk(c.operations, 0)
			if e.seen != c.want || e.violated != c.violated {
				t.Errorf("%d histories, %d of them violated; want %d and %d", e.seen, e.violated, c.want, c.violated)
			}
			if e.divided == 0 && c.permits == 0 || c.shared && c.operations > 4 && e.unanswered == 0 {
				t.Errorf("%d histories were refuted by a part of them, %d have pieces that answer nothing", e.divided,
					e.unanswered)
			}
		})
	}
}

// enumeration goes through all histories, one event at a time.
type enumeration struct {
	t                *testing.T
	outcomes, shared bool
	unseen           bool
	each             func() // judges the history so far; if nil, e.judge does
	ps               []walker
	h                history.History
	trace            judge
	ops              []linear.MutexOp
	parts            linear.Parts
	seen, violated   int
	// divided is how many histories porcupine refuted by judging a part. unanswered is how many it could not decide
	// when judging them in pieces.
	divided, unanswered int
}

// walker is the state of one process. It determines what the process may do next.
type walker struct {
	calling             history.F // the operation in progress
	holding             bool
	attempts            int
	asked, dead, reader bool
}

// walk judges the history so far if it contains all of its operations, and continues with every possible next event.
func (e *enumeration) walk(left, used int) {
	if left == 0 && e.each != nil {
		e.seen++
		e.each()
	} else if left == 0 {
		e.judge()
	}
	for i := range e.ps[:min(used+1, len(e.ps))] { // processes start in the order of their names
		p, used := e.ps[i], max(used, i+1)
		if p.dead {
			continue
		}
		if p.calling != "" {
			e.returns(i, p, left, used)
			if left > 0 {
				e.then(i, walker{dead: true}, history.Info, history.Crashed, left-1, used)
			}
		} else if left > 0 {
			e.calls(i, p, left, used)
		}
		e.ps[i] = p
	}
}

func (e *enumeration) returns(i int, p walker, left, used int) {
	done := p
	done.calling = ""
	if p.calling == history.Acquire {
		done.holding = true
		e.then(i, done, history.OK, history.Acquire, left, used)
		done.holding = false
		for _, o := range e.choose(history.Fail, history.Info) {
			e.then(i, done, o, history.Acquire, left, used)
		}
		return
	}
	for _, o := range e.choose(history.OK, history.Fail, history.Info) {
		e.then(i, done, o, history.Release, left, used)
	}
}

// choose returns all outcomes if all are to be tried. Otherwise, it returns one that depends on the history so far, so
// that each outcome occurs in some history.
func (e *enumeration) choose(all ...history.Type) []history.Type {
	if e.outcomes {
		return all
	}
	n := (len(e.h.Events) + e.seen) % len(all)
	return all[n : n+1]
}

func (e *enumeration) calls(i int, p walker, left, used int) {
	if !p.holding {
		next := walker{calling: history.Acquire, asked: true, attempts: p.attempts + 1}
		e.then(i, next, history.Invoke, history.Acquire, left-1, used)
		if next.reader = true; e.shared {
			e.then(i, next, history.Invoke, history.Acquire, left-1, used)
		}
	}
	// a release is also possible after an attempt that was not granted (as a cleanup), and after another release
	if p.asked {
		next := p
		next.calling, next.holding = history.Release, false
		e.then(i, next, history.Invoke, history.Release, left-1, used)
	}
	if p.holding {
		next := p
		next.holding = false
		e.then(i, next, history.OK, history.Lost, left-1, used)
		e.then(i, walker{dead: true}, history.Info, history.Crashed, left-1, used)
	}
}

// then appends one event, continues from there, and removes the event again.
func (e *enumeration) then(i int, next walker, typ history.Type, f history.F, left, used int) {
	before, n := e.ps[i], len(e.h.Events)
	ev := history.Event{Index: n, Time: history.Time(n), Process: processNames[i], Type: typ, F: f}
	if f != history.Crashed {
		ev.Lock, ev.Shared = "orders", next.reader && f == history.Acquire
		if f != history.Acquire || typ == history.OK {
			ev.Attempt = attemptNames[i][next.attempts]
		}
	}
	e.h.Events = append(e.h.Events, ev)
	e.ps[i] = next
	e.walk(left, used)
	if e.unseen && f == history.Crashed {
		for alive := history.Time(1); alive < ev.Time; alive++ {
			e.h.Events[n].Until = alive
			e.walk(left, used)
		}
	}
	e.ps[i], e.h.Events = before, e.h.Events[:n]
}

var (
	processNames = []history.Process{"a", "b", "c", "d"}
	attemptNames = [][]history.Attempt{{"", "a/1", "a/2", "a/3", "a/4", "a/5", "a/6"},
		{"", "b/1", "b/2", "b/3", "b/4", "b/5", "b/6"}, {"", "c/1", "c/2", "c/3", "c/4", "c/5", "c/6"},
		{"", "d/1", "d/2", "d/3", "d/4", "d/5", "d/6"}}
)

func (e *enumeration) judge() {
	e.seen++
	e.trace.Read(&e.h)
	e.trace.Sections()
	overlaps, _ := e.trace.clashes(MutualExclusion)
	groups := overlapsByDefinition(e.h.Events, e.trace.Permits())
	byInterval, byDefinition, byPorcupine := len(overlaps) > 0, len(groups) > 0, false
	for i := range e.trace.Locks {
		if len(e.trace.Locks[i].Sections) < 2 {
			continue // nothing to ask about, as in most histories
		}
		e.ops = e.trace.appendMutexOps(e.ops[:0], &e.trace.Locks[i])
		whole, _ := e.ask(len(e.ops), len(e.ops))
		byPorcupine = byPorcupine || whole == linear.Refuted
		e.askInParts(whole)
	}
	if byDefinition {
		e.violated++
	}
	same := slices.EqualFunc(overlaps, groups, func(c clash, group []int) bool {
		return slices.EqualFunc(c.members(), group, func(s trace.Span, at int) bool { return s.At == at })
	})
	if byPorcupine != byDefinition || !same {
		e.t.Fatalf("interval check %v (%+v), porcupine %v, definition %v (%v):\n%s", byInterval, overlaps, byPorcupine,
			byDefinition, groups, list(lines(e.h.Events)))
	}
}

// ask asks porcupine about the sections, divided into parts. least is the minimum number of sections in a part. most is
// the maximum number of sections in one call to porcupine.
func (e *enumeration) ask(least, most int) (linear.Answer, []linear.MutexOp) {
	e.parts.Least, e.parts.Most, e.parts.Steps, e.parts.Permits = least, most, 1<<20, e.trace.Permits()
	return e.parts.Mutex(e.ops)
}

// askInParts asks porcupine about the sections, first divided into the smallest possible parts, then into pieces of at
// most two sections.
func (e *enumeration) askInParts(whole linear.Answer) {
	answer, refuted := e.ask(1, len(e.ops))
	if answer != whole || (refuted != nil) != (whole == linear.Refuted) || len(refuted) > len(e.ops) {
		e.t.Fatalf("porcupine: %d at once, %d in parts (%v):\n%s", whole, answer, refuted, list(lines(e.h.Events)))
	}
	if refuted != nil && len(refuted) < len(e.ops) {
		e.divided++
	}
	if len(e.ops) < 5 { // two sections
		return
	}
	switch answer, _ := e.ask(1, 2); {
	case answer == linear.TooMany:
		e.unanswered++
	case answer != whole:
		e.t.Fatalf("porcupine: %d at once, %d in pieces:\n%s", whole, answer, list(lines(e.h.Events)))
	}
}

// overlapsByDefinition applies the definition literally. A section lasts from its acquire's ok until its process calls
// release, learns that it has lost the lock, or crashes, whichever comes first. Two sections overlap if they share an
// instant and at least one of them is exclusive. overlapsByDefinition returns all overlapping pairs, sorted by the
// later acquire and then by the earlier one.
//
// If a crash was noticed late, it is unknown when the section ended: at any time after the call to acquire and after
// its process was last known to be alive. In this case, two sections overlap only if they share an instant for every
// possible end.
//
// With several permits, it returns at most one group of overlapping sections for each section. The group consists of
// the section itself and as many earlier sections as there are permits. If there are several such groups, it is the
// first one.
func overlapsByDefinition(events []history.Event, permits int) (groups [][]int) {
	is := func(e *history.Event, i int, f history.F) bool { return e.Process == events[i].Process && e.F == f }
	// ways returns the first and last time of section i, counted in events, for every way in which it may have ended
	ways := func(i int) (all [][2]history.Time) {
		end, alive, call := history.Never, history.Never, history.Time(0)
		for j := range events {
			switch e := &events[j]; {
			case j < i && is(e, i, history.Acquire):
				call = e.Time
			case j <= i:
			case is(e, i, history.Release) && e.Type == history.Invoke, is(e, i, history.Lost):
				end = min(end, e.Time)
			case is(e, i, history.Crashed):
				if end = min(end, e.Time); e.Until != 0 {
					alive = e.Until
				}
			}
		}
		for alive = max(alive, call+1); alive < end; alive++ {
			all = append(all, [2]history.Time{min(events[i].Time, alive-1), alive})
		}
		return append(all, [2]history.Time{events[i].Time, end})
	}
	enters := func(i int) bool { return events[i].F == history.Acquire && events[i].Type == history.OK }
	meet := func(a, b int) bool {
		if !enters(a) || !enters(b) || events[a].Shared && events[b].Shared {
			return false
		}
		for _, x := range ways(a) {
			for _, y := range ways(b) {
				if x[0] >= y[1] || y[0] >= x[1] {
					return false
				}
			}
		}
		return true
	}
	var choose func(group []int, from, last int) bool
	choose = func(group []int, from, last int) bool {
		if len(group) == permits {
			groups = append(groups, append(slices.Clone(group), last))
			return permits > 1
		}
		for i := from; i < last; i++ {
			apart := func(o int) bool { return !meet(o, i) }
			if meet(i, last) && !slices.ContainsFunc(group, apart) && choose(append(group, i), i+1, last) {
				return true
			}
		}
		return false
	}
	for last := range events {
		choose(nil, 0, last)
	}
	return groups
}

func lines(events []history.Event) []string {
	var all []string
	for _, e := range events {
		all = append(all, fmt.Sprintf("\n%d %s %s %v shared=%v", e.Index, e.Process, e.F, e.Type, e.Shared))
	}
	return all
}
