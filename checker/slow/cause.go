package slow

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// cause determines why two windows (periods of lease validity) overlap.
func (r *reading) cause(a, b *window) string {
	cause, _ := r.decide(a, b)
	return cause
}

// decide finds out why two windows (periods of lease validity) overlap. For each server that was counted for both
// grants, it finds the record that shows why the server granted both. The cause comes from the latest of these records.
// ofA reports whether that record is about window a's key.
func (r *reading) decide(a, b *window) (cause string, ofA bool) {
	counted := [2][]history.Process{r.counted(a), r.counted(b)}
	if r.keylessLock(a.lock) {
		return "granted by no server", false
	}
	if r.grantedByNone(a) || r.grantedByNone(b) {
		return "granted by no server", false
	}
	for i, w := range []*window{a, b} {
		if len(counted[i]) == 0 && w.at == w.ok {
			return "cause not recorded", false
		}
	}
	common, latest := false, -1
	cause = "cause not recorded"
	for _, s := range counted[0] {
		for _, o := range counted[1] {
			if !slices.Contains(r.group(s), o) {
				continue
			}
			common = true
			if at, why, victim := r.record(a, b, r.group(s)); at > latest {
				latest, cause, ofA = at, why, victim
			}
		}
	}
	if !common {
		return "counted without quorum", false
	}
	return cause, ofA
}

// counted returns the servers that the client counted for window w's grant. If the window depends on a key or a list
// element that another client passed on, it returns only the server that stored it.
func (r *reading) counted(w *window) []history.Process {
	if given := r.passedOn(w); given >= 0 {
		return []history.Process{r.Events[given].Process}
	}
	return r.Events[w.at].Grant.Counted
}

// grantedByNone reports whether the client was told that it had the lock although no server had a key for the lock.
func (r *reading) grantedByNone(w *window) bool {
	return w.at == w.ok && (len(r.counted(w)) == 0 || r.oneService()) && r.keyless(w)
}

// keylessLock reports whether servers record all requests and none ever set a key for the lock.
func (r *reading) keylessLock(lock history.Lock) bool {
	return r.Header.Asked != nil && !slices.ContainsFunc(r.Events, func(e history.Event) bool {
		return e.F == history.KeySet && e.Lock == lock
	})
}

// keyless reports whether servers set keys for the lock, but the client had none when its acquire returned: none had
// been set for this attempt, and none of its earlier attempts' keys were left.
func (r *reading) keyless(w *window) bool {
	if w.attempt == "" {
		return false
	}
	any := false
	for i := range r.Events {
		e := &r.Events[i]
		if e.F != history.KeySet || e.Lock != w.lock {
			continue
		}
		any = true
		if i >= w.ok || e.Of != w.attempt && r.owner(i) != w.process {
			continue
		}
		gone := slices.ContainsFunc(r.Events[i:max(i, r.neededUntil(w))], func(o history.Event) bool {
			return o.F == history.KeyGone && o.Lock == w.lock && o.Of == e.Of
		})
		var earlier *section // the latest section of that attempt
		for _, s := range r.sections {
			if s.attempt == e.Of && s.lock == w.lock {
				earlier = s
			}
		}
		oneLog := r.Header.Service.Kind().OneLog
		if !oneLog && earlier != nil && earlier != w.section && earlier.release < w.call {
			gone = gone || slices.ContainsFunc(r.Events[w.at+1:], func(o history.Event) bool { // or its late release
				return o.F == history.KeyGone && o.Lock == w.lock && o.Of == e.Of && o.Process == e.Process &&
					(o.Why == history.Expired || o.Why == history.Deleted && o.By == e.Of)
			})
		}
		if e.Of == w.attempt || !gone {
			return false
		}
	}
	return any
}

// neededUntil returns a position in the history. An earlier attempt's key matters for window w only if it still existed
// there. In a service with one replicated log, this is the position of the call to acquire. Otherwise, it is the
// position of the event that records the window.
func (r *reading) neededUntil(w *window) int {
	if r.Header.Service.Kind().OneLog {
		return w.call
	}
	return w.at
}

