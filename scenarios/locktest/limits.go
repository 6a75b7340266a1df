package locktest

import (
	"cmp"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
)

// limit is the reason why no lock with a lease could have upheld a law. It is "" if such a lock could have.
type limit string

const (
	pauses    limit = "pauses"    // a pause kept the holder at work until its lease was over
	messages  limit = "messages"  // a message to the resource was delayed until another client held the lock
	sessions  limit = "sessions"  // the service ended the session of a client that was still alive
	unheeded  limit = "unheeded"  // the session ended, the lock reported it, and the holder continued to work
	renewals  limit = "renewals"  // no renewal got through, the lock reported it, and the holder continued to work
	clocks    limit = "clocks"    // the clock of a server was set ahead
	drifts    limit = "drifts"    // the clock of a server ran faster than any usual allowance covers
	losses    limit = "losses"    // a server lost data that it had confirmed
	failovers limit = "failovers" // a replica without the key took over, or there were two masters
)

// waysOn maps each limit to the first part of its explanation: what the user can do about the limit.
var waysOn = map[limit]string{
	pauses: `No lock with a lease survives a pause that keeps its holder at work until the lease is over. There are two
solutions: a fencing token that the resource compares (Precautions.Fences, Laws: locktest.FencedLaws), or requiring no
more than what a lease can keep (Laws: locktest.LeaseLaws).`,
	messages: `No lock survives a message between its holder and the resource that is delayed until another client holds
the lock: it was sent while the lock was held, and nothing that the lock does can call it back. There are two
solutions: a fencing token that the resource compares (Precautions.Fences, Laws: locktest.FencedLaws), or requiring no
more than what a lease can keep (Laws: locktest.LeaseLaws).`,
	sessions: `No lock survives if the service ends the session of its holder: the next client gets the lock at once,
before the holder can learn that it has lost it. There are two solutions: a fencing token that the resource compares
(Precautions.Fences, Laws: locktest.FencedLaws), or sessions that end only after their timeout (Without: "expire
session").`,
	unheeded: `No lock survives if the service ends the session of its holder. This lock reported its loss in time,
but the work went on. There are three solutions: work that stops when the lock reports its loss
(Precautions.StopsWhenLost), a fencing token that the resource compares (Precautions.Fences, Laws:
locktest.FencedLaws), or sessions that end only after their timeout (Without: "expire session").`,
	renewals: `No lock with a lease survives a cut or a delay that keeps its renewals from the servers until the lease is
over. This lock reported its loss in time, but the work went on. There are two solutions: work that stops when the lock
reports its loss (Precautions.StopsWhenLost), or a fencing token that the resource compares (Precautions.Fences, Laws:
locktest.FencedLaws).`,
	clocks: `No lock with a lease survives a server's clock that is set ahead: its key expires too early. There are
two solutions: a fencing token that the resource compares (Precautions.Fences, Laws: locktest.FencedLaws), or servers
whose clocks are slewed and never set (Without: "jump of servers").`,
	drifts: `No lock with a lease survives a server's clock that runs fast by more than its allowance for drift, and the
usual allowance is 1% of the TTL (Redlock): the key expires too early. There are two solutions: a fencing token that the
resource compares (Precautions.Fences, Laws: locktest.FencedLaws), or servers whose clocks are synchronized (Without:
"drift of servers above 10000ppm").`,
	losses: `No lock with a lease survives a server that comes back, before the lease is over, without a key that it
had confirmed. There are three solutions: servers that sync every write and keep their disks
(Servers.Persisting("always"), Without: locktest.ServerDataLoss), servers that stay away for a TTL after a crash, or a
fencing token from a store that loses nothing (Precautions.Fences, Laws: locktest.FencedLaws).`,
	failovers: `No lock with a lease survives a failover to a replica that does not have its key, or a master that
continues beside the one that replaced it. There are three solutions: an acquire that succeeds only once every replica
has confirmed it (WAIT), a fencing token from a store that loses nothing (Precautions.Fences, Laws:
locktest.FencedLaws), or requiring no more than what a lock on such servers can keep (Laws: locktest.EfficiencyLaws).`,
}

