package slow

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

func init() {
	register("ownership", (*reading).ownership)
	register("token-order", (*reading).tokenOrder)
}

// ownership looks for attempts that delete, overwrite or extend a key that they do not own.
func (r *reading) ownership() Finding {
	outcome, requests, silent := Unchecked, 0, false
	var broken, harmless []Breach // violations after the owner's hold was over come last
	for i := range r.Events {
		e := &r.Events[i]
		silent = silent || e.Why == history.NotRecorded && slices.Contains(r.locks, e.Lock)
		owner, cause := e.Of, "removed by non-owner"
		switch {
		case e.F == history.KeySet:
			owner, cause = r.liveOwner(i), "removed by non-owner (overwritten)"
		case e.F == history.KeyProlonged:
			cause = "prolonged by non-owner"
		case e.F == history.KeyGone && e.Why == history.Flushed:
			cause = "removed by non-owner (flushed)"
		case e.F == history.KeyGone && e.Why == history.Deleted:
		default:
			continue
		}
		judged := owner != "" && (e.By != "" || e.Why == history.Flushed || e.F == history.KeySet) &&
			slices.Contains(r.locks, e.Lock)
		if !judged {
			continue
		}
		outcome, requests = Holds, requests+1
		by := e.By
		if e.F == history.KeySet && by == "" {
			by = e.Of
		}
		switch {
		case by == owner, r.mayChange(i, owner, by):
		case r.holdOver(i, owner, by):
			harmless = append(harmless, Breach{[]int{i}, cause, e.Time})
		default:
			broken = append(broken, Breach{[]int{i}, cause, e.Time})
		}
	}
	broken = append(broken, harmless...)
	if silent { // the history does not record who deletes and extends keys
		outcome = Unchecked
	}
	return Finding{Outcome: outcome, Judged: requests, Breaches: broken}
}

// mayChange reports whether the request at position i was allowed to change the key of another attempt, the owner. The
// request must have checked the key. In addition, the owner's hold must have ended or lapsed, unless the key is one
// whose presence means that the lock is free. There is one exception: a client that also holds the key may change its
// expiry without checking it, as long as that does not shorten the owner's hold.
func (r *reading) mayChange(i int, owner, by history.Attempt) bool {
	if r.spares(i, owner, by) {
		return true
	}
	switch e := &r.Events[i]; e.Checked {
	case history.CheckNotRecorded, history.CheckedNothing, history.CheckedWatched:
		return false
	case history.CheckedPresence:
		if e.F == history.KeySet { // the request overwrites a key without checking who owns it
			return false
		}
	case history.CheckedLapse:
		return true
	}
	lapsed := !r.oneService() && r.untouched(i, owner) || r.lapsedEarly(i, owner)
	return r.holdOver(i, owner, by) || lapsed || r.offered(i, owner, by)
}

// spares reports whether the request at position i was harmless to the owner: it only changed the expiry of a key that
// both attempts, by and owner, hold, and did not move the expiry to an earlier time.
func (r *reading) spares(i int, owner, by history.Attempt) bool {
	e, kept, both := r.Events[i], r.lastKept(i, owner), false
	for _, o := range r.Events {
		same := o.Time == e.Time && o.Process == e.Process && o.Lock == e.Lock && o.F == history.KeyProlonged
		both = both || same && o.Of == by && o.By == by
	}
	return e.F == history.KeyProlonged && both && kept >= 0 && r.Events[kept].Until <= e.Until
}

// offered reports whether the request at position i takes a key whose presence means that the lock is free, such as a
// token in a list. The client must have been trying to acquire the lock when it sent the request. In addition, the
// owner (the attempt that set the key) must have set it to offer the lock, not to hold it. There are two such cases.
// First, the owner was never granted the lock. Second, the owner got the lock by taking such a key itself, and set this
// key either before that or while it held the lock.
func (r *reading) offered(i int, owner, by history.Attempt) bool {
	e := &r.Events[i]
	latest := func(of history.Attempt) (s *section) {
		for _, o := range r.sections {
			if o.attempt == of && o.lock == e.Lock {
				s = o
			}
		}
		return s
	}
	asking := slices.ContainsFunc(r.asks, func(a *ask) bool {
		s := latest(by)
		of := a.lock == e.Lock && a.process == r.maker(e.Lock, by) && (s == nil || s.ask == a)
		if e.Sent == 0 {
			return of && a.call < i && i < a.ret
		}
		return of && r.time(a.call) <= e.Sent && (a.ret == r.none || e.Sent < r.time(a.ret))
	})
	if !r.takesOut(i) || !asking {
		return false
	}
	s, set, took := latest(owner), -1, -1
	if s == nil {
		return true
	}
	for n := range i {
		if o := &r.Events[n]; o.F == history.KeySet && o.Of == owner && o.Lock == e.Lock && o.Member == e.Member &&
			r.keeper(o.Process) == r.keeper(e.Process) {
			set = n
		}
	}
	for n := range s.ok {
		if o := &r.Events[n]; r.takesOut(n) && o.By == owner && o.Lock == e.Lock &&
			slices.Contains(r.group(e.Process), o.Process) {
			took = n
		}
	}
	return 0 <= set && 0 <= took && (set < took || s.ok < set && set < s.release)
}

