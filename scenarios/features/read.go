package features

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Reader finds the features of runs, one run at a time. The zero Reader is ready to use.
type Reader struct {
	met    set
	header *history.Header
	locks  []lock
}

// lock is the state of a lock at some point in the history.
type lock struct {
	name   history.Lock
	tries  []try
	keys   []key
	askers []history.Process
	inside int             // number of attempts whose holders are in their sections
	left   history.Time    // when the latest section ended
	free   history.Time    // time since which the lock has had no key
	token  history.Token   // highest token so far
	leader history.Process // in a replicated service such as etcd: the leading member, according to the records
}

// phase is the state of an attempt.
type phase uint8

const (
	asked phase = iota
	givenUp
	holding
	releasing // release was called but has not returned
	returned  // release has returned, or the holder has noticed that the lock was lost
	crashed
)

// try is an attempt to acquire a lock.
type try struct {
	name    history.Attempt
	process history.Process
	phase   phase
	set     int          // number of keys that the attempt has set
	stand   int          // number of the attempt's keys that exist
	gone    int          // number of keys that disappeared while the attempt held the lock
	until   history.Time // end of the attempt's validity
}

// key is a lock's key on one server, or one member of a key that several attempts can hold at once.
type key struct {
	server history.Process
	member string
	of     int // index of the owner in tries
	stands bool
	until  history.Time
}

// closely lists intervals, in ns. If one event follows another within such an interval, that is a feature of the run.
// Each interval has its own feature.
var closely = [...]history.Time{1e9, 1e8, 1e7, 1e6}

// follows adds a feature of the run if one event follows another after a short time. closely lists what counts as
// short. If several of its intervals contain the given delay, the shortest one counts. e is the feature for the first
// interval in closely, e+1 the feature for the second, and so on.
func (r *Reader) follows(after history.Time, e Feature) {
	if after < 0 || after > closely[0] {
		return
	}
	for i := range closely {
		if i == len(closely)-1 || after > closely[i+1] {
			r.met.add(e + Feature(i))
			return
		}
	}
}

// Read returns a run's features in ascending order. The slice is valid until the next call. The probe's first event
// (history.Probe) and everything after it are ignored, because no other client is active by then.
func (r *Reader) Read(h *history.History) []Feature {
	r.met.reset()
	r.header = &h.Header
	r.locks = slices.Grow(r.locks[:0], len(h.Header.Locks))[:len(h.Header.Locks)]
	for i, name := range h.Header.Locks {
		l := &r.locks[i]
		*l = lock{name: name, tries: l.tries[:0], keys: l.keys[:0], askers: l.askers[:0]}
	}
	for i := range h.Events {
		e := &h.Events[i]
		if e.Process == history.Probe {
			break
		}
		r.read(e)
	}
	slices.Sort(r.met.list)
	return r.met.list
}

func (r *Reader) read(e *history.Event) {
	switch {
	case e.Process == history.Nemesis:
		if e.F.Does() == history.Promotes && e.Type == history.Invoke {
			r.promoted(e)
		}
		return
	case e.F == history.Crashed:
		for i := range r.locks {
			r.crashed(&r.locks[i], e.Process)
		}
		return
	}
	at := slices.IndexFunc(r.locks, func(l lock) bool { return l.name == e.Lock })
	if at < 0 {
		return // the key does not belong to a lock
	}
	l := &r.locks[at]
	if r.header.OneService() && e.F.IsKey() && !e.F.IsCopy() && e.Process != l.leader {
		if l.leader != "" {
			r.takenOver(l)
		}
		l.leader = e.Process
	}
	switch e.F {
	case history.Acquire:
		r.acquire(l, e)
	case history.Extend:
		r.extend(l, e)
	case history.Release:
		r.release(l, e)
	case history.Lost:
		r.noticed(l, e)
	case history.Apply:
		r.accessed(l, e)
	case history.Woken:
		if slices.ContainsFunc(l.keys, func(k key) bool { return k.stands }) {
			r.met.add(wokenInVain)
		} else {
			r.met.add(wokenToFree)
		}
	case history.KeySet:
		r.set(l, e)
	case history.KeyProlonged:
		r.prolonged(l, e)
	case history.KeyGone:
		r.gone(l, e)
	case history.KeyCopied:
		if k := r.key(l, e); !k.stands {
			r.met.add(copiedTooLate)
		}
	}
}

