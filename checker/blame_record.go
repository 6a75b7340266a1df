package checker

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// strayed tells what delayed the request that removed or prolonged a key at position at, which another attempt had set at
// position set: without it the request would have met its own key, or none.
func (t *trace) strayed(at, set int) []*fault {
	return t.strayBlame(at, set).faults
}

func (t *trace) strayBlame(at, set int) blame {
	e := &t.h.Events[at]
	n, granted := t.owner[title{e.Lock, e.By}]
	if !granted || t.grants[n].ok > set {
		return blame{}
	}
	l := lateness{grant: n, met: set, left: at, deadline: t.time(set), ended: t.time(set)}
	if last := t.lastWindow(t.grants[n].lock, n); last != nil {
		l.ended = history.Time(last.to)
	}
	return t.blameFor(l)
}

// strayStory is what strayed finds, as a sentence.
func (t *trace) strayStory(at, set int) string {
	return t.blameStory(t.processOf(t.h.Events[at].By), t.strayBlame(at, set))
}

// miscounted lists the faults that made a client count its lease for longer than its key lived, of which the holder of the
// other one set its own at time other: it was paused or its answers were late while it acquired, or its clock ran slow or
// went back before the lease ended.
func (t *trace) miscounted(n int32, lease *history.Grant, other history.Time) []*fault {
	g := &t.grants[n]
	l := lateness{grant: n, met: g.ok, left: g.ok, deadline: t.time(g.ok) - (lease.Until - other), ended: lease.Until}
	var delays []delay
	for i := range t.faults {
		f := &t.faults[i]
		from, to := max(t.time(f.from), lease.Since), t.time(f.over())
		if !f.Strikes(g.process) || from > lease.Until || to < lease.Since {
			continue
		}
		d := delay{fault: f}
		switch {
		case f.does == history.SetsClock:
			d.amount = max(0, -f.Shift)
		case f.does == history.PacesClock:
			d.amount = max(0, history.Time(-f.PPM)*((min(to, lease.Until)-from)/1e6))
		case f.does == history.Stops || f.does.IsLink():
			d.from, d.to = from, min(to, lease.Granted)
		}
		if d.length() > 0 {
			delays = append(delays, d)
		}
	}
	return enoughOf(t.excess(l), delays)
}

// unrenewed finds what kept a waiter from renewing its lease, which had ended at position gone: a pause, or a fault of its
// link to the servers, that was on then.
func (t *trace) unrenewed(n int32, gone int) *fault {
	g := &t.grants[n]
	return t.lastFault(gone, func(f *fault) bool {
		return (f.does == history.Stops && f.Strikes(g.process) || f.does.IsLink() && t.onTheWay(f, g.process, t.isServer)) && f.over() > gone
	})
}

// deposing finds what had a replica take the place of the master of unit u by position at: what struck the master before,
// or the failover itself where nothing did.
func (t *trace) deposing(u history.Process, at int) *fault {
	over := t.lastFault(at, func(f *fault) bool {
		return f.does == history.Promotes && slices.ContainsFunc(f.Struck(), func(p history.Process) bool { return t.unit(p) == u })
	})
	if over == nil {
		return nil
	}
	if why := t.lastFault(over.from, func(f *fault) bool {
		return !f.does.IsClock() && f.does != history.Promotes && f.does != history.SlowsDisk && f.Strikes(over.On[0]) && t.mended(f) >= over.from
	}); why != nil {
		return why
	}
	return over
}

// forgetting lists what can have lost the counter behind a grant's token before position to: crashes that lost what a
// server had which the grant counted, and failovers.
func (t *trace) forgetting(g *grant, to int) []*fault {
	counted := func(p history.Process) bool {
		return g.lease == nil || len(g.lease.Counted) == 0 || slices.Contains(g.lease.Counted, p)
	}
	lossy := func(loss history.Loss) []*fault {
		return t.faultsIn(g.ok, to, func(f *fault) bool {
			return (f.does == history.Kills && f.Loses == loss || f.does == history.Promotes) && slices.ContainsFunc(f.On, counted)
		})
	}
	if all := lossy(history.LosesEverything); len(all) > 0 {
		return all
	}
	return lossy(history.LosesUnsynced)
}
