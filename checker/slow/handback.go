package slow

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// copied identifies a key and all its copies: unit is the first of the servers that share the copies, and member is the
// key's member (see history.Event.Member).
type copied struct {
	unit   history.Process
	member string
}

// released lists the sections whose release was called, in the order of those calls.
func (r *reading) released() []*section {
	all := slices.DeleteFunc(slices.Clone(r.sections), func(s *section) bool { return s.release == r.none })
	slices.SortStableFunc(all, func(a, b *section) int { return cmp.Compare(a.release, b.release) })
	return all
}

// withoutEffect reports whether the history shows that a release had no effect, and that this cannot be due to a fault.
func (r *reading) withoutEffect(s *section) bool {
	seen, over, effect := r.handedBack(s)
	if !seen || effect {
		return false
	}
	return !slices.ContainsFunc(r.faults, func(f fault) bool {
		return r.during(&f, s.call, over) && !f.kind.IsClock() && r.inTheWayOf(s, &f)
	})
}

// inTheWayOf reports whether a fault may have kept a section's release from taking effect. It may if it affects the
// client, a server or a link between them. If the servers act together, it may also if it affects a link between
// servers. If the history does not say what a fault affects, it may always.
func (r *reading) inTheWayOf(s *section, f *fault) bool {
	other := s.done == r.none || r.Events[s.done].Type != history.OK // the release may have been made by another client
	parties := []string{}
	for _, side := range [][]history.Process{f.On, f.To} {
		who := ""
		isClient := func(p history.Process) bool {
			return p == s.process || other && p != history.Resource && !r.isServer(p)
		}
		if slices.ContainsFunc(side, isClient) {
			who += "client "
		}
		if slices.ContainsFunc(side, r.isServer) {
			who += "server"
		}
		parties = append(parties, who)
	}
	first, second := parties[0], parties[1]
	joins := func(a, b string) bool {
		return strings.Contains(first, a) && strings.Contains(second, b) ||
			strings.Contains(first, b) && strings.Contains(second, a)
	}
	switch {
	case len(f.On)+len(f.To) == 0:
		return true
	case f.kind.IsLink() && len(f.To) > 0:
		together := r.oneService() || slices.Contains(r.Header.Measures, history.MinReplicas)
		return joins("client", "server") || together && joins("server", "server")
	}
	return first != "" || second != ""
}

func (r *reading) isServer(p history.Process) bool {
	return slices.Contains(r.Header.Servers, p) || slices.Contains(slices.Concat(r.Header.Groups...), p)
}

// handedBack finds out whether a section's release had an effect. If the history does not show this, seen is false.
// Otherwise, effect is the answer, and over is the position at which it is certain.
func (r *reading) handedBack(s *section) (seen bool, over int, effect bool) {
	h := &r.Header
	due := r.time(s.release) + h.Bound
	if s.release == r.none || h.Quorum <= 0 || len(h.Servers) == 0 || h.Bound <= 0 ||
		h.Service.Kind().ClientsExpire || r.time(s.release) >= r.leaseEnd(s) || r.insideAgain(s) ||
		r.lendsKeys(s) {
		return false, 0, false
	}
	over = r.firstAfter(s.release, func(e *history.Event) bool { return e.Time > due }) - 1
	own := r.ownKeys(s)
	if !r.takenBy(own) {
		return false, 0, false
	}
	for _, k := range own {
		if k.until-r.time(s.release) <= h.TTL/10 {
			return false, 0, false
		}
	}
	expires := false
	for i := s.release; i <= over && !expires; i++ {
		k, at := r.keyAt(s.lock, i)
		if k == nil || !slices.ContainsFunc(own, func(o *standingKey) bool { return o.copied == at }) {
			continue
		}
		switch e := &r.Events[i]; {
		case e.F != history.KeySet && e.Of != "" && e.Of != k.of:
		case e.F == history.KeyGone && e.Why == history.Expired, e.F == history.KeySet && e.Time >= k.until:
			expires, over = true, i
		case e.F == history.KeyGone && e.Why != history.Deleted && e.Why != history.Flushed:
			return false, 0, false
		case e.F != history.KeyGone && e.Until >= k.until && (e.F == history.KeyProlonged || r.setsAgain(s, e, k)):
		default:
			return true, i, true
		}
	}
	crash := r.firstAfter(s.release-1,
		func(e *history.Event) bool { return e.F == history.Crashed && e.Process == s.process })
	switch {
	case expires && s.done >= over, !expires && r.end <= due,
		crash < r.none && r.mayBeOver(s.release, crash, crash) <= over:
		return false, 0, false
	}
	for _, o := range r.sections {
		if o.lock == s.lock && s.release < o.ok && o.ok <= over && !(o.shared && s.shared) &&
			(o.process != s.process || o.call < s.release) {
			return true, o.ok, true
		}
	}
	return true, over, false
}

