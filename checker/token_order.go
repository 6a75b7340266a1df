package checker

import (
	"slices"
	"sort"

	"github.com/fencepost-sim/fencepost/checker/clockerror"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

const TokenOrder Law = "token-order"

func init() {
	register(lawRow{law: TokenOrder, place: 5, gravity: 5, kept: Fenced,
		says:   "fencing tokens strictly increase in grant order",
		broken: "fencing tokens do not increase",
		judge:  (*judge).tokenOrder, uncertain: clockerror.Tokens})
}

// tokenOrder judges that fencing tokens strictly increase in grant order: tokens of different grants of a lock differ,
// and a grant requested after another had returned has the higher one.
//
// It needs two grants with tokens of one lock.
func (t *judge) tokenOrder(f *Finding) {
	tokens, pairs := 0, false
	var a, b *trace.Grant // of all locks, the pair that the history states first
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
		if !rising { // in the order of their returns, which may differ from the order that binds them
			x, y := t.tokenClash(l)
			open := y != nil && x.Token != y.Token && x.Process != y.Process && t.History.Header.ClockError > 0
			if open {
				x, y = clockerror.TokensWentBack(&t.Trace, l)
			}
			if y != nil && (b == nil || y.OK < b.OK) {
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
func (t *judge) tokenClash(l *trace.LockTrace) (a, b *trace.Grant) {
	var with []*trace.Grant
	var highest []history.Token // highest[i] is the highest token of with[:i+1]
	used := make(map[history.Token]bool)
	for _, n := range l.Grants {
		g := &t.Grants[n]
		if g.Token == 0 {
			continue
		}
		before := sort.Search(len(with), func(i int) bool { return !t.returnedBefore(with[i], g) })
		if used[g.Token] || before > 0 && highest[before-1] > g.Token {
			i := slices.IndexFunc(with,
				func(o *trace.Grant) bool { return o.Token == g.Token || o.Token > g.Token && t.returnedBefore(o, g) })
			return with[i], g
		}
		used[g.Token] = true
		with = append(with, g)
		top := g.Token
		if n := len(highest); n > 0 {
			top = max(top, highest[n-1])
		}
		highest = append(highest, top)
	}
	return nil, nil
}

// returnedBefore reports whether a had been granted before b's winning request left. Returns ascend in position and
// time, so that along a list of grants it is true up to some place and false from there on.
func (t *judge) returnedBefore(a, b *trace.Grant) bool {
	return a.OK < t.Asks[b.Ask].Call || b.Lease != nil && t.Time(a.OK) < b.Lease.Since
}

func (t *judge) tokenStory(f *Finding, a, b *trace.Grant) {
	cause, how := Cause{Kind: TokenWentBack}, sentence("lower than the %d that", a.Token)
	if a.Token == b.Token {
		cause, how = Cause{Kind: TokenRepeated}, "the very token that"
	}
	story := sentence("%s was granted the lock %s at %v with fencing token %d, %s %s had been granted at %v: a "+
		"resource that compares tokens cannot tell which of the two is stale.", capital(t.who(b, a)),
		quoted(t.Locks[b.Lock].Name), t.Time(b.OK), b.Token, how, t.who(a, b), t.Time(a.OK))
	if lost := t.forgetting(a, b.OK); len(lost) > 0 {
		story += sentence(" Since then the counter had been lost%s.", t.faultText(lost...))
	}
	f.violated(t, cause, story, []int{a.OK, b.OK}, t.Locks[b.Lock].Name, a.Process, b.Process)
	f.At = t.History.Events[b.OK].Index
}
