package trace

import (
	"slices"
	"sort"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// The bits of a grant's kind. HasTimes and HasToken mean that the grant has the times or the token needed to order it
// relative to other grants.
const (
	HasTimes = 1 << iota // when it was requested and when it was decided
	HasToken
	isShared
	kinds // number of kinds
)

// Kind returns a bit set that says whether the grant has the times and the token needed to order it relative to other
// grants, and whether it is shared.
func (g *Grant) Kind() (k int) {
	if g.Lease != nil {
		k |= HasTimes
	}
	if g.Token != 0 {
		k |= HasToken
	}
	if g.Shared {
		k |= isShared
	}
	return k
}

// Since returns the time at which the request that won the grant left its client. If the history does not record that
// time, Since returns the time of the call to acquire, since the request cannot have left earlier.
func (t *Trace) Since(g *Grant) history.Time {
	if g.Lease == nil {
		return t.Time(t.Asks[g.Ask].Call)
	}
	return g.Lease.Since
}

// Decided returns the time at which a grant was decided. If the history does not record that time, Decided returns the
// time at which the acquire returned, since the grant cannot have been decided later.
func (t *Trace) Decided(g *Grant) history.Time {
	if g.Lease == nil {
		return t.Time(g.OK)
	}
	return g.Lease.Granted
}

// earlier reports whether grant a comes before grant b. It does if a was decided before b's request was sent. If
// neither was decided before the other's request was sent, and both have tokens, the one with the lower token comes
// first. Two holders of a shared lock have no order. If the clocks of their processes may be wrong, the order must hold
// for every possible error.
func (t *Trace) earlier(a, b *Grant) bool {
	off := history.Time(0)
	if a.Process != b.Process {
		off = t.History.Header.ErrorOf(a.Process) + t.History.Header.ErrorOf(b.Process)
	}
	switch {
	case a == b || a.Shared && b.Shared:
		return false
	case t.Decided(a)+off < t.Since(b):
		return true
	case t.Decided(b)-off < t.Since(a):
		return false
	}
	return a.Token != 0 && a.Token < b.Token
}

// Incomparable reports whether grant a cannot be ordered relative to some other grant that took effect: one of the two
// has no token, and one of the two has no time. counted says whether a itself is one of the grants that took effect.
func (d *datum) Incomparable(a *Grant, counted bool) bool {
	own := a.Kind()
	for k, n := range d.kinds {
		if counted && k == own {
			n--
		}
		if n > 0 && own&k == 0 { // two shared holders need no order
			return true
		}
	}
	return false
}

// ranks is a set of grants. It usually shows at once that none of them is later than a given grant. Otherwise, all
// grants must be searched.
type ranks struct {
	latest history.Time // the latest time at which any grant's request left its client
	// top holds the grants that no other grant exceeds in both token and decision time. The tokens are in ascending
	// order, the times in descending order.
	top []ranked
}

type ranked struct {
	token   history.Token
	decided history.Time
}

func (r *ranks) reset() { r.latest, r.top = -history.Never, r.top[:0] }

func (r *ranks) add(x ranked, since history.Time) {
	r.latest = max(r.latest, since)
	if x.token == 0 {
		return
	}
	i := sort.Search(len(r.top), func(i int) bool { return r.top[i].token >= x.token })
	if i < len(r.top) && r.top[i].decided >= x.decided {
		return
	}
	if i < len(r.top) && r.top[i].token == x.token {
		r.top = slices.Delete(r.top, i, i+1)
	}
	from := i
	for from > 0 && r.top[from-1].decided <= x.decided {
		from--
	}
	r.top = slices.Replace(r.top, from, i, x)
}

// exceed reports whether a grant in the set may be later than a given one. token is the given grant's token; since and
// decided are when it was requested and decided.
func (r *ranks) exceed(token history.Token, since, decided history.Time) bool {
	if decided < r.latest {
		return true
	}
	i := sort.Search(len(r.top), func(i int) bool { return r.top[i].token > token })
	return token != 0 && i < len(r.top) && r.top[i].decided >= since
}

// Rank adds grant n, which took effect at the given position, to the lock's ranks if it is not there yet.
func (t *Trace) Rank(at int, lock, n int32) {
	if t.Scan.Ranked[n] {
		return
	}
	t.Scan.Ranked[n] = true
	d, g := &t.Scan.Data[lock], &t.Grants[n]
	d.Effects = append(d.Effects, effect{n, at})
	d.kinds[g.Kind()]++
	x := ranked{g.Token, t.Decided(g)}
	d.ranks[0].add(x, t.Since(g))
	if !g.Shared {
		d.ranks[1].add(x, t.Since(g))
	}
}

// Superseded finds the first accepted read or write whose grant is later than grant n. It returns its index in the
// lock's effects, or -1 if there is none.
func (t *Trace) Superseded(lock, n int32) int {
	d, g := &t.Scan.Data[lock], &t.Grants[n]
	others := &d.ranks[0]
	if g.Shared {
		others = &d.ranks[1]
	}
	if !others.exceed(g.Token, t.Since(g), t.Decided(g)) {
		return -1
	}
	return slices.IndexFunc(d.Effects, func(e effect) bool { return t.earlier(g, &t.Grants[e.Grant]) })
}

// GrantedAt returns the time at which the protocol decided the grant. If the history does not record that time, it
// returns the time at which the acquire returned.
func (g *Grant) GrantedAt(t *Trace) history.Time {
	if g.Lease != nil {
		return min(g.Lease.Granted, t.Time(g.OK))
	}
	return t.Time(g.OK)
}
