package doubt

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// grants is a random history of a lock that three processes acquire, with leases and tokens, shared and alone. Some
// never leave, and the record of one process ends before that of others.
func grants(r *rand.Rand, n int) *history.History {
	h := &history.History{Header: history.Header{Recording: history.Recording{ClockError: history.Time(r.IntN(6)),
		Seen: map[history.Process]history.Time{"a": history.Time(r.IntN(120))}}}}
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

// overlapByPairs looks at every two spans: from when to when each was, as far as that is known (or may be, with a slack
// below zero), and whether the two overlap by more than the slack. What one process did is in the order of its record.
func overlapByPairs(t *trace.Trace, spans []trace.Span, sections bool, slack int64) (i, j int, found bool) {
	at := func(s trace.Span) (from, to int64) {
		if from, to = s.From, s.To; !sections {
			return from, to
		}
		from = int64(t.Time(int(from)))
		switch until, ends := t.History.Header.Seen[t.Grants[s.Grant].Process]; {
		case to < trace.Open:
			to = int64(t.Time(int(to)))
		case ends && slack >= 0:
			to = int64(until)
		default:
			to = math.MaxInt64 / 2
		}
		return from, to
	}
	for j := range spans {
		for i := range spans[:j] {
			x, y := spans[i], spans[j]
			if x.Shared && y.Shared {
				continue
			}
			if t.Grants[x.Grant].Process == t.Grants[y.Grant].Process {
				if slack >= 0 && x.From < y.To && y.From < x.To {
					return i, j, true
				}
				continue
			}
			from, to := at(x)
			from2, to2 := at(y)
			overlap := slack >= 0 && to-from2 > slack && to2-from > slack ||
				slack < 0 && to-from2 >= slack && to2-from >= slack
			if overlap {
				return i, j, true
			}
		}
	}
	return 0, 0, false
}

func TestTheSweepFindsWhatPairsFind(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 6))
	seen := map[string]int{}
	for round := range 30_000 {
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
			i, j, found := First(&tr, spans, sections)
			wi, wj, want := overlapByPairs(&tr, spans, sections, apart(&tr))
			if found != want || found && (i != wi || j != wj) {
				t.Fatalf("round %d, sections %t: %d and %d, %t; by pairs %d and %d, %t\n%v\n%v", round, sections, i, j,
					found, wi, wj, want, spans, h.Header)
			}
			if h.Header.ClockError > 0 {
				_, _, may := clash(intervalsOf(&tr, spans, sections), len(spans), -apart(&tr))
				_, _, want := overlapByPairs(&tr, spans, sections, -apart(&tr))
				if may != want {
					t.Fatalf("round %d, sections %t: may overlap %t, by pairs %t\n%v", round, sections, may, want,
						spans)
				}
				seen[fmt.Sprintf("may %t", may)]++
			}
			seen[fmt.Sprintf("does %t", found)]++
		}
	}
	for _, what := range []string{"does true", "does false", "may true", "may false"} {
		if seen[what] < 500 {
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
		all := tokensOf(&tr, &tr.Locks[0])
		for _, slack := range []int64{apart(&tr), -apart(&tr)} {
			if slack == 0 {
				continue
			}
			want := false
			for _, a := range all {
				for _, b := range all {
					before := slack > 0 && b.asked-a.ok > slack || slack < 0 && b.asked-a.ok >= slack
					want = want || before && a.process != b.process && a.grant.Token > b.grant.Token
				}
			}
			a, b := wentBack(all, slack)
			if (b != nil) != want || b != nil && a.grant.Token <= b.grant.Token {
				t.Fatalf("round %d, slack %d: %v, %v; by pairs %t\n%v", round, slack, a, b, want, h.Events)
			}
			seen[want]++
		}
	}
	if seen[true] < 500 || seen[false] < 500 {
		t.Errorf("%v", seen)
	}
}