// passedOn returns the position at which another client, while it was releasing the lock, set the key that the holder
// of window w uses. Candidates are the keys of the lock that were set while the holder was asking; only the last of
// them counts. It must still have been present at the grant, and the other client must have called its release before
// it set the key. If there is no such key, passedOn returns -1. It also returns -1 if the history records which servers
// the holder counted, or if the holder still had a key of its own.
func (r *reading) passedOn(w *window) int {
	if w.at != w.ok || w.attempt == "" || len(r.Events[w.at].Grant.Counted) > 0 {
		return -1
	}
	for i := w.ok - 1; i > w.call; i-- {
		e := &r.Events[i]
		if e.F != history.KeySet || e.Lock != w.lock {
			continue
		}
		gone := slices.ContainsFunc(r.Events[i:w.ok], func(o history.Event) bool {
			return o.F == history.KeyGone && o.Lock == w.lock && o.Process == e.Process
		})
		own := false
		for k, o := range r.Events[:w.ok] {
			own = own || o.F == history.KeySet && o.Lock == w.lock && o.Of == w.attempt &&
				!slices.ContainsFunc(r.Events[k+1:w.ok], func(later history.Event) bool {
					return (later.F == history.KeyGone || later.F == history.KeySet) && later.Lock == w.lock &&
						later.Process == o.Process && later.Member == o.Member
				})
		}
		by := e.By
		if by == "" {
			by = e.Of
		}
		var giver *section // the latest section of that attempt
		for _, s := range r.sections {
			if s.attempt == by && s.lock == w.lock {
				giver = s
			}
		}
		if gone || own || giver == nil || giver.process == w.process || giver.release >= i {
			return -1
		}
		return i
	}
	return -1
}

// earlierKey returns the same client's earlier attempt whose key window w depends on. This is the last attempt that set
// a key before the window was recorded. The key must have existed for as long as neededUntil says. The attempt given as
// except does not count, and neither does a key that an attempt set while it was releasing the lock. earlierKey returns
// "" if there is no such attempt, or if the window's own attempt has set a key.
func (r *reading) earlierKey(w *window, except history.Attempt) history.Attempt {
	sets := func(i int, of history.Attempt) bool {
		e := &r.Events[i]
		return e.F == history.KeySet && e.Lock == w.lock && e.Of == of
	}
	for i := range w.at {
		if sets(i, w.attempt) {
			return ""
		}
	}
	for i := w.at - 1; i >= 0; i-- {
		e := &r.Events[i]
		if w.attempt == "" || e.Of == "" || e.Of == except || !sets(i, e.Of) ||
			r.maker(w.lock, e.Of) != w.process {
			continue
		}
		var setter *section // the latest section of that attempt
		for _, s := range r.sections {
			if s.attempt == e.Of && s.lock == w.lock {
				setter = s
			}
		}
		if setter != nil && setter.release <= i { // its release put the key back
			continue
		}
		if slices.ContainsFunc(r.Events[i:max(i, r.neededUntil(w))], func(o history.Event) bool {
			return o.F == history.KeyGone && o.Lock == w.lock && o.Of == e.Of
		}) {
			return ""
		}
		return e.Of
	}
	return ""
}

// joinedKey returns another client's attempt whose key (for example, a reader count) the client of window w has joined.
// This is the last key that the window's own attempt extended before its grant. The attempt given as except does not
// count. joinedKey returns "" if there is no such attempt, or if the window's own attempt has set a key.
func (r *reading) joinedKey(w *window, except history.Attempt) history.Attempt {
	before := r.Events[:w.at]
	if w.attempt == "" || slices.ContainsFunc(before, func(e history.Event) bool {
		return e.F == history.KeySet && e.Lock == w.lock && e.Of == w.attempt
	}) {
		return ""
	}
	for _, e := range slices.Backward(before[:w.ok]) {
		if e.F == history.KeyProlonged && e.Lock == w.lock && e.By == w.attempt && e.Of != except {
			return e.Of
		}
	}
	return ""
}

