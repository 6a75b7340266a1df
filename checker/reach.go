package checker

import (
	"slices"
	"sort"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// reach follows, from ask to ask in the order of their calls, the faults that keep clients from servers.
type reach struct {
	next   int      // in trace.faults: the first that strikes after the last call looked at
	active []impact // of those before it that were not over then
	away   []history.Process
}

// impact is a fault with the position up to which it, or another like it, takes something away.
type impact struct {
	*fault
	mended int
}

func (r *reach) reset() { r.next, r.active = 0, r.active[:0] }

// goTo takes the faults into account that strike before position call.
func (r *reach) goTo(t *trace, call int) {
	r.active = slices.DeleteFunc(r.active, func(x impact) bool { return x.mended < call })
	for ; r.next < len(t.faults) && t.faults[r.next].from < call; r.next++ {
		x := impact{&t.faults[r.next], t.mended(&t.faults[r.next])}
		if x.mended < call || x.kind.IsClock() {
			continue
		}
		if i := slices.IndexFunc(r.active, x.isLike); i >= 0 {
			r.active[i].mended = max(r.active[i].mended, x.mended)
		} else {
			r.active = append(r.active, x)
		}
	}
}

func (x *impact) isLike(y impact) bool {
	return x.kind == y.kind && slices.Equal(x.On, y.On) && slices.Equal(x.To, y.To)
}

// quorumReachable reports whether from position call to position end the client was up and unpaused, and at least a
// quorum of servers was each up, unpaused and reachable from it. Calls ascend from one to the next.
func (t *trace) quorumReachable(client history.Process, call, end int) bool {
	r := &t.reach
	r.goTo(t, call)
	r.away = r.away[:0]
	for i := range r.active {
		if !t.spares(r.active[i].fault, client) {
			return false
		}
	}
	for i := r.next; i < len(t.faults) && t.faults[i].from <= end; i++ {
		if f := &t.faults[i]; !f.kind.IsClock() && !t.spares(f, client) {
			return false
		}
	}
	return t.enough(r.away)
}

// spares reports whether the client itself is up and unpaused under f, and adds the servers that f keeps from it to those
// that are away. Of whom a fault strikes that names nobody nothing is known.
func (t *trace) spares(f *fault, client history.Process) bool {
	if len(f.On)+len(f.To) == 0 || !f.kind.IsLink() && f.kind != history.SlowFsync && f.Strikes(client) {
		return false
	}
	r := &t.reach
	for _, side := range [2][]history.Process{f.On, f.To} {
		for _, s := range side {
			if s != client && t.separates(f, client, s) && !slices.Contains(r.away, s) {
				r.away = append(r.away, s)
			}
		}
	}
	return true
}

// oneService reports whether the header's quorum is one of servers that keep a single copy between them (etcd,
// ZooKeeper), not of shards that each keep their own.
func oneService(h *history.Header) bool { return len(h.Shards) > 0 && len(h.Shards) < h.Quorum }

// enough reports whether a quorum is left without the servers that are away.
func (t *trace) enough(away []history.Process) bool {
	h := &t.h.Header
	isAway := func(s history.Process) bool { return slices.Contains(away, s) }
	left := 0
	if len(h.Shards) == 0 || oneService(h) {
		for _, s := range h.Servers {
			if !isAway(s) {
				left++
			}
		}
		return left >= h.Quorum
	}
	for _, shard := range h.Shards {
		if !slices.ContainsFunc(shard, isAway) {
			left++
		}
	}
	return left >= h.Quorum
}

// separates reports whether f keeps server s from serving the client: any fault of the server itself does; one of a
// link if the link joins the two, or joins s to others that it has to agree with: then the smaller side is out.
func (t *trace) separates(f *fault, client, s history.Process) bool {
	if !f.kind.IsLink() {
		return true
	}
	if len(f.To) == 0 { // a foreign history, which does not say who is on which side
		return true
	}
	if slices.Contains(f.On, client) {
		return slices.Contains(f.To, s)
	}
	if slices.Contains(f.To, client) {
		return slices.Contains(f.On, s)
	}
	if !slices.ContainsFunc(f.On, t.isServer) || !slices.ContainsFunc(f.To, t.isServer) {
		return false // a link of other clients
	}
	smaller := f.On
	if len(f.On) > len(f.To) {
		smaller = f.To
	}
	return slices.Contains(smaller, s)
}

func (t *trace) isServer(p history.Process) bool {
	h := &t.h.Header
	return slices.Contains(h.Servers, p) || slices.ContainsFunc(h.Shards, func(shard []history.Process) bool { return slices.Contains(shard, p) })
}

// calmAt says that of the faults that had struck by position from, the last was over at position over.
type calmAt struct{ from, over int }

// listCalm fills in t.calms.
func (t *trace) listCalm() {
	t.calms = t.calms[:0]
	over := -1
	for n := range t.faults {
		f := &t.faults[n]
		over = max(over, f.over())
		t.calms = append(t.calms, calmAt{f.from, over})
	}
}

// calmBefore is the position at which the last of the faults that struck before position i was over, open if one goes
// on, -1 if none struck.
func (t *trace) calmBefore(i int) int {
	n := sort.Search(len(t.calms), func(n int) bool { return t.calms[n].from >= i })
	if n == 0 {
		return -1
	}
	return t.calms[n-1].over
}
