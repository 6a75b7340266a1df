package clockerror

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// grants returns a random history of a lock that three processes acquire. It has leases and tokens, and shared and
// exclusive holds. Some holders never leave, and one process's record ends before the others' records.
func grants(r *rand.Rand, n int) *history.History {
	h := &history.History{Header: history.Header{Recording: history.Recording{ClockError: history.Time(r.IntN(6)),
		Seen: map[history.Process]history.Time{"a": history.Time(r.IntN(120))}}}}
	if most := int(h.Header.ClockError); r.IntN(2) == 0 {
		h.Header.ClockErrors = map[history.Process]history.Time{"a": history.Time(r.IntN(most + 1)),
			"b": history.Time(r.IntN(most + 1))}
	}
	at := history.Time(0)
	add := func(e history.Event) {
		at += history.Time(r.IntN(6))
		e.Index, e.Time, e.Lock = len(h.Events), at, "l"
		h.Events = append(h.Events, e)
	}
	for i := range n {
		p := history.Process("abc"[r.IntN(3):][:1])
		a := history.Attempt(fmt.Sprint(p, "/", i))
		add(history.Event{Process: p, Type: history.Invoke, F: history.Acquire})
		add(history.Event{Process: p, Type: history.OK, F: history.Acquire, Attempt: a, Shared: r.IntN(3) == 0,
			Token: history.Token(r.IntN(2 * n)),
			Grant: &history.Grant{Since: at, Granted: at, Until: at + 1 + history.Time(r.IntN(20))}})
		if r.IntN(4) > 0 {
			add(history.Event{Process: p, Type: history.Invoke, F: history.Release, Attempt: a})
		}
	}
	return h
}

// overlapsByPairs lists all pairs of spans that overlap, by comparing each pair. If sure is true, it lists the pairs
// that certainly overlap: each span lasts only as long as is certain, and the overlap must be longer than the sum of
// both clock errors. If sure is false, it lists the pairs that may overlap: each span lasts as long as possible, and
// there may be a gap up to that sum between them. Spans of the same process are compared without clock errors, and only
// if sure is true.
func overlapsByPairs(t *trace.Trace, spans []trace.Span, sections, sure bool) (pairs [][]int) {
	at := func(s trace.Span) (from, to int64) {
		g := &t.Grants[s.Grant]
		from, to = s.From, s.To
		goesOn := g.Release == trace.Open
		if sections {
			if from, goesOn = int64(t.Time(int(from))), to == trace.Open; goesOn {
				to = math.MaxInt64 / 2
			} else {
				to = int64(t.Time(int(to)))
			}
		}
		if until, ends := t.History.Header.Seen[g.Process]; ends && goesOn && sure {
			to = min(to, int64(until))
		}
		return from, to
	}
	for j := range spans {
		for i := range spans[:j] {
			x, y := spans[i], spans[j]
			if x.Shared && y.Shared {
				continue
			}
			p, q := t.Grants[x.Grant].Process, t.Grants[y.Grant].Process
			if p == q {
				if sure && x.From < y.To && y.From < x.To {
					pairs = append(pairs, []int{i, j})
				}
				continue
			}
			from, to := at(x)
			from2, to2 := at(y)
			apart := int64(t.History.Header.ErrorOf(p) + t.History.Header.ErrorOf(q))
			overlap := sure && to-from2 > apart && to2-from > apart || !sure && to-from2 >= -apart && to2-from >= -apart
			if overlap {
				pairs = append(pairs, []int{i, j})
			}
		}
	}
	return pairs
}

func TestTheSweepFindsWhatPairsFind(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 6))
	seen := map[string]int{}
	for round := range testkit.Size(2_500, 10_000, 30_000) {
		h := grants(r, 2+round%7)
		var tr trace.Trace
		tr.Read(h)
		tr.Windows()
		tr.Sections()
		l := &tr.Locks[0]
		for _, sections := range []bool{true, false} {
			spans := l.Windows
			if sections {
				spans = l.Sections
			}
			got, first := Certain(&tr, spans, math.MaxInt, sections), Certain(&tr, spans, 1, sections)
			want := overlapsByPairs(&tr, spans, sections, true)
			same := slices.Equal[[]int]
			if !slices.EqualFunc(got, want, same) || !slices.EqualFunc(first, want[:min(len(want), 1)], same) {
				t.Fatalf("round %d, sections %t: %v, first %v; by pairs %v\n%v\n%v", round, sections, got, first, want,
					spans, h.Header)
			}
			if h.Header.ClockError > 0 {
				_, _, may := clash(intervalsOf(&tr, spans, sections, false), len(spans), false)
				if want := len(overlapsByPairs(&tr, spans, sections, false)) > 0; may != want {
					t.Fatalf("round %d, sections %t: may overlap %t, by pairs %t\n%v", round, sections, may, want,
						spans)
				}
				seen[fmt.Sprintf("may %t", may)]++
			}
			seen[fmt.Sprintf("does %t", len(got) > 0)]++
		}
	}
	for _, what := range []string{"does true", "does false", "may true", "may false"} {
		if seen[what] < 500 {
			t.Errorf("%s: %d times", what, seen[what])
		}
	}
}

