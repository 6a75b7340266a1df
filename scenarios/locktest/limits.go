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
	clocks    limit = "clocks"    // of servers, set ahead
	losses    limit = "losses"    // of what a server had confirmed
	failovers limit = "failovers" // to a replica without the key, or with two masters
)

// waysOn is said first of what no lock with a lease survives.
var waysOn = map[limit]string{
	pauses: `No lock with a lease survives a pause of its holder that is longer. There are two ways on: a fencing token that
the resource compares (Care.Fences, Laws: locktest.FencedLaws), or no more than what a lease can keep
(Laws: locktest.LeaseLaws).`,
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
// longer, or its servers forgot its key. What was written then is of the same cause. A clock that drifts is no such
// reason: a lock can keep a margin.
func limitOf(h *history.History, v checker.Verdict, f checker.Finding) limit {
	if f.Law == checker.ResourceSafety {
		f = v.Of(checker.MutualExclusion)
	}
	switch c := f.Cause; {
	case c == checker.Cause{Kind: checker.HolderOutlivedLease, Detail: checker.ByPause}:
		return pauses
	case c.Kind == checker.ExpiredEarly && onlyJumps(h, f.Faults):
		return clocks
	case c.Kind == checker.LostInCrash:
		return losses
	case c.Kind == checker.LostInFailover, c.Kind == checker.DeposedMaster:
		return failovers
	}
	return ""
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
