package checker

import (
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// loss describes why a holder lost its key early. The holder was told of the loss, but kept working.
type loss struct {
	cause   Cause
	leases  clash // the leases as they would have overlapped if the holder had not been told
	records []record
}

// lossTold returns why a holder lost its key early and was told of the loss. The lease must have ended when the holder
// was told. lossTold returns nil if the lease ended in another way, or if the key expired on time.
func (t *judge) lossTold(c *clash, l lateness) *loss {
	g := &t.Grants[l.grant]
	var last, then *trace.Span
	for i := range t.Locks[c.lock].Windows {
		switch w := &t.Locks[c.lock].Windows[i]; {
		case w.Grant == l.grant && w.From <= int64(t.Time(c.then.At)) && w.To == int64(l.ended):
			last = w
		case w.Grant == c.then.Grant && w.At == c.then.At:
			then = w
		}
	}
	if len(c.rest) > 0 || last == nil || then == nil {
		return nil
	}
	lease, crash := t.History.Events[last.At].Grant, t.CrashAfter(g.Process, last.At)
	if !lease.Told && (!lease.Open || crash != trace.Open && t.Time(crash) == l.ended) || lease.Until != l.ended {
		return nil
	}
	on := &loss{leases: clash{law: c.law, lock: c.lock, first: *last, then: *then}}
	on.leases.first.To = then.From + 1
	on.cause, on.records = t.decide(&on.leases)
	n := len(on.records)
	if n == 0 || on.records[n-1].victimSpan(&on.leases).Grant != l.grant {
		return nil
	}
	switch on.cause.Kind {
	case ExpiredEarly, LostInCrash, LostInFailover, DeposedMaster, RemovedByNonOwner, RemovedByOwner, Evicted,
		RemovedByOperator:
		return on
	}
	return nil
}

// comesFromLoss reports whether a holder was late because it had lost the lock. late is what the cause would be if the
// loss were ignored. comesFromLoss returns false if that cause is a pause or a wait for another lock.
func comesFromLoss(late Cause) bool {
	return late.Kind == NeverRenewed || late.Kind == HolderOutlivedLease && late.Detail != ByPause
}

// lossStory explains why a holder's lease ended early.
func (t *judge) lossStory(l lateness, on *loss) string {
	return sentence("The lease of %s was over at %v, when it was told that its lock was lost: %s.",
		t.Grants[l.grant].Process, l.ended, t.recordStory(&on.leases, &on.records[len(on.records)-1]))
}