// crowdsByChoices lists, for each span, the first crowd that it forms with earlier spans, by trying all choices of
// them. A crowd has one more span than there are permits, and every two of its spans are one of the given pairs.
func crowdsByChoices(spans, permits int, pairs [][]int) (crowds [][]int) {
	related := func(group []int) bool {
		for n, j := range group {
			for _, i := range group[:n] {
				if !slices.ContainsFunc(pairs, func(p []int) bool { return p[0] == i && p[1] == j }) {
					return false
				}
			}
		}
		return true
	}
	var choose func(group []int, from, last int) []int
	choose = func(group []int, from, last int) []int {
		if len(group) == permits {
			if group = append(slices.Clone(group), last); related(group) {
				return group
			}
			return nil
		}
		for i := from; i < last; i++ {
			if found := choose(append(slices.Clone(group), i), i+1, last); found != nil {
				return found
			}
		}
		return nil
	}
	for last := range spans {
		if found := choose(nil, 0, last); found != nil {
			crowds = append(crowds, found)
		}
	}
	return crowds
}

// TestCrowdsAreCertainAsByChoices compares Certain and mayClash for semaphores with a brute-force search, which tries
// every choice of spans (crowdsByChoices). Certain must find the same groups. If the search finds a
// possible group, mayClash must find something too. If the search does not find any and each process has only one span,
// mayClash must not find anything.
func TestCrowdsAreCertainAsByChoices(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 3))
	seen := map[string]int{}
	for round := range testkit.Size(5_000, 10_000, 100_000) {
		h := grants(r, 3+round%6)
		h.Header.Permits = 2 + round%2
		h.Header.ClockError = max(h.Header.ClockError, 1)
		for i := range h.Events {
			h.Events[i].Shared = false
		}
		var tr trace.Trace
		tr.Read(h)
		tr.Windows()
		tr.Sections()
		for _, sections := range []bool{true, false} {
			spans := tr.Locks[0].Windows
			if sections {
				spans = tr.Locks[0].Sections
			}
			got := Certain(&tr, spans, math.MaxInt, sections)
			want := crowdsByChoices(len(spans), tr.Permits(), overlapsByPairs(&tr, spans, sections, true))
			if !slices.EqualFunc(got, want, slices.Equal[[]int]) {
				t.Fatalf("round %d, sections %t: %v; by choices %v\n%v\n%v", round, sections, got, want, spans,
					h.Header)
			}
			one := Certain(&tr, spans, 1, sections)
			if !slices.EqualFunc(one, want[:min(len(want), 1)], slices.Equal[[]int]) {
				t.Fatalf("round %d, sections %t: the first is %v; by choices %v", round, sections, one, want)
			}
			_, _, may := mayClash(&tr, spans, sections)
			possible := len(crowdsByChoices(len(spans), tr.Permits(), overlapsByPairs(&tr, spans, sections, false))) > 0
			of := map[history.Process]bool{}
			for _, s := range spans {
				of[tr.Grants[s.Grant].Process] = true
			}
			if !may && (possible || len(got) > 0) || may && !possible && len(of) == len(spans) {
				t.Fatalf("round %d, sections %t: may break %t, by choices %t; in any case: %v", round, sections, may,
					possible, got)
			}
			seen[fmt.Sprintf("may %t", may)]++
			plain := tr.Interval.Crowds(spans, tr.Permits(), math.MaxInt)
			seen[fmt.Sprintf("by the recorded times %t, certain %t", len(plain) > 0, len(got) > 0)]++
			for _, g := range got {
				if !slices.ContainsFunc(plain, func(p []int) bool { return slices.Equal(p, g) }) {
					seen["others"]++
				}
			}
		}
	}
	t.Log(seen)
	for _, what := range []string{"by the recorded times true, certain true",
		"by the recorded times true, certain false", "by the recorded times false, certain false",
		"others", "may true", "may false"} {
		if seen[what] < 20 {
			t.Errorf("%s: %d times", what, seen[what])
		}
	}
}

func TestTokensAreComparedAsByPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	seen := map[bool]int{}
	for round := range 30_000 {
		h := grants(r, 2+round%7)
		var tr trace.Trace
		tr.Read(h)
		for _, sure := range []bool{true, false} {
			all := tokensOf(&tr, &tr.Locks[0], sure)
			want := false
			for n, a := range tr.Grants {
				for m, b := range tr.Grants {
					p, q := a.Process, b.Process
					apart := h.Header.ErrorOf(p) + h.Header.ErrorOf(q)
					asked := max(tr.Time(tr.Asks[b.Ask].Call), b.Lease.Since)
					before := sure && asked-tr.Time(a.OK) > apart || !sure && asked-tr.Time(a.OK) >= -apart
					want = want || n != m && before && p != q && a.Token > b.Token && b.Token > 0
				}
			}
			a, b := wentBack(all, sure)
			if (b != nil) != want || b != nil && a.grant.Token <= b.grant.Token {
				t.Fatalf("round %d, sure %t: %v, %v; by pairs %t\n%v", round, sure, a, b, want, h.Events)
			}
			seen[want]++
		}
	}
	if seen[true] < 500 || seen[false] < 500 {
		t.Errorf("%v", seen)
	}
}