// restingOn returns window w or, if w depends on another attempt's key, a copy of w with that attempt. Such a key may
// have been passed on by another client (see passedOn), may belong to an earlier attempt of the same client (see
// earlierKey), or may have been joined (see joinedKey). other is the attempt of the other window.
func (r *reading) restingOn(w *window, other history.Attempt) *window {
	of, joiner := r.earlierKey(w, other), history.Attempt("")
	if given := r.passedOn(w); given >= 0 {
		of = r.Events[given].Of
	}
	if of == "" {
		of, joiner = r.joinedKey(w, other), w.attempt
	}
	if of == "" {
		return w
	}
	s, resting := *w.section, *w
	s.attempt, resting.joiner = of, joiner
	resting.section = &s
	return &resting
}

// group lists the servers that share one copy of a lock.
func (r *reading) group(p history.Process) []history.Process {
	for _, group := range r.Header.Groups {
		if slices.Contains(group, p) {
			return group
		}
	}
	return []history.Process{p}
}

// keyEvent returns the position of the last event of type f for the key of w's attempt, among the positions p with from
// <= p < to. It considers only events of servers selected by on. It returns -1 if there is no such event.
func (r *reading) keyEvent(f history.F, w *window, on servers, from, to int) int {
	for i := to - 1; i >= max(from, 0); i-- {
		e := &r.Events[i]
		if e.F == f && e.Lock == w.lock && e.Of == w.attempt && on(i, e.Process) {
			return i
		}
	}
	return -1
}

// servers reports whether server p's records count at a position in the history.
type servers func(at int, p history.Process) bool

// lastSet returns the position at which window w's key was last set before the window, on a server in the group.
// Servers that the client counted are preferred: the others count only if none of these set the key. lastSet returns -1
// if none of the servers did.
func (r *reading) lastSet(w *window, group []history.Process) int {
	if set := r.keyEvent(history.KeySet, w, r.asCounted(w, group), 0, w.at); set >= 0 {
		return set
	}
	return r.keyEvent(history.KeySet, w, func(_ int, p history.Process) bool { return slices.Contains(group, p) }, 0,
		w.at)
}

// asCounted selects the servers in a group that the client counted for window w's grant. All members of one service
// count as a single server.
func (r *reading) asCounted(w *window, group []history.Process) servers {
	return func(_ int, p history.Process) bool {
		return slices.Contains(group, p) && (r.oneService() || slices.Contains(r.Events[w.at].Grant.Counted, p))
	}
}

// successors returns a function that selects, at each position, the server that should have the key set at position
// set: the server that set it or, after a failover, the server that replaced it. If the servers are one replicated
// service, the function selects all of them.
func (r *reading) successors(set int, group []history.Process) servers {
	return func(at int, p history.Process) bool {
		master := r.Events[set].Process
		for _, f := range r.faults {
			if f.does() == history.Promotes && set < f.from && f.from < at && f.On[0] == master &&
				slices.Contains(group, f.To[0]) {
				master = f.To[0]
			}
		}
		return p == master || r.oneService() && slices.Contains(group, p)
	}
}

// oneService reports whether the lock servers are one replicated service (etcd, ZooKeeper), which needs a majority of
// its members as a quorum. It returns false if each server, or each group of servers, stores its own copy of the locks.
func (r *reading) oneService() bool {
	return len(r.Header.Groups) > 0 && len(r.Header.Groups) < r.Header.Quorum
}

// isQuorum reports whether the given servers can together grant a lock. If each server, or each group of servers, keeps
// its own copy, the list must contain at most one server from each group.
func (r *reading) isQuorum(servers []history.Process) bool { return len(servers) >= r.Header.Quorum }

