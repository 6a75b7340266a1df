package checker

import (
	"slices"
	"sort"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// tokenOrder judges that fencing tokens strictly increase in grant order: tokens of different grants of a lock differ,
// and a grant asked for after another had returned has the higher one.
//
// It needs two grants with tokens of one lock.
func (t *trace) tokenOrder(f *Finding) {
	tokens, pairs := 0, false
	var a, b *grant // the pair of all locks that the history states first
	for i := range t.locks {
		l := &t.locks[i]
		seen, last, rising := 0, history.Token(0), true
		for _, n := range l.grants {
			if token := t.grants[n].token; token != 0 {
				rising = rising && (seen == 0 || token > last)
				seen, last = seen+1, token
			}
		}
		tokens, pairs = tokens+seen, pairs || seen > 1
		if !rising { // in the order of their returns, which may differ from the order that binds them
			if x, y := t.tokenClash(l); y != nil && (b == nil || y.ok < b.ok) {
				a, b = x, y
			}
		}
	}
	if b != nil {
		t.tokenStory(f, a, b)
		return
	}
	if !pairs {
		f.unchecked("No lock was granted twice with a fencing token.")
		return
	}
	f.holds(count(tokens, "fencing token") + ", each higher than those granted before it was asked for.")
}

// tokenClash finds the first grant b, and for it the first a, whose tokens break the law; nil if none do.
func (t *trace) tokenClash(l *lockTrace) (a, b *grant) {
	var with []*grant
	var highest []history.Token // highest[i] is the highest token of with[:i+1]
	used := make(map[history.Token]bool)
	for _, n := range l.grants {
		g := &t.grants[n]
		if g.token == 0 {
			continue
		}
		before := sort.Search(len(with), func(i int) bool { return !t.returnedBefore(with[i], g) })
		if used[g.token] || before > 0 && highest[before-1] > g.token {
			i := slices.IndexFunc(with, func(o *grant) bool { return o.token == g.token || o.token > g.token && t.returnedBefore(o, g) })
			return with[i], g
		}
		used[g.token] = true
		with = append(with, g)
		top := g.token
		if n := len(highest); n > 0 {
			top = max(top, highest[n-1])
		}
		highest = append(highest, top)
	}
	return nil, nil
}

// returnedBefore reports whether a had been granted before b's winning request left. Returns ascend in position and
// time, so that along a list of grants it is true up to some place and false from there on.
func (t *trace) returnedBefore(a, b *grant) bool {
	return a.ok < t.asks[b.ask].call || b.lease != nil && t.time(a.ok) < b.lease.Since
}

func (t *trace) tokenStory(f *Finding, a, b *grant) {
	cause, how := Cause{Kind: TokenWentBack}, sentence("lower than the %d that", a.token)
	if a.token == b.token {
		cause, how = Cause{Kind: TokenRepeated}, "the very token that"
	}
	story := sentence("%s was granted the lock %s at %v with fencing token %d, %s %s had been granted at %v: a resource that compares tokens"+
		" cannot tell which of the two is stale.", capital(t.who(b, a)), quoted(t.locks[b.lock].name), t.time(b.ok), b.token, how, t.who(a, b), t.time(a.ok))
	if lost := t.forgetting(a, b.ok); len(lost) > 0 {
		story += sentence(" In between the counter was lost%s.", t.faultText(lost...))
	}
	f.violated(t, cause, story, []int{a.ok, b.ok}, t.locks[b.lock].name, a.process, b.process)
	f.At = t.h.Events[b.ok].Index
}