// happensIf adds feature e if the condition is true.
func (r *Reader) happensIf(happens bool, e Feature) {
	if happens {
		r.met.add(e)
	}
}

// try returns the index of the attempt with the given name. If the name is empty, the process's name is used. If the
// attempt is new, try adds it, and marks the process's earlier attempts as abandoned, unless they were granted.
func (r *Reader) try(l *lock, name history.Attempt, by history.Process) int {
	if name == "" {
		name = history.Attempt(by)
	}
	for i := len(l.tries) - 1; i >= 0; i-- {
		if l.tries[i].name == name {
			return i
		}
	}
	process, _, _ := strings.Cut(string(name), "/")
	r.giveUp(l, history.Process(process))
	l.tries = append(l.tries, try{name: name, process: history.Process(process)})
	return len(l.tries) - 1
}

// giveUp marks a process's attempts as abandoned, except those that were granted.
func (r *Reader) giveUp(l *lock, p history.Process) {
	for i := range l.tries {
		if t := &l.tries[i]; t.phase == asked && t.process == p {
			t.phase = givenUp
			r.happensIf(t.set > 0, tryLost)
		}
	}
}

// key returns the key that a record refers to. For a replicated service such as etcd, all members' copies count as one
// key.
func (r *Reader) key(l *lock, e *history.Event) *key {
	server := e.Process
	if r.header.OneService() {
		for _, group := range r.header.Groups {
			if slices.Contains(group, server) {
				server = group[0]
			}
		}
	}
	for i := range l.keys {
		if k := &l.keys[i]; k.server == server && k.member == e.Member {
			return k
		}
	}
	l.keys = append(l.keys, key{server: server, member: e.Member})
	return &l.keys[len(l.keys)-1]
}

// otherKey reports whether there is a key that belongs to another attempt. If k is not nil, it looks only for keys
// other than k, on other servers. It ignores keys with members, which several attempts can hold at once.
func (l *lock) otherKey(of int, k *key) bool {
	for i := range l.keys {
		if o := &l.keys[i]; o != k && o.stands && o.of != of && o.member == "" {
			return true
		}
	}
	return false
}

// validity returns the latest time at which any attempt's validity ends. It returns 0 if no attempt has a validity.
func (l *lock) validity() (latest history.Time) {
	for i := range l.tries {
		if t := &l.tries[i]; t.until != history.Never {
			latest = max(latest, t.until)
		}
	}
	return latest
}

// leave ends an attempt's section.
func (l *lock) leave(t *try, at history.Time, to phase) {
	if t.phase == holding {
		l.inside, l.left = l.inside-1, at
	}
	t.phase = to
}

func (r *Reader) acquire(l *lock, e *history.Event) {
	if e.Type == history.Invoke {
		l.askers = append(l.askers, e.Process)
		return
	}
	if i := slices.Index(l.askers, e.Process); i >= 0 {
		l.askers = slices.Delete(l.askers, i, i+1)
	}
	switch e.Type {
	case history.OK:
		r.granted(l, e)
		return
	case history.Fail:
		r.met.add(acquireFailed)
	case history.Info:
		r.met.add(acquireUnanswered)
	}
	r.giveUp(l, e.Process)
}

