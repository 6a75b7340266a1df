package doubt

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// token is a grant with its fencing token, and the times between which it was asked for and returned.
type token struct {
	grant     *trace.Grant
	process   int32
	asked, ok int64
}

// tokensOf lists the grants of a lock that have a token, in the order in which they returned.
func tokensOf(t *trace.Trace, l *trace.LockTrace) (all []token) {
	for _, n := range l.Grants {
		g := &t.Grants[n]
		if g.Token == 0 {
			continue
		}
		asked := t.Time(t.Asks[g.Ask].Call)
		if g.Lease != nil {
			asked = max(asked, g.Lease.Since)
		}
		all = append(all, token{g, t.Number[g.Process], int64(asked), int64(t.Time(g.OK))})
	}
	slices.SortStableFunc(all, func(a, b token) int { return cmp.Compare(a.ok, b.ok) })
	return all
}

// highest knows the highest token that it was given, and that of any other process.
type highest struct{ first, second *token }

func (h *highest) add(x *token) {
	switch {
	case h.first == nil || x.grant.Token > h.first.grant.Token:
		if h.first != nil && h.first.process != x.process {
			h.second = h.first
		}
		h.first = x
	case x.process != h.first.process && (h.second == nil || x.grant.Token > h.second.grant.Token):
		h.second = x
	}
}

// wentBack finds a grant whose token is lower than that of an earlier one of another process, which returned more than
// slack before it was asked for, or below zero, not more than so much after that.
func wentBack(all []token, slack int64) (a, b *token) {
	before := make([]highest, 1, len(all)+1)
	for i := range all {
		h := before[i]
		h.add(&all[i])
		before = append(before, h)
	}
	for i := range all {
		x := &all[i]
		h := before[sort.Search(len(all), func(i int) bool { return !exceeds(x.asked, all[i].ok, slack) })]
		o := h.first
		if o != nil && o.process == x.process {
			o = h.second
		}
		if o != nil && o.grant.Token > x.grant.Token {
			return o, x
		}
	}
	return nil, nil
}

// TokensWentBack finds two grants of a lock of which the later has the lower token, whatever the clocks showed; nil if
// there are none.
func TokensWentBack(t *trace.Trace, l *trace.LockTrace) (a, b *trace.Grant) {
	if x, y := wentBack(tokensOf(t, l), apart(t)); y != nil {
		return x.grant, y.grant
	}
	return nil, nil
}

// Tokens says why it is not known that tokens rise, although none was seen not to for certain.
func Tokens(t *trace.Trace, violated bool, _ int) string {
	for n := range t.Locks {
		if _, b := wentBack(tokensOf(t, &t.Locks[n]), -apart(t)); b != nil && !violated {
			return "A grant of " + string(b.grant.Process) + " has a lower token than one that was made at nearly " +
				"the same time. " + because(t)
		}
	}
	return ""
}

// Effects says why it is not known whether a superseded holder took effect, or an update was lost. The records of the
// resource are in the order of its own clock; open is whose grant is the later one, and where clients tell of their
// reads and writes, what came before what.
func Effects(t *trace.Trace, violated bool, _ int) string {
	if !told(t) {
		return "The clients tell of their reads and writes at nearly the same times as the resource. " + because(t)
	}
	if violated { // what Trace.Superseded says is so whatever the clocks showed
		return ""
	}
	seen := make([]ask, len(t.Locks))
	for _, at := range t.Data {
		e := &t.History.Events[at]
		lock, known := t.LockNumber[e.Lock]
		if e.F != history.Apply || e.Type != history.OK || !known {
			continue
		}
		n, granted := t.GrantAt(e.Of, lock)
		if !granted {
			continue
		}
		g, s := &t.Grants[n], &seen[lock]
		if e.Op == history.Write && s.mayBeLater(t, g) {
			return "The grants of " + string(g.Process) + " and of another that the resource heard before it were " +
				"made at nearly the same time. " + because(t)
		}
		s.add(t, g)
	}
	return ""
}

// ask knows of the grants that took effect the two of different processes that were asked for last, and the highest
// token.
type ask struct {
	first, second   history.Process
	latest, another history.Time
	token           history.Token
	any             bool
}

func (s *ask) add(t *trace.Trace, g *trace.Grant) {
	since := t.Since(g)
	s.token = max(s.token, g.Token)
	switch {
	case !s.any:
		*s = ask{first: g.Process, latest: since, another: math.MinInt64, token: s.token, any: true}
	case g.Process == s.first:
		s.latest = max(s.latest, since)
	case since > s.latest:
		s.first, s.second, s.latest, s.another = g.Process, s.first, since, s.latest
	case since > s.another:
		s.second, s.another = g.Process, since
	}
}

// mayBeLater reports whether a grant that took effect may be later than g, although none is so for certain.
func (s *ask) mayBeLater(t *trace.Trace, g *trace.Grant) bool {
	latest := s.latest
	if g.Process == s.first {
		latest = s.another
	}
	if !s.any || latest == math.MinInt64 {
		return false
	}
	return int64(t.Decided(g)-latest) <= apart(t) || g.Token != 0 && s.token > g.Token
}

// told reports whether what clients tell of their reads and writes, and what the resource records, stands in one order
// for certain.
func told(t *trace.Trace) bool {
	list := make([]*history.Event, 0, len(t.Data))
	for _, at := range t.Data {
		list = append(list, &t.History.Events[at])
	}
	slices.SortStableFunc(list, func(a, b *history.Event) int { return cmp.Compare(a.Time, b.Time) })
	last := make(map[history.Lock][2]*history.Event) // by lock: of a client, of the resource
	for _, e := range list {
		own, other := 0, 1
		if e.F == history.Apply {
			own, other = 1, 0
		}
		both := last[e.Lock]
		if o := both[other]; o != nil && int64(e.Time-o.Time) <= apart(t) {
			return false
		}
		both[own] = e
		last[e.Lock] = both
	}
	return true
}
