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

// The tests named TestSecond… compare the simulated servers with real ones, using a second set of random generators. It
// shares no code with the other comparisons' generators, and was written from the servers' public documentation. These
// generators use few names, so that requests conflict. They also use unusual arguments and send several requests at the
// same time.

// step is one action on a server. name describes it for readers. do carries it out on the real or the simulated server,
// and returns everything the server has sent, as text.
type step[S any] struct {
	area, name string
	do         func(side S) string
}

// compare carries out the same random steps on both servers and reports the first difference in each round. It takes
// the number of rounds, and the number of steps in each. begin opens the two servers for a round, and draw returns a
// random step. If end is not nil, it compares the final states after a round without differences. The steps depend only
// on the test's name and the round number.
func compare[S any](t *testing.T, rounds, each int, begin func(t *testing.T) (real, simulated S),
	draw func(r *rand.Rand) step[S], end func(t *testing.T, round int, real, simulated S)) {
	t.Helper()
	hash := fnv.New64a()
	hash.Write([]byte(t.Name()))
	areas, compared, different := map[string]int{}, 0, 0
	for round := range rounds {
		t.Run(fmt.Sprint("round ", round), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(round), hash.Sum64()))
			real, simulated := begin(t)
			var taken []string
			for range each {
				s := draw(r)
				taken = append(taken, s.name)
				got := s.do(simulated)
				want := s.do(real)
				areas[s.area]++
				compared++
				if got != want {
					t.Errorf("real      %q\nsimulated %q", want, got)
					break
				}
			}
			if end != nil && !t.Failed() {
				end(t, round, real, simulated)
			}
			if t.Failed() {
				different++
				t.Logf("after\n  %s", strings.Join(taken[max(0, len(taken)-25):], "\n  "))
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

func oneOf[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }
