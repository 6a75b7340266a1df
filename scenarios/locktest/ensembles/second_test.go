//go:build linux

package ensembles

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The tests named TestSecond… compare the simulated servers with real ones by a second kind of requests. Their
// generators have nothing in common with those of the other comparisons. They were written from the servers' public
// documentation, and use few names, so that requests conflict, strange arguments, and several requests at once.

// step is one thing that is done to a server. name describes it for people. do does it to one of the two sides, and
// returns everything that the server sent, as text.
type step[S any] struct {
	area, name string
	do         func(side S) string
}

// compare does the same random steps on both servers and reports the first difference of each round. A round has as
// many steps as each says. begin opens the two sides for a round. The steps depend only on the test's name and the
// round.
func compare[S any](t *testing.T, rounds, each int, begin func(t *testing.T, round int) (real, simulated S),
	draw func(r *rand.Rand) step[S]) {
	t.Helper()
	hash := fnv.New64a()
	hash.Write([]byte(t.Name()))
	areas, compared, different := map[string]int{}, 0, 0
	for round := range rounds {
		t.Run(fmt.Sprint("round ", round), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(round), hash.Sum64()))
			real, simulated := begin(t, round)
			var taken []string
			for range each {
				s := draw(r)
				taken = append(taken, s.name)
				want, got := s.do(real), s.do(simulated)
				areas[s.area]++
				compared++
				if got != want {
					different++
					t.Errorf("after\n  %s\nreal      %q\nsimulated %q",
						strings.Join(taken[max(0, len(taken)-25):], "\n  "), want, got)
					break
				}
			}
		})
		if different == 5 {
			break
		}
	}
	var by []string
	for _, area := range slices.Sorted(maps.Keys(areas)) {
		by = append(by, fmt.Sprint(areas[area], " ", area))
	}
	t.Logf("%d steps compared, %d rounds differ: %s", compared, different, strings.Join(by, ", "))
}

// oneOf draws one element of a list.
func oneOf[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// size returns the number of rounds: few in everyday tests, more at full size.
func size(everyDay, whole int) int {
	if full() {
		return whole
	}
	return everyDay
}
