package checker

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// waiting holds what is known about a client that had to wait although nobody held the lock.
type waiting struct {
	silent     bool // the client sent its last request long before
	turnedAway bool // the client kept sending requests, although no server had a key of the lock
	hasty      bool // the client gave up each acquire before it could have noticed the end of a Kubernetes lease
	ungranted  bool // no client had got any lock so far
	unreleased bool // all keys of failed attempts expired; none were deleted
	heldUp     bool // an attempt had a quorum in time, but was waiting for a server that did not answer
	away       bool // a server was down, paused or cut off
	struck     bool // a fault had struck by then
	// The fields below describe the key that blocked the client.
	earlierTry  bool // set by an earlier try by a client that is still waiting or got the lock later
	everlasting bool // the key never expires
	leftSection bool // the key's client had got the lock with it, and has left the section
}

// waitingStory describes what is known about a waiter's requests since the given time. It returns "" if nothing is
// known.
func (t *judge) waitingStory(a *trace.Ask, since history.Time, now moment) string {
	h := &t.History.Header
	asked, _ := t.lastAsked(a.Process, now.time)
	silent, longest := t.isSilent(a.Process, now.time), t.longestTry(a, since, now)
	t.facts.waiting = waiting{silent: silent,
		turnedAway: !silent && t.asks(a.Process, since, now.time) && t.isFree(a.Lock, since, now.at),
		hasty:      h.Service.Kind().ClientsExpire && longest < h.TTL, ungranted: t.grantedBy(now.at) == 0,
		unreleased: t.leftToExpire(a.Lock, since, now.at), heldUp: t.outlasted(a.Lock, since, now.at),
		away: t.serverAway(now.at), struck: len(t.Faults) > 0 && t.Faults[0].Start < now.at}
	switch {
	case t.facts.silent && asked <= t.firstAsked(a.Process) && h.Asked[a.Process] > 0:
		return sentence(" No request of %s for the lock reached a server until %v.", a.Process, h.Quiet[a.Process].To)
	case t.facts.silent && asked == 0:
		return sentence(" No request of %s for the lock reached a server.", a.Process)
	case t.facts.silent:
		return sentence(" The last request of %s for the lock reached a server at %v.", a.Process, asked)
	case t.facts.turnedAway:
		return t.turnedAwayStory(a.Process, now.time)
	case t.facts.hasty && !t.facts.far:
		return sentence(" No acquire of %s lasted longer than %v, which is less than the TTL.", a.Process, longest)
	}
	return ""
}

// firstAsked returns the time at which a client first called acquire.
func (t *judge) firstAsked(client history.Process) history.Time {
	n := slices.IndexFunc(t.Asks, func(a trace.Ask) bool { return a.Process == client })
	return t.Time(t.Asks[n].Call)
}

// longestTry returns the longest time for which a waiter kept requesting the lock without giving up. It considers only
// the acquires that were active in the given period.
func (t *judge) longestTry(of *trace.Ask, since history.Time, now moment) (longest history.Time) {
	for _, n := range t.Locks[of.Lock].Asks {
		a := &t.Asks[n]
		if a.Process == of.Process && t.Time(a.Ret) >= since && a.Call < now.at {
			longest = max(longest, min(t.Time(a.Ret), now.time)-t.Time(a.Call))
		}
	}
	return longest
}

// grantedBy returns the number of acquires that had succeeded before the given position.
func (t *judge) grantedBy(at int) (n int) {
	for i := range t.Grants {
		if t.Grants[i].OK < at {
			n++
		}
	}
	return n
}

// leftToExpire reports whether keys of attempts that did not get the lock were left to expire. This is so if, between
// time since and position at, at least one such key expired and none was deleted.
func (t *judge) leftToExpire(lock int32, since history.Time, at int) bool {
	name := t.Locks[lock].Name
	went := func(why history.Why) bool {
		return slices.ContainsFunc(t.Keys, func(i int32) bool {
			e := &t.History.Events[i]
			g, granted := t.Owner[trace.Title{Lock: name, Attempt: e.Of}]
			had := granted && t.Grants[g].OK < int(i)
			return e.F == history.KeyGone && e.Why == why && e.Lock == name && !had &&
				since <= e.Time && int(i) < at
		})
	}
	return went(history.Expired) && !went(history.Deleted)
}

// turnedAwayStory says that a client's requests for the lock reached the servers, although no server had a key for the
// lock. If it is known when the last of these requests arrived before the given time, it says so.
func (t *judge) turnedAwayStory(client history.Process, by history.Time) string {
	last := ""
	if asked, known := t.lastAsked(client, by); known {
		last = sentence(", the last at %v", asked)
	}
	return sentence(" Requests of %s for the lock reached the servers%s, "+
		"and no server had a key for the lock.", client, last)
}

// takenInVain returns a sentence about the attempt that took a lock's key at the given position, if that attempt was
// never granted the lock. It returns "" if the attempt was granted the lock, or if the position is negative.
func (t *judge) takenInVain(taken int) string {
	if taken < 0 {
		return ""
	}
	e := &t.History.Events[taken]
	if _, granted := t.Owner[trace.Title{Lock: e.Lock, Attempt: e.By}]; granted {
		return ""
	}
	client := t.ProcessOf(e.Lock, e.By)
	return sentence(" A request of %s took the key of %s at %v, but %s never got the lock with that key.", client,
		quoted(e.Lock), e.Time, client)
}

// isFree reports whether no server had a key of the lock between the given time and position.
func (t *judge) isFree(lock int32, since history.Time, at int) bool {
	return len(t.standing(lock, at)) == 0 && !slices.ContainsFunc(t.Keys, func(i int32) bool {
		e := &t.History.Events[i]
		return e.Lock == t.Locks[lock].Name && since <= e.Time && int(i) < at
	})
}

// outlasted reports whether some attempt set keys on a quorum of servers within a sixth of the TTL and still did not
// get the lock, while a server was unreachable. Such an attempt probably failed because it waited too long for the
// unreachable server. Keys count only if they were set between the time since and the position at.
func (t *judge) outlasted(lock int32, since history.Time, at int) bool {
	h := &t.History.Header
	if !h.Service.Kind().Majority || !t.serverAway(at) {
		return false
	}
	type vote struct {
		first   history.Time
		servers []history.Process
	}
	votes := make(map[history.Attempt]*vote)
	for _, i := range t.Keys {
		e := &t.History.Events[i]
		_, granted := t.Owner[trace.Title{Lock: e.Lock, Attempt: e.Of}]
		if e.F != history.KeySet || granted || e.Lock != t.Locks[lock].Name || e.Time < since || int(i) >= at {
			continue
		}
		v := votes[e.Of]
		if v == nil {
			v = &vote{first: e.Time}
			votes[e.Of] = v
		}
		if e.Time-v.first <= h.TTL/6 && !slices.Contains(v.servers, e.Process) {
			v.servers = append(v.servers, e.Process)
		}
		if h.IsQuorum(v.servers) {
			return true
		}
	}
	return false
}

// serverAway reports whether any server was down, paused, or cut off from others at the given position.
func (t *judge) serverAway(at int) bool {
	return slices.ContainsFunc(t.Faults, func(f trace.Fault) bool {
		gone := f.Does.IsDown() || f.Does == history.Stops || f.Does == history.Parts
		return gone && f.Start < at && (f.Stop == trace.Open || f.Stop >= at) &&
			slices.ContainsFunc(t.History.Header.Servers, f.Strikes)
	})
}
