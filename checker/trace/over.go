package trace

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Over reports whether the hold of a key's owner had ended before the change c, so that another client that checks the
// key may change it. The hold had ended if the owner had called its release, or if the lease that it had been told of
// had run out. If the owner had been told no end, the hold had ended if the owner had learned of the loss, had crashed,
// or had left its key alone for a TTL. If the owner was never granted the lock, the hold had ended if the owner had
// stopped asking.
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

// LooksAtOwner reports whether the request that made a change checked whose hold it ends. A request that removes a key,
// such as an element of a list, need only check that the key exists. A request that overwrites a key must check more.
func (t *Trace) LooksAtOwner(c Change) bool {
	e := &t.History.Events[c.At]
	return e.Checked == history.CheckedValue || e.Checked == history.CheckedPresence && e.F != history.KeySet
}

// rounding is the resolution of a server's time of day.
const rounding = history.Time(time.Millisecond)

// Lapsed reports whether the owner's lease was over by the wall clock of the key's server, whatever the owner had been
// told: it had neither set nor extended its key for a TTL. A lock that stores the end of the lease in the key, and
// compares it with the server's time of day, then considers the lease over. Members of one service decide that by their
// log.
func (t *Trace) Lapsed(c Change) bool {
	return !t.History.Header.OneService() && t.untouched(c) || t.LapsedEarly(c)
}

// LapsedEarly reports whether a fault made the owner's lease end early. This is so if the owner had neither set nor
// extended its key for a TTL by the wall clock of the key's server, although less time had passed, because a fault had
// set that clock forward or made it run fast.
func (t *Trace) LapsedEarly(c Change) bool {
	at, ttl := t.LastKept(c), t.ttlOf(c)
	if at < 0 || ttl <= 0 || t.History.Header.OneService() {
		return false
	}
	e := &t.History.Events[c.At]
	passed, gain := e.Time-t.Time(at), t.gained(e.Process, at, c.At)
	return gain > 0 && passed < ttl && passed+gain >= ttl-rounding
}

// gained returns by how much a server's wall clock advanced from one position to another beyond the time that passed,
// or less than 0 if it fell behind.
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

// ttlOf returns the longest TTL that the owner's client uses.
func (t *Trace) ttlOf(c Change) history.Time { return t.History.Header.TTLOf(t.ProcessOf(c.Owner)) }

// untouched reports whether the owner had neither set nor extended its key for a TTL, so that its lease had run out.
func (t *Trace) untouched(c Change) bool {
	at, ttl := t.LastKept(c), t.ttlOf(c)
	return at >= 0 && ttl > 0 && t.History.Events[c.At].Time-t.Time(at) >= ttl
}

// LastKept returns the last position before a change at which the owner set or extended its key on that server, or -1
// if it never did. A key that a server reads back from its disk names no request. It counts only if the history names
// no request of the owner's either.
func (t *Trace) LastKept(c Change) int {
	e, unnamed := &t.History.Events[c.At], -1
	for _, at := range slices.Backward(t.Keys) {
		k := &t.History.Events[at]
		if int(at) >= c.At || k.Of != c.Owner || k.Lock != e.Lock || t.Keeper(k.Process) != t.Keeper(e.Process) {
			continue
		}
		switch {
		case k.By == c.Owner && (k.F == history.KeySet || k.F == history.KeyProlonged):
			return int(at)
		case k.By == "" && k.F == history.KeySet && unnamed < 0:
			unnamed = int(at)
		}
	}
	return unnamed
}

// GivenBy returns the position at which another client, while releasing the lock, set the key that a window's holder
// rests on. This is the last key set while the holder asked, provided that no key was left that the holder had set
// itself. It returns -1 if there is no such key, or if the history states which servers the holder counted.
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

// stays reports whether the key set by the k-th record of keys is neither removed nor overwritten before a position.
func (t *Trace) stays(k, before int) bool {
	e := &t.History.Events[t.Keys[k]]
	return !slices.ContainsFunc(t.Keys[k+1:], func(i int32) bool {
		o := &t.History.Events[i]
		return int(i) < before && o.F != history.KeyProlonged && o.Lock == e.Lock && o.Process == e.Process &&
			o.Member == e.Member
	})
}

// EarlierKey returns the attempt whose key a window rests on if the window's own attempt has set none: another attempt
// of the same client, other than not, that set its key last before the window was stated, and whose key still existed
// then. In a service with one log, it is enough that the key existed when the acquire was called: a session uses the
// key of its earlier attempt, and may not notice that it expires. The result is empty if there is no such attempt.
func (t *Trace) EarlierKey(s *Span, not history.Attempt) (of history.Attempt) {
	g := &t.Grants[s.Grant]
	for _, i := range t.Keys {
		e := &t.History.Events[i]
		switch {
		case int(i) >= s.At || e.Lock != t.Locks[g.Lock].Name:
		case g.Attempt == "" || e.F == history.KeySet && e.Of == g.Attempt:
			return ""
		case e.F == history.KeySet && e.Of != not && e.Of != "" && t.ProcessOf(e.Of) == g.Process:
			if n, granted := t.Owner[Title{e.Lock, e.Of}]; !granted || t.Grants[n].Release > int(i) { // not put back
				of = e.Of
			}
		case e.F == history.KeyGone && e.Of == of && int(i) < t.NeededUntil(s):
			of = ""
		}
	}
	return of
}

// NeededUntil returns the position up to which a key of an earlier attempt must exist for a window to rest on it: the
// call of its acquire in a service with one log, and otherwise the window's own position.
func (t *Trace) NeededUntil(s *Span) int {
	if t.History.Header.Service.Kind().OneLog {
		return t.Asks[t.Grants[s.Grant].Ask].Call
	}
	return s.At
}

// toldUntil returns the end of the lease that the holder of grant n had been told by position at. It is Never if it had
// been told none, for example because it was still asking.
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

// gaveUp reports whether the owner, which was never granted the lock, had stopped asking for it. A history does not say
// which attempts belong to an acquire. So a key that stood before the acquire was called belongs to an earlier attempt,
// and a process that acts for a later attempt has given up the earlier one.
func (t *Trace) gaveUp(c Change) bool {
	p, lock := t.ProcessOf(c.Owner), t.History.Events[c.At].Lock
	if p == t.ProcessOf(c.By) {
		set := slices.IndexFunc(t.Keys, func(i int32) bool { return t.sets(i, c.Owner, lock) })
		return set >= 0 && !t.setBefore(c.By, lock, int(t.Keys[set]))
	}
	asked := false
	for i := range t.Asks {
		a := &t.Asks[i]
		switch {
		case a.Process != p || t.Locks[a.Lock].Name != lock || a.Call > c.At:
		case a.Ret > c.At && !t.setBefore(c.Owner, lock, a.Call):
			return false
		default:
			asked = true
		}
	}
	return asked
}

// setBefore reports whether an attempt had set a key of a lock before position at.
func (t *Trace) setBefore(of history.Attempt, lock history.Lock, at int) bool {
	return slices.ContainsFunc(t.Keys, func(i int32) bool { return int(i) < at && t.sets(i, of, lock) })
}

// sets reports whether the event at position i sets a key of a lock for an attempt.
func (t *Trace) sets(i int32, of history.Attempt, lock history.Lock) bool {
	e := &t.History.Events[i]
	return e.F == history.KeySet && e.Of == of && e.Lock == lock
}
