package checker

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// recordStory describes what one server recorded about the keys of two clashing grants, as a clause without a final
// period.
func (t *judge) recordStory(c *clash, r *record) string {
	span := r.victimSpan(c)
	g := &t.Grants[span.Grant]
	other := &c.then
	if r.victim == 1 {
		other = &c.first
	}
	e := &t.History.Events[r.at]
	server := e.Process // this server may have replaced the one that set the key
	if r.cause.Kind == LostInFailover {
		server = t.History.Events[r.set[r.victim]].Process
	}
	key := sentence("the key of %s on %s", t.nameOf(g, &t.Grants[other.Grant]), server)
	switch r.cause.Kind {
	case GrantedTwice:
		return t.twiceStory(c, r, key)
	case DeposedMaster:
		return t.deposedStory(r)
	case RemovedByNonOwner:
		t.facts.oneClient = t.ProcessOf(e.Lock, e.By) == g.Process
		return t.removedStory(key, r.at, r.set[r.victim])
	case RemovedByOwner:
		if r.cause.Detail == LateTry {
			return sentence("%s was deleted at %v by a request that its holder had sent at %v, "+
				"in an earlier attempt with the same owner value", key, e.Time, e.Sent)
		}
		return sentence("%s was deleted at %v by its own holder, "+
			"which continued as if it still had the lock", key, e.Time)
	case ExpiredEarly:
		return t.earlyStory(r, key)
	case SessionExpired:
		return sentence("%s was gone at %v: its session had ended early%s", key, e.Time,
			t.faultText(t.expiredSession(c, r)...))
	case NeverRenewed:
		return sentence("%s expired at %v as it should: "+
			"no request had extended it, and %s had not been told that its lock was lost", key, e.Time, g.Process)
	case ValidityMiscounted:
		return t.miscountedStory(c, r, key)
	case LeaseNotRechecked:
		lease := t.History.Events[span.At].Grant
		ended := "" // the end of an empty lease is not stated
		if lease.Until < lease.Granted {
			ended = sentence(", which had ended at %v", lease.Until)
		}
		return sentence("%s expired at %v; "+
			"%s was granted the lock at %v and took it without checking its own lease%s%s",
			key, e.Time, g.Process, lease.Granted, ended, t.faultText(t.unrenewed(span.Grant, r.gone)))
	case Evicted, RemovedByOperator:
		return t.goneStory(key, r.at)
	case LostInCrash:
		return t.crashStory(key, r, e) + t.undoneStory(r)
	case LostInFailover:
		return t.failoverStory(key, r, e) + t.undoneStory(r)
	}
	return sentence("%s was gone at %v, and the history does not record why", key, e.Time)
}

// failoverStory describes a key that was lost in a failover, because the new master did not have it.
func (t *judge) failoverStory(key string, r *record, e *history.Event) string {
	unit := t.Unit(t.History.Events[r.set[0]].Process)
	why := "it had not reached the replica that took over"
	reborn := t.reborn(r)
	switch {
	case t.History.Header.Service.Kind().OneLog:
		why = "the new leader does not have it, although its request had been answered"
	case reborn != nil:
		why = "the replica that took over had been restarted and did not have it"
	}
	return sentence("%s was lost in a failover at %v: %s%s", t.lostPart(key, r), e.Time, why,
		t.faultText(t.deposing(unit, r.at), reborn))
}

// earlyStory describes a key that ended early because a clock was fast.
func (t *judge) earlyStory(r *record, key string) string {
	e := &t.History.Events[r.at]
	switch {
	case r.cause.Detail == ClientClock:
		by := t.remover(r)
		return sentence("%s considered %s expired at %v, %v before its deadline (%v)%s", by, key, e.Time,
			r.due-e.Time, r.due, t.clockStory(r, by, r.due-e.Time))
	case e.F == history.KeySet || e.Why == history.Deleted:
		kept, set := t.Time(t.keptLast(r)), &t.History.Events[r.set[r.victim]]
		return sentence("%s was %s at %v by %s, because its lease had ended according to the clock of %s; "+
			"that clock was ahead, because %s had set or extended the key only %v earlier, at %v%s", key, takenOver(e),
			e.Time, t.ProcessOf(e.Lock, trace.Setter(e)), e.Process, t.ProcessOf(set.Lock, set.Of), e.Time-kept, kept,
			t.clockStory(r, e.Process, 0))
	}
	return sentence("%s expired at %v, %v before its deadline (%v)%s", key, e.Time, r.due-e.Time, r.due,
		t.clockStory(r, e.Process, r.due-e.Time))
}

