package checker

import (
	"cmp"
	"slices"
	"sort"

	"github.com/fencepost-sim/fencepost/checker/clockerror"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

const TokenOrder Law = "token-order"

func init() {
	register(lawRow{law: TokenOrder, place: 5, gravity: 5, kept: Fenced,
		says:   "each grant has a higher fencing token than the grants before it",
		broken: "fencing tokens do not increase",
		judge:  (*judge).tokenOrder, uncertain: clockerror.Tokens})
}

// tokenOrder checks that fencing tokens strictly increase in the order of grants. A lock's grants must all have
// different tokens. If a grant was requested after another grant had returned, its token must be higher.
//
// The law can be checked only if two grants of the same lock have tokens.
func (t *judge) tokenOrder(f *Finding) {
	tokens, pairs := 0, false
	var found []tokenClash
	for i := range t.Locks {
		l := &t.Locks[i]
		seen, last, rising := 0, history.Token(0), true
		for _, n := range l.Grants {
			if token := t.Grants[n].Token; token != 0 {
				rising = rising && (seen == 0 || token > last)
				seen, last = seen+1, token
			}
		}
		tokens, pairs = tokens+seen, pairs || seen > 1
		if !rising { // the tokens do not increase in the order of the returns, but the law may require another order
			found = append(found, t.tokenClashes(l)...)
		}
	}
	slices.SortStableFunc(found, func(a, b tokenClash) int { return cmp.Or(a.b.OK-b.b.OK, a.a.OK-b.a.OK) })
	for _, c := range found {
		t.tokenStory(f, c.a, c.b)
	}
	switch {
	case len(found) > 0:
	case !pairs:
		f.unchecked("No lock was granted twice with fencing tokens.")
	default:
		f.holds(sentence("%s, each higher than those granted before it was asked for.", count(tokens, "fencing token")))
	}
}

// tokenClash is a pair of grants of the same lock whose tokens break the law. Grant a comes first in the history.
type tokenClash struct{ a, b *trace.Grant }

// tokenClashes finds two kinds of clashes: a grant whose token had already been used by an earlier grant, and a grant
// with a lower token than a grant that had returned before it was requested. For each kind, tokenClashes returns only
// the first such grant, paired with the first grant that it clashes with.
func (t *judge) tokenClashes(l *trace.LockTrace) (clashes []tokenClash) {
	var with []*trace.Grant
	var highest []history.Token // highest[i] is the highest token of with[:i+1]
	first := make(map[history.Token]*trace.Grant)
	repeated, lower := false, false
	for _, n := range l.Grants {
		g := &t.Grants[n]
		if g.Token == 0 {
			continue
		}
		if a := first[g.Token]; a != nil && !repeated {
			clashes, repeated = append(clashes, tokenClash{a, g}), true
		}
		before := sort.Search(len(with), func(i int) bool { return !t.returnedBefore(with[i], g) })
		if before > 0 && highest[before-1] > g.Token && !lower {
			i := slices.IndexFunc(with[:before], func(o *trace.Grant) bool { return o.Token > g.Token })
			if lower = true; t.mayHaveReturnedLater(with[i], g) {
				if a, b := clockerror.TokensWentBack(&t.Trace, l); b != nil {
					clashes = append(clashes, tokenClash{a, b})
				}
			} else {
				clashes = append(clashes, tokenClash{with[i], g})
			}
		}
		if first[g.Token] == nil {
			first[g.Token] = g
		}
		with = append(with, g)
		top := g.Token
		if n := len(highest); n > 0 {
			top = max(top, highest[n-1])
		}
		highest = append(highest, top)
	}
	return clashes
}

// mayHaveReturnedLater reports whether, with inexact clocks, it is possible that grant a returned only after grant b
// was requested.
func (t *judge) mayHaveReturnedLater(a, b *trace.Grant) bool {
	return a.Process != b.Process && t.History.Header.ClockError > 0
}

// returnedBefore reports whether grant a had returned before b's winning request was sent. Grants are listed in the
// order in which they returned. So for a fixed b, returnedBefore is true up to some index in the list and false after
// it.
func (t *judge) returnedBefore(a, b *trace.Grant) bool {
	return a.OK < t.Asks[b.Ask].Call || b.Lease != nil && t.Time(a.OK) < b.Lease.Since
}

// tokenStory reports two of a lock's grants whose tokens break the law.
func (t *judge) tokenStory(f *Finding, a, b *trace.Grant) {
	cause, which := Cause{Kind: TokenWentBack}, sentence("the higher token %d", a.Token)
	if a.Token == b.Token {
		cause, which = Cause{Kind: TokenRepeated}, "the same token"
	}
	found := t.breach(f, cause, b.OK, t.Locks[b.Lock].Name, a.Process, b.Process)
	if found == nil {
		return
	}
	story := sentence("%s was granted the lock %s at %v with fencing token %d, although %s had been granted %s at %v. "+
		"A resource that compares tokens cannot tell which of the two grants is stale.", capital(t.nameOf(b, a)),
		quoted(t.Locks[b.Lock].Name), t.Time(b.OK), b.Token, t.nameOf(a, b), which, t.Time(a.OK))
	if lost := t.forgetting(a, b.OK); len(lost) > 0 {
		story += sentence(" In between, the counter had been lost%s.", t.faultText(lost...))
	} else if set := t.deposedGrant(a, b); set != nil {
		story += sentence(" %s made one of these grants after it had been replaced as master: "+
			"two masters issued tokens, each from its own counter%s.", capital(string(set.Process)),
			t.faultText(t.deposing(t.Unit(set.Process), b.OK)))
	}
	found.violated(t, cause, story, []int{a.OK, b.OK})
}

// deposedGrant returns the record of a key that belongs to grant a or b and was set by a deposed master, after another
// server had taken over as its group's master. It returns nil if there is none.
func (t *judge) deposedGrant(a, b *trace.Grant) *history.Event {
	for _, at := range t.Keys {
		e := &t.History.Events[at]
		isOf := func(g *trace.Grant) bool { return e.Of == g.Attempt && e.Lock == t.Locks[g.Lock].Name }
		if e.F == history.KeySet && (isOf(a) || isOf(b)) && t.deposed(int(at)) {
			return e
		}
	}
	return nil
}
