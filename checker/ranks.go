package checker

import (
	"slices"
	"sort"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// What a grant says about its place among others: the bits of its kind.
const (
	hasTimes = 1 << iota // when it was asked for and decided
	hasToken
	isShared
	kinds // how many kinds there are
)

func (g *grant) kind() (k int) {
	if g.lease != nil {
		k |= hasTimes
	}
	if g.token != 0 {
		k |= hasToken
	}
	if g.shared {
		k |= isShared
	}
	return k
}

// since is when the winning request of a grant left: after its call, where it does not say.
func (t *trace) since(g *grant) history.Time {
	if g.lease == nil {
		return t.time(t.asks[g.ask].call)
	}
	return g.lease.Since
}

// decided is when a grant was decided: before its return, where it does not say.
func (t *trace) decided(g *grant) history.Time {
	if g.lease == nil {
		return t.time(g.ok)
	}
	return g.lease.Granted
}

// earlier orders two grants: a was decided before b's request left; or if neither was so, a's token is lower, where both
// have one. Two holders of a shared lock do not supersede each other.
func (t *trace) earlier(a, b *grant) bool {
	switch {
	case a == b || a.shared && b.shared:
		return false
	case t.decided(a) < t.since(b):
		return true
	case t.decided(b) < t.since(a):
		return false
	}
	return a.token != 0 && a.token < b.token
}

// incomparable reports whether among the grants that took effect is another one that a cannot be ordered with, for want
// of times and tokens. counted says that a itself is among them.
func (d *datum) incomparable(a *grant, counted bool) bool {
	own := a.kind()
	for k, n := range d.kinds {
		if counted && k == own {
			n--
		}
		if n > 0 && own&k == 0 { // two shared ones need no order
			return true
		}
	}
	return false
}

// ranks shows quickly that no grant of a set is later than a given one: whoever it does not rule out is looked for.
type ranks struct {
	latest history.Time // the latest request of a grant
	// top holds the grants that no other exceeds both in token and in the time of its decision: tokens ascend, times
	// descend.
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

// exceed reports whether a grant may be later than one of that token, asked for at since and decided at decided.
func (r *ranks) exceed(token history.Token, since, decided history.Time) bool {
	if decided < r.latest {
		return true
	}
	i := sort.Search(len(r.top), func(i int) bool { return r.top[i].token > token })
	return token != 0 && i < len(r.top) && r.top[i].decided >= since
}

// rank enters a grant that took effect, unless it has done so before.
func (t *trace) rank(at int, lock, n int32) {
	if t.scan.ranked[n] {
		return
	}
	t.scan.ranked[n] = true
	d, g := &t.scan.data[lock], &t.grants[n]
	d.effects = append(d.effects, effect{n, at})
	d.kinds[g.kind()]++
	x := ranked{g.token, t.decided(g)}
	d.ranks[0].add(x, t.since(g))
	if !g.shared {
		d.ranks[1].add(x, t.since(g))
	}
}

// superseded returns the first effect of a grant later than grant n, as its place in the lock's effects, or -1 if there is
// none.
func (t *trace) superseded(lock, n int32) int {
	d, g := &t.scan.data[lock], &t.grants[n]
	others := &d.ranks[0]
	if g.shared {
		others = &d.ranks[1]
	}
	if !others.exceed(g.token, t.since(g), t.decided(g)) {
		return -1
	}
	return slices.IndexFunc(d.effects, func(e effect) bool { return t.earlier(g, &t.grants[e.grant]) })
}