// twiceStory describes how one server granted the lock twice, according to its keys or list elements.
func (t *judge) twiceStory(c *clash, r *record, key string) string {
	first, second := &t.History.Events[r.set[r.victim]], &t.History.Events[r.at]
	if r.set[0] == r.set[1] {
		a, b := &c.first, &c.then
		if r.victim == 1 {
			a, b = b, a
		}
		return sentence("%s had only one key, set by %s at %v: it gave %s the lock at %v, and again at %v",
			first.Process, t.name(first.Lock, first.Of), first.Time, t.Grants[a.Grant].Process, t.Time(a.At),
			t.Time(b.At))
	}
	if second.F == history.KeyGone {
		return sentence("%s had a list element for each of them: "+
			"%s took one at %v, and %s took another at %v%s", second.Process,
			t.name(first.Lock, first.By), first.Time, t.name(second.Lock, second.By), second.Time,
			t.earlyReturnStory(r))
	}
	return sentence("%s, set at %v, was still there when the key of %s was set at %v, "+
		"and nothing prevented the second key", key, first.Time, t.name(second.Lock, second.Of), second.Time)
}

// earlyReturnStory returns a sentence that names the client that put an element back before it released the lock. It
// returns "" if no client did.
func (t *judge) earlyReturnStory(r *record) string {
	if set := t.earlyReturn(r); set >= 0 {
		e := &t.History.Events[set]
		return sentence(", which %s had put back at %v, before it released the lock", t.name(e.Lock, e.Of), e.Time)
	}
	return ""
}

// earlyReturn is for a lock that clients get by taking an element from a list, and that was granted twice according to
// r. It returns the position at which a client put an element back before the first holder released the lock, so that
// the second could take it. It returns -1 if no client did so.
func (t *judge) earlyReturn(r *record) int {
	if r.at < 0 || r.cause.Kind != GrantedTwice {
		return -1
	}
	e := &t.History.Events[r.at]
	owner, granted := t.Owner[trace.Title{Lock: e.Lock, Attempt: e.Of}]
	if e.F != history.KeyGone || !granted {
		return -1
	}
	set := t.LastSet(trace.Change{At: r.at, Owner: e.Of, By: e.By})
	if set < 0 || !t.PutsBack(set, owner) {
		return -1
	}
	return set
}

// miscountedStory describes a key that expired on time while its holder still relied on it.
func (t *judge) miscountedStory(c *clash, r *record, key string) string {
	span, e := r.victimSpan(c), &t.History.Events[r.at]
	holder, lease := t.Grants[span.Grant].Process, t.History.Events[span.At].Grant
	switch {
	case e.Checked == history.CheckedLapse:
		return t.lapseStory(c, r, key)
	case e.F == history.KeySet, e.Why == history.Deleted:
		return t.takenOverStory(c, r, key)
	case t.neverTold(span):
		return sentence("%s expired at %v as it should, but %s had not been told that its lock was lost%s", key, e.Time,
			holder, t.faultText(t.unrenewed(span.Grant, r.gone)))
	case lease.Open:
		return sentence("%s expired at %v as it should, but %s was told only at %v that its lock was lost%s", key,
			e.Time, holder, lease.Until, t.faultText(t.unrenewed(span.Grant, r.gone)))
	case r.cause.Detail == GoneKey:
		return sentence("%s had expired at %v as it should, but the lease of %s was extended anyway, at %v, until %v",
			key, e.Time, holder, lease.Granted, lease.Until)
	}
	since := "as it should"
	if r.lowered > 0 {
		since = sentence("because its holder had lowered its score at %v", t.Time(r.lowered))
	}
	return sentence("%s expired at %v %s, "+
		"but %s considered its lease valid until %v%s", key, e.Time, since, holder, lease.Until,
		t.faultText(t.miscounted(c, r)...))
}

// lapseStory describes a key that was removed because a second key, which its holder must keep extending, had expired.
func (t *judge) lapseStory(c *clash, r *record, key string) string {
	span, e := r.victimSpan(c), &t.History.Events[r.at]
	holder, until := t.Grants[span.Grant].Process, t.History.Events[span.At].Grant.Until
	return sentence("%s was removed at %v by %s, because the liveness key of %s had expired, "+
		"but %s considered its lease valid until %v%s", key, e.Time,
		t.ProcessOf(e.Lock, trace.Setter(e)), holder, holder,
		until,
		t.faultText(t.miscounted(c, r)...))
}

