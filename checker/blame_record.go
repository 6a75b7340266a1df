package checker

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// strayed tells what delayed the request that removed or prolonged a key at position at, which another attempt had set
// at position set: without it the request would have met its own key, or none.
func (t *judge) strayed(at, set int) []*trace.Fault {
	return t.strayBlame(at, set).faults
}

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

// strayStory is what strayed finds, as a sentence.
func (t *judge) strayStory(at, set int) string {
	return t.blameStory(t.ProcessOf(t.History.Events[at].By), t.strayBlame(at, set))
}

// miscounted lists the faults that made a client count its lease for longer than its key lived, of which the holder of
// the other one set its own at time other: it was paused or its answers were late while it acquired, or its clock ran
// slow or went back before the lease ended.
func (t *judge) miscounted(n int32, lease *history.Grant, other history.Time) []*trace.Fault {
	g := &t.Grants[n]
	l := lateness{grant: n, met: g.OK, left: g.OK, deadline: t.Time(g.OK) - (lease.Until - other), ended: lease.Until}
	var delays []delay
	for i := range t.Faults {
		f := &t.Faults[i]
		from, to := max(t.Time(f.Start), lease.Since), t.Time(f.Over())
		if !f.Strikes(g.Process) || from > lease.Until || to < lease.Since {
			continue
		}
		d := delay{fault: f}
		switch {
		case f.Does == history.SetsClock:
			d.amount = max(0, -f.Shift)
		case f.Does == history.PacesClock:
			d.amount = max(0, history.Time(-f.PPM)*((min(to, lease.Until)-from)/1e6))
		case f.Does == history.Stops || f.Does.IsLink():
			d.from, d.to = from, min(to, lease.Granted)
		}
		if d.length() > 0 {
			delays = append(delays, d)
		}
	}
	return enoughOf(t.excess(l), delays)
}

// unrenewed finds what kept a waiter from renewing its lease, which had ended at position gone: a pause, or a fault of
// its link to the servers, that was on then.
func (t *judge) unrenewed(n int32, gone int) *trace.Fault {
	g := &t.Grants[n]
	return t.LastFault(gone, func(f *trace.Fault) bool {
		return (f.Does == history.Stops && f.Strikes(g.Process) ||
			f.Does.IsLink() && t.onTheWay(f, g.Process, t.IsServer)) && f.Over() > gone
	})
}

// deposing finds what had a replica take the place of the master of unit u by position at: what struck the master
// before, or the failover itself where nothing did.
func (t *judge) deposing(u history.Process, at int) *trace.Fault {
	over := t.LastFault(at, func(f *trace.Fault) bool {
		return f.Does == history.Promotes &&
			slices.ContainsFunc(f.Struck(), func(p history.Process) bool { return t.Unit(p) == u })
	})
	if over == nil {
		return nil
	}
	if why := t.LastFault(over.Start, func(f *trace.Fault) bool {
		return !f.Does.IsClock() && f.Does != history.Promotes && f.Does != history.SlowsDisk &&
			f.Strikes(over.On[0]) && t.Mended(f) >= over.Start
	}); why != nil {
		return why
	}
	return over
}

// forgetting lists what can have lost the counter behind a grant's token before position to: crashes that lost what a
// server had which the grant counted, and failovers.
func (t *judge) forgetting(g *trace.Grant, to int) []*trace.Fault {
	counted := func(p history.Process) bool {
		return g.Lease == nil || len(g.Lease.Counted) == 0 || slices.Contains(g.Lease.Counted, p)
	}
	lossy := func(loss history.Loss) []*trace.Fault {
		return t.FaultsIn(g.OK, to, func(f *trace.Fault) bool {
			return (f.Does == history.Kills && f.Loses == loss || f.Does == history.Promotes) &&
				slices.ContainsFunc(f.On, counted)
		})
	}
	if all := lossy(history.LosesEverything); len(all) > 0 {
		return all
	}
	return lossy(history.LosesUnsynced)
}
