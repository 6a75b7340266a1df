package trace

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Over reports whether the key owner's hold had ended before the change c. If so, another client that checks the key
// may change it.
//   - If the owner knew when its lease ends, the hold had ended if it had called release, or if that time had passed.
//   - If the owner did not know when its lease ends, the hold had ended if it had called release, had learned of the
//     loss, had crashed, or had not renewed its key for a TTL.
//   - If the owner was never granted the lock, the hold had ended if it had stopped asking, or had not renewed its key
//     for a TTL.
func (t *Trace) Over(c Change) bool {
	e := &t.History.Events[c.At]
	n, granted := t.Owner[Title{e.Lock, c.Owner}]
	if !granted {
		return t.gaveUp(c) || t.untouched(c)
	}
	g, until := &t.Grants[n], t.toldUntil(n, c.At)
	if until == history.Never && t.untouched(c) {
		return true
	}
	return g.OK < c.At && (g.Release < c.At || until <= e.Time || until == history.Never && g.End < c.At)
}

// LooksAtOwner reports whether the request that made a change first checked the key well enough. If it overwrites the
// key, it must have checked the key's value. If it removes or extends the key, for example a list element, it is enough
// that it checked that the key exists.
func (t *Trace) LooksAtOwner(c Change) bool {
	e := &t.History.Events[c.At]
	return e.Checked == history.CheckedValue || e.Checked == history.CheckedPresence && e.F != history.KeySet
}

// rounding is the precision of a server's time of day.
const rounding = history.Time(time.Millisecond)

// Lapsed reports whether the owner's lease had ended because the owner had not set or extended its key for a TTL. The
// TTL may have passed in true time, or only by the wall clock of the key's server (see LapsedEarly). It makes no
// difference whether the owner received the replies. This applies to locks that store the lease's end in the key and
// compare it with the server's time of day. It does not apply to replicated services (etcd, ZooKeeper), where the
// members' log, not a clock, decides that a lease has ended.
func (t *Trace) Lapsed(c Change) bool {
	return !t.History.Header.OneService() && t.untouched(c) || t.LapsedEarly(c)
}

// LapsedEarly reports whether the owner's lease had ended only by the wall clock of the key's server, because a fault
// had set that clock forward or made it run fast. By that clock, the owner had not set or extended its key for a TTL.
// In true time, less than a TTL had passed.
func (t *Trace) LapsedEarly(c Change) bool {
	at, ttl := t.LastKept(c), t.ttlOf(c)
	if at < 0 || ttl <= 0 || t.History.Header.OneService() {
		return false
	}
	e := &t.History.Events[c.At]
	passed, gain := e.Time-t.Time(at), t.gained(e.Process, at, c.At)
	return gain > 0 && passed < ttl && passed+gain >= ttl-rounding
}

// gained returns how much further a server's wall clock advanced than true time between two positions. It is negative
// if the clock fell behind.
func (t *Trace) gained(server history.Process, from, to int) (gain history.Time) {
	for i := range t.Faults {
		f := &t.Faults[i]
		if !f.Strikes(server) || f.Start > to {
			continue
		}
		switch {
		case f.Does == history.SetsClock && f.Start > from:
			gain += f.Shift
		case f.Does == history.PacesClock && f.Stop > from:
			begun, over := t.Time(max(f.Start, from)), t.Time(min(f.Stop, to))
			gain += (over - begun) * history.Time(f.PPM) / 1e6
		}
	}
	return gain
}

// ttlOf returns the longest TTL used by the owner's client.
func (t *Trace) ttlOf(c Change) history.Time {
	return t.History.Header.TTLOf(t.ProcessOf(t.History.Events[c.At].Lock, c.Owner))
}

// untouched reports whether the owner's lease had run out because the owner had not set or extended its key for a TTL.
func (t *Trace) untouched(c Change) bool {
	at, ttl := t.LastKept(c), t.ttlOf(c)
	return at >= 0 && ttl > 0 && t.History.Events[c.At].Time-t.Time(at) >= ttl
}

// GivenBy returns the position at which another client handed the lock over to the holder of window s. That client had
// called its release, and then set the key that the holder uses, for example by returning a token to a list. This is
// the last key that was set before the window was recorded. It must have been set after the holder had called acquire.
//
// GivenBy returns -1 if there is no such key, or if the holder still had a key that it had set itself. It also returns
// -1 if an extension recorded the window, or if the history records which servers the holder counted.
func (t *Trace) GivenBy(s *Span) int {
	g := &t.Grants[s.Grant]
	if s.At != g.OK || g.Attempt == "" || len(t.History.Events[s.At].Grant.Counted) > 0 {
		return -1
	}
	last := -1
	for k, i := range t.Keys {
		e := &t.History.Events[i]
		switch {
		case int(i) >= s.At || e.Lock != t.Locks[g.Lock].Name:
		case e.F == history.KeySet && e.Of == g.Attempt && t.stays(k, s.At):
			return -1
		case e.F == history.KeySet:
			last = int(i)
		case e.F == history.KeyGone && last >= 0 && e.Process == t.History.Events[last].Process:
			last = -1
		}
	}
	if last < t.Asks[g.Ask].Call {
		return -1
	}
	by := Setter(&t.History.Events[last])
	n, granted := t.Owner[Title{t.Locks[g.Lock].Name, by}]
	if !granted || t.Grants[n].Process == g.Process || t.Grants[n].Release >= last {
		return -1
	}
	return last
}