// limitOf returns the reason why no lock with a lease could have upheld the law that a run violated, or "" if such a
// lock could have. There are three kinds of reasons. First, the holder was paused, or its message was delayed, for
// longer than its lease. Second, the service ended the holder's session or lease, and the holder could not know this,
// or ignored it. Third, the servers lost the holder's key, or a jump or drift of a clock made it expire early.
//
// If a run violates resource-safety, the reason is the same as for mutual-exclusion, unless the client sent the stale
// write while it was still holding the lock. A clock drift of 1% or less is not a reason, since a lock can subtract an
// allowance for such a drift from its validity.
func limitOf(h *history.History, v checker.Verdict, f checker.Finding) limit {
	if f.Law == checker.ResourceSafety {
		if leftInTime(h, &f) {
			return messages
		}
		f = v.Of(checker.MutualExclusion)
	}
	switch c := f.Cause; {
	case c == checker.Cause{Kind: checker.HolderOutlivedLease, Detail: checker.ByPause}:
		return pauses
	case c == checker.Cause{Kind: checker.HolderOutlivedLease, Detail: checker.ByLatePacket} && keptInside(h, &f):
		return messages
	case c == checker.Cause{Kind: checker.HolderOutlivedLease, Detail: checker.ByLatePacket} && notified(h, &f) &&
		toldOfItsEnd(h, &f):
		return renewals
	case c.Kind == checker.SessionExpired && toldOfItsEnd(h, &f):
		return unheeded
	case c.Kind == checker.SessionExpired && tooSoonToLearn(h, &f):
		return sessions
	case c.Kind == checker.ExpiredEarly:
		return clockLimit(h, f.Faults)
	case c.Kind == checker.LostInCrash:
		return losses
	case c.Kind == checker.LostInFailover, c.Kind == checker.DeposedMaster:
		return failovers
	}
	return ""
}

// hold is one grant of the lock and the critical section that follows it, from the holder's point of view. Positions
// are indexes into the history's events.
type hold struct {
	*history.Event     // the acquire ok event
	at             int // position
	// end is the index of the event that ended the hold: it was released or lost, or the client crashed. It is
	// len(Events) if there is no such event.
	end   int
	until history.Time // end of its validity, as last stated
}

// holdAt returns the hold that begins with the acquire event at the given index.
func holdAt(h *history.History, at int) *hold {
	e := &h.Events[at]
	g := &hold{Event: e, at: at, end: len(h.Events), until: e.Grant.Until}
	for i := at + 1; i < len(h.Events); i++ {
		o := &h.Events[i]
		switch {
		case o.Process != e.Process || o.F != history.Crashed && o.Attempt != e.Attempt:
		case o.F == history.Extend && o.Grant != nil:
			g.until = o.Grant.Until
		case o.F == history.Release && o.Type == history.Invoke, o.F == history.Lost, o.F == history.Crashed:
			g.end = i
			return g
		}
	}
	return g
}

// holdsOf returns the holds among a finding's witnesses, in chronological order. If a witness is a request that took
// effect at the resource, holdsOf includes the hold during which the request was sent.
func holdsOf(h *history.History, f *checker.Finding) (all []*hold) {
	shown := map[history.Attempt]bool{}
	for i := range h.Events {
		if e := &h.Events[i]; e.F == history.Apply && slices.Contains(f.Witness, e.Index) {
			shown[e.Of] = true
		}
	}
	for i := range h.Events {
		e := &h.Events[i]
		if e.F == history.Acquire && e.Type == history.OK && e.Grant != nil &&
			(shown[e.Attempt] || slices.Contains(f.Witness, e.Index)) {
			all = append(all, holdAt(h, i))
		}
	}
	return all
}

// endedBefore reports whether hold g had been released, or its lease had ended, when another client was granted the
// lock.
func (g *hold) endedBefore(h *history.History, other *hold) bool {
	granted := other.Grant.Granted
	return g.end < len(h.Events) && h.Events[g.end].Time <= granted || g.until <= granted
}

// leftInTime reports whether a stale write, or a write that overwrote an update, was sent in time. This is the case if
// the client was still holding the lock, and the next client was not granted the lock until it had been released or the
// lease had ended. No lock can prevent such a write. Only a resource that compares fencing tokens can refuse it.
func leftInTime(h *history.History, f *checker.Finding) bool {
	at := slices.IndexFunc(h.Events, func(e history.Event) bool { return e.Index == f.At })
	late := f.Cause.Kind == checker.StaleEffect || f.Cause.Kind == checker.LostUpdate
	if !late || at < 0 || h.Header.Applies(history.Fencing) {
		return false
	}
	write, holds := &h.Events[at], holdsOf(h, f)
	mine := slices.IndexFunc(holds, func(g *hold) bool { return g.Attempt == write.Of })
	if mine < 0 {
		return false
	}
	g := holds[mine]
	left := -1
	for i := g.at; i < at; i++ {
		if e := &h.Events[i]; e.F == history.Write && e.Type == history.Invoke && e.Attempt == write.Of &&
			e.Value == write.Value {
			left = i
		}
	}
	return left >= 0 && left < g.end && h.Events[left].Time < g.until &&
		!slices.ContainsFunc(holds, func(o *hold) bool { return o != g && !g.endedBefore(h, o) })
}