// takesOut reports whether the event at position i is the deletion of a key by a request that checked only whether the
// key exists.
func (r *reading) takesOut(i int) bool {
	e := &r.Events[i]
	return e.F == history.KeyGone && e.Why == history.Deleted && e.Checked == history.CheckedPresence && e.By != ""
}

// lapsedEarly reports whether the lease of the owner's key had ended by position i according to the server's wall
// clock, although it had not ended in true time. The lease begins when the owner last set or extended its key on the
// server, and lasts for a TTL. By the server's clock, a millisecond less is enough, because servers count in
// milliseconds.
func (r *reading) lapsedEarly(i int, owner history.Attempt) bool {
	kept, ttl := r.lastKept(i, owner), r.Header.TTLOf(r.maker(r.Events[i].Lock, owner))
	if kept < 0 || r.oneService() || ttl <= 0 || r.Events[i].Time-r.Events[kept].Time >= ttl {
		return false
	}
	clock := r.Events[i].Time - r.Events[kept].Time
	for _, f := range r.faults {
		if !slices.Contains(f.On, r.Events[i].Process) {
			continue
		}
		if f.does() == history.SetsClock && kept < f.from && f.from < i {
			clock += f.Shift
		}
		if f.does() == history.PacesClock {
			paced := history.Time(0)
			for n := max(kept, f.from); n < min(i, f.to); n++ {
				paced += r.Events[n+1].Time - r.Events[n].Time
			}
			clock += paced * history.Time(f.PPM) / 1e6
		}
	}
	return clock > r.Events[i].Time-r.Events[kept].Time && clock+1e6 >= ttl
}

// holdOver reports whether the key owner's hold is over at position i, where another attempt changes the key.
func (r *reading) holdOver(i int, owner, by history.Attempt) bool {
	e := &r.Events[i]
	var s *section // the latest section of that attempt
	for _, o := range r.sections {
		if o.attempt == owner && o.lock == e.Lock {
			s = o
		}
	}
	if s != nil {
		until, stated := history.Time(history.Never), s.lease
		if s.ok > i {
			stated = nil
		}
		for _, x := range s.extensions {
			if x < i {
				stated = r.Events[x].Grant
			}
		}
		if stated != nil && !stated.Open {
			until = stated.Until
		}
		switch {
		case until == history.Never && r.untouched(i, owner):
			return true
		case s.ok > i:
			return false
		}
		return s.release < i || until <= e.Time || until == history.Never && s.end < i
	}
	if r.untouched(i, owner) {
		return true
	}
	firstSet := func(of history.Attempt) int {
		return slices.IndexFunc(r.Events, func(o history.Event) bool {
			return o.F == history.KeySet && o.Of == of && o.Lock == e.Lock
		})
	}
	if r.maker(e.Lock, owner) == r.maker(e.Lock, by) {
		set, before := firstSet(owner), firstSet(by)
		return set >= 0 && (before < 0 || before > set)
	}
	gaveUp := false
	for _, a := range r.asks {
		if a.process != r.maker(e.Lock, owner) || a.lock != e.Lock || a.call > i {
			continue
		}
		if set := firstSet(owner); a.ret > i && (set < 0 || set >= a.call) {
			return false
		}
		gaveUp = true
	}
	return gaveUp
}

// untouched reports whether, at position i, at least a TTL had passed since the owner last set or extended its own key.
// Only the server that recorded the event at i counts.
func (r *reading) untouched(i int, owner history.Attempt) bool {
	kept, ttl := r.lastKept(i, owner), r.Header.TTLOf(r.maker(r.Events[i].Lock, owner))
	return kept >= 0 && ttl > 0 && r.Events[i].Time-r.Events[kept].Time >= ttl
}

// lastKept returns the last position before i at which the attempt set or extended its own key, or -1 if there is none.
// Only events on the server that recorded the event at i count. If no request of the attempt did this, lastKept returns
// the last position at which the key appeared without a request, for example because the server read it back from its
// disk.
func (r *reading) lastKept(i int, owner history.Attempt) int {
	requested, appeared := -1, -1
	for n, e := range r.Events[:i] {
		if e.Of != owner || e.Lock != r.Events[i].Lock || r.keeper(e.Process) != r.keeper(r.Events[i].Process) ||
			e.Member != r.Events[i].Member {
			continue
		}
		if e.By == owner && (e.F == history.KeySet || e.F == history.KeyProlonged && !r.aside(e)) {
			requested = n
		}
		if e.By == "" && e.F == history.KeySet {
			appeared = n
		}
	}
	if requested >= 0 {
		return requested
	}
	return appeared
}

