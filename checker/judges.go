package checker

import (
	"strconv"

	"github.com/fencepost-sim/fencepost/checker/linear"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// Judges records who judged mutual exclusion, and each judge's answer about the critical sections. It is zero in
// findings on other laws, which have one judge, and where there was nothing to judge.
type Judges struct {
	Porcupine Answer // the linearizability checker's, on a mutex whose owner is the section
	Interval  Answer // the interval check's, on the sections as spans
}

// Answer is what a judge says of the critical sections of a history.
type Answer uint8

// The answers. The zero Answer is never a pass.
const (
	NotAsked        Answer = iota
	NotAskedClocks         // the history states a clock error, and porcupine takes times as they are
	NotAskedTooMany        // some part has more sections than porcupine is asked about at once
	Unfinished             // porcupine's budget of steps ended first
	Open                   // of the interval check: it depends on what the history does not state exactly
	Allowed                // no two sections of one lock overlap, shared ones aside
	Refuted                // two do
)

// String returns the answer without its reason.
func (a Answer) String() string {
	switch a {
	case Unfinished:
		return "did not finish"
	case Open:
		return "undecided"
	case Allowed:
		return "allowed"
	case Refuted:
		return "refuted"
	}
	return "not asked"
}

// Why returns why there is no answer; empty if there is one, or nothing to judge.
func (a Answer) Why() string {
	switch a {
	case NotAskedClocks:
		return "the history states a clock error"
	case NotAskedTooMany:
		return "there are more than " + strconv.Itoa(linear.MaxSections) +
			" sections without an instant at which nobody is inside"
	case Unfinished:
		return "there are too many orders to try"
	}
	return ""
}

// Alone reports that the interval check judged alone, and why; empty if it did not.
func (j Judges) Alone() string {
	if why := j.Porcupine.Why(); why != "" {
		return "interval check alone: " + why
	}
	return ""
}

// String reports in one line who judged, and what each answered; empty for the zero Judges.
func (j Judges) String() string {
	why := j.Porcupine.Why()
	switch {
	case j == Judges{}:
		return ""
	case why != "":
		return "interval check alone: " + j.Interval.String() + "; porcupine: " + j.Porcupine.String() + ", as " + why
	}
	return "porcupine: " + j.Porcupine.String() + "; interval check: " + j.Interval.String()
}

// bothJudges has both judges examine every lock, and keeps their answers in answers. If they differ about a lock, these
// are their answers about all; otherwise they are those about the lock whose sections the history shows to overlap
// first. Where none do, porcupine's answer is the first that is not Allowed.
func (t *judge) bothJudges() (all Judges, overlaps []clash, more bool) {
	t.parts.Renew()
	t.answers = t.answers[:0]
	sound := Judges{Allowed, Allowed}
	all = sound
	for n := range t.Locks {
		j := sound
		if len(t.Locks[n].Sections) > 0 {
			clashes := t.clashesIn(MutualExclusion, n)
			overlaps = append(overlaps, clashes...)
			if j = t.judgesOf(n, len(clashes) > 0); j.differ() {
				return j, nil, false
			}
		}
		if t.answers = append(t.answers, j); all == sound {
			all = j
		}
	}
	if overlaps, more = inOrder(overlaps); len(overlaps) > 0 {
		all = t.answers[overlaps[0].lock]
	}
	return all, overlaps, more
}

// judgesOf has porcupine examine a lock. overlap is whether the interval check found an overlap in it.
func (t *judge) judgesOf(n int, overlap bool) (j Judges) {
	if j.Interval = Allowed; overlap {
		j.Interval = Refuted
	}
	if t.History.Header.ClockError > 0 {
		j.Porcupine = NotAskedClocks
		return j
	}
	t.mutexOps = t.appendMutexOps(t.mutexOps[:0], &t.Locks[n])
	j.Porcupine = answers[t.porcupine(t.mutexOps)]
	return j
}

// porcupine calls the linearizability checker, or the test's replacement for it.
func (t *judge) porcupine(ops []linear.MutexOp) linear.Answer {
	if t.instead != nil {
		return t.instead(ops)
	}
	answer, _ := t.parts.Mutex(ops)
	return answer
}

// answers maps the answers of package linear.
var answers = map[linear.Answer]Answer{linear.Unknown: Unfinished, linear.TooMany: NotAskedTooMany,
	linear.Linearizable: Allowed, linear.Refuted: Refuted}

// differ reports whether both judges have an answer, and not the same.
func (j Judges) differ() bool { return j.Porcupine >= Allowed && j.Porcupine != j.Interval }

// open returns the judges of a finding that the clocks leave undecided.
func (j Judges) open() Judges {
	if j.Interval != NotAsked {
		j.Interval = Open
	}
	return j
}

// appendMutexOps appends porcupine's operations: an enter for each acquire ok, from its call; a leave for each section
// that ended, from its end, or from when it may have ended, to the return of its release, or for ever.
func (t *judge) appendMutexOps(ops []linear.MutexOp, l *trace.LockTrace) []linear.MutexOp {
	for s, n := range l.Grants {
		g := &t.Grants[n]
		op := linear.MutexOp{Section: s, Shared: g.Shared, Client: int(t.Number[g.Process])}
		enter := op
		enter.Enter, enter.Call, enter.Return = true, int64(t.Asks[g.Ask].Call), int64(g.OK)
		ops = append(ops, enter)
		if g.Ending == trace.StillOpen {
			continue
		}
		op.Call, op.Return = int64(t.Left(g)), linear.Forever
		if g.Done != trace.Open {
			op.Return = int64(max(g.Done, g.End))
		}
		ops = append(ops, op)
	}
	return ops
}