// stays reports whether the key set by event t.Keys[k] is neither removed nor overwritten before the given position.
func (t *Trace) stays(k, before int) bool {
	e := &t.History.Events[t.Keys[k]]
	return !slices.ContainsFunc(t.Keys[k+1:], func(i int32) bool {
		o := &t.History.Events[i]
		return int(i) < before && o.F != history.KeyProlonged && o.Lock == e.Lock && o.Process == e.Process &&
			o.Member == e.Member
	})
}

// EarlierKey is for a window s whose own attempt has not set a key, because its client relies on a key from an earlier
// attempt. It returns that attempt: the client's last one, other than except, that set a key before the window was
// recorded. The key must still have existed then. A key that an earlier hold's release set does not count. EarlierKey
// returns "" if there is no such attempt, or if the window's own attempt has set a key.
//
// In a service with one replicated log, it is enough that the key existed when the acquire was called. There, a session
// uses its earlier attempt's key, and may not notice that the key has expired.
func (t *Trace) EarlierKey(s *Span, except history.Attempt) (of history.Attempt) {
	g := &t.Grants[s.Grant]
	for _, i := range t.Keys {
		e := &t.History.Events[i]
		switch {
		case int(i) >= s.At || e.Lock != t.Locks[g.Lock].Name:
		case g.Attempt == "" || e.F == history.KeySet && e.Of == g.Attempt:
			return ""
		case e.F == history.KeySet && e.Of != except && e.Of != "" && t.ProcessOf(e.Lock, e.Of) == g.Process:
			// a key set by an earlier hold's release does not count
			if n, granted := t.Owner[Title{e.Lock, e.Of}]; !granted || t.Grants[n].Release > int(i) {
				of = e.Of
			}
		case e.F == history.KeyGone && e.Of == of && int(i) < t.NeededUntil(s):
			of = ""
		}
	}
	return of
}

// JoinedKey is for a window s whose client has joined another client's hold, for example by increasing a reader count.
// It returns the attempt that owns the shared key: the owner, other than except, of the last key that the window's own
// attempt extended before it was granted the lock. JoinedKey returns "" if there is no such attempt, or if the window's
// own attempt has set a key.
func (t *Trace) JoinedKey(s *Span, except history.Attempt) (of history.Attempt) {
	g := &t.Grants[s.Grant]
	for _, i := range t.Keys {
		e := &t.History.Events[i]
		switch {
		case int(i) >= s.At || g.Attempt == "" || e.Lock != t.Locks[g.Lock].Name:
		case e.F == history.KeySet && e.Of == g.Attempt:
			return ""
		case e.F == history.KeyProlonged && e.By == g.Attempt && e.Of != except && int(i) < g.OK:
			of = e.Of
		}
	}
	return of
}

// NeededUntil returns the position until which an earlier attempt's key must have existed for window s to depend on it.
// In a service with one replicated log, this is the position of the call to acquire. Otherwise, it is the position of
// the event that states the window.
func (t *Trace) NeededUntil(s *Span) int {
	if t.History.Header.Service.Kind().OneLog {
		return t.Asks[t.Grants[s.Grant].Ask].Call
	}
	return s.At
}

// toldUntil returns the end of grant n's lease that its client had been told before the given position. It returns
// Never if the client had not been told any, for example because it was still waiting for the lock.
func (t *Trace) toldUntil(n int32, at int) history.Time {
	g := &t.Grants[n]
	if at <= g.OK {
		return history.Never
	}
	last := g.Lease
	for _, x := range t.extensions {
		if x.grant == n && x.at < at {
			last = t.History.Events[x.at].Grant
		}
	}
	if last == nil || last.Open {
		return history.Never
	}
	return last.Until
}

// gaveUp reports whether an owner that was never granted the lock had stopped asking for it. The history does not say
// which attempts belong to an acquire, so gaveUp relies on two rules. First, a key that was set before the acquire was
// called belongs to an earlier attempt. Second, a process that is acting for a later attempt has given up the earlier
// one.
func (t *Trace) gaveUp(c Change) bool {
	lock := t.History.Events[c.At].Lock
	p := t.ProcessOf(lock, c.Owner)
	if p == t.ProcessOf(lock, c.By) {
		set := t.firstSet(c.Owner, lock)
		return set != Open && t.firstSet(c.By, lock) >= set
	}
	asked := false
	for i := range t.Asks {
		a := &t.Asks[i]
		switch {
		case a.Process != p || t.Locks[a.Lock].Name != lock || a.Call > c.At:
		case a.Ret > c.At && t.firstSet(c.Owner, lock) >= a.Call:
			return false
		default:
			asked = true
		}
	}
	return asked
}

// sets reports whether the event at position i sets a lock's key for an attempt.
func (t *Trace) sets(i int32, of history.Attempt, lock history.Lock) bool {
	e := &t.History.Events[i]
	return e.F == history.KeySet && e.Of == of && e.Lock == lock
}
