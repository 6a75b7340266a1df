package checker

import (
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/clockerror"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

const DeadlockFreedom Law = "deadlock-freedom"

func init() {
	register(lawRow{law: DeadlockFreedom, place: 6, gravity: 6, kept: anyLock, atEnd: true,
		says:   "once faults end, nobody stays stuck",
		broken: "somebody waits too long for a lock",
		judge:  (*judge).deadlockFreedom, uncertain: clockerror.Waits})
}

// deadlockFreedom checks that no client waits forever while no fault is active.
//
// A waiter is an acquire that has been called but has not returned. If it fails and the client calls it again within a
// TTL, the wait continues. A waiter is stuck while nobody acquires its lock and no holder of the lock makes progress:
//   - A holder that has crashed makes no progress.
//   - A holder that is itself stuck waiting for another lock makes no progress. Several may wait for each other in a
//     cycle.
//   - If a hold is extended without limit, or has a key that never expires, its holder makes progress only until the
//     hold has lasted as long as the longest declared hold.
//
// If a holder leaves without crashing, the waiter's time restarts at zero. If a holder crashes while it is stuck, the
// time keeps running.
//
// The law is violated if a waiter was stuck for longer than the longest TTL + declared hold + slack. During this time,
// no fault may have been active. (If no client uses the resource, faults in the resource or its links do not count.)
// After a permanent fault, such as a lost server, or a cut or a clock drift that never ends, the new state counts as
// normal. Once the law is violated, nothing that happens later changes this.
//
// The law holds only if the probe (history.Probe, which requests each lock at the end of a run) acquired every lock
// after the last fault. If there is no probe, some client must have done so. Nobody may be left waiting, and no client
// may still hold a lock. If the run ended earlier, the law is undecided. It is unchecked if the header states no TTL,
// hold or slack.
func (t *judge) deadlockFreedom(f *Finding) {
	h := &t.History.Header
	limit := h.TTL + h.Hold + h.Slack
	switch {
	case limit <= 0:
		f.unchecked("The header states no TTL, hold or slack, so no wait can be too long.")
		return
	case len(t.Asks) == 0 && !t.hasProbe():
		f.unchecked("Nobody asked for a lock.")
		return
	}
	if all := t.Stuck(limit, mostBreaches); len(all) > 0 {
		if h.ClockError > 0 { // with inexact clocks, it is not known for how long the others were stuck
			all = all[:1]
		}
		for i := range all {
			t.stuckFinding(f, &all[i], limit)
		}
		return
	}
	if missing := t.missing(); missing != "" {
		f.undecided(missing)
		return
	}
	f.holds(sentence("After the last fault, every lock was acquired (%d in all), and nobody was left waiting.",
		len(t.Locks)))
}

// hasProbe reports whether the history comes from a run that ends with a probe.
func (t *judge) hasProbe() bool { return slices.Contains(t.History.Header.Clients, history.Probe) }

// missing says what was still missing for the law to hold when the run ended. It returns "" if nothing was missing.
func (t *judge) missing() string {
	calm := -1 // position at which the last fault was over
	for i := range t.Faults {
		x := &t.Faults[i]
		if calm = max(calm, t.Counted(x)); calm == trace.Open {
			return fmt.Sprintf("A fault was still active when the run ended: %s.", x.Line)
		}
	}
	for n := range t.Asks {
		if a := &t.Asks[n]; a.Ret == trace.Open {
			return sentence("When the run ended, %s had been waiting for %s since %v, "+
				"which is not long enough to decide.",
				a.Process, quoted(t.Locks[a.Lock].Name), t.Time(a.Call))
		}
	}
	for n := range t.Grants {
		if g := &t.Grants[n]; g.Ending == trace.StillOpen && g.Process != history.Probe {
			return sentence("When the run ended, %s was still in the critical section of %s.", g.Process,
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
			return sentence("Nobody was stuck, but nobody acquired %s after the last fault.", quoted(l.Name))
		}
	}
	return ""
}

// stuckFinding reports a waiter that was stuck for longer than limit.
func (t *judge) stuckFinding(f *Finding, s *trace.Stuck, limit history.Time) {
	a := &t.Asks[s.Ask]
	lock := t.Locks[a.Lock].Name
	broken := t.lastBy(s.Since + limit)
	cause, about, why, w := t.stuckCause(s, moment{broken + 1, s.Since + limit})
	defer func() { t.Cited, t.facts = t.Cited[:0], facts{} }()
	b := t.breach(f, cause, broken, lock, a.Process)
	if b == nil {
		return
	}
	calm := ", although " + t.calm(s)
	if cause.Kind == NoQuorumLeft {
		calm = ""
	}
	story := sentence("%s asked for %s at %v. "+
		"Starting at %v, nobody acquired the lock for %v%s. "+
		"The limit is %v (longest TTL + hold + slack). ",
		capital(string(a.Process)), quoted(lock), t.Time(a.Call), s.Since, s.Until-s.Since, calm, limit)
	b.violated(t, cause, story+why, append(w, a.Call))
	b.About = about
}

// calm says that no fault was active while a client was stuck. It mentions any exceptions: permanent faults, and faults
// in a resource that no client used.
func (t *judge) calm(s *trace.Stuck) string {
	var kinds []string
	for i := range t.Faults {
		kind := t.lasting(&t.Faults[i])
		if kind != "" && t.Faults[i].Start < s.At && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	meanwhile := func(f trace.Fault) bool {
		over := f.Over()
		return t.Time(f.Start) < s.Until && (over == trace.Open || t.Time(over) > s.Since)
	}
	if slices.ContainsFunc(t.Unfelt, meanwhile) {
		kinds = append(kinds, "a fault of the protected resource, which nobody used")
	}
	if len(kinds) == 0 {
		return "no fault was active"
	}
	return fmt.Sprintf("no fault was active except %s", list(kinds))
}

// lasting describes a fault that now counts as the normal state because it is permanent. It returns "" for any other
// fault.
func (t *judge) lasting(f *trace.Fault) string {
	switch {
	case f.Stop != trace.Open || f.Ends:
	case f.Does == history.Parts:
		return "a cut without end"
	case f.Does == history.PacesClock:
		return "a drift without end"
	case f.Does.IsDown() && slices.ContainsFunc(f.On, t.IsServer):
		return "a server that stayed down"
	}
	return ""
}

// stuckCause finds what was blocking a waiter that had waited too long, and which process was responsible.
func (t *judge) stuckCause(s *trace.Stuck, now moment) (cause Cause, about history.Process, why string, witness []int) {
	a, ttl, fastest := &t.Asks[s.Root], t.History.Header.TTL, t.fastest(nil)
	t.facts.far, t.facts.quick = ttl > 0 && fastest > ttl/6, 0 < fastest && fastest <= ttl/6
	if len(s.Gone) > 0 {
		return Cause{Kind: NoQuorumLeft}, "", t.quorumStory(s.Gone), starts(s.Gone)
	}
	if len(s.Cycle) > 0 {
		return t.circle(s)
	}
	if len(s.Holders) > 0 {
		g := &t.Grants[s.Holders[0]]
		how := "keeps extending it"
		if !t.History.Header.Uncapped {
			how = "its key never expires"
		}
		return Cause{Kind: StuckBehindUncapped}, g.Process,
			sentence("%s had held the lock since %v, longer than the declared hold of %v, and %s.",
				capital(string(g.Process)), t.Time(g.OK), t.History.Header.Hold, how), []int{g.OK}
	}
	keys := t.standing(a.Lock, now.at)
	if key, crash := t.crashedOwner(t.blocking(keys), now.at); key != nil {
		owner := t.makerOf(key)
		return Cause{Kind: StuckBehindCrashed}, owner,
			sentence("%s crashed at %v%s. ", capital(string(owner)), t.Time(crash), t.crashText(owner, crash)) +
				sentence("Its key on %s, set at %v, was still there at %v and %s.", t.History.Events[key.set].Process,
					t.Time(key.set), now.time, t.dueText(key, now)), []int{key.set, crash}
	}
	g := t.crashedHolder(a.Lock, now.at)
	if g != nil && !t.recorded(g) {
		return Cause{Kind: StuckBehindCrashed}, g.Process,
			sentence("%s had held the lock since %v and crashed at %v%s without releasing it.",
				capital(string(g.Process)), t.Time(g.OK), t.Time(g.End), t.crashText(g.Process, g.End)),
			[]int{g.OK, g.End}
	}
	if x := t.abandoned(a.Lock, keys, now); x != nil {
		t.facts.earlierTry = x.left == trace.Open && x.detail != TurnNotTaken
		t.facts.everlasting = x.until == history.Never
		_, granted := t.Owner[trace.Title{Lock: t.Locks[a.Lock].Name, Attempt: x.of}]
		t.facts.leftSection = granted && x.left < trace.Open
		return Cause{StuckBehindAbandoned, x.detail}, x.client, t.abandonedStory(a.Lock, x, now),
			[]int{x.set, x.prolonged, x.left}
	}
	story, taken := "No living process held it.", t.Spent(a.Lock, now.at)
	t.facts.spent = taken >= 0
	if g != nil {
		story, witness = sentence("No living process held it: "+
			"%s, which held it last, crashed at %v%s, and the key of the last holder is gone.",
			g.Process, t.Time(g.End), t.crashText(g.Process, g.End)), []int{g.OK, g.End}
		about = g.Process
	}
	if lost := t.takenInVain(taken); lost != "" {
		story, witness = story+lost, append(witness, taken)
	}
	return Cause{Kind: StuckWithoutHolder}, about, story + t.waitingStory(a, s.Since, now), witness
}

// dueText says when a key expires that still exists at the moment now. If the key should already have expired, dueText
// also names the fault in the server's clock that kept it alive.
func (t *judge) dueText(key *standingKey, now moment) string {
	if key.until == history.Never {
		return "never expires"
	}
	var f *trace.Fault
	if key.until < now.time {
		f = t.lastSuspect(now.at, func(f *trace.Fault) bool {
			return f.Does.IsClock() && f.Strikes(key.keeper) && f.Over() >= max(key.set, key.prolonged)
		})
	}
	return sentence("was due to expire at %v%s", key.until, t.faultText(f))
}

// circle describes a cycle of processes that are waiting for one another.
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
	return Cause{Kind: StuckInCycle}, "",
		fmt.Sprintf("Each client holds a lock that the next one is waiting for: %s.", list(names)), w
}

// quorumStory says that faults have permanently removed too many servers.
func (t *judge) quorumStory(gone []*trace.Fault) string {
	h := &t.History.Header
	if len(h.Servers) == 1 {
		return sentence("%s, the only server, was gone for good%s.", capital(string(h.Servers[0])),
			t.faultText(gone...))
	}
	return sentence("Too few servers were left for a quorum of %d: the others were gone for good%s.", h.Quorum,
		t.faultText(gone...))
}

// lastBy returns the position of the last event at or before limit.
func (t *judge) lastBy(limit history.Time) int {
	later := slices.IndexFunc(t.History.Events, func(e history.Event) bool { return e.Time > limit })
	if later < 0 {
		later = len(t.History.Events)
	}
	return max(0, later-1)
}

// starts returns the positions at which faults struck.
func starts(faults []*trace.Fault) (w []int) {
	for _, f := range faults {
		w = append(w, f.Start)
	}
	return w
}

// recorded reports whether a server recorded that a key was set for a grant.
func (t *judge) recorded(g *trace.Grant) bool {
	return slices.ContainsFunc(t.Keys, func(i int32) bool {
		e := &t.History.Events[i]
		return e.F == history.KeySet && e.Of == g.Attempt && e.Lock == t.Locks[g.Lock].Name
	})
}

// crashText names the fault that made a process crash at the given position.
func (t *judge) crashText(p history.Process, crash int) string {
	return t.faultText(t.lastSuspect(crash+1,
		func(f *trace.Fault) bool { return f.Does == history.Kills && f.Strikes(p) }))
}

// isDown reports whether a server was down at the given position: it had crashed or been shut down, and had not come
// back.
func (t *judge) isDown(server history.Process, at int) bool {
	return slices.ContainsFunc(t.Faults, func(f trace.Fault) bool {
		return f.Does.IsDown() && f.Strikes(server) && f.Start < at && (f.Stop == trace.Open || f.Stop >= at)
	})
}

// crashedHolder returns the lock's last grant before the given position. It returns nil unless that grant's holder
// crashed inside the critical section.
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
