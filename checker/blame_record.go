package checker

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// strayBlame finds what delayed a request that removed or extended another attempt's key. at is the position at which
// it did so, and set is the position at which that key had been set. If the request had not been delayed, it would have
// found its own attempt's key, or no key.
func (t *judge) strayBlame(at, set int) blame {
	e := &t.History.Events[at]
	n, granted := t.Owner[trace.Title{Lock: e.Lock, Attempt: e.By}]
	if !granted || t.Grants[n].OK > set {
		return blame{}
	}
	l := lateness{grant: n, met: set, left: at, deadline: t.Time(set), ended: t.Time(set)}
	if last := t.LastWindow(t.Grants[n].Lock, n); last != nil {
		l.ended = history.Time(last.To)
	}
	return t.blameFor(l)
}

// miscounted lists the faults that made the victim believe that its lease lasted longer than its key. There are two
// kinds of such faults. Faults of the first kind struck after the grant's first request and before the grant. They
// paused the client, delayed messages between it and the servers that it counted, or made one server wait for another.
// Faults of the second kind slowed the client's clock or set it back, before the lease ended and before the leases
// clashed.
func (t *judge) miscounted(c *clash, r *record) []*trace.Fault {
	n, at := r.victimSpan(c).Grant, r.victimSpan(c).At
	g, lease := &t.Grants[n], t.History.Events[at].Grant
	other, clashed := t.History.Events[r.set[1-r.victim]].Time, t.Time(max(c.first.At, c.then.At))
	l := lateness{grant: n, met: at, left: at, deadline: t.Time(at) - (lease.Until - other), ended: lease.Until}
	counted := func(p history.Process) bool { return slices.Contains(lease.Counted, p) }
	unit := func(p history.Process) bool {
		return slices.ContainsFunc(lease.Counted, func(s history.Process) bool { return t.Unit(s) == t.Unit(p) })
	}
	var delays []delay
	for f := range t.suspects() {
		from, to := max(t.Time(f.Start), lease.Since), t.Time(f.Over())
		if from > min(lease.Until, clashed) || to < lease.Since {
			continue
		}
		d := delay{fault: f}
		switch own := f.Strikes(g.Process); {
		case own && f.Does == history.SetsClock:
			d.amount = max(0, -f.Shift)
		case own && f.Does == history.PacesClock:
			d.amount = max(0, history.Time(-f.PPM)*((min(to, lease.Until)-from)/1e6))
		case f.Does.IsClock():
		case own && f.Does == history.Stops, t.onTheWay(f, g.Process, counted), t.linksServers(f, unit):
			d.from, d.to = from, min(to, lease.Granted)
		}
		if d.length() > 0 {
			delays = append(delays, d)
		}
	}
	// The client subtracts the time that has passed since its request. So it trusts the lease for too long only if its
	// clock ran slow or was set back; a delay alone is not enough.
	if t.History.Header.Applies(history.ElapsedCheck) {
		clocks := slices.DeleteFunc(slices.Clone(delays), func(d delay) bool { return !d.fault.Does.IsClock() })
		if faults := enoughOf(t.excess(l), clocks); faults != nil {
			return faults
		}
	}
	return enoughOf(t.excess(l), delays)
}

// linksServers reports whether f affects a link between two servers, one of which may have been waiting for the other's
// answer.
func (t *judge) linksServers(f *trace.Fault, servers func(history.Process) bool) bool {
	return f.Does.IsLink() && slices.ContainsFunc(f.On, servers) && slices.ContainsFunc(f.To, servers)
}

// unrenewed finds the fault that kept the holder of grant n from renewing its lease: a pause of the holder, or a fault
// on its link to a server. The fault must have been active at position gone. By then, the lease had ended.
func (t *judge) unrenewed(n int32, gone int) *trace.Fault {
	g := &t.Grants[n]
	return t.lastSuspect(gone, func(f *trace.Fault) bool {
		return (f.Does == history.Stops && f.Strikes(g.Process) ||
			f.Does.IsLink() && t.onTheWay(f, g.Process, t.IsServer)) && f.Over() > gone
	})
}

// promotion returns the last failover before the given position that replaced the master of u's group with a replica.
// It returns nil if there was none.
func (t *judge) promotion(u history.Process, at int) *trace.Fault {
	return t.lastSuspect(at, func(f *trace.Fault) bool {
		return f.Does == history.Promotes &&
			slices.ContainsFunc(f.Struck(), func(p history.Process) bool { return t.Unit(p) == u })
	})
}

