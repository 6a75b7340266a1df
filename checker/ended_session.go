package checker

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// expiredSession finds the faults that ended the session of the victim's key. Each of them alone would have ended it.
func (t *judge) expiredSession(c *clash, r *record) []*trace.Fault {
	return t.endingSession(t.Grants[r.victimSpan(c).Grant].Process, r.gone)
}

// endingSession returns the faults that may have ended the session of the holder whose key disappeared at position
// gone. If there are several, it omits those that the session demonstrably survived (see survived).
func (t *judge) endingSession(holder history.Process, gone int) []*trace.Fault {
	since := -1 // last position at which a key of an earlier session disappeared; a session ends with all its keys
	for i := range t.History.Events[:gone] {
		if e := &t.History.Events[i]; e.F == history.KeyGone && e.Why == history.Expired &&
			t.ProcessOf(e.Lock, e.Of) == holder && e.Time < t.History.Events[gone].Time {
			since = i
		}
	}
	faults := t.FaultsIn(since, gone,
		func(f *trace.Fault) bool { return f.Does == history.EndsSession && f.Strikes(holder) })
	if last := len(faults) - 1; last > 0 {
		faults = append(slices.DeleteFunc(faults[:last:last], func(f *trace.Fault) bool {
			return t.survived(f, holder, gone)
		}), faults[last])
	}
	return faults
}

// survived reports whether a holder's session survived fault f. This is so if the holder requested an extension after
// the fault had struck, got it, and lost its key, at position gone, more than a sixth of the TTL after the answer.
func (t *judge) survived(f *trace.Fault, holder history.Process, gone int) bool {
	struck, over := t.Time(f.Start), t.History.Events[gone].Time-t.History.Header.TTL/6
	return slices.ContainsFunc(t.History.Events[f.Start:gone], func(e history.Event) bool {
		return e.Process == holder && e.F == history.Extend && e.Type == history.OK && e.Grant != nil &&
			e.Grant.Since > struck && e.Time < over
	})
}

// cutShort returns the faults that ended a holder's session early, and with it the lease that the holder outlived.
// There are two cases. In the first, the key disappeared before its own deadline, and no later than the end of the
// lease. In the second, the session had already ended when the key was set, so the key's deadline had already passed.
// If the lease had already ended when it was granted, or if the session did not end early, cutShort returns nil.
func (t *judge) cutShort(l lateness) []*trace.Fault {
	g := &t.Grants[l.grant]
	if g.Lease == nil || l.ended <= g.Lease.Granted {
		return nil
	}
	var set *history.Event
	for _, at := range t.Keys {
		e := &t.History.Events[at]
		switch {
		case e.Lock != t.Locks[g.Lock].Name || e.Of != g.Attempt || e.Time > l.ended:
		case e.F != history.KeyGone:
			set = e
		case e.Why != history.Expired || set == nil || set.Until == 0:
		case e.Time < set.Until-rounding || set.Until <= set.Time:
			return t.endingSession(g.Process, int(at))
		}
	}
	return nil
}
