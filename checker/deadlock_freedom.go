package checker

import (
	"maps"
	"slices"
	"strconv"

	"github.com/fencepost-sim/fencepost/checker/clockerror"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

const DeadlockFreedom Law = "deadlock-freedom"

func init() {
	register(lawRow{law: DeadlockFreedom, place: 6, gravity: 6, kept: anyLock, atEnd: true,
		says:   "once faults end, nobody stays stuck",
		broken: "somebody is stuck for good",
		judge:  (*judge).deadlockFreedom, uncertain: clockerror.Waits})
}

// deadlockFreedom judges that while no fault is under way nobody stays stuck.
//
// A waiter is an acquire that has been called and has not returned; one that was not granted and is called again within
// a TTL continues to wait. It is stuck while nobody acquires its lock and no holder of it makes progress: holders have
// crashed, or wait, stuck themselves, for another lock (a cycle counts), or there is none; a hold that is renewed
// without limit, or whose key never expires, stops counting as progress once it has lasted the longest declared hold. A
// holder that leaves alive has made progress, and the time begins anew; one that crashes while it is stuck changes
// nothing. The law is violated when a waiter was stuck for longer than the longest TTL + declared hold + slack while no
// fault was under way that anybody can feel (where nobody uses the resource, nobody feels what strikes it or its
// links): whatever happens later heals nothing. A permanent fault, such as a lost server or a cut or a drift without
// end, is from then on the normal state.
//
// It holds only if after the last fault the probe acquired every lock, or where there is no probe, somebody did and
// nobody is inside, and nobody is left waiting. A run that ended sooner is undecided. It needs the header's TTL, hold
// and slack.
func (t *judge) deadlockFreedom(f *Finding) {
	h := &t.History.Header
	limit := h.TTL + h.Hold + h.Slack
	switch {
	case limit <= 0:
		f.unchecked("The header states no TTL, hold and slack, so that no waiting is too long.")
		return
	case len(t.Asks) == 0 && !t.hasProbe():
		f.unchecked("Nobody asked for a lock.")
		return
	}
	if s, found := t.FirstStuck(limit); found {
		t.stuckFinding(f, &s, limit)
		return
	}
	if missing := t.missing(); missing != "" {
		f.undecided(missing)
		return
	}
	f.holds("After the last fault every lock was acquired (" + strconv.Itoa(len(t.Locks)) +
		" in all), and nobody was left waiting.")
}

// hasProbe reports whether the history is of a run that ends with a probe.
func (t *judge) hasProbe() bool { return slices.Contains(t.History.Header.Clients, history.Probe) }

// missing describes what the run ended too early for; it is empty if everything was done.
func (t *judge) missing() string {
	calm := -1 // when the last fault was over
	for i := range t.Faults {
		x := &t.Faults[i]
		if calm = max(calm, t.Counted(x)); calm == trace.Open {
			return "A fault was still going on when the run ended: " + x.Line + "."
		}
	}
	for n := range t.Asks {
		if a := &t.Asks[n]; a.Ret == trace.Open {
			return sentence("When the run ended %s was waiting for %s since %v: too short a time to tell.", a.Process,
				quoted(t.Locks[a.Lock].Name), t.Time(a.Call))
		}
	}
	for n := range t.Grants {
		if g := &t.Grants[n]; g.Ending == trace.StillOpen && g.Process != history.Probe {
			return sentence("When the run ended %s was still inside the critical section of %s.", g.Process,
				quoted(t.Locks[g.Lock].Name))
		}
	}
	for i := range t.Locks {
		l := &t.Locks[i]
		got := func(n int32) bool {
			a := &t.Asks[n]
			return a.Ret > calm && a.Outcome == history.OK && (a.Process == history.Probe || !t.hasProbe())
		}
		switch {
		case slices.ContainsFunc(l.Asks, got):
		case t.hasProbe():
			return sentence("The run ended before its probe had acquired %s after the last fault.", quoted(l.Name))
		default:
			return sentence("Nobody was stuck, but after the last fault nobody acquired %s either.", quoted(l.Name))
		}
	}
	return ""
}

func (t *judge) stuckFinding(f *Finding, s *trace.Stuck, limit history.Time) {
	a := &t.Asks[s.Ask]
	lock := t.Locks[a.Lock].Name
	cause, about, why, w := t.stuckCause(s)
	calm := " no fault was under way, yet"
	if cause.Kind == NoQuorumLeft {
		calm = ""
	}
	story := sentence("%s asked for %s at %v. From %v on%s for %v nobody acquired the lock; at most %v (longest TTL + "+
		"hold + slack) would be sound. %s", capital(string(a.Process)), quoted(lock), t.Time(a.Call), s.Since, calm,
		s.Until-s.Since, limit, why)
	t.silent = t.silentWhile(s)
	f.violated(t, cause, story, append(w, a.Call), lock, a.Process)
	t.silent = false
	f.About, f.At = about, t.History.Events[t.lastBy(s.Since+limit)].Index
}

// silentWhile reports whether no server recorded that a key of the lock was set or prolonged while somebody was stuck,
// though servers record such changes. If no key was there either, no request for the lock can have been carried out.
func (t *judge) silentWhile(s *trace.Stuck) bool {
	lock := t.Locks[t.Asks[s.Root].Lock].Name
	return len(t.Keys) > 0 && !slices.ContainsFunc(t.Keys, func(at int32) bool {
		e := &t.History.Events[at]
		return e.F != history.KeyGone && e.Lock == lock && s.Since <= e.Time && e.Time <= s.Until
	})
}

// stuckCause finds what, and whom, the waiter was stuck behind.
func (t *judge) stuckCause(s *trace.Stuck) (cause Cause, about history.Process, why string, witness []int) {
	a := &t.Asks[s.Root]
	if len(s.Gone) > 0 {
		return Cause{Kind: NoQuorumLeft}, "", t.quorumStory(s.Gone), starts(s.Gone)
	}
	if len(s.Cycle) > 0 {
		return t.circle(s)
	}
	if len(s.Holders) > 0 {
		g := &t.Grants[s.Holders[0]]
		how := "goes on prolonging it"
		if !t.History.Header.Uncapped {
			how = "its key never expires"
		}
		return Cause{Kind: StuckBehindUncapped}, g.Process,
			sentence("%s held the lock since %v, longer than the declared hold of %v, and %s.",
				capital(string(g.Process)), t.Time(g.OK), t.History.Header.Hold, how), []int{g.OK}
	}
	keys := t.standing(a.Lock, s.At)
	if set, crash := t.crashedOwner(keys, s.At); crash >= 0 {
		e := &t.History.Events[set]
		until := "never expires"
		if e.Until != history.Never {
			until = sentence("is due to expire at %v", e.Until)
		}
		return Cause{Kind: StuckBehindCrashed}, t.ProcessOf(e.Of),
			sentence("%s crashed at %v%s; its key on %s, set at %v, is still there and %s.",
				capital(string(t.ProcessOf(e.Of))), t.Time(crash), t.crashText(t.ProcessOf(e.Of), crash), e.Process,
				e.Time, until), []int{set, crash}
	}
	g := t.crashedHolder(a.Lock, s.At)
	if g != nil && !t.recorded(g) {
		return Cause{Kind: StuckBehindCrashed}, g.Process,
			sentence("%s held the lock since %v and crashed at %v%s without releasing it.",
				capital(string(g.Process)), t.Time(g.OK), t.Time(g.End), t.crashText(g.Process, g.End)),
			[]int{g.OK, g.End}
	}
	if set, why := t.abandoned(keys, t.lastBy(s.Since)+1); set >= 0 {
		e := &t.History.Events[set]
		return Cause{Kind: StuckBehindAbandoned}, t.ProcessOf(e.Of), sentence("The key of attempt %s on %s, "+
			"set at %v%s, is still there and never expires; %s has given that attempt up.",
			e.Of, e.Process, e.Time, t.faultText(why), t.ProcessOf(e.Of)), []int{set}
	}
	if set, left := t.leftInSession(a.Lock, keys, s.At); set >= 0 {
		e := &t.History.Events[set]
		client := t.ProcessOf(e.Of)
		return Cause{Kind: StuckBehindAbandoned, Detail: SessionLives}, client,
			sentence("%s gave attempt %s up at %v; its key on %s, set at %v, is still there, and stays as long as the "+
				"session does.", capital(string(client)), e.Of, t.Time(left), e.Process, e.Time), []int{set, left}
	}
	if g != nil {
		return Cause{Kind: StuckWithoutHolder}, g.Process,
			sentence("No living process held it: %s, the last to hold it, crashed at %v%s, and its key is gone.",
				g.Process, t.Time(g.End), t.crashText(g.Process, g.End)), []int{g.OK, g.End}
	}
	return Cause{Kind: StuckWithoutHolder}, "", "No living process held it.", nil
}

// circle describes who waits for whom in a circle.
func (t *judge) circle(s *trace.Stuck) (cause Cause, about history.Process, why string, witness []int) {
	if len(s.Cycle) == 1 {
		c, held := &t.Asks[s.Cycle[0]], []int(nil)
		for _, g := range s.Holders {
			held = append(held, t.Grants[g].OK)
		}
		return Cause{Kind: StuckBehindItself}, c.Process,
			sentence("%s asked for %s again at %v while it still held it.", capital(string(c.Process)),
				quoted(t.Locks[c.Lock].Name), t.Time(c.Call)), append(held, c.Call)
	}
	var w []int
	names := make([]string, 0, len(s.Cycle))
	for _, n := range s.Cycle {
		c := &t.Asks[n]
		names = append(names, sentence("%s waits for %s", c.Process, quoted(t.Locks[c.Lock].Name)))
		w = append(w, c.Call)
	}
	for _, g := range s.Holders {
		w = append(w, t.Grants[g].OK)
	}
	return Cause{Kind: StuckInCycle}, "", "Each holds what the next one wants: " + list(names) + ".", w
}

// quorumStory reports that faults have taken too many servers away for good.
func (t *judge) quorumStory(gone []*trace.Fault) string {
	h := &t.History.Header
	if len(h.Servers) == 1 {
		return sentence("%s, the only server, was gone for good%s.", capital(string(h.Servers[0])),
			t.faultText(gone...))
	}
	return sentence("So many servers were gone for good that the quorum of %d was not left%s.", h.Quorum,
		t.faultText(gone...))
}

// lastBy is the position of the last event that is not later than a time and precedes all events that are.
func (t *judge) lastBy(limit history.Time) int {
	later := slices.IndexFunc(t.History.Events, func(e history.Event) bool { return e.Time > limit })
	if later < 0 {
		later = len(t.History.Events)
	}
	return max(0, later-1)
}

// starts are the positions at which faults struck.
func starts(faults []*trace.Fault) (w []int) {
	for _, f := range faults {
		w = append(w, f.Start)
	}
	return w
}

// recorded reports whether a server has recorded a key of a grant.
func (t *judge) recorded(g *trace.Grant) bool {
	return slices.ContainsFunc(t.Keys,
		func(i int32) bool { e := &t.History.Events[i]; return e.F == history.KeySet && e.Of == g.Attempt })
}

// crashText names the fault that ended a process at position crash.
func (t *judge) crashText(p history.Process, crash int) string {
	return t.faultText(t.lastSuspect(crash+1,
		func(f *trace.Fault) bool { return f.Does == history.Kills && f.Strikes(p) }))
}

// standing lists, in ascending order, where the keys of the lock were set that are present at position at. Keys on a
// server that is down cannot block anybody: it does not even refuse requests. Keys of a service are present as long as
// they are on any of its members.
func (t *judge) standing(lock int32, at int) []int {
	type place struct {
		server history.Process
		of     history.Attempt
	}
	there := make(map[place]int)
	for i := range t.History.Events[:min(at, len(t.History.Events))] {
		e := &t.History.Events[i]
		switch {
		case e.Lock != t.Locks[lock].Name:
		case e.F == history.KeySet:
			there[place{t.Keeper(e.Process), e.Of}] = i
		case e.F == history.KeyGone:
			delete(there, place{t.Keeper(e.Process), e.Of})
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Values(there)), func(i int) bool {
		return !t.History.Header.OneService() && t.isDown(t.History.Events[i].Process, at)
	})
}

// crashedOwner finds the first of the keys set at the given positions whose process has crashed since, before position
// at.
func (t *judge) crashedOwner(keys []int, at int) (set, crash int) {
	for _, set := range keys {
		owner := t.ProcessOf(t.History.Events[set].Of)
		for i := set; i < min(at, len(t.History.Events)); i++ {
			if e := &t.History.Events[i]; e.F == history.Crashed && e.Process == owner {
				return set, i
			}
		}
	}
	return -1, -1
}

// abandoned finds the first of the keys set at the given positions that never expires although nobody is going to
// release it: its attempt was given up, or its release was lost. With it comes the fault that was active between its
// client and the server when it was set, or struck there before the client did something else, and before position
// calm.
func (t *judge) abandoned(keys []int, calm int) (set int, why *trace.Fault) {
	for _, set := range keys {
		e := &t.History.Events[set]
		if e.Until != history.Never {
			continue
		}
		client, next := t.ProcessOf(e.Of), set+1
		for next < calm && t.History.Events[next].Process != client {
			next++
		}
		server := func(p history.Process) bool { return p == e.Process }
		return set, t.lastSuspect(next, func(f *trace.Fault) bool {
			return !f.Does.IsClock() && f.Does != history.EndsSession && t.onTheWay(f, client, server) &&
				(f.Start > set || t.Time(t.Mended(f)) >= e.Time)
		})
	}
	return -1, nil
}

// leftInSession finds the first of the keys set at the given positions that its session has kept there for longer than
// a TTL, and for nobody: its client learned that the attempt failed, or has left the section, before position at. Left
// is when that was.
func (t *judge) leftInSession(lock int32, keys []int, at int) (set, left int) {
	h := &t.History.Header
	if !h.Service.KeepsSessions() || h.TTL == 0 {
		return -1, -1
	}
	for _, set := range keys {
		e := &t.History.Events[set]
		if left := t.givenUp(lock, e.Of, set); left < at && t.Time(at)-e.Time > h.TTL {
			return set, left
		}
	}
	return -1, -1
}

// givenUp is when the client that set a key for an attempt at a position was done with the attempt: when its acquire
// returned without the lock, or its section ended. It is open if the client still waits, or is inside.
func (t *judge) givenUp(lock int32, of history.Attempt, set int) int {
	asks := t.Locks[lock].Asks
	for i := len(asks) - 1; i >= 0; i-- {
		a := &t.Asks[asks[i]]
		switch {
		case a.Process != t.ProcessOf(of) || a.Call > set:
		case a.Grant >= 0:
			return t.Grants[a.Grant].End
		default:
			return a.Ret
		}
	}
	return trace.Open
}

// isDown reports whether a server had crashed or been shut down before position at and not come back by then.
func (t *judge) isDown(server history.Process, at int) bool {
	return slices.ContainsFunc(t.Faults, func(f trace.Fault) bool {
		return f.Does.IsDown() && f.Strikes(server) && f.Start < at && (f.Stop == trace.Open || f.Stop >= at)
	})
}

// crashedHolder finds the last grant of the lock before position at, if its holder crashed inside.
func (t *judge) crashedHolder(lock int32, at int) *trace.Grant {
	grants := t.Locks[lock].Grants
	for i := len(grants) - 1; i >= 0; i-- {
		if g := &t.Grants[grants[i]]; g.OK < at {
			if g.Ending == trace.Crashed && g.End < at {
				return g
			}
			return nil
		}
	}
	return nil
}
