package checker

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// moment is the time just before the event at position at.
type moment struct {
	at   int
	time history.Time
}

// standingKey is a key of a lock that is there.
type standingKey struct {
	keeper    history.Process // the server that has it, or the service
	member    string
	of        history.Attempt
	set       int          // position
	prolonged int          // position of the last prolongation, -1 if there was none
	until     history.Time // when it is due to expire
}

// standingKeys are those of one lock, in the order in which they were set: in a queue, the first is the holder's.
type standingKeys []standingKey

// note applies the event at position i to the keys of a lock.
func (t *judge) note(keys standingKeys, lock history.Lock, i int) standingKeys {
	e := &t.History.Events[i]
	if e.Process == history.Nemesis && e.Type == history.Invoke && e.F.Does() == history.Promotes {
		return keys.promoted(e.Fault)
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

// promoted gives a replica that takes its master's place the master's keys: what it lacks is recorded as lost
// afterwards.
func (keys standingKeys) promoted(f *history.Fault) standingKeys {
	if f == nil || len(f.On) == 0 || len(f.To) == 0 {
		return keys
	}
	keys = slices.DeleteFunc(keys, func(k standingKey) bool { return k.keeper == f.To[0] })
	for i := range keys {
		if keys[i].keeper == f.On[0] {
			keys[i].keeper = f.To[0]
		}
	}
	return keys
}

// standing lists the keys of a lock that were there before position at. Keys on a server that is down cannot block
// anybody: it does not even refuse requests. Keys of a service are there as long as any of its members has them.
func (t *judge) standing(lock int32, at int) (keys standingKeys) {
	for i := range t.History.Events[:min(at, len(t.History.Events))] {
		keys = t.note(keys, t.Locks[lock].Name, i)
	}
	return slices.DeleteFunc(keys, func(k standingKey) bool {
		return !t.History.Header.OneService() && t.isDown(k.keeper, at)
	})
}

// firstSince is the position from which on a key that stood before position at was the first of its lock.
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

// blocking lists the keys that keep others out: in a queue, the first.
func (t *judge) blocking(keys standingKeys) standingKeys {
	if t.History.Header.OneService() {
		return keys[:min(len(keys), 1)]
	}
	return keys
}

// crashedOwner finds the first of the keys whose process had crashed before position at, and where. A key that was set
// after the crash had been requested before it.
func (t *judge) crashedOwner(keys standingKeys, at int) (key *standingKey, crash int) {
	for n := range keys {
		k := &keys[n]
		owner := t.ProcessOf(k.of)
		if crash = t.CrashAfter(owner, k.set); crash >= at {
			crash = t.lastOf(owner, k.set)
		}
		if owner != "" && crash >= 0 && t.History.Events[crash].F == history.Crashed {
			return k, crash
		}
	}
	return nil, -1
}

// lastOf is the position of the last event of a process before another, -1 if there is none.
func (t *judge) lastOf(p history.Process, before int) int {
	for before--; before >= 0 && t.History.Events[before].Process != p; before-- {
	}
	return before
}

// abandonedKey is a key that stays although nobody is going to release it.
type abandonedKey struct {
	*standingKey
	client history.Process
	detail string
	left   int // where its client was done with the attempt; open if it still waits for the lock
}

// abandoned finds, of the keys that are there at a moment, the first that nobody is going to release:
//
//   - its client had given the attempt up, or had left the section, and the key never expires, or was prolonged all the
//     same, or was kept there by its session;
//   - or its client still waits for the lock, so that an earlier try must have set the key, or else, in a queue, it
//     does not take its turn.
//
// A key that can expire must have stood for longer than a TTL. Together such keys leave no quorum of servers.
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

// units lists the servers; of those that share one copy of a lock, the first.
func (t *judge) units() (all []history.Process) {
	for _, s := range t.History.Header.Servers {
		if u := t.Unit(s); !slices.Contains(all, u) {
			all = append(all, u)
		}
	}
	return all
}

// abandonedKey judges key n of those that are there at a moment.
func (t *judge) abandonedKey(lock int32, keys standingKeys, n int, now moment) (x abandonedKey, is bool) {
	k := &keys[n]
	x = abandonedKey{standingKey: k, client: t.ProcessOf(k.of), left: t.doneWith(lock, k.of, k.set)}
	if x.left >= now.at {
		x.left = trace.Open
	}
	s := t.History.Header.Service
	session := s == history.Etcd || s == history.ZooKeeper
	switch {
	case k.of == "":
		return x, false
	case k.until == history.Never && x.left < trace.Open:
		return x, true
	case now.time-t.Time(k.set) <= t.History.Header.TTL:
		return x, false
	case s == history.Kubernetes && k.until <= now.time: // its lease is over: whoever waits on counts it wrongly
		return x, false
	case k.until == history.Never && !session:
	case session && x.left == trace.Open && t.missedTurn(keys, n, now.time):
		x.detail = TurnNotTaken
	case session:
		x.detail = SessionLives
	case k.prolonged >= 0:
		x.detail = KeptProlonged
	}
	return x, true
}

// missedTurn reports whether key n, the first in line, whose client waits, is that of its latest try: it has no other
// key there, and, as far as that is known, no longer asks for anything.
func (t *judge) missedTurn(keys standingKeys, n int, now history.Time) bool {
	client := t.ProcessOf(keys[n].of)
	_, known := t.History.Header.Asked[client]
	return (!known || t.isSilent(client, now)) && !slices.ContainsFunc(keys[n+1:],
		func(o standingKey) bool { return t.ProcessOf(o.of) == client })
}

// isSilent reports whether it is known that no request of a client for a lock reached a server within the last TTL.
func (t *judge) isSilent(client history.Process, now history.Time) bool {
	h := &t.History.Header
	last, known := t.lastAsked(client, now)
	return known && now-last > h.TTL
}

// lastAsked is when the latest request of a client for a lock reached a server by some time, 0 if none had. It is known
// if it was the last one of all, or if the time lies in the longest one between two of them.
func (t *judge) lastAsked(client history.Process, by history.Time) (last history.Time, known bool) {
	h := &t.History.Header
	last, known = h.Asked[client]
	if q := h.Quiet[client]; known && last > by {
		return q.From, q.From <= by && by <= q.To && q.To > 0
	}
	return last, known
}

// asks reports whether some request of a client for a lock is known to have reached a server after one time and by
// another.
func (t *judge) asks(client history.Process, after, by history.Time) bool {
	h := &t.History.Header
	if last, known := t.lastAsked(client, by); known {
		return last > after
	}
	q, known := h.Quiet[client]
	return known && q.To-q.From < by-after
}

// doneWith is the position at which the client that had set a key, for an attempt and at a position, was done with that
// attempt: when its section ended, or when its acquire returned without it. It is open if the client still waits, or is
// inside.
func (t *judge) doneWith(lock int32, of history.Attempt, set int) int {
	if g, granted := t.Owner[trace.Title{Lock: t.Locks[lock].Name, Attempt: of}]; granted {
		return t.Grants[g].End
	}
	asks := t.Locks[lock].Asks
	for i := len(asks) - 1; i >= 0; i-- {
		if a := &t.Asks[asks[i]]; a.Process == t.ProcessOf(of) && a.Call <= set {
			return a.Ret
		}
	}
	return trace.Open
}

// stay says why an abandoned key does not go.
func (x *abandonedKey) stay(t *judge) string {
	switch {
	case x.detail == SessionLives:
		return "stays as long as the session does"
	case x.detail == KeptProlonged:
		return sentence("was prolonged again, last at %v", t.Time(x.prolonged))
	case x.until == history.Never:
		return "never expires"
	}
	return sentence("is due to expire at %v", x.until)
}

// abandonedStory describes what the waiters were stuck behind.
func (t *judge) abandonedStory(lock int32, x *abandonedKey, now moment) string {
	server, set, why := t.History.Events[x.set].Process, t.Time(x.set), ""
	if x.detail == "" {
		why = t.faultText(t.abandoning(x, now.at))
	}
	switch {
	case x.detail == TurnNotTaken:
		story := sentence("The key of %s on %s, set at %v, is the first in line since %v, and %s, which still "+
			"waits, has not taken its turn", x.client, server, set, t.Time(t.firstSince(lock, x.standingKey, now.at)),
			x.client)
		if asked, known := t.lastAsked(x.client, now.time); known {
			return story + sentence(": its last request for the lock reached a server at %v.", asked)
		}
		return story + "."
	case x.left == trace.Open:
		return sentence("The key that an earlier try of %s set on %s at %v%s is still there and %s; %s still waits "+
			"for the lock.", x.client, server, set, why, x.stay(t), x.client)
	}
	how := "gave up attempt %s at %v"
	if _, granted := t.Owner[trace.Title{Lock: t.Locks[lock].Name, Attempt: x.of}]; granted {
		how = "left the section of attempt %s at %v"
	}
	return capital(string(x.client)) + " " + sentence(how, x.of, t.Time(x.left)) +
		sentence("; its key on %s, set at %v%s, is still there and %s.", server, set, why, x.stay(t))
}

// abandoning finds the fault that was active between the client of a key and its server when it was set, or struck
// there before the client did something else, and before position at.
func (t *judge) abandoning(x *abandonedKey, at int) *trace.Fault {
	e, next := &t.History.Events[x.set], x.set+1
	for next < at && t.History.Events[next].Process != x.client {
		next++
	}
	server := func(p history.Process) bool { return p == e.Process }
	return t.lastSuspect(next, func(f *trace.Fault) bool {
		return !f.Does.IsClock() && f.Does != history.EndsSession && t.onTheWay(f, x.client, server) &&
			(f.Start > x.set || t.Time(t.Mended(f)) >= e.Time)
	})
}