// keptLast returns the last position before r.at at which the owner of the victim's key set or extended the key.
func (t *judge) keptLast(r *record) int {
	set := r.set[r.victim]
	return max(t.LastKept(t.changeAt(r.at, t.History.Events[set].Of)), set)
}

// takenOver describes how another client took over a key.
func takenOver(e *history.Event) string {
	if e.F == history.KeySet {
		return "replaced"
	}
	return "removed"
}

// takenOverStory describes a key that another client was entitled to remove or replace because its holder's lease had
// ended.
func (t *judge) takenOverStory(c *clash, r *record, key string) string {
	span, e := r.victimSpan(c), &t.History.Events[r.at]
	did, holder := takenOver(e), t.Grants[span.Grant].Process
	return sentence("%s was %s at %v by %s, because the lease of %s had ended; "+
		"the holder had last renewed the key at %v but continued as if it had the lock%s",
		key, did, e.Time, t.ProcessOf(e.Lock, trace.Setter(e)), holder,
		t.Time(t.keptLast(r)), t.faultText(t.unrenewed(span.Grant, r.at)))
}

func (t *judge) deposedStory(r *record) string {
	a, b := &t.History.Events[r.set[r.victim]], &t.History.Events[r.set[1-r.victim]]
	e := &t.History.Events[r.at]
	if over := t.takenOver(r.at); over >= 0 {
		leader := &t.History.Events[over]
		return sentence(
			"%s extended the lease of %s at %v; "+
				"%s had become the leader at %v, had taken over all leases, and ended this lease at %v%s", e.Process,
			t.ProcessOf(e.Lock, e.Of), e.Time, leader.Process, leader.Time,
			t.History.Events[r.gone].Time, t.faultText(t.misleading(e.Process, r.at)...))
	}
	if e.F == history.KeyProlonged {
		return sentence("%s extended the key of %s at %v, after it had been replaced as master; "+
			"on the server that set the key of %s at %v, the first key had expired at %v: "+
			"two masters served one group of replicas%s",
			e.Process, t.ProcessOf(e.Lock, e.Of), e.Time, t.ProcessOf(b.Lock, b.Of), b.Time,
			t.History.Events[r.gone].Time,
			t.faultText(t.deposing(t.Unit(e.Process), r.at)))
	}
	return sentence("%s set the key of %s at %v, and %s set the key of %s at %v: "+
		"two masters served one group of replicas%s",
		a.Process, t.ProcessOf(a.Lock, a.Of), a.Time,
		b.Process, t.ProcessOf(b.Lock, b.Of), b.Time,
		t.faultText(t.deposing(t.Unit(t.History.Events[r.set[0]].Process), r.at)))
}

func (t *judge) removedStory(key string, at, set int) string {
	e := &t.History.Events[at]
	switch {
	case e.F == history.KeySet:
		return sentence("%s was overwritten at %v by %s%s", key, e.Time, t.name(e.Lock, e.Of), watchedStory(e))
	case e.Why == history.Flushed:
		return sentence("%s was flushed at %v, along with every other key", key, e.Time)
	case e.By == e.Of:
		return sentence("%s was deleted at %v by a request of %s, which had set it, "+
			"although another client held it too", key, e.Time, t.name(e.Lock, e.By))
	}
	return sentence("%s was deleted at %v by a request of %s, which did not own it%s%s", key, e.Time,
		t.name(e.Lock, e.By), watchedStory(e), t.faultText(t.strayBlame(at, set).faults...))
}

// watchedStory says that a client watched the key before it changed it, but changed it outside of a transaction. It
// returns "" if the client did not watch the key.
func watchedStory(e *history.Event) string {
	if e.Checked != history.CheckedWatched {
		return ""
	}
	return ", after the client had watched the key, but not in a transaction"
}

// goneStory describes a key that the server evicted, or that an operator removed.
func (t *judge) goneStory(key string, at int) string {
	e := &t.History.Events[at]
	did := "%s was deleted by an operator at %v: this is not a release, and its holder was not told%s"
	switch e.Why {
	case history.Evicted:
		did = "%s was evicted at %v: " +
			"the server needed memory, and its maxmemory-policy lets it evict the key of a lock%s"
	case history.FlushedByOperator:
		did = "%s was flushed by an operator at %v, along with every other key: " +
			"this is not a release, and its holder was not told%s"
	}
	return sentence(did, key, e.Time, t.faultText(t.removing(at)))
}