// record finds the record, in one group of servers, that shows why two windows overlap.
//
// A window depends on the last key that its attempt set before the window was recorded or, if the attempt took a list
// element after that, on the element. The victim is the window whose key was set first. Usually, the record is that of
// the disappearance (key-gone) of the victim's key before the other key was set. A disappearance does not count if the
// victim's key was set again before the other key. In a queue (etcd, ZooKeeper), both keys exist at once, so the
// disappearance may also be later, before the later grant. ofA reports whether window a is the victim.
func (r *reading) record(a, b *window, group []history.Process) (at int, cause string, ofA bool) {
	bound := max(a.at, b.at)
	tookA, tookB := r.took(a, group), r.took(b, group)
	a, b = r.restingOn(a, b.attempt), r.restingOn(b, a.attempt)
	setA, setB := r.lastSet(a, group), r.lastSet(b, group)
	if tookA > setA { // the window depends on the element that it took
		setA = -1
	}
	if tookB > setB {
		setB = -1
	}
	switch {
	case setA < 0 && setB < 0 && tookA >= 0 && tookB >= 0:
		return max(tookA, tookB), "granted twice by one server", false
	case setA >= 0 && setA == setB: // both depend on the same key
		return setA, "granted twice by one server", false
	case setA >= 0 && setB < 0 && tookB < 0 && a.process == b.process && r.stoodFor(b, setA, group):
		return setA, "granted twice by one server", false
	case setB >= 0 && setA < 0 && tookA < 0 && a.process == b.process && r.stoodFor(a, setB, group):
		return setB, "granted twice by one server", false
	case setA < 0 || setB < 0:
		return -1, "", false
	}
	victim, first, then, ofA := a, setA, setB, true
	if setB < setA {
		victim, first, then, ofA = b, setB, setA, false
	}
	on := r.successors(first, group)
	again := r.keyEvent(history.KeySet, victim, on, first, then) // the key was set again, perhaps by a replay
	gone := r.keyEvent(history.KeyGone, victim, on, again, then)
	if gone < 0 {
		gone = r.keyEvent(history.KeyGone, victim, on, then, bound)
	}
	apart := r.Events[first].Process != r.Events[then].Process
	switch {
	case apart && (gone < 0 || r.deposed(first) || r.deposed(then)):
		return then, "granted by a deposed master", ofA
	case gone >= 0:
		at, cause = r.loss(victim, on, first, then, gone, bound)
		return at, cause, ofA
	case !apart:
		was, other := &r.Events[first], &r.Events[then]
		holder := cmp.Or(victim.joiner, was.Of)
		switch over := r.overwritten(victim, on, first, again, bound); {
		case over >= 0 && r.mayChange(over, holder, r.setter(over)):
			return over, r.takeover(over, holder, r.setter(over)), ofA
		case over >= 0:
			return over, "removed by non-owner (overwritten)", ofA
		case !r.oneService() && was.Member != other.Member &&
			(r.recordsExpiry() || other.Time < r.due(victim, on, first, then)):
			return then, "granted twice by one server", false
		}
	}
	return -1, "", false
}

// stoodFor reports whether the key that was set at the given position still existed when window w was recorded.
func (r *reading) stoodFor(w *window, set int, group []history.Process) bool {
	e := &r.Events[set]
	if set > w.at {
		return false
	}
	last := set // the last event that set the key or removed it
	for i := set; i < w.at; i++ {
		if o := &r.Events[i]; o.Lock == w.lock && o.Of == e.Of && slices.Contains(group, o.Process) &&
			(o.F == history.KeySet || o.F == history.KeyGone) {
			last = i
		}
	}
	return r.Events[last].F == history.KeySet
}

// takeover returns the cause of a violation in which the request at position i changed another attempt's key and was
// allowed to do so (see mayChange).
func (r *reading) takeover(i int, owner, by history.Attempt) string {
	if !r.holdOver(i, owner, by) && r.lapsedEarly(i, owner) {
		return "expired early (server clock)"
	}
	return "validity miscounted"
}

