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
		broken: "two clients are in one critical section at once",
		judge:  (*judge).mutualExclusion, uncertain: clockerror.Sections})
}

// mutualExclusion judges what users rely on: critical sections of one lock never overlap, unless they are shared. A
// semaphore never has more open sections than permits. Two judges decide this law (see Judges).
//
// A process may have died unnoticed, at an unknown time after it was last known to be alive. The law is violated only
// if it is violated for every possible time of death. If it is violated for only some of these times, it is undecided.
//
// To judge the law, the history must contain acquires and their ends. The law counts as exercised once a lock has had
// two sections, or one section and another acquire. For a semaphore, there must be one more acquire than there are
// permits.
func (t *judge) mutualExclusion(f *Finding) {
	sections, exercised := 0, false
	for i := range t.Locks {
		l := &t.Locks[i]
		sections += len(l.Sections)
		exercised = exercised || len(l.Sections) > 0 && len(l.Asks) > t.Permits()
	}
	switch {
	case sections == 0:
		f.unchecked("Nobody acquired a lock.")
		return
	case !exercised && t.Permits() > 1:
		f.unchecked(fewAsked)
		return
	case !exercised:
		f.unchecked("One lock was acquired once, and nobody else asked for it.")
		return
	}
	judges, overlaps, more := t.bothJudges()
	f.Judges = judges
	switch {
	case judges.differ():
		f.undecided(sentence("The checker has a bug. Please report it with this history: "+
			"for the critical sections, porcupine answers %v and the interval check answers %v.",
			judges.Porcupine, judges.Interval))
	case judges.Interval == Refuted:
		for i := range overlaps {
			t.insideTogether(f, &overlaps[i])
		}
		f.examined(more)
	default:
		if why := t.unseenEnd(); why != "" {
			f.undecided(why)
			f.Judges = judges.open()
			return
		}
		f.holds(count(sections, "critical section") + ", " + t.neverTogether() + ".")
	}
}

// unseenEnd explains why it is unknown whether two sections overlapped: a process died inside one of them, and its
// death was noticed only later. It is called if no sections are certain to have overlapped. It returns "" if the
// sections would not overlap even if each had lasted as long as possible. It also returns "" if the clocks are inexact,
// since the clock error covers this case.
func (t *judge) unseenEnd() string {
	if t.History.Header.ClockError > 0 || !t.EndsUnseen() {
		return ""
	}
	for n := range t.Locks {
		l := &t.Locks[n]
		longest := slices.Clone(l.Sections)
		for i := range longest {
			longest[i].To = int64(t.Grants[longest[i].Grant].End)
		}
		together := t.Interval.FirstCrowd(longest, t.Permits())
		if together == nil {
			continue
		}
		unseen := slices.IndexFunc(together, func(i int) bool { return l.Sections[i].To != longest[i].To })
		g := &t.Grants[longest[together[unseen]].Grant]
		var others []string
		for _, i := range slices.Delete(together, unseen, unseen+1) {
			other := &t.Grants[longest[i].Grant]
			others = append(others, sentence("%s, which entered at %v", other.Process, t.Time(other.OK)))
		}
		crash := t.CrashAfter(g.Process, g.OK)
		return sentence("The end of %s was noticed at %v, and it is known to have been alive until %v: "+
			"it is not known whether it was inside the critical section of %s together with %s.", g.Process,
			t.Time(crash), t.History.Events[crash].Until, quoted(l.Name), list(others))
	}
	return ""
}

// leasesUnknown reports whether the history is insufficient to decide if the leases of two clashing sections overlap.
func (t *judge) leasesUnknown(c *clash) bool {
	members := c.members()
	for i, s := range members {
		if t.Grants[s.Grant].Stated == history.Never {
			return true
		}
		for _, o := range members[:i] {
			if clockerror.MayOverlap(&t.Trace, t.WindowsOf(c.lock, o.Grant, s.Grant)) {
				return true
			}
		}
	}
	return false
}