// keptInside reports whether the only reason why a holder was still in the critical section after its lease had ended
// is that the resource was slow to answer. The holder had sent its request before the lease ended, and was waiting for
// the answer when the other client entered.
func keptInside(h *history.History, f *checker.Finding) bool {
	for _, g := range holdsOf(h, f) {
		if g.Process != f.About {
			continue
		}
		waits := false
		for i := g.at; i < g.end && h.Events[i].Index <= f.At; i++ {
			e := &h.Events[i]
			if e.Process == g.Process && (e.F == history.Read || e.F == history.Write) {
				waits = e.Type == history.Invoke && e.Time < g.until
			}
		}
		return waits
	}
	return false
}

// tooSoonToLearn reports whether a holder's session had ended, and another client was granted the lock before the
// holder could notice. A holder notices at its next keepalive, at most a third of the TTL after the session has ended.
// If faults separated the holder from the servers, that third of the TTL begins when the last of these faults ends.
func tooSoonToLearn(h *history.History, f *checker.Finding) bool {
	var gone, granted history.Time
	for _, g := range holdsOf(h, f) {
		if g.Process != f.About {
			granted = g.Grant.Granted
			continue
		}
		for i := range h.Events {
			e := &h.Events[i]
			if e.F == history.KeyGone && e.Why == history.Expired && e.Of == g.Attempt &&
				slices.Contains(f.Witness, e.Index) {
				gone = e.Time
			}
		}
	}
	for i := range h.Events {
		e := &h.Events[i]
		if e.Process != history.Nemesis || e.Fault == nil || !e.Fault.Strikes(f.About) || e.Time > granted {
			continue
		}
		if does := e.F.Does(); does == history.Stops || does.IsLink() {
			gone = max(gone, e.Time)
			if e.Type == history.Invoke && e.Fault.Ends {
				gone = max(gone, ended(h, i))
			}
		}
	}
	return gone > 0 && granted < gone+h.Header.TTL/3
}

// toldOfItsEnd reports whether the lock told its holder that the lease had ended before another client was granted the
// lock.
func toldOfItsEnd(h *history.History, f *checker.Finding) bool {
	holds := holdsOf(h, f)
	return slices.ContainsFunc(holds, func(g *hold) bool {
		return g.Process == f.About && slices.ContainsFunc(holds,
			func(o *hold) bool { return o.at > g.at && g.Grant.Granted <= g.until && g.until <= o.Grant.Granted })
	})
}

// notified reports whether the lock told its holder that it had been lost, but the clients are not configured to stop
// working when that happens.
func notified(h *history.History, f *checker.Finding) bool {
	return !h.Header.Applies(history.StopWhenLost) && slices.ContainsFunc(holdsOf(h, f), func(g *hold) bool {
		return g.Process == f.About && (g.Grant.Open || g.Grant.Told)
	})
}

// ended returns the time at which a fault ended. at is the index of the event that marks the fault's beginning. If the
// end was not recorded, ended returns the end of the run.
func ended(h *history.History, at int) history.Time {
	for i := at + 1; i < len(h.Events); i++ {
		if e := &h.Events[i]; e.Process == history.Nemesis && e.Type == history.OK && e.Value == h.Events[at].Value {
			return e.Time
		}
	}
	return h.Header.End
}

// usualAllowance is the largest drift, in ppm, that a lock is expected to tolerate. Redlock subtracts 1% of the TTL.
const usualAllowance = 10_000

// clockLimit looks for a clock fault that no lease can tolerate: a clock jump, or a drift that exceeds the usual
// allowance. indexes are those of the events that explain why a key expired early. If there is no such fault among
// them, clockLimit returns "".
func clockLimit(h *history.History, indexes []int) (l limit) {
	for _, i := range indexes {
		at := slices.IndexFunc(h.Events, func(e history.Event) bool { return e.Index == i })
		switch e := &h.Events[at]; {
		case e.Process != history.Nemesis || !e.F.IsClock():
		case e.F == history.Jump:
			l = cmp.Or(l, clocks)
		case e.Fault.PPM > usualAllowance:
			l = drifts
		}
	}
	return l
}
