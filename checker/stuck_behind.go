package checker

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// moment is the time just before an event.
type moment struct {
	at   int
	time history.Time
}

// standingKey is one of a lock's keys that is present at some moment.
type standingKey struct {
	keeper    history.Process // the server or service that stores the key
	member    string
	of        history.Attempt
	set       int          // position at which the key was set
	prolonged int          // position of the last extension; -1 if there was none
	until     history.Time // when it is due to expire
}

// standingKeys are the keys of one lock, in the order in which they were set. In a queue, the first key belongs to the
// holder.
type standingKeys []standingKey

// makerOf returns the process that made the attempt that owns a key.
func (t *judge) makerOf(k *standingKey) history.Process {
	return t.ProcessOf(t.History.Events[k.set].Lock, k.of)
}

// note updates a lock's keys according to the event at position i.
func (t *judge) note(keys standingKeys, lock history.Lock, i int) standingKeys {
	e := &t.History.Events[i]
	if e.Process == history.Nemesis {
		over, ok := trace.PromotionBy(e.F.Does(), e.Fault)
		if ok && e.Type == history.Invoke {
			return keys.promoted(over)
		}
		return keys
	}
	if e.Lock != lock || !e.F.IsKey() || e.F.IsCopy() {
		return keys
	}
	keeper := t.Keeper(e.Process)
	here := slices.IndexFunc(keys, func(k standingKey) bool { return k.keeper == keeper && k.member == e.Member })
	switch {
	case e.F == history.KeySet:
		if here >= 0 {
			keys = slices.Delete(keys, here, here+1)
		}
		return append(keys, standingKey{keeper, e.Member, e.Of, i, -1, e.Until})
	case here < 0 || e.Of != "" && e.Of != keys[here].of:
	case e.F == history.KeyProlonged:
		keys[here].prolonged, keys[here].until = i, e.Until
	default:
		return slices.Delete(keys, here, here+1)
	}
	return keys
}

// promoted returns the keys as they are after a promotion.
func (keys standingKeys) promoted(over trace.Promotion) standingKeys {
	moved := keys[:0]
	for _, k := range keys {
		var kept bool
		if k.keeper, kept = over.Moved(k.keeper); kept {
			moved = append(moved, k)
		}
	}
	return moved
}

// standing lists a lock's keys that were present before the given position. It omits keys on a server that is down:
// such a server does not even refuse requests, so it does not block anyone. A service's keys are present as long as any
// of its members stores them.
func (t *judge) standing(lock int32, at int) (keys standingKeys) {
	for i := range t.History.Events[:min(at, len(t.History.Events))] {
		keys = t.note(keys, t.Locks[lock].Name, i)
	}
	return slices.DeleteFunc(keys, func(k standingKey) bool {
		return !t.History.Header.OneService() && t.isDown(k.keeper, at)
	})
}

// firstSince returns the position at which a key became its lock's first key. The key must have been present before the
// given position.
func (t *judge) firstSince(lock int32, k *standingKey, at int) int {
	var keys standingKeys
	since := k.set
	for i := range t.History.Events[:min(at, len(t.History.Events))] {
		was := len(keys) > 0 && keys[0].set == k.set
		keys = t.note(keys, t.Locks[lock].Name, i)
		if !was && len(keys) > 0 && keys[0].set == k.set {
			since = i
		}
	}
	return since
}

// blocking returns the keys that keep other clients from getting the lock. In a queue, that is only the first.
func (t *judge) blocking(keys standingKeys) standingKeys {
	if t.History.Header.OneService() {
		return keys[:min(len(keys), 1)]
	}
	return keys
}

// crashedOwner returns the first key whose process had crashed before the given position, and the position of the
// crash. It returns nil and -1 if there is none. The crash may have come before the key was set, if it was the
// process's last event until then: in that case, the process had requested the key before crashing.
func (t *judge) crashedOwner(keys standingKeys, at int) (key *standingKey, crash int) {
	for n := range keys {
		k := &keys[n]
		owner := t.makerOf(k)
		if crash = t.CrashAfter(owner, k.set); crash >= at {
			crash = t.lastOf(owner, k.set)
		}
		if owner != "" && crash >= 0 && t.History.Events[crash].F == history.Crashed {
			return k, crash
		}
	}
	return nil, -1
}

