package checker

import (
	"strconv"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// deadlockFreedom judges that once faults end, nobody stays stuck.
//
// A waiter is an acquire that has been called and has not returned. It is stuck while nobody acquires its lock and no
// holder of it gets on: holders have crashed, or wait, stuck themselves, for another lock (a cycle counts), or there is
// none; an uncapped hold stops counting as progress once it has lasted the longest declared hold. A holder that leaves
// alive has got on, and the time begins anew; one that crashes while it is stuck changes nothing. The law is violated when
// a waiter was stuck, after the last fault had ended, for longer than the longest TTL + declared hold + slack.
//
// It holds only if after the last fault every lock was acquired and nobody is left waiting; a run that ends sooner, or
// while a fault goes on, is undecided. It needs the header's TTL, hold and slack.
func (t *trace) deadlockFreedom(f *Finding) {
	h := &t.h.Header
	limit := h.TTL + h.Hold + h.Slack
	switch {
	case limit <= 0:
		f.unchecked("The header states no TTL, hold and slack, so that no waiting is too long.")
		return
	case len(t.asks) == 0:
		f.unchecked("Nobody asked for a lock.")
		return
	}
	calm, unended := t.lastFaultEnd()
	if unended != nil {
		f.undecided("A fault was still going on when the run ended: " + unended.line + ".")
		return
	}
	if t.longWait(calm, limit) {
		if s, found := t.firstStuck(calm, limit); found {
			t.stuckFinding(f, &s, limit)
			return
		}
	}
	t.progress(f, calm)
}

// lastFaultEnd is the position of the end of the last fault, -1 if there was none, or the fault that never ended.
func (t *trace) lastFaultEnd() (at int, unended *fault) {
	at = -1
	for i := range t.faults {
		f := &t.faults[i]
		if f.over() == open {
			return at, f
		}
		at = max(at, f.over())
	}
	return at, nil
}

// calmTime is when the last fault had ended.
func (t *trace) calmTime(calm int) history.Time {
	if calm < 0 {
		return 0
	}
	return t.time(calm)
}

// longWait reports whether any acquire lasted long enough after the last fault to be worth a closer look.
func (t *trace) longWait(calm int, limit history.Time) bool {
	for i := range t.asks {
		a := &t.asks[i]
		if t.time(a.ret)-max(t.time(a.call), t.calmTime(calm)) > limit {
			return true
		}
	}
	return false
}

// progress tells the outcomes that are no violation.
func (t *trace) progress(f *Finding, calm int) {
	untried, denied := "", ""
	for n := range t.locks {
		l := &t.locks[n]
		tried, acquired := false, false
		for _, a := range l.asks {
			ask := &t.asks[a]
			if ask.ret == open {
				f.undecided(sentence("When the run ended %s was waiting for %s since %v: too short a time to tell.", ask.process, quoted(l.name),
					t.time(ask.call)))
				return
			}
			tried = tried || ask.ret > calm
			acquired = acquired || ask.ret > calm && ask.outcome == history.OK
		}
		switch {
		case !tried:
			untried = quoted(l.name)
		case !acquired:
			denied = quoted(l.name)
		}
	}
	switch {
	case denied != "":
		f.undecided("Nobody was stuck, but after the last fault nobody acquired " + denied + " either.")
	case untried != "":
		f.unchecked("After the last fault nobody asked for " + untried + ".")
	default:
		f.holds("After the last fault every lock was acquired (" + strconv.Itoa(len(t.locks)) + " in all), and nobody was left waiting.")
	}
}

func (t *trace) stuckFinding(f *Finding, s *stuck, limit history.Time) {
	a := &t.asks[s.ask]
	lock := t.locks[a.lock].name
	cause, why, w := t.stuckCause(s)
	story := sentence("%s asked for %s at %v. From %v on no fault was under way, yet for %v nobody acquired the lock; at most %v (longest TTL + "+
		"hold + slack) would be sound. %s", capital(string(a.process)), quoted(lock), t.time(a.call), s.since, s.until-s.since, limit, why)
	f.violated(t, cause, story, append(w, a.call), lock, a.process)
}

// stuckCause tells what the waiter was stuck behind.
func (t *trace) stuckCause(s *stuck) (Cause, string, []int) {
	a := &t.asks[s.root]
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
		return Cause{Kind: StuckInCycle}, "Each holds what the next one wants: " + list(names) + ".", w
	}
	if len(s.holders) > 0 {
		g := &t.grants[s.holders[0]]
		return Cause{Kind: StuckBehindUncapped}, sentence("%s held the lock since %v, longer than the declared hold of %v, and goes on prolonging it.",
			capital(string(g.process)), t.time(g.ok), t.h.Header.Hold), []int{g.ok}
	}
	if set, crash := t.crashedOwner(a.lock, s.at); crash >= 0 {
		e := &t.h.Events[set]
		until := "never expires"
		if e.Until != history.Never {
			until = sentence("is due to expire at %v", e.Until)
		}
		return Cause{Kind: StuckBehindCrashed}, sentence("%s crashed at %v%s; its key on %s, set at %v, is still there and %s.",
			capital(string(t.processOf(e.Of))), t.time(crash), t.crashText(t.processOf(e.Of), crash), e.Process, e.Time, until), []int{set, crash}
	}
	if g := t.crashedHolder(a.lock, s.at); g != nil {
		return Cause{Kind: StuckBehindCrashed}, sentence("%s held the lock since %v and crashed at %v%s without releasing it.",
			capital(string(g.process)), t.time(g.ok), t.time(g.end), t.crashText(g.process, g.end)), []int{g.ok, g.end}
	}
	return Cause{Kind: StuckWithoutHolder}, "No living process held it.", nil
}

// crashText names the fault that ended a process at position crash.
func (t *trace) crashText(p history.Process, crash int) string {
	return t.faultText(t.lastFault(crash+1, func(f *fault) bool { return f.kind == history.Crash && f.Strikes(p) }))
}

// crashedOwner finds a key of the lock that is there at position at although the process that set it has crashed.
func (t *trace) crashedOwner(lock int32, at int) (set, crash int) {
	type place struct {
		server history.Process
		of     history.Attempt
	}
	there := make(map[place]int)
	died := make(map[history.Process]int)
	for i := range t.h.Events[:min(at, len(t.h.Events))] {
		e := &t.h.Events[i]
		switch {
		case e.F == history.Crashed:
			died[e.Process] = i
		case e.Lock != t.locks[lock].name:
		case e.F == history.KeySet:
			there[place{e.Process, e.Of}] = i
		case e.F == history.KeyGone:
			delete(there, place{e.Process, e.Of})
		}
	}
	set, crash = -1, -1
	for p, i := range there { // the lowest position is the same in any order
		if t.isDown(p.server, at) {
			continue // it cannot be what blocks: nobody can even be refused there
		}
		if c, dead := died[t.processOf(p.of)]; dead && c > i && (set < 0 || i < set) {
			set, crash = i, c
		}
	}
	return set, crash
}

// isDown reports whether a server had crashed or been shut down before position at and not come back by then.
func (t *trace) isDown(server history.Process, at int) bool {
	for i := range t.faults {
		f := &t.faults[i]
		if f.kind.IsDown() && f.Strikes(server) && f.from < at && (f.to == open || f.to >= at) {
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