func (r *Reader) granted(l *lock, e *history.Event) {
	n := r.try(l, e.Attempt, e.Process)
	t := &l.tries[n]
	r.happensIf(l.otherKey(n, nil), grantedBesideKey)
	r.happensIf(l.inside > 0, grantedDuringSection)
	if l.inside == 0 && l.left > 0 {
		r.follows(e.Time-l.left, grantedSecondAfterSection)
	}
	r.happensIf(t.stand < t.set, grantedWithoutKey)
	if g := e.Grant; g != nil {
		r.happensIf(slices.ContainsFunc(l.tries, func(o try) bool {
			return o.phase == holding && o.until > g.Granted
		}), grantedDuringValidity)
		if valid := l.validity(); valid > 0 {
			r.follows(g.Granted-valid, grantedSecondAfterValidity)
		}
		r.happensIf(g.Until <= e.Time, grantedTooLate)
		r.happensIf(g.Granted-g.Since > r.header.TTL/4, grantedSlowly)
		t.until = g.Until
	}
	if e.Token != 0 {
		r.happensIf(e.Token == l.token, tokenRepeated)
		r.happensIf(e.Token < l.token, tokenLower)
		l.token = max(l.token, e.Token)
	}
	if t.phase != holding {
		t.phase = holding
		l.inside++
	}
}

func (r *Reader) extend(l *lock, e *history.Event) {
	switch e.Type {
	case history.Fail:
		r.met.add(extendFailed)
	case history.Info:
		r.met.add(extendUnanswered)
	case history.OK:
		t := &l.tries[r.try(l, e.Attempt, e.Process)]
		r.met.add(extended)
		r.happensIf(t.stand < t.set, extendedWithoutKey)
		r.happensIf(t.until > 0 && t.until < e.Time, extendedTooLate)
		r.happensIf(l.inside > 1, extendedDuringSection)
		if e.Grant != nil {
			t.until = e.Grant.Until
		}
	}
}

func (r *Reader) release(l *lock, e *history.Event) {
	t := &l.tries[r.try(l, e.Attempt, e.Process)]
	switch e.Type {
	case history.Invoke:
		if t.phase == holding {
			l.leave(t, e.Time, releasing)
			r.happensIf(t.until > 0 && t.until < e.Time, releasedAfterValidity)
			r.happensIf(t.stand < t.set, releasedWithoutKey)
			r.happensIf(l.inside > 0, releasedDuringSection)
		}
		return
	case history.Fail:
		r.met.add(releaseFailed)
	case history.Info:
		r.met.add(releaseUnanswered)
	}
	if t.phase == holding {
		l.leave(t, e.Time, returned)
	}
	t.phase = returned
}

func (r *Reader) noticed(l *lock, e *history.Event) {
	t := &l.tries[r.try(l, e.Attempt, e.Process)]
	if t.phase != holding {
		return
	}
	if t.stand == t.set {
		r.met.add(lossNoticedWrongly)
	} else {
		r.met.add(lossNoticed)
	}
	l.leave(t, e.Time, returned)
}

func (r *Reader) accessed(l *lock, e *history.Event) {
	if e.Type == history.Fail {
		r.met.add(accessRefused)
		return
	}
	others := l.inside
	if l.tries[r.try(l, e.Of, e.Process)].phase == holding {
		others--
	} else {
		r.met.add(accessAfterSection)
	}
	r.happensIf(others > 0, accessDuringSection)
}

func (r *Reader) crashed(l *lock, p history.Process) {
	l.askers = slices.DeleteFunc(l.askers, func(q history.Process) bool { return q == p })
	for i := range l.tries {
		t := &l.tries[i]
		if t.process != p {
			continue
		}
		switch {
		case t.phase == asked && t.set > 0:
			r.met.add(crashedAsking)
		case t.phase == holding:
			r.met.add(crashedInside)
		case t.phase == releasing:
			r.met.add(crashedReleasing)
		}
		l.leave(t, 0, crashed)
	}
}

func (r *Reader) takenOver(l *lock) {
	r.happensIf(l.inside > 0, takenOverHeld)
	r.happensIf(len(l.askers) > 0, takenOverAsked)
}

func (r *Reader) promoted(e *history.Event) {
	for i := range r.locks {
		l := &r.locks[i]
		r.takenOver(l)
		if f := e.Fault; f != nil && len(f.On) > 0 && len(f.To) > 0 {
			for j := range l.keys {
				if l.keys[j].server == f.On[0] {
					l.keys[j].server = f.To[0]
				}
			}
		}
	}
}