// took returns the position at which w's attempt last took a list element before window w, on one of the servers in
// group. It returns -1 if there is none.
func (r *reading) took(w *window, group []history.Process) int {
	for i := w.at - 1; i >= 0; i-- {
		if e := &r.Events[i]; r.takesOut(i) && e.Lock == w.lock && e.By == w.attempt &&
			slices.Contains(group, e.Process) {
			return i
		}
	}
	return -1
}

// overwritten returns the first position before bound at which another attempt overwrote the victim's key, on the same
// server and for the same member, or -1 if there is none. The key was set at position first and, if set is not
// negative, again at position set. Only positions after these count, and only if serves accepts the server there. If
// the history does not record expiries, a key that was due was not overwritten.
func (r *reading) overwritten(victim *window, serves servers, first, set, bound int) int {
	for i := max(set, first) + 1; i < bound; i++ {
		e, was := &r.Events[i], &r.Events[first]
		by := e.By
		if by == "" {
			by = e.Of
		}
		if e.F != history.KeySet || e.Lock != victim.lock || e.Of == victim.attempt || by == victim.attempt ||
			e.Process != was.Process ||
			e.Member != was.Member || !serves(i, e.Process) {
			continue
		}
		if r.recordsExpiry() || e.Time < r.due(victim, serves, first, i) {
			return i
		}
	}
	return -1
}

// setter returns the attempt that changed a key at position i.
func (r *reading) setter(i int) history.Attempt {
	if e := &r.Events[i]; e.By != "" {
		return e.By
	}
	return r.Events[i].Of
}

// deposed reports whether the server in the event at position i had been replaced as master: the last failover before i
// that involved this server made another server the master.
func (r *reading) deposed(i int) bool {
	p, was := r.Events[i].Process, false
	for _, f := range r.faults {
		if f.from < i && f.does() == history.Promotes && f.strikes(p) {
			was = f.On[0] == p
		}
	}
	return was
}

// inVain reports whether the event at position i is an extension of a lease by a member that is not the leader. Such an
// extension has no effect. The leader is the member that was the last to take over all leases before i. A takeover is
// recorded as a key-prolonged event that no attempt requested.
func (r *reading) inVain(i int) bool {
	e := &r.Events[i]
	if e.F != history.KeyProlonged || e.By == "" || !r.oneService() {
		return false
	}
	leader := e.Process
	for k := range i {
		if o := &r.Events[k]; o.F == history.KeyProlonged && o.By == "" {
			leader = o.Process
		}
	}
	return leader != e.Process
}

// loss finds out why the victim's key disappeared. It returns the reason, and the position of the record that shows it.
func (r *reading) loss(victim *window, on servers, set, other, gone, bound int) (int, string) {
	e, lease := &r.Events[gone], r.Events[victim.at].Grant
	holder := cmp.Or(victim.joiner, e.Of)
	switch {
	case e.Why == history.Expired && lease.Until <= lease.Granted:
		return gone, "lease not rechecked"
	case e.Why == history.Expired && r.sessionEnded(victim.process, gone):
		return gone, "session expired"
	case e.Why == history.Expired:
		return r.expiry(victim, on, set, other, gone, bound)
	case e.Why == history.Deleted && e.By == holder && r.sentBefore(victim, e):
		return gone, "removed by its own holder (late try)"
	case e.Why == history.Deleted && e.By == holder, e.Why == history.Flushed && e.By == e.Of:
		return gone, "removed by its own holder"
	case e.Why == history.Deleted && e.By == "", e.Why == history.NotRecorded:
		return gone, "cause not recorded"
	case e.Why == history.Deleted && r.mayChange(gone, holder, e.By):
		return gone, r.takeover(gone, holder, e.By)
	case e.Why == history.Deleted:
		return gone, "removed by non-owner"
	case e.Why == history.Flushed:
		return gone, "removed by non-owner (flushed)"
	}
	return gone, string(e.Why) // "lost in crash (…)" or "lost in failover"
}

