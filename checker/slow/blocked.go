package slow

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// blockedBy finds out why acquire a had already waited too long by time now, although no client was inside its lock. It
// returns the cause, or "" after a failover, whose effects this package does not examine.
func (r *reading) blockedBy(a *ask, now history.Time) string {
	if slices.ContainsFunc(r.faults, func(f fault) bool { return f.does() == history.Promotes }) {
		return ""
	}
	by := 0 // the first position later than now
	for by < r.none && r.Events[by].Time <= now {
		by++
	}
	keys := r.keysThere(a.lock, by)
	inTheWay := keys
	if r.oneService() && len(keys) > 0 {
		inTheWay = keys[:1]
	}
	for _, set := range inTheWay {
		if r.crashedBy(r.owner(set), set, by) {
			return "stuck behind a crashed holder"
		}
	}
	if s := r.lastSection(a.lock, by); s != nil && s.crashed && s.end < by && !r.everSet(s) {
		return "stuck behind a crashed holder"
	}
	free, first := r.unitsUp(by), ""
	for _, set := range inTheWay {
		if why := r.abandoned(a.lock, keys, set, by, now); why != "" {
			here := r.group(r.Events[set].Process)[0]
			free = slices.DeleteFunc(free, func(u history.Process) bool { return u == here })
			if first == "" {
				first = why
			}
		}
	}
	asked := r.Header.Quorum > 0 && len(r.Header.Servers) > 0 && !r.oneService()
	if first == "" || asked && r.isQuorum(free) {
		return "stuck although nobody holds"
	}
	return first
}

// keysThere lists the keys of a lock that existed just before the given position. It returns the position at which each
// of them was set.
func (r *reading) keysThere(lock history.Lock, by int) (keys []int) {
	for set := range by {
		e := &r.Events[set]
		if e.F != history.KeySet || e.Lock != lock || !r.oneService() && r.downAt(e.Process, by) {
			continue
		}
		ended := slices.ContainsFunc(r.Events[set+1:by], func(o history.Event) bool {
			same := o.Lock == lock && o.Member == e.Member && r.keepsFor(o.Process, e.Process)
			return same && (o.F == history.KeySet || o.F == history.KeyGone && (o.Of == "" || o.Of == e.Of))
		})
		if !ended {
			keys = append(keys, set)
		}
	}
	return keys
}

// keepsFor reports whether server a's records can be about server b's keys, because a and b are the same server or
// members of one service.
func (r *reading) keepsFor(a, b history.Process) bool {
	return a == b || r.oneService() && slices.Contains(r.group(a), b)
}

// downAt reports whether the server was down just before the given position.
func (r *reading) downAt(p history.Process, by int) bool {
	return slices.ContainsFunc(r.faults, func(f fault) bool {
		return f.does().IsDown() && f.strikes(p) && f.from < by && (f.to == r.none || f.to >= by)
	})
}

// unitsUp lists the servers that are up, one for each copy of a lock.
func (r *reading) unitsUp(by int) (up []history.Process) {
	for _, s := range r.Header.Servers {
		if u := r.group(s)[0]; !slices.Contains(up, u) && !r.downAt(u, by) {
			up = append(up, u)
		}
	}
	return up
}

// owner returns the process whose attempt owns the key that was set at the given position.
func (r *reading) owner(set int) history.Process {
	return r.maker(r.Events[set].Lock, r.Events[set].Of)
}

// crashedBy reports whether a process crashed between the positions set and by. It also returns true if the process's
// last event before set is a crash.
func (r *reading) crashedBy(p history.Process, set, by int) bool {
	if p == "" {
		return false
	}
	last := history.F("")
	for i := range by {
		e := &r.Events[i]
		if e.Process == p && i < set {
			last = e.F
		}
		if e.Process == p && i > set && e.F == history.Crashed {
			return true
		}
	}
	return last == history.Crashed
}

// lastSection returns the lock's most recent section that began before the given position, or nil if there is none.
func (r *reading) lastSection(lock history.Lock, by int) (last *section) {
	for _, s := range r.sections {
		if s.lock == lock && s.ok < by && (last == nil || s.ok > last.ok) {
			last = s
		}
	}
	return last
}

func (r *reading) everSet(s *section) bool {
	return slices.ContainsFunc(r.Events, func(e history.Event) bool {
		return e.F == history.KeySet && e.Of == s.attempt && e.Lock == s.lock
	})
}

// abandoned finds out why a key is still there although nobody will release it. It returns the cause, or "" if the key
// is not abandoned.
func (r *reading) abandoned(lock history.Lock, keys []int, set, by int, now history.Time) string {
	const kind = "stuck behind an abandoned key"
	e, owner := &r.Events[set], r.owner(set)
	due, prolonged := e.Until, -1
	for i := set + 1; i < by; i++ {
		o := &r.Events[i]
		if o.F == history.KeyProlonged && o.Lock == lock && o.Member == e.Member && r.keepsFor(o.Process, e.Process) &&
			(o.Of == "" || o.Of == e.Of) {
			due, prolonged = o.Until, i
		}
	}
	done := r.doneWith(lock, e.Of, owner, set)
	waits := done >= by
	long := now-e.Time > r.Header.TTL
	session := r.Header.Service.Kind().Sessions
	// the waiting clients are wrong about when the lease ended
	over := r.Header.Service.Kind().ClientsExpire && due <= now
	switch {
	case e.Of == "":
		return ""
	case due == history.Never && (!waits || long && !session):
		return kind
	case !long, over:
		return ""
	case session && waits && r.isOnly(keys, set, owner) && r.quiet(owner, now):
		return kind + " (turn not taken)"
	case session:
		return kind + " (session lives on)"
	case prolonged > done || prolonged >= 0 && waits:
		return kind + " (prolonged)"
	}
	return kind
}

// doneWith returns the position at which a client finished with the attempt that set a key: the end of the attempt's
// section or, if it has none, the acquire's return.
func (r *reading) doneWith(lock history.Lock, of history.Attempt, owner history.Process, set int) int {
	for _, s := range slices.Backward(r.sections) {
		if s.attempt == of && s.lock == lock {
			return s.end
		}
	}
	done := r.none
	for _, a := range r.asks {
		if a.process == owner && a.lock == lock && a.call <= set {
			done = a.ret
		}
	}
	return done
}

// isOnly reports whether, among the keys that still exist, the given key is the last one that the process has set.
func (r *reading) isOnly(keys []int, set int, owner history.Process) bool {
	return !slices.ContainsFunc(keys, func(o int) bool { return o > set && r.owner(o) == owner })
}

// quiet reports whether the client has not sent any request within the last TTL. It also returns true if this is
// unknown.
func (r *reading) quiet(p history.Process, now history.Time) bool {
	asked, known := r.Header.Asked[p]
	q := r.Header.Quiet[p]
	return !known || now-asked > r.Header.TTL || now <= q.To && now-q.From > r.Header.TTL
}
