package trace

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// groupsByChoice is a simple version of interval.Crowds to compare it with. For each span, it tries all choices of so
// many earlier spans as there are permits, in list order. The first choice in which all spans clash with one another
// and with the span itself becomes a group.
func groupsByChoice(spans []Span, permits int) (groups [][]int) {
	var choose func(chosen []int, from, to int) []int
	choose = func(chosen []int, from, to int) []int {
		if len(chosen) == permits {
			group := append(slices.Clone(chosen), to)
			for n, i := range group {
				for _, j := range group[n+1:] {
					if !spans[i].clash(&spans[j]) {
						return nil
					}
				}
			}
			return group
		}
		for i := from; i < to; i++ {
			if group := choose(append(chosen, i), i+1, to); group != nil {
				return group
			}
		}
		return nil
	}
	for j := range spans {
		if group := choose(nil, 0, j); group != nil {
			groups = append(groups, group)
		}
	}
	return groups
}

// TestCrowdsAreThoseThatTryingAllChoicesFinds checks that Crowds finds the same groups as trying all choices. The spans
// are leases in several pieces, instants, or sections that end before they begin.
func TestCrowdsAreThoseThatTryingAllChoicesFinds(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 8))
	var v interval
	var found [4]int
	const rounds = 60_000
	for round := range rounds {
		permits := 2 + round%2
		spans := make([]Span, 1+r.IntN(8))
		for i := range spans {
			from := r.Int64N(10)
			spans[i] = Span{From: from, To: from + r.Int64N(9), Grant: r.Int32N(6), At: i}
			if round%3 == 0 {
				spans[i].Grant, spans[i].To = int32(i), from+r.Int64N(14)-4
			}
		}
		apart(spans)
		got, want := v.Crowds(spans, permits, 100), groupsByChoice(spans, permits)
		if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("%d permits, %+v: got %v, want %v", permits, spans, got, want)
		}
		if first := v.FirstCrowd(spans, permits); (first == nil) != (len(want) == 0) ||
			first != nil && !slices.Equal(first, want[0]) {
			t.Fatalf("%d permits, %+v: the first is %v, want that of %v", permits, spans, first, want)
		}
		if len(got) > 0 {
			found[permits]++
		}
	}
	if found[2] < rounds/10 || found[2] > rounds/2*9/10 || found[3] < rounds/50 {
		t.Errorf("groups in %v of %d rounds", found, rounds)
	}
}

// apart cuts one grant's spans so that they do not share any instant, like the windows of a lease. It marks each span
// that the next one continues.
func apart(spans []Span) {
	for i := range spans {
		for j := range spans[:i] {
			if a, b := &spans[j], &spans[i]; a.Grant == b.Grant && a.From <= a.To && a.To > b.From {
				a.To = b.From
				a.From = min(a.From, a.To)
			}
		}
	}
	for i := range spans {
		a := &spans[i]
		a.goesOn = !a.isInstant() && slices.ContainsFunc(spans,
			func(b Span) bool { return b.Grant == a.Grant && b.From == a.To && !b.isInstant() })
	}
}
