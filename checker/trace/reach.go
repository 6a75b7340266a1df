package trace

import (
	"slices"
	"sort"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// reach tracks the faults that keep clients from reaching servers. It advances from one acquire to the next, in the
// order in which they were called.
type reach struct {
	next   int      // index in Trace.Faults of the first fault after the latest call that goTo was given
	active []Impact // the earlier faults that were not over at that call
	Gone   absence
	left   []history.Process // scratch space for the servers that remain usable
}

// absence lists what a client cannot use: servers that it cannot reach, and pairs of servers that cannot reach each
// other.
type absence struct {
	Away   []history.Process
	parted [][2]history.Process
}

// Impact is a fault and the position at which its effect is over. If a similar fault strikes while the effect lasts,
// the effect is over once both faults are.
type Impact struct {
	*Fault
	mended int
}

// Reset prepares r for another history.
func (r *reach) Reset() { r.next, r.active = 0, r.active[:0] }

// goTo drops the faults that were over before the given call, and adds those that struck before it.
func (r *reach) goTo(t *Trace, call int) {
	r.active = slices.DeleteFunc(r.active, func(x Impact) bool { return x.mended < call })
	for ; r.next < len(t.Faults) && t.Faults[r.next].Start < call; r.next++ {
		x := Impact{&t.Faults[r.next], t.Mended(&t.Faults[r.next])}
		if x.mended < call || x.Does.IsClock() {
			continue
		}
		if i := slices.IndexFunc(r.active, x.IsLike); i >= 0 {
			r.active[i].mended = max(r.active[i].mended, x.mended)
		} else {
			r.active = append(r.active, x)
		}
	}
}

// IsLike reports whether two faults are of the same kind and strike the same processes.
func (x *Impact) IsLike(y Impact) bool {
	return x.Kind == y.Kind && slices.Equal(x.On, y.On) && slices.Equal(x.To, y.To)
}

// QuorumReachable reports whether a client could reach a quorum of servers throughout the positions from call to end.
// The client and these servers must have been up and not paused. QuorumReachable must be called in ascending order of
// call.
func (t *Trace) QuorumReachable(client history.Process, call, end int) bool {
	r := &t.Reach
	r.goTo(t, call)
	r.Gone = absence{r.Gone.Away[:0], r.Gone.parted[:0]}
	for i := range r.active {
		if !t.spares(r.active[i].Fault, client) {
			return false
		}
	}
	for i := r.next; i < len(t.Faults) && t.Faults[i].Start <= end; i++ {
		if f := &t.Faults[i]; !f.Does.IsClock() && !t.spares(f, client) {
			return false
		}
	}
	return t.enough(&r.Gone)
}

// spares reports whether the client keeps running, without a pause, despite f. It also records which servers and links
// the client can no longer use. A fault that does not name any process may affect anyone, so it does not spare anybody.
func (t *Trace) spares(f *Fault, client history.Process) bool {
	if len(f.On)+len(f.To) == 0 || !f.Does.IsLink() && f.Does != history.SlowsDisk && f.Strikes(client) {
		return false
	}
	t.Reach.Gone.add(t, f, client)
	return true
}

// add records what the client can no longer use because of f: the servers that f strikes, the servers at the far end of
// a link that f breaks, and links within a group. A history recorded by another program may not say which process is at
// which end of a link (f.To is empty). In that case, add records all servers that f names.
func (g *absence) add(t *Trace, f *Fault, client history.Process) {
	sides := [2][]history.Process{f.On, f.To}
	for i, side := range sides {
		if linked := f.Does.IsLink() && len(f.To) > 0; linked && !slices.Contains(sides[1-i], client) {
			continue
		}
		for _, s := range side {
			if s != client && !slices.Contains(g.Away, s) {
				g.Away = append(g.Away, s)
			}
		}
	}
	if !f.Does.IsLink() {
		return
	}
	for _, a := range f.On {
		for _, b := range f.To {
			if pair := [2]history.Process{a, b}; t.sameGroup(a, b) && !slices.Contains(g.parted, pair) {
				g.parted = append(g.parted, pair)
			}
		}
	}
}

func (t *Trace) sameGroup(a, b history.Process) bool {
	return slices.ContainsFunc(t.History.Header.Groups,
		func(group []history.Process) bool { return slices.Contains(group, a) && slices.Contains(group, b) })
}

// enough reports whether the servers that are still usable form a quorum.
func (t *Trace) enough(g *absence) bool {
	h := &t.History.Header
	isAway := func(s history.Process) bool { return slices.Contains(g.Away, s) }
	left := t.Reach.left[:0]
	defer func() { t.Reach.left = left }()
	if h.OneService() || len(h.Groups) == 0 {
		for _, s := range h.Servers {
			if !isAway(s) {
				left = append(left, s)
			}
		}
		if h.OneService() {
			return g.agree(left, h.IsQuorum)
		}
		return h.IsQuorum(left)
	}
	for _, group := range h.Groups {
		all := func(members []history.Process) bool { return len(members) == len(group) }
		if !slices.ContainsFunc(group, isAway) && g.agree(group, all) {
			left = append(left, group[0])
		}
	}
	return h.IsQuorum(left)
}

// agree reports whether enough returns true for some group of the members in which no two are cut off from each other.
func (g *absence) agree(members []history.Process, enough func([]history.Process) bool) bool {
	for enough(members) {
		i := slices.IndexFunc(g.parted, func(p [2]history.Process) bool {
			return slices.Contains(members, p[0]) && slices.Contains(members, p[1])
		})
		if i < 0 {
			return true
		}
		without := func(out history.Process) []history.Process {
			return slices.DeleteFunc(slices.Clone(members), func(s history.Process) bool { return s == out })
		}
		if g.agree(without(g.parted[i][0]), enough) { // leave out one of the two
			return true
		}
		members = without(g.parted[i][1])
	}
	return false
}

// IsServer reports whether a process is one of the header's lock servers.
func (t *Trace) IsServer(p history.Process) bool {
	h := &t.History.Header
	return slices.Contains(h.Servers, p) ||
		slices.ContainsFunc(h.Groups, func(group []history.Process) bool { return slices.Contains(group, p) })
}

// calmAt records when the system was calm again: all faults that had struck up to position from had ended by position
// over.
type calmAt struct{ from, over int }

// listCalm fills t.calms. For each fault, it records the position by which that fault and all earlier ones had ended.
func (t *Trace) listCalm() {
	t.calms = t.calms[:0]
	over := -1
	for n := range t.Faults {
		f := &t.Faults[n]
		over = max(over, f.Over())
		t.calms = append(t.calms, calmAt{f.Start, over})
	}
}

// calmBefore returns the position at which the last of the faults that struck before position i ended. It returns Open
// if one of them never ended, and -1 if no fault struck.
func (t *Trace) calmBefore(i int) int {
	n := sort.Search(len(t.calms), func(n int) bool { return t.calms[n].from >= i })
	if n == 0 {
		return -1
	}
	return t.calms[n-1].over
}
