package checker

import (
	"github.com/fencepost-sim/fencepost/checker/linear"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// Judges lists the judges that decided mutual exclusion, along with their answers about the critical sections. It is
// zero if there was nothing to judge. It is also zero in findings about other laws, because those laws have only one
// judge each.
type Judges struct {
	Porcupine Answer // answer of the linearizability checker, which models a mutex that is owned by a section
	Interval  Answer // answer of the interval check, which looks at the sections as time spans
}

// Answer is what a judge says about a history's critical sections.
type Answer uint8

// A judge's answers. The zero Answer never means that the law holds.
const (
	NotAsked        Answer = iota
	NotAskedClocks         // the history states a clock error, but porcupine assumes exact times
	NotAskedTooMany        // a part has more sections than porcupine can be asked about at once
	Unfinished             // porcupine ran out of steps
	// given only by the interval check: the answer depends on something that the history does not record exactly
	Open
	Allowed // no two sections of one lock overlap, except shared ones
	Refuted // two sections of one lock overlap
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

// Why explains why there is no answer. It returns "" if there is an answer, or if there was nothing to judge.
func (a Answer) Why() string {
	switch a {
	case NotAskedClocks:
		return "the history states a clock error"
	case NotAskedTooMany:
		return sentence("more than %d critical sections follow each other without a moment when the lock was free",
			linear.MaxSections)
	case Unfinished:
		return "there are too many orders to try"
	}
	return ""
}

// Alone returns a note that only the interval check judged, and why. It returns "" if both judges did.
func (j Judges) Alone() string {
	if why := j.Porcupine.Why(); why != "" {
		return "interval check alone: " + why
	}
	return ""
}

// String returns one line that says who judged and what each answered. It is empty for the zero Judges.
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

// bothJudges gets both judges' answers about every lock, and stores them in t.answers. It also returns the answers
// about one lock. If the judges disagree about a lock, this is that lock. Otherwise, if sections overlap, it is the
// lock with the first overlap in the history. If none overlap, it is the first lock about which porcupine's answer is
// not Allowed.
func (t *judge) bothJudges() (all Judges, overlaps []clash, more bool) {
	t.parts.Renew(t.Permits())
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

// judgesOf calls porcupine for a lock and returns the answers of both judges. overlap says whether the interval check
// found overlapping sections of that lock.
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

// porcupine calls the linearizability checker, or its replacement in a test.
func (t *judge) porcupine(ops []linear.MutexOp) linear.Answer {
	if t.instead != nil {
		return t.instead(ops)
	}
	answer, _ := t.parts.Mutex(ops)
	return answer
}

// answers maps package linear's answers to this package's answers.
var answers = map[linear.Answer]Answer{linear.Unknown: Unfinished, linear.TooMany: NotAskedTooMany,
	linear.Linearizable: Allowed, linear.Refuted: Refuted}

// differ reports whether both judges have given an answer and the answers differ.
func (j Judges) differ() bool { return j.Porcupine >= Allowed && j.Porcupine != j.Interval }

// open returns the judges' answers with the interval check's answer changed to Open. It is used when a finding is
// undecided because the clocks are inexact.
func (j Judges) open() Judges {
	if j.Interval != NotAsked {
		j.Interval = Open
	}
	return j
}

// appendMutexOps appends the operations for porcupine. Each successful acquire becomes an enter operation, from its
// call to its return. Each section that ended becomes a leave operation, which begins at the earliest time at which the
// section may have ended. It lasts until the release returns, or forever if the release did not return.
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
