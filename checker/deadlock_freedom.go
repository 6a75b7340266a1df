package checker

import (
	"maps"
	"slices"
	"strconv"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// deadlockFreedom judges that while no fault is under way nobody stays stuck.
//
// A waiter is an acquire that has been called and has not returned; one that was not granted and is called again within a
// TTL goes on waiting. It is stuck while nobody acquires its lock and no holder of it gets on: holders have crashed, or wait,
// stuck themselves, for another lock (a cycle counts), or there is none; a hold that is renewed without limit, or whose key
// never expires, stops counting as progress once it has lasted the longest declared hold. A holder that leaves alive has got
// on, and the time begins anew; one that crashes while it is stuck changes nothing. The law is violated when a waiter was
// stuck for longer than the longest TTL + declared hold + slack while no fault was under way that anybody can feel (where
// nobody uses the resource, nobody feels what strikes it or its links): whatever comes later heals nothing. What is wrong for good, a server gone, a cut or a drift without end, is how things are from then on.
//
// It holds only if after the last fault the probe acquired every lock, or where there is no probe, somebody did and nobody
// is inside, and nobody is left waiting. A run that ended sooner is undecided. It needs the header's TTL, hold and slack.
func (t *trace) deadlockFreedom(f *Finding) {
	h := &t.h.Header
	limit := h.TTL + h.Hold + h.Slack
	switch {
	case limit <= 0:
		f.unchecked("The header states no TTL, hold and slack, so that no waiting is too long.")
		return
	case len(t.asks) == 0 && !t.hasProbe():
		f.unchecked("Nobody asked for a lock.")
		return
	}
	if s, found := t.firstStuck(limit); found {
		t.stuckFinding(f, &s, limit)
		return
	}
	if missing := t.missing(); missing != "" {
		f.undecided(missing)
		return
	}
	f.holds("After the last fault every lock was acquired (" + strconv.Itoa(len(t.locks)) + " in all), and nobody was left waiting.")
}

// hasProbe reports whether the history is of a run that ends with a probe.
func (t *trace) hasProbe() bool { return slices.Contains(t.h.Header.Clients, history.Probe) }

// missing says what the run did not live to see; nothing if it was all done.
func (t *trace) missing() string {
	calm := -1 // when the last fault was over
	for i := range t.faults {
		x := &t.faults[i]
		if calm = max(calm, t.counted(x)); calm == open {
			return "A fault was still going on when the run ended: " + x.line + "."
		}
	}
	for n := range t.asks {
		if a := &t.asks[n]; a.ret == open {
			return sentence("When the run ended %s was waiting for %s since %v: too short a time to tell.", a.process,
				quoted(t.locks[a.lock].name), t.time(a.call))
		}
	}
	for n := range t.grants {
		if g := &t.grants[n]; g.ending == stillOpen && g.process != history.Probe {
			return sentence("When the run ended %s was still inside the critical section of %s.", g.process, quoted(t.locks[g.lock].name))
		}
	}
	for i := range t.locks {
		l := &t.locks[i]
		got := func(n int32) bool {
			a := &t.asks[n]
			return a.ret > calm && a.outcome == history.OK && (a.process == history.Probe || !t.hasProbe())
		}
		switch {
		case slices.ContainsFunc(l.asks, got):
		case t.hasProbe():
			return sentence("The run ended before its probe had acquired %s after the last fault.", quoted(l.name))
		default:
			return sentence("Nobody was stuck, but after the last fault nobody acquired %s either.", quoted(l.name))
		}
	}
	return ""
}

func (t *trace) stuckFinding(f *Finding, s *stuck, limit history.Time) {
	a := &t.asks[s.ask]
	lock := t.locks[a.lock].name
	cause, about, why, w := t.stuckCause(s)
	calm := " no fault was under way, yet"
	if cause.Kind == NoQuorumLeft {
		calm = ""
	}
	story := sentence("%s asked for %s at %v. From %v on%s for %v nobody acquired the lock; at most %v (longest TTL + "+
		"hold + slack) would be sound. %s", capital(string(a.process)), quoted(lock), t.time(a.call), s.since, calm, s.until-s.since, limit, why)
	f.violated(t, cause, story, append(w, a.call), lock, a.process)
	f.About = about
}

// stuckCause tells what, and whom, the waiter was stuck behind.
func (t *trace) stuckCause(s *stuck) (cause Cause, about history.Process, why string, witness []int) {
	a := &t.asks[s.root]
	if why, w := t.withoutQuorum(a.process, s.at); len(w) > 0 {
		return Cause{Kind: NoQuorumLeft}, "", why, w
	}
	if len(s.cycle) > 0 {
		var w []int
		names := make([]string, 0, len(s.cycle))
		for _, n := range s.cycle {
			c := &t.asks[n]
			names = append(names, sentence("%s waits for %s", c.process, quoted(t.locks[c.lock].name)))
			w = append(w, c.call)
		}
		for _, g := range s.holders {
			w = append(w, t.grants[g].ok)
		}
		return Cause{Kind: StuckInCycle}, "", "Each holds what the next one wants: " + list(names) + ".", w
	}
	if len(s.holders) > 0 {
		g := &t.grants[s.holders[0]]
		how := "goes on prolonging it"
		if !t.h.Header.Uncapped {
			how = "its key never expires"
		}
		return Cause{Kind: StuckBehindUncapped}, g.process, sentence("%s held the lock since %v, longer than the declared hold of %v, and %s.",
			capital(string(g.process)), t.time(g.ok), t.h.Header.Hold, how), []int{g.ok}
	}
	keys := t.standing(a.lock, s.at)
	if set, crash := t.crashedOwner(keys, s.at); crash >= 0 {
		e := &t.h.Events[set]
		until := "never expires"
		if e.Until != history.Never {
			until = sentence("is due to expire at %v", e.Until)
		}
		return Cause{Kind: StuckBehindCrashed}, t.processOf(e.Of), sentence("%s crashed at %v%s; its key on %s, set at %v, is still there and %s.",
			capital(string(t.processOf(e.Of))), t.time(crash), t.crashText(t.processOf(e.Of), crash), e.Process, e.Time, until), []int{set, crash}
	}
	g := t.crashedHolder(a.lock, s.at)
	if g != nil && !t.recorded(g) {
		return Cause{Kind: StuckBehindCrashed}, g.process, sentence("%s held the lock since %v and crashed at %v%s without releasing it.",
			capital(string(g.process)), t.time(g.ok), t.time(g.end), t.crashText(g.process, g.end)), []int{g.ok, g.end}
	}
	if set, why := t.abandoned(keys); set >= 0 {
		e := &t.h.Events[set]
		return Cause{Kind: StuckBehindAbandoned}, t.processOf(e.Of), sentence("The key of attempt %s on %s, set at %v%s, is still there and never expires; %s has given that attempt up.",
			e.Of, e.Process, e.Time, t.faultText(why), t.processOf(e.Of)), []int{set}
	}
	if g != nil {
		return Cause{Kind: StuckWithoutHolder}, g.process, sentence("No living process held it: %s, the last to hold it, crashed at %v%s, and its key is gone.",
			g.process, t.time(g.end), t.crashText(g.process, g.end)), []int{g.ok, g.end}
	}
	return Cause{Kind: StuckWithoutHolder}, "", "No living process held it.", nil
}

// recorded reports whether a server has recorded a key of a grant.
func (t *trace) recorded(g *grant) bool {
	return slices.ContainsFunc(t.keys, func(i int32) bool { e := &t.h.Events[i]; return e.F == history.KeySet && e.Of == g.attempt })
}

// crashText names the fault that ended a process at position crash.
func (t *trace) crashText(p history.Process, crash int) string {
	return t.faultText(t.lastFault(crash+1, func(f *fault) bool { return f.does == history.Kills && f.Strikes(p) }))
}

// standing lists where the keys of the lock were set that are there at position at, ascending. Those on a server that
// is down cannot be what blocks: nobody can even be refused there. Those of a service stand as long as any of its members do.
func (t *trace) standing(lock int32, at int) []int {
	type place struct {
		server history.Process
		of     history.Attempt
	}
	there := make(map[place]int)
	for i := range t.h.Events[:min(at, len(t.h.Events))] {
		e := &t.h.Events[i]
		switch {
		case e.Lock != t.locks[lock].name:
		case e.F == history.KeySet:
			there[place{t.keeper(e.Process), e.Of}] = i
		case e.F == history.KeyGone:
			delete(there, place{t.keeper(e.Process), e.Of})
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Values(there)), func(i int) bool {
		return !oneService(&t.h.Header) && t.isDown(t.h.Events[i].Process, at)
	})
}

// crashedOwner finds the first of the keys set at the given positions whose process has crashed since, before position at.
func (t *trace) crashedOwner(keys []int, at int) (set, crash int) {
	for _, set := range keys {
		owner := t.processOf(t.h.Events[set].Of)
		for i := set; i < min(at, len(t.h.Events)); i++ {
			if e := &t.h.Events[i]; e.F == history.Crashed && e.Process == owner {
				return set, i
			}
		}
	}
	return -1, -1
}

// abandoned finds the first of the keys set at the given positions that never expires, though nobody waits to release it:
// its attempt was given up, or its release was lost.
func (t *trace) abandoned(keys []int) (set int, why *fault) {
	for _, set := range keys {
		e := &t.h.Events[set]
		if e.Until != history.Never {
			continue
		}
		server := func(p history.Process) bool { return p == e.Process }
		return set, t.lastFault(set+1, func(f *fault) bool {
			return !f.does.IsClock() && f.does != history.EndsSession && t.onTheWay(f, t.processOf(e.Of), server)
		})
	}
	return -1, nil
}

// isDown reports whether a server had crashed or been shut down before position at and not come back by then.
func (t *trace) isDown(server history.Process, at int) bool {
	for i := range t.faults {
		f := &t.faults[i]
		if f.does.IsDown() && f.Strikes(server) && f.from < at && (f.to == open || f.to >= at) {
			return true
		}
	}
	return false
}

// crashedHolder finds the last grant of the lock before position at, if its holder crashed inside.
func (t *trace) crashedHolder(lock int32, at int) *grant {
	grants := t.locks[lock].grants
	for i := len(grants) - 1; i >= 0; i-- {
		if g := &t.grants[grants[i]]; g.ok < at {
			if g.ending == crashed && g.end < at {
				return g
			}
			return nil
		}
	}
	return nil
}
