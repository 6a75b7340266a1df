package checker

import (
	"sort"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// tokenOrder judges that fencing tokens strictly increase in grant order: tokens of different grants of a lock differ,
// and a grant asked for after another had returned has the higher one.
//
// It needs two grants with tokens of one lock.
func (t *trace) tokenOrder(f *Finding) {
	tokens, pairs := 0, false
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
			if a, b, found := t.tokenClash(l); found {
				t.tokenStory(f, a, b)
				return
			}
		}
	}
	if !pairs {
		f.unchecked("No lock was granted twice with a fencing token.")
		return
	}
	f.holds(count(tokens, "fencing token") + ", each higher than those granted before it was asked for.")
}

// tokenClash finds the first grant b, and for it the first a, whose tokens break the law.
func (t *trace) tokenClash(l *lockTrace) (a, b *grant, found bool) {
	var with []*grant
	var highest []*grant // highest[i] has the highest token of with[:i+1]
	used := make(map[history.Token]*grant)
	for _, n := range l.grants {
		g := &t.grants[n]
		if g.token == 0 {
			continue
		}
		if twin, repeated := used[g.token]; repeated {
			return twin, g, true
		}
		used[g.token] = g
		before := sort.Search(len(with), func(i int) bool { return !t.returnedBefore(with[i], g) })
		if before > 0 && highest[before-1].token > g.token {
			return highest[before-1], g, true
		}
		with = append(with, g)
		top := g
		if n := len(highest); n > 0 && highest[n-1].token > g.token {
			top = highest[n-1]
		}
		highest = append(highest, top)
	}
	return nil, nil, false
}

// returnedBefore reports whether a had been granted before b's winning request left. Returns ascend in position and
// time, so that along a list of grants it is true up to some place and false from there on.
func (t *trace) returnedBefore(a, b *grant) bool {
	return a.ok < t.asks[b.ask].call || b.lease != nil && t.time(a.ok) < b.lease.Since
}

func (t *trace) tokenStory(f *Finding, a, b *grant) {
	cause, how := Cause{Kind: TokenWentBack}, "a lower one than"
	if a.token == b.token {
		cause, how = Cause{Kind: TokenRepeated}, "the same as"
	}
	story := sentence("%s was granted the lock %s at %v with fencing token %d, %s the one that %s had been granted at %v (%d):"+
		" a resource that compares tokens cannot tell which of the two is stale.",
		capital(t.who(b, a)), quoted(t.locks[b.lock].name), t.time(b.ok), b.token, how, t.who(a, b), t.time(a.ok), a.token)
	f.violated(t, cause, story, []int{a.ok, b.ok})
}