// insideTogether reports critical sections that overlap: two sections or, for a semaphore, one more than there are
// permits. If the leases overlap as well, the cause says why they do. Otherwise it says why a holder stayed inside
// after its lease had ended.
func (t *judge) insideTogether(f *Finding, c *clash) {
	report := func(cause Cause) *Finding {
		b := t.breach(f, cause, c.then.At, t.Locks[c.lock].Name, t.holdersOf(c)...)
		if b != nil {
			b.Judges = t.answers[c.lock]
		}
		return b
	}
	if t.hasNoKeys(c.lock) { // the client believes that it has a lease, but no server granted one
		cause := Cause{Kind: GrantedByNone}
		if b := report(cause); b != nil {
			t.facts.keyless = true
			b.violated(t, cause, t.sectionStory(c)+noKeys, t.witness(c, nil))
			b.About = t.subjectOf(c, nil)
		}
		return
	}
	if t.leasesUnknown(c) {
		cause := Cause{Kind: CauseNotRecorded}
		if b := report(cause); b != nil {
			b.violated(t, cause, t.sectionStory(c), t.witness(c, nil))
		}
		return
	}
	if leases, found := t.leaseClash(c); found {
		pair, cause, records := t.decisivePair(&leases)
		if b := report(cause); b != nil {
			t.facts = t.leaseFacts(&pair, records)
			b.violated(t, cause, t.sectionStory(c)+" "+t.leaseStory(&pair, cause, records),
				append(t.witness(c, nil), t.witness(&pair, records)...))
			b.About, b.Unrecorded = t.subjectOf(&pair, records), unrecorded(cause, records)
		}
		return
	}
	holder, end := t.outlived(c)
	if t.Grants[holder.Grant].Lease != nil && t.keyless(&holder) { // no server granted the lease that it was told
		cause := Cause{Kind: GrantedByNone}
		if b := report(cause); b != nil {
			b.About = t.Grants[holder.Grant].Process
			b.violated(t, cause, t.sectionStory(c)+t.keylessStory(&holder, string(b.About)), t.witness(c, nil))
		}
		return
	}
	t.overstayed(c, holder, history.Time(end), report)
}

// overstayed reports a holder that stayed in the critical section after its lease had ended.
func (t *judge) overstayed(c *clash, holder trace.Span, ended history.Time, report func(Cause) *Finding) {
	left := t.Grants[holder.Grant].End
	late := lateness{grant: holder.Grant, met: c.then.At, left: left, deadline: t.Time(c.then.At),
		ended: ended}
	if holder.Grant == c.then.Grant { // the client entered after its own lease was over
		late.left, late.deadline = c.then.At, late.ended
	}
	why, on := t.stayedFor(late), t.lossTold(c, late)
	lost := on != nil && comesFromLoss(why.cause)
	if lost {
		why = blame{cause: on.cause}
	}
	if b := report(why.cause); b != nil {
		t.facts.gaveUp, t.facts.untold = t.gaveUp(holder.Grant, left), why.cause.Kind == ValidityMiscounted
		seen := append(t.witness(c, nil), append(why.witness(), left)...)
		if lost {
			t.facts, seen = t.leaseFacts(&on.leases, on.records), append(seen, t.witness(&on.leases, on.records)...)
			t.facts.told = true
		}
		b.violated(t, why.cause, t.sectionStory(c)+" "+t.overstayStory(late, why, on), seen)
		b.About = t.Grants[holder.Grant].Process
	}
}

// holdersOf returns the processes whose spans clash, in the order in which the history records these spans.
func (t *judge) holdersOf(c *clash) []history.Process {
	all := make([]history.Process, 0, 2)
	for _, s := range c.members() {
		all = append(all, t.Grants[s.Grant].Process)
	}
	return all
}

// gaveUp reports whether, before the given position, one of the holder's requests deleted the holder's own key.
func (t *judge) gaveUp(grant int32, left int) bool {
	g := &t.Grants[grant]
	return slices.ContainsFunc(t.Keys, func(at int32) bool {
		e := &t.History.Events[at]
		return int(at) < left && e.F == history.KeyGone && e.Why == history.Deleted && e.Of == g.Attempt &&
			e.By == g.Attempt && e.Lock == t.Locks[g.Lock].Name
	})
}

// outlived returns the holder whose lease had already ended when the critical sections began to overlap, and the time
// at which that lease ended. If no lease had ended by then, it returns the client that entered first.
func (t *judge) outlived(c *clash) (holder trace.Span, end int64) {
	met := int64(t.Time(c.then.At))
	for _, holder := range c.members() {
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
	return c.first, met // the lease ended at the moment when the other client entered
}

// leaseClash returns the first clash between the leases of c's grants, or false if these leases do not clash. It
// considers only leases that were recorded before the sections overlapped, since later ones cannot have caused the
// overlap.
func (t *judge) leaseClash(c *clash) (clash, bool) {
	members := c.members()
	of := func(grant int32) bool {
		return slices.ContainsFunc(members, func(s trace.Span) bool { return s.Grant == grant })
	}
	spans := slices.DeleteFunc(slices.Clone(t.Locks[c.lock].Windows),
		func(w trace.Span) bool { return w.At > c.then.At || !of(w.Grant) })
	g := &t.Grants[c.then.Grant]
	if g.Lease != nil && !slices.ContainsFunc(spans, func(w trace.Span) bool { return w.Grant == c.then.Grant }) {
		at := int64(g.Lease.Granted) // the lease was released immediately
		spans = append(spans, trace.Span{From: at, To: at, Grant: c.then.Grant, At: g.OK, Shared: g.Shared})
	}
	group := t.Interval.FirstCrowd(spans, t.Permits())
	if group == nil {
		return clash{}, false
	}
	return crowdOf(c.law, c.lock, spans, group), true
}
