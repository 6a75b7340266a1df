package checker

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

func sentence(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// count returns a number and its noun in the singular or plural: "1 client", "2 clients".
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

func quoted(l history.Lock) string { return `"` + string(l) + `"` }

func capital(words string) string { return history.Capital(words) }

func (f *Finding) unchecked(why string) { f.Outcome, f.Explanation = Unchecked, why }
func (f *Finding) undecided(why string) { f.Outcome, f.Explanation = Undecided, why }
func (f *Finding) holds(seen string)    { f.Outcome, f.Explanation = Holds, seen }

// mostBreaches is the maximum number of breaches (overlaps in one lock, or stuck waiters) that are examined for their
// causes. Each examination may require another pass over the history.
const mostBreaches = 100

// examined adds a note to the explanation if more is true. The note says that only the first breaches were examined.
func (f *Finding) examined(more bool) {
	if more {
		f.Explanation += sentence(" Only the first %d such overlaps were examined for their causes.", mostBreaches)
	}
}

// breach begins to report a violation of f's law at the given position. It returns the finding to fill in: f itself or,
// if f already reports a violation, a new element of f.Further. It returns nil if f already has a breach with this
// cause, or if the checker was asked to explain only another breach (t.only).
func (t *judge) breach(f *Finding, cause Cause, at int, lock history.Lock, between ...history.Process) *Finding {
	b := Finding{Law: f.Law, Lock: lock, Holders: between, At: t.History.Events[at].Index}
	switch {
	case t.only != nil && !b.isSame(t.only), f.By(cause) != nil:
		return nil
	case f.Outcome != Violated:
		b.Judges = f.Judges
		*f = b
		return f
	}
	f.Further = append(f.Further, b)
	return &f.Further[len(f.Further)-1]
}

// isSame reports whether two findings on the same law are about the same breach. Their causes may differ.
func (f *Finding) isSame(o *Finding) bool {
	return f.At == o.At && f.Lock == o.Lock && slices.Equal(f.Holders, o.Holders)
}

// violated fills in a violation's cause and explanation. The witness is a list of positions, which may contain
// duplicates, -1 and Open.
func (f *Finding) violated(t *judge, cause Cause, story string, witness []int) {
	f.Outcome, f.Cause, f.Explanation = Violated, cause, story+t.neededStory()
	f.Remedy = remedy(t.situation(cause))
	t.facts = facts{}
	slices.Sort(t.Cited)
	for _, at := range slices.Compact(t.Cited) {
		f.Faults = append(f.Faults, t.History.Events[at].Index)
	}
	t.Cited = t.Cited[:0]
	slices.Sort(witness)
	for _, at := range slices.Compact(witness) {
		if at >= 0 && at < len(t.History.Events) {
			f.Witness = append(f.Witness, t.History.Events[at].Index)
		}
	}
}

// nameOf returns the name for a grant in a sentence about two grants: the process and, if both grants belong to the
// same process, also the attempt.
func (t *judge) nameOf(g, other *trace.Grant) string {
	if g.Process == other.Process && g.Attempt != "" {
		return sentence("%s (attempt %s)", g.Process, g.Attempt)
	}
	return string(g.Process)
}

// name returns an attempt to acquire a lock together with its process, or "somebody" if the attempt is unknown.
func (t *judge) name(lock history.Lock, a history.Attempt) string {
	if a == "" {
		return "somebody"
	}
	return sentence("%s (attempt %s)", t.ProcessOf(lock, a), a)
}

// sectionStory describes critical sections that overlap.
func (t *judge) sectionStory(c *clash) string {
	b := &t.Grants[c.then.Grant]
	var inside []string
	for _, s := range c.members()[:t.Permits()] {
		a := &t.Grants[s.Grant]
		inside = append(inside, sentence("%s, which had been inside since %v, "+
			"had not yet left (%s)", t.nameOf(a, b), t.Time(a.OK),
			t.endText(a)))
	}
	return sentence("%s entered the critical section of %s at %v although %s.%s",
		capital(t.nameOf(b, &t.Grants[c.first.Grant])), quoted(t.Locks[c.lock].Name), t.Time(b.OK), list(inside),
		t.tooMany(c))
}

func (t *judge) endText(g *trace.Grant) string {
	switch g.Ending {
	case trace.Released:
		return sentence("it called release at %v", t.Time(g.End))
	case trace.Lost:
		return sentence("it noticed at %v that its lock was lost", t.Time(g.End))
	case trace.Crashed:
		if alive := t.History.Events[g.End].Until; alive != 0 {
			return sentence("its process ended between %v and %v", alive, t.Time(g.End))
		}
		return sentence("it crashed at %v", t.Time(g.End))
	}
	return "it never did"
}

// overstayStory explains why a holder was still inside after its lease had ended. on is the loss of the holder's key if
// the holder lost it early and was told so, and otherwise nil.
func (t *judge) overstayStory(l lateness, why blame, on *loss) string {
	g := &t.Grants[l.grant]
	s := sentence("The lease of %s had ended at %v as it should; the lock service broke no promise.", g.Process,
		l.ended)
	if on != nil {
		s = t.lossStory(l, on)
	}
	if why.cause.Kind == SessionExpired {
		return sentence("The lease of %s was over at %v: its session had ended early%s. "+
			"%s was still inside.", g.Process, l.ended, t.faultText(why.faults...), capital(string(g.Process)))
	}
	if k := why.cause.Kind; k == LeaseNotRechecked || k == ValidityMiscounted {
		return sentence("The lease of %s was already over when it was granted the lock at %v: it had ended at %v%s. "+
			"%s entered anyway.", g.Process, g.Lease.Granted, min(g.Until, l.ended), t.faultText(why.faults...),
			capital(string(g.Process)))
	}
	if reason := t.blameStory(g.Process, why); reason != "" {
		return s + reason
	}
	if l.ended <= t.Time(g.OK) {
		return s + sentence(" %s entered anyway.", capital(string(g.Process)))
	}
	if on != nil {
		return s + sentence(" %s was still inside.", capital(string(g.Process)))
	}
	return s + sentence(" %s was still in its critical section when the lease ended.", capital(string(g.Process)))
}

// blameStory describes what delayed a client. It returns "" if nothing did.
func (t *judge) blameStory(p history.Process, why blame) string {
	var s strings.Builder
	switch {
	case why.cause.Kind == WaitedForOther:
		a := &t.Asks[why.ask]
		until := ""
		if a.Ret != trace.Open {
			until = sentence(" to %v", t.Time(a.Ret))
		}
		s.WriteString(sentence(" But %s waited for another lock, %s, from %v%s%s, "+
			"and stayed in its critical section while it waited.", p, quoted(t.Locks[a.Lock].Name), t.Time(a.Call),
			until, t.faultText(why.faults...)))
	case why.cause.Kind == NeverRenewed:
		s.WriteString(sentence(" No request had extended it, and the work of %s took longer than the lease.", p))
	case why.cause.Detail == ByPause:
		text := " But %s was paused %s and had no way to know%s."
		switch {
		case why.before:
			text = " But %s was paused %s, before it was granted the lock, " +
				"so its work took longer than what was left of the lease%s."
		case why.inTime:
			text = " But %s was paused %s, so its work took longer than the lease%s."
		}
		s.WriteString(sentence(text, p, t.spells(why.faults), t.faultText(why.faults...)))
	case why.acted && why.held.implied:
		s.WriteString(sentence(" A renewal by %s was delayed%s.", p, t.faultText(why.faults...)))
	case why.acted:
		what := string(why.held.f)
		if why.held.f == history.Extend {
			what = "extension"
		}
		s.WriteString(sentence(" The %s of %s was delayed: called at %v, it took effect at %v%s.", what, p,
			t.Time(why.held.call), t.Time(why.held.ret), t.faultText(why.faults...)))
	case why.before:
		s.WriteString(sentence(" But the grant of %s was delayed%s, "+
			"so its work took longer than what was left of the lease.", p, t.faultText(why.faults...)))
	case why.held.f == history.Extend:
		s.WriteString(sentence(" But an extension of %s did not get through in time%s.", p,
			t.faultText(why.faults...)))
	case why.cause.Detail == ByLatePacket:
		s.WriteString(sentence(" But a %s of %s was delayed%s, "+
			"and the client waited for the answer in its critical section.",
			why.held.f, p, t.faultText(why.faults...)))
	}
	return s.String()
}

// witness returns the positions at which the blamed faults began and ended.
func (b blame) witness() []int {
	var w []int
	for _, f := range b.faults {
		w = append(w, f.Start, f.Over())
	}
	return w
}

// spells returns the periods in which the given faults were active, worded for use in a sentence: "from 1.000 s to
// 2.000 s and from 5.000 s to 6.000 s".
func (t *judge) spells(faults []*trace.Fault) string {
	var all []string
	for _, f := range faults {
		all = append(all, t.spell(f))
	}
	return list(all)
}

// spell returns the period in which a fault was active, for example "from 1.000 s to 2.000 s".
func (t *judge) spell(f *trace.Fault) string {
	switch over := f.Over(); over {
	case f.Start:
		return sentence("at %v", t.Time(f.Start))
	case trace.Open:
		return sentence("from %v to the end", t.Time(f.Start))
	default:
		return sentence("from %v to %v", t.Time(f.Start), t.Time(over))
	}
}

// wholeLease returns the beginning and end of the lease that contains a grant's window. A lease can consist of several
// windows, since each extension begins a new one.
func (t *judge) wholeLease(of *trace.Span, lock int32) (from, to history.Time) {
	from, to = history.Time(of.From), history.Time(of.To)
	windows := t.Locks[lock].Windows
	for i := range windows {
		if w := &windows[i]; w.Grant == of.Grant && history.Time(w.From) == to {
			to = max(to, history.Time(w.To))
		}
	}
	for i := range slices.Backward(windows) {
		if w := &windows[i]; w.Grant == of.Grant && history.Time(w.To) == from {
			from = min(from, history.Time(w.From))
		}
	}
	return from, to
}

// leaseStory describes two leases that overlapped, and the records from each server that counted toward both grants.
func (t *judge) leaseStory(c *clash, cause Cause, records []record) string {
	a, b := c.first, c.then
	if b.From < a.From { // order them by the time of their grants
		a, b = b, a
	}
	ga, gb := &t.Grants[a.Grant], &t.Grants[b.Grant]
	var s strings.Builder
	granted := "%s was granted the lock %s at %v"
	if b.At != gb.OK {
		granted = "%s had its lease of %s extended at %v"
	}
	granted = sentence(granted, capital(t.nameOf(gb, ga)), quoted(t.Locks[c.lock].Name), history.Time(b.From))
	from, to := t.wholeLease(&a, c.lock)
	had := sentence("the lease of %s ran from %v to %v", t.nameOf(ga, gb), from, to)
	if t.History.Events[a.At].Grant.Open {
		had = sentence("%s had held the lock since %v and had not been told that it was lost", t.nameOf(ga, gb),
			history.Time(a.From))
	}
	s.WriteString(sentence("%s although %s: %s.", granted, had, t.leasesAtOnce()))
	switch cause.Kind {
	case CountedWithoutQuorum:
		s.WriteString(sentence(" No server counted for both grants: %s, and %s. So no server could refuse the second.",
			t.countedText(&a), t.countedText(&b)))
	case GrantedByNone:
		if t.hasNoKeys(c.lock) {
			s.WriteString(noKeys)
			break
		}
		g, other, window := ga, gb, &a
		if !t.keyless(&a) {
			g, other, window = gb, ga, &b
		}
		s.WriteString(t.keylessStory(window, t.nameOf(g, other)))
	case CauseNotRecorded:
		if len(records) == 0 {
			s.WriteString(" The history does not record what happened to the keys of the first holder.")
		}
	}
	if len(records) > 0 {
		t.serversStory(&s, c, records)
	}
	return s.String()
}

// noKeys explains why a lock without keys does not exclude anyone.
const noKeys = " No server ever had a key for that lock."

// hasNoKeys reports whether no server ever had a key for the lock. It returns true only if all requests were recorded.
func (t *judge) hasNoKeys(lock int32) bool {
	return t.History.Header.Asked != nil && !slices.ContainsFunc(t.Keys, func(at int32) bool {
		e := &t.History.Events[at]
		return e.F == history.KeySet && e.Lock == t.Locks[lock].Name
	})
}

// serversStory describes each server's record, the decisive one first. If a lease was miscounted or never renewed, it
// also names the servers where the lease's key had already expired.
func (t *judge) serversStory(s *strings.Builder, c *clash, records []record) {
	last := &records[len(records)-1]
	s.WriteString(sentence(" The reason: %s.", t.recordStory(c, last)))
	var likewise, others []string
	for i := range records[:len(records)-1] {
		if r := &records[i]; isExpiry(last.cause) && r.cause == last.cause && r.victim == last.victim {
			likewise = append(likewise,
				sentence("on %s at %v", t.History.Events[r.at].Process, t.History.Events[r.at].Time))
		} else {
			others = append(others, sentence(" Before that, %s.", t.recordStory(c, r)))
		}
	}
	if len(likewise) > 0 {
		s.WriteString(sentence(" Before that, the key had expired %s.", list(likewise)))
	}
	for _, other := range slices.Backward(others) {
		s.WriteString(other)
	}
}

// isExpiry reports whether a cause means that the keys expired on time and a lease lasted longer than its keys.
func isExpiry(c Cause) bool { return c.Kind == ValidityMiscounted || c.Kind == NeverRenewed }

// countedText says which servers counted toward the grant of a lease.
func (t *judge) countedText(s *trace.Span) string {
	counted := t.History.Events[s.At].Grant.Counted
	if len(counted) == 0 {
		return sentence("no server counted for %s", t.Grants[s.Grant].Process)
	}
	return sentence("%s counted for %s", list(counted), t.Grants[s.Grant].Process)
}

// list joins names for use in a sentence: "a, b and c".
func list[T ~string](names []T) string {
	var s strings.Builder
	for i, n := range names {
		switch {
		case i > 0 && i == len(names)-1:
			s.WriteString(" and ")
		case i > 0:
			s.WriteString(", ")
		}
		s.WriteString(string(n))
	}
	return s.String()
}
