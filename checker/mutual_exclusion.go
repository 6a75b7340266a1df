package checker

import (
	"math"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/linear"
)

// mutualExclusion judges the user's promise: critical sections of one lock never overlap, shared ones aside. Two
// judges must agree: porcupine, on a mutex whose owner is the section, and the interval check.
//
// It needs acquires and their ends. It counts as exercised once a lock had two sections, or one and another acquire.
func (t *trace) mutualExclusion(f *Finding) {
	sections, exercised := 0, false
	for i := range t.locks {
		l := &t.locks[i]
		sections += len(l.sections)
		exercised = exercised || len(l.sections) > 0 && len(l.asks) > 1
	}
	switch {
	case sections == 0:
		f.unchecked("Nobody acquired a lock.")
		return
	case !exercised:
		f.unchecked("One lock was acquired once and nobody else asked for it.")
		return
	}
	c, found := t.firstClash(MutualExclusion)
	if t.contradicted(f, found) {
		return
	}
	if !found {
		f.holds(count(sections, "critical section") + ", no two of one lock overlapped.")
		return
	}
	t.insideTogether(f, &c)
}

// maxSections is the most sections of one lock that porcupine is asked about: its memory grows with their square.
// Beyond it the interval check judges alone; the two agree on every small history (TestEveryTwoOfThreeJudgesAgree).
const maxSections = 10_000

// contradicted makes the finding undecided if porcupine says otherwise than the interval check: one of them is wrong,
// and neither is silently preferred. Porcupine running out of steps is no contradiction.
func (t *trace) contradicted(f *Finding, found bool) bool {
	complete, refuted := true, false
	for n := range t.locks {
		l := &t.locks[n]
		if len(l.sections) < 2 {
			continue
		}
		answer := linear.Unknown
		if len(l.sections) <= maxSections {
			t.mutexOps = t.appendMutexOps(t.mutexOps[:0], l)
			answer = linear.Mutex(t.mutexOps)
		}
		complete = complete && answer != linear.Unknown
		refuted = refuted || answer == linear.Refuted
	}
	if refuted == found || !complete && !refuted {
		return false
	}
	verdicts := map[bool]string{false: "allows", true: "refutes"}
	f.undecided("This is a defect of the checker: porcupine " + verdicts[refuted] + " the critical sections that the interval check " +
		verdicts[found] + ". Please report it with this history.")
	return true
}

// appendMutexOps appends porcupine's operations: an enter for each acquire ok, from its call; a leave for each section
// that ended, from its end to the return of its release, or for ever.
func (t *trace) appendMutexOps(ops []linear.MutexOp, l *lockTrace) []linear.MutexOp {
	for s, n := range l.grants {
		g := &t.grants[n]
		op := linear.MutexOp{Section: s, Shared: g.shared, Client: int(t.number[g.process])}
		enter := op
		enter.Enter, enter.Call, enter.Return = true, int64(t.asks[g.ask].call), int64(g.ok)
		ops = append(ops, enter)
		if g.ending == stillOpen {
			continue
		}
		op.Call, op.Return = int64(g.end), linear.Forever
		if g.done != open {
			op.Return = int64(max(g.done, g.end))
		}
		ops = append(ops, op)
	}
	return ops
}

// insideTogether reports two sections that overlap. Their cause is that of the leases if they overlap too, else why a
// holder was still inside after its own.
func (t *trace) insideTogether(f *Finding, c *clash) {
	story, w := t.sectionStory(c), t.witness(c, nil)
	lock, holders := t.locks[c.lock].name, t.between(c)
	defer func() { f.At = t.h.Events[c.then.at].Index }()
	if never := history.Never; t.grants[c.first.grant].stated == never || t.grants[c.then.grant].stated == never {
		f.violated(t, Cause{Kind: Untold}, story, w, lock, holders...)
		return
	}
	if leases, found := t.leaseClash(c); found {
		cause, told := t.decide(&leases)
		f.violated(t, cause, story+" "+t.leaseStory(&leases, cause, told), append(w, t.witness(&leases, told)...), lock, holders...)
		f.About = t.about(&leases, told)
		return
	}
	holder, end := t.outlived(c)
	late := lateness{grant: holder.grant, met: c.then.at, left: int(holder.to), deadline: t.time(c.then.at), ended: history.Time(end)}
	if holder.grant == c.then.grant { // it came in when its own lease was over
		late.left, late.deadline = c.then.at, late.ended
	}
	why := t.blameFor(late)
	f.violated(t, why.cause, story+" "+t.overstayStory(late, why), append(w, append(why.witness(), int(holder.to))...), lock, holders...)
	f.About = t.grants[holder.grant].process
}

// between gives the processes of a clash, in the order of their grants.
func (t *trace) between(c *clash) []history.Process {
	return []history.Process{t.grants[c.first.grant].process, t.grants[c.then.grant].process}
}

// outlived tells whose lease had ended when the two sections began to overlap, and when: the holder's that was inside, or
// if that one still ran, the lease of the one that came in.
func (t *trace) outlived(c *clash) (holder span, end int64) {
	met := int64(t.time(c.then.at))
	for _, holder := range []span{c.first, c.then} {
		covered := false
		last := int64(math.MinInt64)
		for _, w := range t.locks[c.lock].windows {
			if w.grant == holder.grant && w.from <= met {
				covered = covered || met < w.to
				last = max(last, w.to)
			}
		}
		if !covered && last > math.MinInt64 {
			return holder, last
		}
	}
	return c.first, met // a lease that ended at the very moment
}

// lastWindow is the window of a grant that ends last.
func (t *trace) lastWindow(lock, grant int32) (last *span) {
	windows := t.locks[lock].windows
	for i := range windows {
		if w := &windows[i]; w.grant == grant && (last == nil || w.to > last.to) {
			last = w
		}
	}
	return last
}

// leaseClash finds the first windows of the two grants that overlap.
func (t *trace) leaseClash(c *clash) (clash, bool) {
	others := func(w span) bool { return w.grant != c.first.grant && w.grant != c.then.grant }
	spans := t.locks[c.lock].windows
	if slices.ContainsFunc(spans, others) {
		spans = slices.DeleteFunc(slices.Clone(spans), others)
	}
	i, j, found := t.interval.first(spans)
	if !found {
		return clash{}, false
	}
	return clash{law: c.law, lock: c.lock, first: spans[i], then: spans[j]}, true
}