// reborn returns the fault that made a replica restart after the victim's key was set, so that the replica did not have
// the key when it took over. It returns nil if there is no such fault, or if the servers are members of one service
// with a replicated log.
func (t *judge) reborn(r *record) *trace.Fault {
	if t.History.Header.Service.Kind().OneLog {
		return nil
	}
	p := t.History.Events[r.at].Process
	return t.lastSuspect(r.at, func(f *trace.Fault) bool {
		return (f.Does == history.Kills || f.Does == history.ShutsDown) && f.Strikes(p) && f.Start > r.set[r.victim]
	})
}

// deposing finds the fault that made a replica replace the master of u's group before the given position. This is the
// last fault that struck the master before the failover. Clock faults and slow disks do not count.
//
// If the plan itself ordered the failover, a fault counts only if it was still active at that time. If there is none,
// deposing returns the failover. (A failover by Sentinel or by the Cluster always has an earlier cause.)
func (t *judge) deposing(u history.Process, at int) *trace.Fault {
	over := t.promotion(u, at)
	if over == nil {
		return nil
	}
	ordered := t.ordered(over)
	why := t.lastSuspect(over.Start, func(f *trace.Fault) bool {
		return !f.Does.IsClock() && f.Does != history.Promotes && f.Does != history.SlowsDisk &&
			f.Strikes(over.On[0]) && (!ordered || t.Mended(f) >= over.Start)
	})
	if why == nil && ordered {
		return over
	}
	return why
}

// ordered reports whether a failover was a fault in the plan, rather than one that Sentinel or the Cluster started.
func (t *judge) ordered(f *trace.Fault) bool {
	return !t.History.Events[f.Start].Why.BySystem()
}

// misleading lists the faults that explain why member p extended a lease although it was no longer the leader. These
// faults paused p or cut it off from other members, so it did not learn that a new leader had taken over the leases.
func (t *judge) misleading(p history.Process, at int) []*trace.Fault {
	over := t.takenOver(at)
	return t.suspectsIn(-1, at, func(f *trace.Fault) bool {
		return (f.Does == history.Stops && f.Strikes(p) || f.Does.IsLink() && t.onTheWay(f, p, t.IsServer)) &&
			f.Over() > over
	})
}

// forgetting lists the faults that may have made a server that counted toward grant g lose the fencing token counter
// before the given position. It returns the first of these lists that is not empty:
//   - flushes
//   - planned failovers, and crashes that lost everything
//   - planned failovers, and crashes that lost unsynced writes
//   - shutdowns, after which a server has lost what it does not store on disk
//
// If the servers fsync each write, only the first two can explain the loss. If the servers are members of one service,
// forgetting lists nothing, since the other members keep the counter.
func (t *judge) forgetting(g *trace.Grant, to int) []*trace.Fault {
	if t.History.Header.OneService() {
		return nil
	}
	from := t.Asks[g.Ask].Call
	for i := from; i < g.OK; i++ {
		if e := &t.History.Events[i]; e.F == history.KeySet && e.Of == g.Attempt && e.Lock == t.Locks[g.Lock].Name {
			from = i
		}
	}
	counted := func(p history.Process) bool {
		return g.Lease == nil || len(g.Lease.Counted) == 0 || slices.Contains(g.Lease.Counted, p)
	}
	lossy := func(loss history.Loss) []*trace.Fault {
		return t.suspectsIn(from, to, func(f *trace.Fault) bool {
			return (f.Does == history.Kills && f.Loses == loss || f.Does == history.Promotes && t.ordered(f)) &&
				slices.ContainsFunc(f.On, counted)
		})
	}
	flushed := t.suspectsIn(from, to, func(f *trace.Fault) bool {
		return f.Does == history.RemovesKeys && t.History.Events[f.Start].Lock == "" &&
			slices.ContainsFunc(f.On, counted)
	})
	if len(flushed) > 0 {
		return flushed
	}
	if all := lossy(history.LosesEverything); len(all) > 0 || t.History.Header.Applies(history.FsyncAlways) {
		return all
	}
	if all := lossy(history.LosesUnsynced); len(all) > 0 {
		return all
	}
	return t.suspectsIn(from, to,
		func(f *trace.Fault) bool { return f.Does == history.ShutsDown && slices.ContainsFunc(f.On, counted) })
}