// aside reports whether event e changed the key's expiry only as a side effect. This is so if, at the same instant, the
// same attempt set another member of the key but not e's member.
func (r *reading) aside(e history.Event) bool {
	set := map[string]bool{}
	for _, o := range r.Events {
		if o.F == history.KeySet && o.Time == e.Time && o.Process == e.Process && o.Lock == e.Lock && o.Of == e.Of &&
			o.By == e.By {
			set[o.Member] = true
		}
	}
	return len(set) > 0 && !set[e.Member]
}

// keeper identifies where a server's keys are stored. It is the same for all members of one service.
func (r *reading) keeper(p history.Process) history.Process {
	if r.oneService() && slices.Contains(r.Header.Servers, p) {
		return "the service"
	}
	return p
}

// maker returns the process that made an attempt to acquire a lock. This is the process that was granted the lock with
// that attempt or, if there was no grant, the process with whose name the attempt's name begins.
func (r *reading) maker(lock history.Lock, a history.Attempt) history.Process {
	for _, s := range slices.Backward(r.sections) {
		if a != "" && s.attempt == a && s.lock == lock {
			return s.process
		}
	}
	process, _, _ := strings.Cut(string(a), "/")
	return history.Process(process)
}

// recordsExpiry reports whether the servers record when keys expire.
func (r *reading) recordsExpiry() bool {
	return slices.ContainsFunc(r.Events, func(e history.Event) bool {
		return e.F == history.KeyGone && (e.Why == history.Expired || e.Why == history.NotRecorded)
	})
}

// liveOwner returns the owner of the key that the event at position i overwrote, or "" if there was no key. The owner
// is the last attempt that set the key on that server, unless the key has disappeared since then. If the history does
// not record expiries, a key past its expiry counts as gone. A replica that replaces its master takes over the master's
// keys, except those that are recorded as lost.
func (r *reading) liveOwner(i int) history.Attempt {
	type key struct {
		of    history.Attempt
		until history.Time
	}
	e, stands := &r.Events[i], map[history.Process]key{}
	for j := range i {
		o := &r.Events[j]
		was, there := stands[r.keeper(o.Process)]
		switch {
		case o.Process == history.Nemesis && o.F.Does() == history.Promotes && o.Type == history.Invoke &&
			o.Fault != nil && len(o.Fault.To) > 0:
			delete(stands, o.Fault.To[0])
			if had, ok := stands[o.Fault.On[0]]; ok {
				stands[o.Fault.To[0]] = had
			}
		case o.Lock != e.Lock || o.Member != e.Member:
		case o.F == history.KeySet:
			stands[r.keeper(o.Process)] = key{of: o.Of, until: o.Until}
		case !there || o.Of != "" && o.Of != was.of:
		case o.F == history.KeyGone:
			delete(stands, r.keeper(o.Process))
		case o.F == history.KeyProlonged:
			was.until = o.Until
			stands[r.keeper(o.Process)] = was
		}
	}
	if k, ok := stands[r.keeper(e.Process)]; ok && (e.Time < k.until || r.recordsExpiry()) {
		return k.of
	}
	return ""
}

// tokenOrder compares the tokens of each pair of grants of the same lock.
func (r *reading) tokenOrder() Finding {
	outcome, tokens := Unchecked, 0
	var broken []Breach
	for j, b := range r.sections {
		if b.token != 0 {
			tokens++
		}
		for _, a := range r.sections[:j] {
			if a.lock != b.lock || a.token == 0 || b.token == 0 {
				continue
			}
			outcome = Holds
			if a.token == b.token {
				broken = append(broken, Breach{[]int{a.ok, b.ok}, "token repeated", r.time(b.ok)})
			}
			if a.token > b.token && r.returnedBefore(a, b) {
				broken = append(broken, Breach{[]int{a.ok, b.ok}, "token went back", r.time(b.ok)})
			}
		}
	}
	return Finding{Outcome: outcome, Judged: tokens, Breaches: broken}
}

// returnedBefore reports whether a's acquire returned before b sent the request that won the lock. If b's lease does
// not record when that request was sent, the time of b's call to acquire counts instead.
func (r *reading) returnedBefore(a, b *section) bool {
	return a.ok < b.call || b.lease != nil && r.time(a.ok) < b.lease.Since
}