// lastOf returns the position of a process's last event before the given position, or -1 if there is none.
func (t *judge) lastOf(p history.Process, before int) int {
	for before--; before >= 0 && t.History.Events[before].Process != p; before-- {
	}
	return before
}

// abandonedKey is a key that nobody is going to release.
type abandonedKey struct {
	*standingKey
	client history.Process
	detail string
	left   int // position at which its client was done with the attempt; Open if the client is still waiting for it
}

// abandoned finds, among the keys that exist at the moment now, the first one that nobody is going to release. There
// are two cases:
//
//   - Its client gave up the attempt or left the section. The key is still there because it never expires, because it
//     is still being extended, because its client's session goes on, or because it is not yet due.
//   - Its client is still waiting for the lock. The key is from an earlier try by the client or, in a queue, the client
//     has not noticed that its key is first.
//
// The key must have been there for longer than a TTL, unless it never expires and its client has given up or left. If
// the other servers that are up are enough for a quorum, abandoned returns nil.
func (t *judge) abandoned(lock int32, keys standingKeys, now moment) (found *abandonedKey) {
	var blocked []history.Process
	for n := range t.blocking(keys) {
		x, is := t.abandonedKey(lock, keys, n, now)
		if !is {
			continue
		}
		blocked = append(blocked, t.Unit(x.keeper))
		if found == nil {
			found = &x
		}
	}
	if h := &t.History.Header; found != nil && h.StatesQuorum() && !h.OneService() {
		free := slices.DeleteFunc(t.units(), func(u history.Process) bool {
			return slices.Contains(blocked, u) || t.isDown(u, now.at)
		})
		if h.IsQuorum(free) {
			return nil
		}
	}
	return found
}

// units lists the servers. If several servers share one copy of a lock, it lists only the first of them.
func (t *judge) units() (all []history.Process) {
	for _, s := range t.History.Header.Servers {
		if u := t.Unit(s); !slices.Contains(all, u) {
			all = append(all, u)
		}
	}
	return all
}

// abandonedKey reports whether keys[n] is abandoned, that is, whether nobody is going to release it. If so, x describes
// the key. keys are the keys that exist at the moment now.
func (t *judge) abandonedKey(lock int32, keys standingKeys, n int, now moment) (x abandonedKey, is bool) {
	k := &keys[n]
	x = abandonedKey{standingKey: k, client: t.makerOf(k), left: t.doneWith(lock, k.of, k.set)}
	if x.left >= now.at {
		x.left = trace.Open
	}
	s := t.History.Header.Service.Kind()
	switch {
	case k.of == "":
		return x, false
	case k.until == history.Never && x.left < trace.Open:
		return x, true
	case now.time-t.Time(k.set) <= t.History.Header.TTL:
		return x, false
	// the key's lease has ended, but a client that is still waiting is measuring it wrongly
	case s.ClientsExpire && k.until <= now.time:
		return x, false
	case k.until == history.Never && !s.Sessions:
	case s.Sessions && x.left == trace.Open && t.missedTurn(keys, n, now.time):
		x.detail = TurnNotTaken
	case s.Sessions:
		x.detail = SessionLives
	case k.prolonged > x.left || k.prolonged >= 0 && x.left == trace.Open:
		x.detail = KeptProlonged
	}
	return x, true
}

// missedTurn reports whether a client has not noticed that its key, which has index n, is first in the queue. If the
// client has another key later in the queue, missedTurn returns false. If the header says when the client's last
// request arrived, that must have been more than a TTL ago.
func (t *judge) missedTurn(keys standingKeys, n int, now history.Time) bool {
	client := t.makerOf(&keys[n])
	_, known := t.History.Header.Asked[client]
	return (!known || t.isSilent(client, now)) && !slices.ContainsFunc(keys[n+1:],
		func(o standingKey) bool { return t.makerOf(&o) == client })
}

// isSilent reports whether a client is known to be silent: none of its lock requests has reached a server within the
// last TTL.
func (t *judge) isSilent(client history.Process, now history.Time) bool {
	h := &t.History.Header
	last, known := t.lastAsked(client, now)
	return known && now-last > h.TTL
}