// removing returns the fault that removed a key without a client's request. at is the position of the removal's record,
// which may come from a replica after a failover.
func (t *judge) removing(at int) *trace.Fault {
	e := &t.History.Events[at]
	return t.lastSuspect(at, func(f *trace.Fault) bool {
		key := t.History.Events[f.Start].Lock
		return f.Does == history.RemovesKeys && f.Strikes(e.Process) && (key == "" || key == e.Lock)
	})
}

func (t *judge) crashStory(key string, r *record, e *history.Event) string {
	why := "it had not reached the disk"
	switch e.Why {
	case history.LostUnpersisted:
		why = "it keeps nothing on disk"
	case history.LostDisk:
		why = "its disk was lost"
	}
	downs, went := t.downAt(r.at), "had crashed"
	if len(downs) > 0 && downs[len(downs)-1].Does == history.ShutsDown {
		went = "had been shut down"
	}
	return sentence("%s was lost at %v: the server %s and came back without it, because %s%s", t.lostPart(key, r),
		e.Time, went, why, t.faultText(downs...))
}

// downAt lists the faults that may have made a server lose data. at is the position of the record of the loss. The loss
// is recorded when the server comes back, so faults that ended earlier are left out. If the server lost its disk, so
// are faults that do not destroy all its data. If no fault is left, downAt returns the last one that took the server
// down.
func (t *judge) downAt(at int) []*trace.Fault {
	e := &t.History.Events[at]
	strikes := func(f *trace.Fault) bool { return f.Does.IsDown() && f.Strikes(e.Process) }
	downs := t.suspectsIn(-1, at, func(f *trace.Fault) bool { return strikes(f) && t.Time(f.Stop) >= e.Time })
	if e.Why == history.LostDisk {
		downs = slices.DeleteFunc(downs, func(f *trace.Fault) bool { return f.Loses != history.LosesEverything })
	}
	if last := t.lastSuspect(at, strikes); len(downs) == 0 && last != nil {
		return []*trace.Fault{last}
	}
	return downs
}

// lostPart says what was lost: the key, or only an extension of it.
func (t *judge) lostPart(key string, r *record) string {
	if r.at == r.undone {
		return "the extension of " + key
	}
	return key
}

func (t *judge) undoneStory(r *record) string {
	if r.at != r.undone {
		return ""
	}
	return sentence(", so it expired at %v, not at %v", t.History.Events[r.gone].Time, r.promised)
}

// clockStory names the faults that set the clock of process whose ahead while the victim's key existed, so that the key
// ended too early. early is how much too early it ended. If there are several such faults, clockStory names only enough
// of them to explain that time. If all of them together do not explain it, it names only the last one.
func (t *judge) clockStory(r *record, whose history.Process, early history.Time) string {
	set := r.set[r.victim]
	clocks := t.suspectsIn(-1, r.at+1, func(f *trace.Fault) bool {
		return f.Does.IsClock() && f.Strikes(whose) && f.Over() >= set
	})
	if len(clocks) < 2 {
		return t.faultText(clocks...)
	}
	var delays []delay
	for _, f := range clocks {
		ahead := f.Shift
		if f.Does == history.PacesClock {
			lasted := t.Time(min(f.Over(), r.at)) - max(t.Time(f.Start), t.Time(set))
			ahead = history.Time(f.PPM) * (lasted / 1e6)
		}
		delays = append(delays, delay{fault: f, amount: max(0, ahead)})
	}
	if faults := enoughOf(max(0, early-rounding), delays); faults != nil {
		return t.faultText(faults...)
	}
	return t.faultText(clocks[len(clocks)-1])
}

// faultText lists faults in parentheses, as the reason for what a sentence says. It returns "" if there are none.
func (t *judge) faultText(faults ...*trace.Fault) string {
	var lines []string
	for _, f := range faults {
		if f != nil {
			lines = append(lines, t.Cite(f))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return " (" + strings.Join(lines, "; ") + ")"
}

// remover returns the process that considered the victim's key expired and removed it. The request that removed the key
// also set or extended another one. If the history does not show that, remover returns the process that got the lock
// after the victim.
func (t *judge) remover(r *record) history.Process {
	gone := &t.History.Events[r.at]
	for i := r.at + 1; i < len(t.History.Events) && t.History.Events[i].Time == gone.Time; i++ {
		if e := &t.History.Events[i]; e.Process == gone.Process && e.Lock == gone.Lock && e.By != "" {
			return t.ProcessOf(e.Lock, e.By)
		}
	}
	set := &t.History.Events[r.set[1-r.victim]]
	return t.ProcessOf(set.Lock, set.Of)
}