// insideAgain reports whether the client was in another section of the lock when it released the given section.
func (r *reading) insideAgain(s *section) bool {
	return slices.ContainsFunc(r.sections, func(o *section) bool {
		return o != s && o.process == s.process && o.lock == s.lock && o.ok < s.release && o.end > s.release
	})
}

// lendsKeys reports whether another client shared the lock when the section was released, but had no key of its own.
func (r *reading) lendsKeys(s *section) bool {
	return s.shared && slices.ContainsFunc(r.sections, func(o *section) bool {
		shares := o.shared && o.process != s.process && o.lock == s.lock && o.ok < s.release && s.release < o.end
		return shares && len(r.keysOf(o.process, s.lock, s.release)) == 0
	})
}

type standingKey struct {
	copied
	of    history.Attempt
	value string
	until history.Time
	set   int // position of the record that set it
}

// keyAt returns the key that the record at position i changes, as it was before the record, and the place where the key
// is stored. k is nil if the key did not exist, or if the event does not record a change to one of the lock's keys.
func (r *reading) keyAt(lock history.Lock, i int) (k *standingKey, at copied) {
	e := &r.Events[i]
	if isChange := e.F == history.KeySet || e.F == history.KeyProlonged || e.F == history.KeyGone; !isChange ||
		e.Lock != lock || e.Process == history.Nemesis {
		return nil, at
	}
	at = copied{r.group(e.Process)[0], e.Member}
	return r.keyBefore(lock, at, i), at
}

// keyBefore returns the key that the given server stored for the given member just before position i.
func (r *reading) keyBefore(lock history.Lock, at copied, i int) (k *standingKey) {
	for j := range i {
		e := &r.Events[j]
		if e.Process == history.Nemesis || e.Lock != lock || r.group(e.Process)[0] != at.unit || e.Member != at.member {
			continue
		}
		switch {
		case e.F == history.KeySet:
			k = &standingKey{at, e.Of, e.Value, e.Until, j}
		case k == nil || e.Of != "" && e.Of != k.of:
		case e.F == history.KeyProlonged:
			k.until = e.Until
		case e.F == history.KeyGone:
			k = nil
		}
	}
	return k
}

// ownKeys returns the keys that the section's client owns when it calls the section's release. It omits keys that mean
// that the lock is free (see putBack).
func (r *reading) ownKeys(s *section) []*standingKey {
	return slices.DeleteFunc(r.keysOf(s.process, s.lock, s.release),
		func(k *standingKey) bool { return r.putBack(k, s.lock) })
}

// keysOf returns the lock's keys that a client owns at the given position.
func (r *reading) keysOf(client history.Process, lock history.Lock, by int) (own []*standingKey) {
	var seen []copied
	for i := range by {
		e := &r.Events[i]
		if e.F != history.KeySet || e.Lock != lock {
			continue
		}
		at := copied{r.group(e.Process)[0], e.Member}
		if slices.Contains(seen, at) {
			continue
		}
		seen = append(seen, at)
		if k := r.keyBefore(lock, at, by); k != nil && r.maker(lock, k.of) == client {
			own = append(own, k)
		}
	}
	return own
}

// putBack reports whether the key k means that the lock is free. There are two cases. The attempt that set k had
// already called its release. Or that attempt had acquired the lock by deleting a key like k, and set k after that.
func (r *reading) putBack(k *standingKey, lock history.Lock) bool {
	var by *section // the latest section of that attempt
	for _, s := range r.sections {
		if s.attempt == r.setter(k.set) && s.lock == lock {
			by = s
		}
	}
	if by == nil || by.release < k.set {
		return by != nil
	}
	for n := range by.ok {
		o := &r.Events[n]
		if by.ok < k.set && r.takesOut(n) && o.By == by.attempt && o.Lock == lock &&
			slices.Contains(r.group(r.Events[k.set].Process), o.Process) {
			return true
		}
	}
	return false
}

// takenBy reports whether the given keys are enough to keep the lock taken, because too few servers are left for a
// quorum.
func (r *reading) takenBy(own []*standingKey) bool {
	if len(own) == 0 || r.oneService() {
		return len(own) > 0
	}
	var free []history.Process
	for _, s := range r.Header.Servers {
		unit := r.group(s)[0]
		has := slices.ContainsFunc(own, func(k *standingKey) bool { return k.unit == unit })
		isUnit := len(r.Header.Groups) == 0 || unit == s
		if !has && isUnit {
			free = append(free, unit)
		}
	}
	return !r.isQuorum(free)
}

// setsAgain reports whether the event shows that the client set its own key to the value that the key already had.
func (r *reading) setsAgain(s *section, e *history.Event, k *standingKey) bool {
	return r.maker(s.lock, cmp.Or(e.By, e.Of)) == s.process && r.maker(s.lock, e.Of) == s.process &&
		e.Value != "" && e.Value == k.value
}