// lastAsked returns the last time, up to the given time, at which one of a client's lock requests reached a server, or
// 0 if none did. The header contains only two facts about a client: when its very last request arrived, and the longest
// period without a request. If these do not give the answer, known is false.
func (t *judge) lastAsked(client history.Process, by history.Time) (last history.Time, known bool) {
	h := &t.History.Header
	last, known = h.Asked[client]
	if q := h.Quiet[client]; known && last > by {
		return q.From, q.From <= by && by <= q.To && q.To > 0
	}
	return last, known
}

// asks reports whether it is known that one of a client's lock requests reached a server within a period.
func (t *judge) asks(client history.Process, after, by history.Time) bool {
	h := &t.History.Header
	if last, known := t.lastAsked(client, by); known {
		return last > after
	}
	q, known := h.Quiet[client]
	return known && q.To-q.From < by-after
}

// doneWith returns the position at which a client was done with an attempt that had set a key: its critical section had
// ended, or its acquire had returned without the lock. It returns Open if the client is still waiting for the lock or
// is still in its critical section.
func (t *judge) doneWith(lock int32, of history.Attempt, set int) int {
	if g, granted := t.Owner[trace.Title{Lock: t.Locks[lock].Name, Attempt: of}]; granted {
		return t.Grants[g].End
	}
	asks := t.Locks[lock].Asks
	for i := len(asks) - 1; i >= 0; i-- {
		if a := &t.Asks[asks[i]]; a.Process == t.ProcessOf(t.Locks[lock].Name, of) && a.Call <= set {
			return a.Ret
		}
	}
	return trace.Open
}

// stay says why an abandoned key has not disappeared.
func (x *abandonedKey) stay(t *judge) string {
	switch {
	case x.detail == SessionLives:
		return "stays as long as the session does"
	case x.until == history.Never:
		return "never expires"
	case x.prolonged >= 0:
		return sentence("was due to expire at %v, after an extension at %v", x.until, t.Time(x.prolonged))
	}
	return sentence("was due to expire at %v", x.until)
}

// abandonedStory describes the abandoned key that the waiters were stuck behind.
func (t *judge) abandonedStory(lock int32, x *abandonedKey, now moment) string {
	server, set, why := t.History.Events[x.set].Process, t.Time(x.set), ""
	if x.detail == "" {
		why = t.faultText(t.abandoning(x, now.at))
	}
	switch {
	case x.detail == TurnNotTaken:
		story := sentence("The key of %s on %s, set at %v, had been first in line since %v, "+
			"but at %v %s was still waiting and had not taken its turn",
			x.client, server, set, t.Time(t.firstSince(lock, x.standingKey, now.at)), now.time,
			x.client)
		if asked, known := t.lastAsked(x.client, now.time); known {
			return story + sentence(": its last request for the lock reached a server at %v.", asked)
		}
		return story + "."
	case x.left == trace.Open:
		return sentence("The key that an earlier attempt of %s set on %s at %v%s was still there at %v and %s. "+
			"%s was still waiting for the lock.", x.client, server, set, why, now.time, x.stay(t),
			capital(string(x.client)))
	}
	how := "%s gave up attempt %s at %v. "
	if _, granted := t.Owner[trace.Title{Lock: t.Locks[lock].Name, Attempt: x.of}]; granted {
		how = "%s left the critical section of attempt %s at %v. "
	} else if e := &t.History.Events[x.left]; e.F == history.Acquire && e.Type == history.OK {
		how = "%s got the lock in a later attempt than %s, at %v. "
	}
	return sentence(how, capital(string(x.client)), x.of, t.Time(x.left)) +
		sentence("Its key on %s, set at %v%s, was still there at %v and %s.", server, set, why, now.time, x.stay(t))
}

// abandoning finds the latest fault that may explain why an abandoned key is still there. It must have affected the
// key's server, or the link between that server and the key's client. It must have been active when the key was set or
// between then and the client's next event, and must have struck before the position at.
func (t *judge) abandoning(x *abandonedKey, at int) *trace.Fault {
	e, next := &t.History.Events[x.set], x.set+1
	for next < at && t.History.Events[next].Process != x.client {
		next++
	}
	server := func(p history.Process) bool { return p == e.Process }
	return t.lastSuspect(next, func(f *trace.Fault) bool {
		return f.Does.Delays() && t.onTheWay(f, x.client, server) &&
			(f.Start > x.set || t.Time(t.Mended(f)) >= e.Time)
	})
}
