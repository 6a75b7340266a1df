package sweep

import (
	"fmt"
	"strings"
	"testing"
)

func second(n int) Level { return Level{Durations, int64(n) * 1e9, fmt.Sprintf("%ds", n)} }

func TestLinesSayWhereALawIsSafe(t *testing.T) {
	for want, states := range map[string][]State{
		"safe at all values tried":             {Safe},
		"not told at all values tried":         {Untold},
		"safe from k 1s; broken up to 0s":      {Broken, Safe},
		"safe up to k 0s; broken from 1s":      {Safe, Broken},
		"broken at k 0s; not told at k 1s":     {Broken, Untold},
		"safe at k 0s; no valid scenario at k": {Safe, Invalid},
		// Never "safe from" where it is broken again behind.
		"broken at k 0s; safe at k 1s; broken at k 2s":               {Broken, Safe, Broken},
		"safe at k 0s; broken at k 1s; safe at k 2s":                 {Safe, Broken, Safe},
		"broken at k 0s; not told at k 1s; safe at k 2s":             {Broken, Untold, Safe},
		"no valid scenario at k 0s; broken at k 1s; safe at k 2s":    {Invalid, Broken, Safe},
		"broken at k 0s; safe at k 1s; broken at k 2s; safe at k 3s": {Broken, Safe, Broken, Safe},
	} {
		var l Line
		turns, before := 0, Untold
		for i, state := range states {
			l.Stretches = append(l.Stretches, Stretch{state, second(i), second(i)})
			if state == Safe || state == Broken {
				if before != Untold && before != state {
					turns++
				}
				before = state
			}
		}
		if got := l.Words("k"); !strings.HasPrefix(got, want) {
			t.Errorf("%v: %q, want %q", states, got, want)
		}
		if got := l.Monotone(); got != (turns <= 1) {
			t.Errorf("%v: monotone %v", states, got)
		}
	}
	long := Line{Stretches: []Stretch{{Broken, second(1), second(4)}, {Safe, second(5), second(6)},
		{Broken, second(7), second(9)}}}
	if got, want := long.Words(""), "broken from 1s to 4s; safe from 5s to 6s; broken from 7s to 9s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
