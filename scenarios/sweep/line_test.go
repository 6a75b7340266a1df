package sweep

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func second(n int) Level { return Level{Durations, int64(n) * 1e9, fmt.Sprintf("%ds", n)} }

func TestLinesSayWhereALawIsSafe(t *testing.T) {
	for want, states := range map[string][]State{
		"safe at all values that were tried":       {Safe},
		"not judged at all values that were tried": {Unjudged},
		"safe from k 1s; broken up to 0s":          {Broken, Safe},
		"safe up to k 0s; broken from 1s":          {Safe, Broken},
		"broken at k 0s; not judged at k 1s":       {Broken, Unjudged},
		"safe at k 0s; no valid scenario at k":     {Safe, Invalid},
		// The text must not say "safe from" a value if the law is broken again at a higher value.
		"broken at k 0s; safe at k 1s; broken at k 2s":               {Broken, Safe, Broken},
		"safe at k 0s; broken at k 1s; safe at k 2s":                 {Safe, Broken, Safe},
		"broken at k 0s; not judged at k 1s; safe at k 2s":           {Broken, Unjudged, Safe},
		"no valid scenario at k 0s; broken at k 1s; safe at k 2s":    {Invalid, Broken, Safe},
		"broken at k 0s; safe at k 1s; broken at k 2s; safe at k 3s": {Broken, Safe, Broken, Safe},
		// If the outcome depends on the seed, the text must say in how many runs the law is broken.
		"broken in 4 of 10 runs at k 0s, in some runs at all values that were tried": {Chance},
		"broken always up to k 0s, in 4 of 10 runs at 1s, in none of 10 from 2s":     {Broken, Chance, Safe},
		"broken in none of 10 runs up to k 0s, in 4 of 10 at 1s, always from 2s":     {Safe, Chance, Broken},
		"broken in 4 of 10 runs at k 0s, in none of 10 from 1s":                      {Chance, Safe},
		"broken always up to k 0s, in 4 of 10 runs at 1s":                            {Broken, Chance},
		"broken in 4 of 10 runs at k 0s, in none of 10 from 1s to 1s, always fro":    {Chance, Safe, Broken},
		"broken in 4 of 10 runs at k 0s; not judged at k 1s; safe at k 2s":           {Chance, Unjudged, Safe},
	} {
		var l Line
		told := ""
		for i, state := range states {
			st := Stretch{State: state, From: second(i), To: second(i), At: second(i), Runs: 10}
			if state == Chance {
				st.Violated = 4
			}
			l.Stretches = append(l.Stretches, st)
			told += map[State]string{Safe: "a", Chance: "b", Broken: "c"}[state]
		}
		if got := l.Words("k"); !strings.HasPrefix(got, want) {
			t.Errorf("%v: %q, want %q", states, got, want)
		}
		up, down := strings.Split(told, ""), strings.Split(told, "")
		slices.Sort(up)
		slices.SortFunc(down, func(a, b string) int { return strings.Compare(b, a) })
		if want := told == strings.Join(up, "") || told == strings.Join(down, ""); l.monotone() != want {
			t.Errorf("%v: monotone %v", states, l.monotone())
		}
	}
	long := Line{Stretches: []Stretch{{State: Broken, From: second(1), To: second(4)},
		{State: Safe, From: second(5), To: second(6)}, {State: Broken, From: second(7), To: second(9)}}}
	if got, want := long.Words(""), "broken from 1s to 4s; safe from 5s to 6s; broken from 7s to 9s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
