package sweep

import (
	"fmt"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// changes returns what bisect should find. It is slow, because it looks at every number.
func changes(states []State) (all []flip[State]) {
	for i := 1; i < len(states); i++ {
		if states[i] != states[i-1] {
			all = append(all, flip[State]{int64(i - 1), int64(i), states[i-1], states[i], true})
		}
	}
	return all
}

// everyOutcome calls try with every list of n states below the given bound.
func everyOutcome(n int, of State, try func([]State)) {
	states := make([]State, n)
	var fill func(i int)
	fill = func(i int) {
		if i == n {
			try(states)
			return
		}
		for s := range of {
			states[i] = s
			fill(i + 1)
		}
	}
	fill(0)
}

// TestBisectingFindsTrueEdges checks that, if the state changes once, bisect finds the same change as a search of every
// number. If the state changes several times, bisect must find some of the changes and nothing else. Together these
// changes lead from the state at one end to the state at the other.
func TestBisectingFindsTrueEdges(t *testing.T) {
	single, several := 0, 0
	for n := 2; n <= 8; n++ {
		everyOutcome(n, Invalid, func(states []State) {
			looked := 0
			found := bisect(0, int64(n-1), states[0], states[n-1], 1, func(i int64) (State, bool) {
				looked++
				return states[i], true
			})
			all := changes(states)
			if len(all) == 1 {
				single++
				if fmt.Sprint(found) != fmt.Sprint(all) || looked > 3 {
					t.Errorf("%v: found %v after %d looks", states, found, looked)
				}
				return
			}
			several++
			here := states[0]
			behind := int64(0)
			for _, f := range found {
				if f.first != f.last+1 || states[f.last] != f.before || states[f.first] != f.after ||
					f.before != here || f.last < behind || !f.exact {
					t.Errorf("%v: found %v", states, found)
				}
				here, behind = f.after, f.first
			}
			if here != states[n-1] {
				t.Errorf("%v: %v do not lead to the other end", states, found)
			}
		})
	}
	if single == 0 || several == 0 {
		t.Errorf("tried %d with one edge, %d others", single, several)
	}
}

// TestBisectingStopsAtTheResolution checks that the numbers on both sides of a change were tried, and that they differ
// by at most the resolution.
func TestBisectingStopsAtTheResolution(t *testing.T) {
	for _, resolution := range []int64{1, 3, 7, 10, 100, 5000} {
		for _, edge := range []int64{1, 2, 333, 499, 998, 999} {
			tried := map[int64]bool{0: true, 1000: true}
			found := bisect(0, 1000, Broken, Safe, resolution, func(n int64) (State, bool) {
				tried[n] = true
				if n >= edge {
					return Safe, true
				}
				return Broken, true
			})
			if len(found) != 1 {
				t.Fatalf("%v", found)
			}
			f := found[0]
			if f.last >= edge || f.first < edge || !tried[f.last] || !tried[f.first] ||
				f.first-f.last > max(resolution, 1) && resolution < 1000 {
				t.Errorf("resolution %d, edge %d: %+v", resolution, edge, f)
			}
			if len(tried) > 2+10 {
				t.Errorf("resolution %d: %d numbers tried", resolution, len(tried))
			}
		}
	}
}

// TestBisectingEndsWhereNothingCanBeTried checks what bisect does if there is no valid number between two numbers with
// different states: it does not narrow the gap between them, and does not call the change exact.
func TestBisectingEndsWhereNothingCanBeTried(t *testing.T) {
	found := bisect(0, 1000, Broken, Safe, 1, func(int64) (State, bool) { return Invalid, false })
	if len(found) != 1 || found[0].last != 0 || found[0].first != 1000 || found[0].exact {
		t.Errorf("%+v", found)
	}
}

// swept returns a sweep with one axis. Its points have the given states, and there is an edge wherever two neighbors
// differ.
func swept(states []State) *Sweep {
	k := &Key{Path: "lock.ttl", Unit: Counts}
	s := &Sweep{}
	s.Axes = []Axis{{Name: "ttl", Keys: []*Key{k}}}
	for i, state := range states {
		s.Axes[0].Levels = append(s.Axes[0].Levels, k.number(int64(10*i)))
		s.Points = append(s.Points, pointOf(state, k.number(int64(10*i))))
	}
	for i := 1; i < len(states); i++ {
		if a, b := s.Points[i-1], s.Points[i]; flips(a, b, checker.LeaseExclusion) {
			last, first := pointOf(states[i-1], k.number(int64(10*i-4))), pointOf(states[i], k.number(int64(10*i-3)))
			s.Edges = append(s.Edges,
				Edge{checker.LeaseExclusion, 0, i - 1, last, first, states[i-1], states[i], true, false})
		}
	}
	return s
}

func pointOf(state State, l Level) *Point {
	p := &Point{Levels: []Level{l}, Runs: 1, Laws: campaign.NewLaws(checker.Laws)}
	switch t := &p.Laws[0]; state {
	case Safe:
		t.Holds = 1
	case Chance:
		t.Holds, t.Violated, p.Runs = 1, 1, 2
	case Broken:
		t.Violated = 1
	case Unjudged:
		t.Unchecked = 1
	default:
		p.Problem = "no scenario"
	}
	return p
}

// TestStretchesEndAtEdges checks that the stretches (ranges of values with the same outcome) together contain every
// point. Neighboring stretches must have different states, and must end at edges and not at grid points.
func TestStretchesEndAtEdges(t *testing.T) {
	for n := 1; n <= 5; n++ {
		everyOutcome(n, Invalid+1, func(states []State) {
			lines := swept(states).lines(checker.LeaseExclusion)
			if len(lines) != 1 {
				t.Fatalf("%v: %v", states, lines)
			}
			at := 0
			for i, s := range lines[0].Stretches {
				for at < n && int64(10*at) <= s.To.N && states[at] == s.State {
					at++
				}
				if i > 0 && lines[0].Stretches[i-1].State == s.State {
					t.Errorf("%v: %v has equal neighbours", states, lines[0])
				}
				if i > 0 && s.State != Invalid && lines[0].Stretches[i-1].State != Invalid && s.From.N%10 != 7 {
					t.Errorf("%v: a stretch begins at %d, not at the edge", states, s.From.N)
				}
			}
			if at != n {
				t.Errorf("%v: %v covers %d points", states, lines[0], at)
			}
		})
	}
}