func (r *Reader) set(l *lock, e *history.Event) {
	by := e.By
	if by == "" {
		by = e.Of
	}
	n := r.try(l, by, e.Process)
	k, t := r.key(l, e), &l.tries[n]
	switch {
	case k.stands && k.of == n:
		r.met.add(setAgain)
		t.set, t.stand = t.set-1, t.stand-1
	case k.stands:
		r.met.add(keyOverwritten)
		l.tries[k.of].stand--
	}
	switch t.phase {
	case givenUp, crashed:
		r.met.add(setTooLate)
	case releasing, returned:
		r.met.add(setAfterRelease)
	}
	r.happensIf(e.Member == "" && l.otherKey(n, k), setBesideAnother)
	r.happensIf(len(l.askers) > 0 && l.free > 0 && e.Time-l.free > r.header.TTL/4, freeThoughAsked)
	k.of, k.stands, k.until, l.free = n, true, e.Until, 0
	t.set, t.stand = t.set+1, t.stand+1
}

func (r *Reader) prolonged(l *lock, e *history.Event) {
	k := r.key(l, e)
	if !k.stands || l.tries[k.of].name != e.Of {
		return
	}
	switch t := &l.tries[k.of]; {
	case e.By != "" && e.By != e.Of:
		r.met.add(keyProlongedByAnother)
	case t.phase == releasing || t.phase == returned:
		r.met.add(keyProlongedAfterRelease)
	case t.phase == givenUp:
		r.met.add(keyOfLostTryProlonged)
	}
	r.happensIf(e.Until < k.until, keyShortened)
	k.until = e.Until
}

func (r *Reader) gone(l *lock, e *history.Event) {
	k := r.key(l, e)
	if !k.stands || l.tries[k.of].name != e.Of {
		return
	}
	t := &l.tries[k.of]
	own := e.Why == history.Deleted && (e.By == "" || e.By == e.Of)
	if own && t.phase == asked {
		t.phase = givenUp
		r.met.add(tryLost)
	}
	k.stands, t.stand = false, t.stand-1
	if e.Why == history.Expired && t.until > 0 && t.until != history.Never {
		r.happensIf(e.Time < t.until, expiredWithinValidity)
		r.follows(e.Time-t.until, expiredSecondAfterValidity)
	}
	if t.phase == holding {
		r.heldGone(l, t, e, own)
	} else {
		r.leftGone(l, t, e, own)
	}
	if !slices.ContainsFunc(l.keys, func(k key) bool { return k.stands }) {
		l.free = e.Time
	}
}

// heldGone adds the feature for a key that disappeared while its holder was in the critical section.
func (r *Reader) heldGone(l *lock, t *try, e *history.Event, own bool) {
	switch {
	case own:
		r.met.add(heldKeyRemovedByItself)
	case e.Why == history.Deleted:
		r.met.add(heldKeyRemoved)
	case e.Why == history.Expired, e.Why == history.NotRecorded:
		r.met.add(heldKeyExpired)
	case e.Why == history.LostInFailover:
		r.met.add(heldKeyFailedOver)
	default:
		r.met.add(heldKeyLost)
	}
	t.gone++
	r.happensIf(t.gone == 2, secondKeyGone)
	r.happensIf(t.gone == 3, thirdKeyGone)
}

// leftGone adds the feature for a key that disappeared while its holder was outside the critical section.
func (r *Reader) leftGone(l *lock, t *try, e *history.Event, own bool) {
	switch {
	case own && t.phase == givenUp:
		r.met.add(keyTakenBack)
	case own:
		r.happensIf(t.phase == returned, removedAfterReturn)
		r.happensIf(l.inside > 0, removedDuringSection)
	case e.Why == history.Deleted && strings.HasPrefix(string(e.By), string(t.process)+"/"):
		r.met.add(removedByOlder)
	case e.Why == history.Deleted:
		r.met.add(removedByAnother)
	case t.phase == asked:
		r.met.add(keyGoneBeforeGrant)
	case t.phase == givenUp:
		r.met.add(keyLeftBehind)
	case e.Why == history.Expired && t.phase != crashed:
		r.met.add(releasedKeyExpired)
	}
}
