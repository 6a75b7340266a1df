package timeline

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// slowPlace is a simple version of scale.place that examines all of the scale's knots in turn.
func slowPlace(s *scale, at history.Time) float64 {
	if at <= s.knots[0].at {
		return 0
	}
	for i := 1; i < len(s.knots); i++ {
		a, b := s.knots[i-1], s.knots[i]
		if at < b.at {
			return a.place + (b.place-a.place)*float64(at-a.at)/float64(b.at-a.at)
		}
	}
	return 1
}

func TestScaleKeepsOrderAndBothEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		times := make([]history.Time, r.IntN(12))
		for i := range times {
			times[i] = history.Time(r.Int64N(1 << uint(1+r.IntN(44))))
		}
		s := newScale(times)
		if s.knots[0].place != 0 || s.knots[len(s.knots)-1].place != 1 {
			t.Fatalf("ends of %v at %v and %v", times, s.knots[0].place, s.knots[len(s.knots)-1].place)
		}
		probes := append(slices.Clone(times), -5, 0, 1, 1<<50)
		for range 20 {
			probes = append(probes, history.Time(r.Int64N(1<<44)))
		}
		slices.Sort(probes)
		last := 0.0
		for _, at := range probes {
			p := s.place(at)
			if p < last || p > 1 || p != slowPlace(s, at) {
				t.Fatalf("place(%d) = %v after %v, slowly %v, times %v", at, p, last, slowPlace(s, at), times)
			}
			last = p
		}
		for i := 1; i < len(s.knots); i++ {
			if s.knots[i].place <= s.knots[i-1].place {
				t.Fatalf("knots %d and %d coincide: %v", i-1, i, s.knots)
			}
		}
	}
}

func TestPauseAndExchangesAreBothVisible(t *testing.T) {
	s := newScale([]history.Time{0, 1e6, 2e6, 3e6, 15e9, 15e9 + 1e6, 15e9 + 2e6})
	exchange, pause := s.place(2e6)-s.place(1e6), s.place(15e9)-s.place(3e6)
	if exchange < 0.05 || pause < exchange || pause > 0.7 {
		t.Errorf("an exchange takes %.3f of the picture, the pause %.3f", exchange, pause)
	}
	if want := []window{{3e6, 15e9}}; !slices.Equal(s.breaks, want) {
		t.Errorf("breaks %v, want %v", s.breaks, want)
	}
}