// sentBefore reports whether the request that deleted the key was sent before the victim's attempt sent its first
// request.
func (r *reading) sentBefore(victim *window, gone *history.Event) bool {
	return gone.Sent != 0 && gone.Sent < r.Events[victim.ok].Grant.Since
}

// sessionEnded reports whether a fault ended process p's session, and the key that expired at position gone was the
// first of p's keys to expire after that. Keys that expire at the same time count as one, because a session ends with
// all its keys.
func (r *reading) sessionEnded(p history.Process, gone int) bool {
	ended := false
	for i := range gone {
		e := &r.Events[i]
		switch {
		case e.Process == history.Nemesis && e.Type == history.Invoke && e.F.Does() == history.EndsSession &&
			e.Fault.Strikes(p):
			ended = true
		case e.F == history.KeyGone && e.Why == history.Expired && r.owner(i) == p && e.Time < r.time(gone):
			ended = false
		}
	}
	return ended
}

// due returns the deadline of the victim's key according to its last set or extension in [set, at).
func (r *reading) due(victim *window, on servers, set, at int) history.Time {
	ruling := func(at int, p history.Process) bool { return on(at, p) && !r.inVain(at) }
	return r.Events[max(r.keyEvent(history.KeySet, victim, on, set, at),
		r.keyEvent(history.KeyProlonged, victim, ruling, set, at))].Until
}

// undoing finds a data loss after which the victim's key was set again with an earlier deadline, and returns the
// position of the loss. It returns -1 if there is none, or if a later extension made up for the loss.
func (r *reading) undoing(victim *window, on servers, set, gone int) int {
	back := r.keyEvent(history.KeySet, victim, on, set, gone)
	lost := r.keyEvent(history.KeyGone, victim, on, set, back)
	if lost < 0 || !strings.HasPrefix(string(r.Events[lost].Why), "lost in ") {
		return -1
	}
	owed := r.due(victim, on, set, lost)
	for i := back; i < gone; i++ {
		if r.due(victim, on, set, i+1) >= owed {
			return -1
		}
	}
	return lost
}

// expiry explains why the victim's key expired. An expiry was early if it was more than 2 ms before the deadline given
// by the key's last set or extension; the tolerance is there because Redis rounds to whole milliseconds twice. An early
// expiry is the reason only if the key would otherwise still have been present when the other key was set. Otherwise,
// expiry looks for a data loss that undid a later deadline, and for other reasons.
func (r *reading) expiry(victim *window, on servers, set, other, gone, bound int) (int, string) {
	due := func(at int) history.Time { return r.due(victim, on, set, at) }
	if r.Events[gone].Time < due(gone)-2_000_000 && due(gone) > r.Events[other].Time {
		if r.Header.Service.Kind().ClientsExpire || r.endedByTaker(gone) {
			return gone, "expired early (client clock)"
		}
		return gone, "expired early (server clock)"
	}
	if lost := r.undoing(victim, on, set, gone); lost >= 0 {
		return lost, string(r.Events[lost].Why)
	}
	deposed := func(at int, p history.Process) bool {
		counted := r.oneService() || slices.Contains(r.Events[victim.at].Grant.Counted, p)
		return counted && (r.deposed(at) || r.inVain(at))
	}
	if at := r.keyEvent(history.KeyProlonged, victim, deposed, set, victim.at); at >= 0 {
		return at, "granted by a deposed master"
	}
	if lease := r.Events[victim.at].Grant; victim.at != victim.ok && r.Events[gone].Time <= lease.Granted {
		return gone, "validity miscounted (gone key extended)"
	}
	lease := r.Events[victim.at].Grant
	crashed := slices.ContainsFunc(r.Events, func(e history.Event) bool {
		return e.F == history.Crashed && e.Process == victim.process && e.Time == lease.Until
	})
	switch told := lease.Until != history.Never && !crashed; {
	case !lease.Open || told || !r.unasked(victim.section, bound):
		return gone, "validity miscounted"
	case len(r.faults) > 0:
		return gone, "" // an extension may have been requested without success
	}
	return gone, "never renewed"
}
