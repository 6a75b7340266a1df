package checker

import (
	"math"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/clockerror"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

const MutualExclusion Law = "mutual-exclusion"

func init() {
	register(lawRow{law: MutualExclusion, place: 2, gravity: 1,
		says:   "critical sections of one lock never overlap",
		broken: "two clients are in one critical section at once", short: "mutual",
		judge: (*judge).mutualExclusion, doubt: clockerror.Sections})
}

// mutualExclusion judges the user's promise: critical sections of one lock never overlap, shared ones aside. Two judges
// report it: see Judges.
//
// It needs acquires and their ends. It counts as exercised once a lock had two sections, or one and another acquire.
func (t *judge) mutualExclusion(f *Finding) {
	sections, exercised := 0, false
	for i := range t.Locks {
		l := &t.Locks[i]
		sections += len(l.Sections)
		exercised = exercised || len(l.Sections) > 0 && len(l.Asks) > 1
	}
	switch {
	case sections == 0:
		f.unchecked("Nobody acquired a lock.")
		return
	case !exercised:
		f.unchecked("One lock was acquired once and nobody else asked for it.")
		return
	}
	judges, c := t.bothJudges()
	f.Judges = judges
	switch {
	case judges.differ():
		f.undecided("This is a defect of the checker: of the critical sections porcupine says " +
			judges.Porcupine.String() + ", the interval check " + judges.Interval.String() +
			". Please report it with this history.")
	case judges.Interval == Refuted:
		t.insideTogether(f, &c)
	default:
		f.holds(count(sections, "critical section") + ", no two of one lock overlapped.")
	}
}

// insideTogether reports two sections that overlap. Their cause is that of the leases if they overlap too, else why a
// holder was still inside after its own.
func (t *judge) insideTogether(f *Finding, c *clash) {
	story, w := t.sectionStory(c), t.witness(c, nil)
	lock, holders := t.Locks[c.lock].Name, t.holdersOf(c)
	defer func() { f.At = t.History.Events[c.then.At].Index }()
	never := history.Never
	told := t.Grants[c.first.Grant].Stated < never && t.Grants[c.then.Grant].Stated < never
	if !told || clockerror.MayOverlap(&t.Trace, t.WindowsOf(c.lock, c.first.Grant, c.then.Grant)) {
		f.violated(t, Cause{Kind: Untold}, story, w, lock, holders...)
		return
	}
	if leases, found := t.leaseClash(c); found {
		cause, records := t.decide(&leases)
		f.violated(t, cause, story+" "+t.leaseStory(&leases, cause, records),
			append(w, t.witness(&leases, records)...), lock, holders...)
		f.About, f.Unrecorded = t.about(&leases, records), unrecorded(cause, records)
		return
	}
	holder, end := t.outlived(c)
	late := lateness{grant: holder.Grant, met: c.then.At, left: int(holder.To), deadline: t.Time(c.then.At),
		ended: history.Time(end)}
	if holder.Grant == c.then.Grant { // it came in when its own lease was over
		late.left, late.deadline = c.then.At, late.ended
	}
	why := t.blameFor(late)
	f.violated(t, why.cause, story+" "+t.overstayStory(late, why), append(w, append(why.witness(), int(holder.To))...),
		lock, holders...)
	f.About = t.Grants[holder.Grant].Process
}

// holdersOf gives the processes of a clash, in the order of their grants.
func (t *judge) holdersOf(c *clash) []history.Process {
	return []history.Process{t.Grants[c.first.Grant].Process, t.Grants[c.then.Grant].Process}
}

// outlived tells whose lease had ended when the two sections began to overlap, and when: the holder's that was inside,
// or if that one still ran, the lease of the one that came in.
func (t *judge) outlived(c *clash) (holder trace.Span, end int64) {
	met := int64(t.Time(c.then.At))
	for _, holder := range []trace.Span{c.first, c.then} {
		covered := false
		last := int64(math.MinInt64)
		for _, w := range t.Locks[c.lock].Windows {
			if w.Grant == holder.Grant && w.From <= met {
				covered = covered || met < w.To
				last = max(last, w.To)
			}
		}
		if !covered && last > math.MinInt64 {
			return holder, last
		}
	}
	return c.first, met // a lease that ended at the very moment
}

// leaseClash finds the first windows of the two grants that overlap, of those that had been stated when the sections
// met: what was promised later is no reason of it.
func (t *judge) leaseClash(c *clash) (clash, bool) {
	spans := slices.DeleteFunc(slices.Clone(t.WindowsOf(c.lock, c.first.Grant, c.then.Grant)),
		func(w trace.Span) bool { return w.At > c.then.At })
	g := &t.Grants[c.then.Grant]
	if g.Lease != nil && !slices.ContainsFunc(spans, func(w trace.Span) bool { return w.Grant == c.then.Grant }) {
		at := int64(g.Lease.Granted) // it was given back at once
		spans = append(spans, trace.Span{From: at, To: at, Grant: c.then.Grant, At: g.OK, Shared: g.Shared})
	}
	i, j, found := t.Interval.First(spans)
	if !found {
		return clash{}, false
	}
	return clash{law: c.law, lock: c.lock, first: spans[i], then: spans[j]}, true
}
