package checker

import (
	"cmp"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// clash is a set of conflicting grants of one lock: two grants, or n+1 grants of a semaphore with n permits. It
// contains one span per grant, in history order.
type clash struct {
	law   Law
	lock  int32
	first trace.Span
	rest  []trace.Span // in a crowd: the spans between first and then
	then  trace.Span
}

// rounding is how long before its deadline a key may expire even if the server's clock is exact. Redis rounds to whole
// milliseconds twice: when it sets the deadline and when it checks the deadline.
const rounding = history.Time(2 * time.Millisecond)

// record is what one server (or replica group) recorded about the keys of a clash's two grants. The key that was set
// first is the victim's. The record shows how it disappeared before the other grant.
type record struct {
	set       [2]int       // positions at which the keys of the two grants were set; -1 if there is none
	victim    int          // index of the victim's grant, 0 or 1
	gone      int          // position at which the victim's key disappeared; -1 if it did not
	due       history.Time // deadline that the key had when it disappeared
	undone    int          // position of the data loss that reset the key to an earlier deadline; -1 if there was none
	promised  history.Time // deadline that the key had before that loss
	shortened bool         // an extension had moved the deadline to an earlier time
	// the position at which the victim's member got a lower score, which made it expire early; 0 if this did not happen
	lowered int
	stood   history.Time // deadline that the key had when the other key was set
	// position at which another attempt first set a key on the same server while the victim's key was there, or -1
	overwrote int
	at        int // position of the record; -1 if this server has none
	cause     Cause
}

// decide finds the cause of a clash of leases. It also returns the records that show a cause, ordered by position: at
// most one for each server whose answer counted for both grants. The cause is that of the last record. If the cause is
// found in some other way, there are no records.
func (t *judge) decide(c *clash) (Cause, []record) {
	counted := [2][]history.Process{t.counted(&c.first), t.counted(&c.then)}
	if t.hasNoKeys(c.lock) || t.keyless(&c.first) || t.keyless(&c.then) {
		return Cause{Kind: GrantedByNone}, nil
	}
	for i, s := range []trace.Span{c.first, c.then} {
		if len(counted[i]) == 0 && s.At == t.Grants[s.Grant].OK { // an extension may legitimately count no server
			return Cause{Kind: CauseNotRecorded}, nil
		}
	}
	var units []history.Process
	for _, s := range counted[0] {
		u := t.Unit(s)
		if shares := slices.ContainsFunc(counted[1], func(o history.Process) bool { return t.Unit(o) == u }); shares &&
			!slices.Contains(units, u) {
			units = append(units, u)
		}
	}
	if len(units) == 0 {
		return Cause{Kind: CountedWithoutQuorum}, nil
	}
	recorded := slices.DeleteFunc(t.records(c, units), func(r record) bool { return r.at < 0 })
	if len(recorded) == 0 {
		return Cause{Kind: CauseNotRecorded}, nil
	}
	slices.SortStableFunc(recorded, func(a, b record) int { return a.at - b.at })
	return recorded[len(recorded)-1].cause, recorded
}

// counted returns the servers whose answers the client counted for the grant or extension that began window s. If none
// are recorded and another client passed its key to the holder, counted returns only the server that stores this key.
func (t *judge) counted(s *trace.Span) []history.Process {
	if counted := t.History.Events[s.At].Grant.Counted; len(counted) > 0 {
		return counted
	}
	if given := t.GivenBy(s); given >= 0 {
		return []history.Process{t.History.Events[given].Process}
	}
	return nil
}

// records collects what each of the given servers (or replica groups) recorded about the two grants' keys, up to the
// later grant.
func (t *judge) records(c *clash, units []history.Process) []record {
	all := t.restsOn(c, units)
	for i := range all {
		r := &all[i]
		if r.set[0] == r.set[1] || min(r.set[0], r.set[1]) < 0 {
			t.grantedTwice(c, units[i], r)
			continue
		}
		if r.set[1] < r.set[0] {
			r.victim = 1
		}
		t.follow(c, units[i], r)
		t.judge(c, r)
	}
	return all
}

// restsOn finds, for each server (or replica group), the index of the event that set the key that each of the two
// grants depends on, or -1. It is the last key that the grant's attempt set before the grant or, for an extension,
// before the extension. In a group, a key on a server whose answer the client counted is preferred; if there is none,
// for example because that server has been replaced, a key on any other server counts. If another client passed the
// lock on, the grant depends on the key that was set by doing so. If the key is a list and the attempt's element has
// been taken out again, the grant does not depend on it.
func (t *judge) restsOn(c *clash, units []history.Process) []record {
	all := make([]record, len(units))
	for i := range all {
		all[i] = record{set: [2]int{-1, -1}, gone: -1, undone: -1, overwrote: -1, at: -1}
	}
	found := make([][2]bool, len(units)) // for both grants: whether the key was set on a server that the grant counted
	for k, s := range [2]*trace.Span{&c.first, &c.then} {
		if given := t.GivenBy(s); given >= 0 {
			if u := slices.Index(units, t.Unit(t.History.Events[given].Process)); u >= 0 {
				all[u].set[k], found[u][k] = given, true
			}
		}
	}
	last := max(c.first.At, c.then.At)
	owners := [2]history.Attempt{t.ownerOf(&c.first, &c.then), t.ownerOf(&c.then, &c.first)}
	n := sort.Search(len(t.Keys), func(n int) bool { return int(t.Keys[n]) >= last })
	for missing := 2 * len(units); n > 0 && missing > 0; n-- {
		i := int(t.Keys[n-1])
		e := &t.History.Events[i]
		if e.F != history.KeySet || e.Lock != t.Locks[c.lock].Name {
			continue
		}
		for k, s := range [2]*trace.Span{&c.first, &c.then} {
			if e.Of != owners[k] || i >= s.At {
				continue
			}
			u := slices.Index(units, t.Unit(e.Process))
			if u < 0 || found[u][k] {
				continue
			}
			if here := t.countedOn(s, e.Process); here || all[u].set[k] < 0 {
				if all[u].set[k] = i; here {
					found[u][k] = true
					missing--
				}
			}
		}
	}
	for i := range all {
		for k, s := range [2]*trace.Span{&c.first, &c.then} {
			if set := &all[i].set[k]; *set >= 0 && t.lastTaken(s, units[i]) > *set {
				*set = -1 // the attempt set a list element, which it or another client took out again
			}
		}
	}
	return all
}

// ownerOf returns the attempt that set the key that window s depends on. Usually this is s's own attempt. If s's own
// attempt did not set a key, it may be an earlier attempt of the same client, or an attempt of another client whose key
// this client joined. The attempt of the other window does not count as either of these.
func (t *judge) ownerOf(s, other *trace.Span) history.Attempt {
	not := t.Grants[other.Grant].Attempt
	return cmp.Or(t.EarlierKey(s, not), t.JoinedKey(s, not), t.Grants[s.Grant].Attempt)
}

// holderOf returns the attempt that holds the lock through the victim's key. Usually, this is the attempt that set the
// key. If the victim only joined the key, it is the victim's own attempt.
func (t *judge) holderOf(c *clash, r *record) history.Attempt {
	s, other := r.victimSpan(c), &c.then
	if r.victim == 1 {
		other = &c.first
	}
	of, not := t.History.Events[r.set[r.victim]].Of, t.Grants[other.Grant].Attempt
	if t.GivenBy(s) < 0 && t.EarlierKey(s, not) == "" && of == t.JoinedKey(s, not) {
		return t.Grants[s.Grant].Attempt
	}
	return of
}

// countedOn reports whether the client counted server p's answer when it got the lease s. A client that counts a
// master's answer does not count its replica. A client that counts an answer from a service counts all its members.
func (t *judge) countedOn(s *trace.Span, p history.Process) bool {
	return t.History.Header.OneService() || slices.Contains(t.History.Events[s.At].Grant.Counted, p)
}

func (t *judge) isKeyOf(e *history.Event, lock int32, u history.Process) bool {
	return e.Lock == t.Locks[lock].Name && t.Unit(e.Process) == u
}

// follow stores in r when the victim's key disappeared from server u, or from the server that replaced it in a
// failover. The last disappearance before the other key was set counts, unless the victim's key was set again in
// between. If the victim's key still existed when the other key was set (as in a queue), follow looks for a
// disappearance between then and the later grant.
func (t *judge) follow(c *clash, u history.Process, r *record) {
	from, other := r.set[r.victim], r.set[1-r.victim]
	owner := t.History.Events[from].Of
	due := t.History.Events[from].Until
	lost, owed := -1, history.Time(0)                 // position of the last loss, and the key's deadline before it
	lasts := history.Never                            // time to live that the key had when it was set
	score, lowered := t.History.Events[from].Value, 0 // score of the victim's member, if the key is a sorted set
	if due != history.Never {
		lasts = due - t.History.Events[from].Time
	}
	server := t.History.Events[from].Process
	for i := from + 1; i < max(c.first.At, c.then.At) && !(i > other && 0 <= r.gone && r.gone < other); i++ {
		e := &t.History.Events[i]
		if i == other {
			r.stood = due
		}
		if e.Type == history.Invoke && e.Fault != nil && e.F.Does() == history.Promotes && e.Fault.On[0] == server &&
			len(e.Fault.To) > 0 && t.Unit(e.Fault.To[0]) == u {
			server = e.Fault.To[0]
		}
		if e.F != history.KeySet && e.F != history.KeyProlonged && e.F != history.KeyGone || !t.isKeyOf(e, c.lock, u) ||
			e.Process != server && !t.History.Header.OneService() {
			continue
		}
		switch {
		case e.Of == owner && e.F == history.KeyGone:
			if i < other || r.gone < 0 || r.gone > other {
				r.gone, r.due = i, due
				if lowered > 0 && e.Checked.IsScore() {
					r.shortened, r.lowered, r.due = true, lowered, e.Time
				}
			}
			if lost = -1; isLoss(e.Why) {
				lost, owed = i, due
			}
		case e.Of == owner && e.F == history.KeySet:
			if i < other {
				r.gone, r.overwrote = -1, -1 // the key came back, for example after a replay
			}
			if r.undone = -1; lost >= 0 && e.Until < owed {
				r.undone, r.promised = lost, owed
			}
			due = e.Until
			if lowered = 0; isLower(e.Value, score) {
				lowered = i
			}
			score = e.Value
		case e.Of == owner && !t.inVain(i):
			r.shortened = r.shortened || lasts != history.Never && e.Until-e.Time < lasts-rounding
			if lasts == history.Never {
				lasts = e.Until - e.Time
			}
			if due = e.Until; due >= r.promised {
				r.undone = -1
			}
		case e.F == history.KeySet && r.overwrote < 0 && t.replaces(e, &t.History.Events[from], due):
			r.overwrote = i
		}
	}
}

// isLower reports whether one sorted-set score is lower than another. Both must be numbers.
func isLower(score, than string) bool {
	a, errA := strconv.ParseFloat(score, 64)
	b, errB := strconv.ParseFloat(than, 64)
	return errA == nil && errB == nil && a < b
}

// replaces reports whether event e, which sets a key, overwrote the key that event set had set. Both must concern the
// same server and the same member. The attempt that caused e must not be the owner of the overwritten key, and this key
// must not have expired. due is its deadline.
func (t *judge) replaces(e, set *history.Event, due history.Time) bool {
	return e.Process == set.Process && e.Member == set.Member && trace.Setter(e) != set.Of &&
		(t.Expiries || e.Time < due)
}

// isLoss reports whether a key disappeared because a server lost it, rather than because it expired or was removed.
func isLoss(w history.Why) bool {
	return lossCause(w).Kind != CauseNotRecorded
}

// judge determines the cause that r shows, if any, and stores it in r.
func (t *judge) judge(c *clash, r *record) {
	apart := t.History.Events[r.set[0]].Process != t.History.Events[r.set[1]].Process
	switch {
	case apart && (r.gone < 0 || t.deposed(r.set[0]) || t.deposed(r.set[1])):
		r.at, r.cause = max(r.set[0], r.set[1]), Cause{Kind: DeposedMaster}
	case r.gone >= 0:
		r.at, r.cause = t.causeOfLoss(c, r)
	case r.overwrote >= 0:
		change := t.changeAt(r.overwrote, t.holderOf(c, r))
		r.at, r.cause = r.overwrote, t.causeOfChange(change, Cause{RemovedByNonOwner, Overwritten})
	case t.coexists(r):
		r.at, r.cause = r.set[1-r.victim], Cause{Kind: GrantedTwice}
	}
}

// causeOfChange returns the cause of a violation in which a client's request changed another client's key. It returns
// offence if the request was not allowed to change the key.
func (t *judge) causeOfChange(c trace.Change, offence Cause) Cause {
	switch {
	case !t.mayChange(c):
		return offence
	case !t.Over(c) && t.LapsedEarly(c):
		return Cause{ExpiredEarly, ServerClock}
	}
	return Cause{Kind: ValidityMiscounted}
}

// changeAt returns the change that was made to owner's key by the event at the given position.
func (t *judge) changeAt(at int, owner history.Attempt) trace.Change {
	return trace.Change{At: at, Owner: owner, By: trace.Setter(&t.History.Events[at])}
}

// deposed reports whether the server that recorded the event at position i had already been replaced as its group's
// master.
func (t *judge) deposed(i int) bool {
	p := t.History.Events[i].Process
	f := t.LastFault(i, func(f *trace.Fault) bool { return f.Does == history.Promotes && f.Strikes(p) })
	return f != nil && f.On[0] == p
}

// lateTry returns LateTry if an earlier try of the same attempt deleted the attempt's own key at position gone. A try
// is earlier if its request was sent before the first request of the try that got the lock. If it was no earlier try,
// lateTry returns "".
func (t *judge) lateTry(grant int32, gone int) string {
	g, sent := &t.Grants[grant], t.History.Events[gone].Sent
	if g.Lease != nil && 0 < sent && sent < g.Lease.Since {
		return LateTry
	}
	return ""
}

// neverTold reports whether a holder was never told when its lease would end or that it had lost the lock.
func (t *judge) neverTold(s *trace.Span) bool {
	lease := t.History.Events[s.At].Grant
	if !lease.Open || lease.Until == history.Never {
		return lease.Open
	}
	crash := t.CrashAfter(t.Grants[s.Grant].Process, s.At)
	return crash != trace.Open && t.Time(crash) == lease.Until
}

// causeOfLoss finds out why the victim's key disappeared, and returns the position of the record that shows the cause.
// Usually this is the record of the key's removal. There are two exceptions, in which the key expired because an
// extension was lost. If a data loss undid the extension, it is the record of the data loss. If a deposed master or
// leader made the extension, it is the record of the extension.
func (t *judge) causeOfLoss(c *clash, r *record) (int, Cause) {
	gone := &t.History.Events[r.gone]
	switch gone.Why {
	case history.Expired:
		lease := t.History.Events[r.victimSpan(c).At].Grant
		switch {
		case lease.Until <= lease.Granted:
			return r.gone, Cause{Kind: LeaseNotRechecked}
		case t.expiredSession(c, r) != nil:
			return r.gone, Cause{Kind: SessionExpired}
		case gone.Time < r.due-rounding && r.due > t.History.Events[r.set[1-r.victim]].Time:
			if t.History.Header.Service.Kind().ClientsExpire || t.byTaker(r.gone) {
				return r.gone, Cause{ExpiredEarly, ClientClock}
			}
			if gone.Checked.IsScore() && !t.clockStruck(r.gone) { // its score was its deadline
				r.due = gone.Time
				return r.gone, Cause{Kind: ValidityMiscounted}
			}
			return r.gone, Cause{ExpiredEarly, ServerClock}
		case r.undone >= 0:
			return r.undone, lossCause(t.History.Events[r.undone].Why)
		}
		if at := t.prolongedByDeposed(c, r); at >= 0 {
			return at, Cause{Kind: DeposedMaster}
		}
		if span := r.victimSpan(c); span.At != t.Grants[span.Grant].OK && gone.Time <= lease.Granted {
			return r.gone, Cause{ValidityMiscounted, GoneKey}
		}
		if t.neverTold(r.victimSpan(c)) && t.unasked(r.victimSpan(c).Grant, max(c.first.At, c.then.At), gone.Time) {
			return r.gone, Cause{Kind: NeverRenewed}
		}
		return r.gone, Cause{Kind: ValidityMiscounted}
	case history.Deleted:
		holder := t.holderOf(c, r)
		switch gone.By {
		case "":
			return r.gone, Cause{Kind: CauseNotRecorded}
		case holder:
			return r.gone, Cause{RemovedByOwner, t.lateTry(r.victimSpan(c).Grant, r.gone)}
		}
		return r.gone, t.causeOfChange(t.changeAt(r.gone, holder), Cause{Kind: RemovedByNonOwner})
	case history.Flushed:
		if gone.By == gone.Of {
			return r.gone, Cause{Kind: RemovedByOwner}
		}
		return r.gone, Cause{RemovedByNonOwner, ByFlush}
	}
	return r.gone, lossCause(gone.Why)
}

// inVain reports whether the event at position i extends a lease at a member that is no longer its service's leader.
// Such an extension does not change when the lease ends.
func (t *judge) inVain(i int) bool {
	over := t.takenOver(i)
	return over >= 0 && t.History.Events[over].Process != t.History.Events[i].Process
}

// takenOver finds the last takeover before the keepalive at position i. In a takeover, a member of a service becomes
// the new leader and takes over the leases. The history records this as an extension of each lease, without any client
// request. takenOver returns the position of the takeover, or -1 if there was none or the event at i is not a
// keepalive.
func (t *judge) takenOver(i int) int {
	e := &t.History.Events[i]
	if e.F != history.KeyProlonged || e.By == "" || !t.History.Header.OneService() {
		return -1
	}
	for n := sort.Search(len(t.Keys), func(n int) bool { return int(t.Keys[n]) >= i }) - 1; n >= 0; n-- {
		if over := &t.History.Events[t.Keys[n]]; over.F == history.KeyProlonged && over.By == "" {
			return int(t.Keys[n])
		}
	}
	return -1
}

// prolongedByDeposed returns the position at which a replaced master or leader last extended the victim's key, before
// the victim's lease was recorded. It returns -1 if that never happened.
func (t *judge) prolongedByDeposed(c *clash, r *record) int {
	span := r.victimSpan(c)
	for i := span.At - 1; i > r.set[r.victim]; i-- {
		e := &t.History.Events[i]
		if e.F == history.KeyProlonged && e.Lock == t.Locks[c.lock].Name && e.Of == t.Grants[span.Grant].Attempt &&
			t.countedOn(span, e.Process) && (t.deposed(i) || t.inVain(i)) {
			return i
		}
	}
	return -1
}

func lossCause(w history.Why) Cause {
	switch w {
	case history.LostUnsynced:
		return Cause{LostInCrash, Unsynced}
	case history.LostUnpersisted:
		return Cause{LostInCrash, NoPersistence}
	case history.LostDisk:
		return Cause{LostInCrash, DiskLost}
	case history.LostInFailover:
		return Cause{Kind: LostInFailover}
	case history.Evicted:
		return Cause{Kind: Evicted}
	case history.DeletedByOperator:
		return Cause{RemovedByOperator, ByDelete}
	case history.FlushedByOperator:
		return Cause{RemovedByOperator, ByFlush}
	}
	return Cause{Kind: CauseNotRecorded}
}

func (r *record) victimSpan(c *clash) *trace.Span {
	if r.victim == 1 {
		return &c.then
	}
	return &c.first
}

// leaseFacts returns what the decisive record of two overlapping leases shows in addition to the cause.
func (t *judge) leaseFacts(c *clash, recorded []record) (f facts) {
	if n := len(recorded); n > 0 {
		r := &recorded[n-1]
		f.endless, f.shortened = r.due == history.Never, r.shortened
		lease := t.History.Events[r.victimSpan(c).At].Grant
		f.began = lease.Since
		f.unending, f.untold = lease.Until == history.Never, lease.Open
		f.taken = r.cause.Kind == GrantedTwice && t.History.Events[r.at].F == history.KeyGone
		f.early = t.earlyReturn(r) >= 0
		f.lapsed = r.cause.Kind == ValidityMiscounted && t.History.Events[r.at].Checked == history.CheckedLapse
		f.member, f.asking = setsMember(&t.History.Events[r.at]), t.deletedWhileAsking(r.at)
		f.inside, f.fixed = t.History.Events[r.at].Member != "", unnumbered(t.History.Events[r.at].Member)
		checked := t.History.Events[r.at].Checked
		f.watched, f.looked = checked == history.CheckedWatched, checked == history.CheckedValue
		f.oneKey = r.cause.Kind == GrantedTwice && r.set[0] == r.set[1]
		if r.cause.Kind == LostInFailover {
			over := t.promotion(t.Unit(t.History.Events[r.set[0]].Process), r.at)
			f.elected = over != nil && t.History.Events[over.Start].Why == history.ByCluster
			f.reborn = t.reborn(r) != nil
		}
	}
	f.keyless = t.hasNoKeys(c.lock)
	return f
}

// setsMember reports whether an event set a member of a key, such as a hash field.
func setsMember(e *history.Event) bool { return e.F == history.KeySet && e.Member != "" }

// unnumbered reports whether a member's name does not end with a number. The name of a sequential znode does.
func unnumbered(member string) bool {
	return member != "" && (member[len(member)-1] < '0' || member[len(member)-1] > '9')
}

// foundMember reports whether a key was set by a request that had looked up the same member of the key, such as a hash
// field.
func foundMember(e *history.Event) bool {
	return setsMember(e) && e.Checked == history.CheckedValue
}

// deletedWhileAsking reports whether the event at the given position is the deletion of a key by a client that was
// requesting the lock. Such a client deletes keys that it considers expired.
func (t *judge) deletedWhileAsking(at int) bool {
	e := &t.History.Events[at]
	return e.F == history.KeyGone && e.By != "" && t.AskedWhenSent(trace.Change{At: at, By: e.By})
}

// unrecorded reports whether the cause is unknown because the decisive record does not say why the key disappeared.
func unrecorded(cause Cause, recorded []record) bool {
	return cause.Kind == CauseNotRecorded && len(recorded) > 0
}

// subjectOf returns the process that the explanation of a clash is about: the process whose lease or key the decisive
// record concerns. If there are no records, it is a client that had no key. If the lock never had a key, it is the
// client of the last grant.
func (t *judge) subjectOf(c *clash, recorded []record) history.Process {
	if t.hasNoKeys(c.lock) {
		return t.Grants[c.then.Grant].Process
	}
	if len(recorded) == 0 {
		for _, s := range []trace.Span{c.first, c.then} {
			if t.keyless(&s) {
				return t.Grants[s.Grant].Process
			}
		}
		return ""
	}
	return t.Grants[recorded[len(recorded)-1].victimSpan(c).Grant].Process
}

// witness returns the positions of the events that show a clash: the grants, and the events that the given records
// refer to.
func (t *judge) witness(c *clash, recorded []record) []int {
	w := t.witnessOfCrowd(c)
	for _, r := range recorded {
		w = append(w, r.set[0], r.set[1], r.at)
		if r.lowered > 0 {
			w = append(w, r.lowered)
		}
		if set := t.earlyReturn(&r); set >= 0 {
			w = append(w, set)
		}
	}
	return w
}
