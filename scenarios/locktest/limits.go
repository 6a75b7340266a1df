package locktest

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
)

// limit is why no lock with a lease could have kept a law; empty if one could have.
type limit string

const (
	pauses    limit = "pauses"    // of the holder, for longer than its lease
	messages  limit = "messages"  // to the resource, held up for longer than the lock was held
	sessions  limit = "sessions"  // that the service ended although the client was alive
	unheeded  limit = "unheeded"  // end of a session: the holder was told, and worked on
	clocks    limit = "clocks"    // of servers, set ahead
	losses    limit = "losses"    // of what a server had confirmed
	failovers limit = "failovers" // to a replica without the key, or with two masters
)

// waysOn is said first of what no lock with a lease survives.
var waysOn = map[limit]string{
	pauses: `No lock with a lease survives a pause of its holder that is longer. There are two ways on: a fencing token that
the resource compares (Care.Fences, Laws: locktest.FencedLaws), or no more than what a lease can keep
(Laws: locktest.LeaseLaws).`,
	messages: `No lock survives a message between its holder and the resource that is held up until another holds the lock: it
left while the lock was held, and nothing that the lock does can call it back. There are two ways on: a fencing token
that the resource compares (Care.Fences, Laws: locktest.FencedLaws), or no more than what a lease can keep
(Laws: locktest.LeaseLaws).`,
	sessions: `No lock survives that the service ends the session of its holder: the next one gets the lock at once, before the
holder can learn that it has lost it. There are two ways on: a fencing token that the resource compares (Care.Fences,
Laws: locktest.FencedLaws), or sessions that end only after their timeout (Without: "expire session").`,
	unheeded: `No lock survives that the service ends the session of its holder. This one said so in time, and the work
went on. There are three ways on: work that stops when the lock says that it is lost (Care.StopsWhenTold), a fencing token
that the resource compares (Care.Fences, Laws: locktest.FencedLaws), or sessions that end only after their timeout
(Without: "expire session").`,
	clocks: `No lock with a lease survives a server's clock that is set ahead: its key ends before its time. There are two
ways on: a fencing token that the resource compares (Care.Fences, Laws: locktest.FencedLaws), or servers whose clocks
are slewed and never set (Without: "jump of servers").`,
	losses: `No lock with a lease survives a server that comes back, before the lease is over, without a key that it had
confirmed. There are three ways on: servers that sync every write and keep their disks (Servers.Persisting("always"),
Without: locktest.ServerLosses), servers that stay away for a TTL after a crash, or a fencing token from a store that
loses nothing (Care.Fences, Laws: locktest.FencedLaws).`,
	failovers: `No lock with a lease survives a failover to a replica that has not got its key, or a master that goes on
beside the one that replaced it. There are three ways on: an acquire that succeeds only once every replica has
confirmed it (WAIT), a fencing token from a store that loses nothing (Care.Fences, Laws: locktest.FencedLaws), or no
more than what a lock on such servers can keep (Laws: locktest.EfficiencyLaws).`,
}

// limitOf says why no lock with a lease could have kept the law that was violated in a run: its holder was paused for
// longer, its message was held up for longer, its session was ended, and it could not know or did not heed it, or its
// servers forgot its key. What was written then is of the same cause. A clock that drifts is no such reason: a lock can
// keep a margin.
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
	case c.Kind == checker.SessionExpired && toldOfItsEnd(h, &f):
		return unheeded
	case c.Kind == checker.SessionExpired && tooSoonToLearn(h, &f):
		return sessions
	case c.Kind == checker.ExpiredEarly && onlyJumps(h, f.Faults):
		return clocks
	case c.Kind == checker.LostInCrash:
		return losses
	case c.Kind == checker.LostInFailover, c.Kind == checker.DeposedMaster:
		return failovers
	}
	return ""
}

// hold is a grant with its section, as its holder knows it. Positions are places in the history.
type hold struct {
	*history.Event              // its acquire ok
	at             int          // position
	end            int          // where it was released, lost or its client crashed; len(Events) if never
	until          history.Time // the end of its validity, as last stated
}

// holdAt is the hold that began at a position.
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

// holdsOf are those among the witnesses of a finding, in order.
func holdsOf(h *history.History, f *checker.Finding) (all []*hold) {
	for i := range h.Events {
		e := &h.Events[i]
		if e.F == history.Acquire && e.Type == history.OK && e.Grant != nil && slices.Contains(f.Witness, e.Index) {
			all = append(all, holdAt(h, i))
		}
	}
	return all
}

// over reports whether a hold had ended, for its holder and for the others, when another was granted.
func (g *hold) over(h *history.History, other *hold) bool {
	granted := other.Grant.Granted
	return g.end < len(h.Events) && h.Events[g.end].Time <= granted || g.until <= granted
}

// leftInTime reports whether a write that a superseded holder's data took too late had left while the lock was its
// own, and nobody else had been granted the lock before it was given back or its lease was over: nothing that the lock
// did could have kept the write away, if the resource compares no tokens.
func leftInTime(h *history.History, f *checker.Finding) bool {
	at := slices.IndexFunc(h.Events, func(e history.Event) bool { return e.Index == f.At })
	if f.Cause.Kind != checker.StaleEffect || at < 0 || h.Header.Applies(history.Fencing) {
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
		!slices.ContainsFunc(holds, func(o *hold) bool { return o != g && !g.over(h, o) })
}

// keptInside reports whether what kept a holder inside past its lease was an answer of the resource: it had asked in
// time, and it still waited when the other came in.
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

// tooSoonToLearn reports whether the other was granted the lock before a holder whose session had been ended could know
// it: before its next sign of life, within a third of the TTL, after the end of what kept it from the servers.
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

// toldOfItsEnd reports whether the lock had told a holder that its lease was over before another was granted it.
func toldOfItsEnd(h *history.History, f *checker.Finding) bool {
	holds := holdsOf(h, f)
	return slices.ContainsFunc(holds, func(g *hold) bool {
		return g.Process == f.About && slices.ContainsFunc(holds,
			func(o *hold) bool { return o.at > g.at && g.Grant.Granted <= g.until && g.until <= o.Grant.Granted })
	})
}

// ended is when the fault ended that struck at a position; the end of the run if that is not recorded.
func ended(h *history.History, at int) history.Time {
	for i := at + 1; i < len(h.Events); i++ {
		if e := &h.Events[i]; e.Process == history.Nemesis && e.Type == history.OK && e.Value == h.Events[at].Value {
			return e.Time
		}
	}
	return h.Header.End
}

// onlyJumps reports whether, of the faults among some events, there are any that change clocks, and all of these set
// them.
func onlyJumps(h *history.History, indexes []int) bool {
	jumps, others := 0, 0
	for _, i := range indexes {
		at := slices.IndexFunc(h.Events, func(e history.Event) bool { return e.Index == i })
		switch e := &h.Events[at]; {
		case e.Process != history.Nemesis || !e.F.IsClock():
		case e.F == history.Jump:
			jumps++
		default:
			others++
		}
	}
	return jumps > 0 && others == 0
}
