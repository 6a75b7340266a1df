package draw

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/nemesistest"
	"github.com/fencepost-sim/fencepost/sim"
)

// TestExclusionsTakeOutAndLeaveTheRest checks that exclusions remove the excluded faults from a draw and do not change
// anything else in it.
func TestExclusionsTakeOutAndLeaveTheRest(t *testing.T) {
	all := newGenerator(t, nil)
	lines := []string{"jump of servers", "crash losing everything, restart within 10s", "drift above 1000ppm", "pause"}
	some := newGenerator(t, func(m *Mix) {
		for _, line := range lines {
			x, err := nemesis.ParseExclusion(line)
			if err != nil {
				t.Fatal(err)
			}
			m.Without = append(m.Without, x)
		}
	})
	taken := 0
	for seed := range uint64(1000) {
		drawn := all.Draw(seed)
		want := slices.DeleteFunc(slices.Clone(drawn), func(f nemesis.Fault) bool {
			isServer := slices.Contains(slices.Concat(nemesistest.Names.Redis, nemesistest.Names.Consensus), f.Target)
			return f.Kind == nemesis.Pause || f.Kind == nemesis.Jump && isServer ||
				f.Kind == nemesis.Drift && max(f.PPM, -f.PPM) > 1000 ||
				f.Loss == nemesis.LosesEverything && f.Restart > 0 && f.Restart < 10*time.Second
		})
		if got := some.Draw(seed); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("seed %d: drew %v of %v", seed, got, drawn)
		}
		taken += len(drawn) - len(want)
	}
	if taken < 100 {
		t.Errorf("%d faults were taken out", taken)
	}
}

func TestASwarmLeavesKindsOut(t *testing.T) {
	together := func(swarm bool) (n int) {
		g := newGenerator(t, func(m *Mix) { m.Swarm, m.Fewest, m.Most = swarm, 40, 40 })
		for seed := range uint64(300) {
			kinds := map[nemesis.Kind]bool{}
			for _, f := range g.Draw(seed) {
				kinds[f.Kind] = true
			}
			n += len(kinds)
		}
		return n
	}
	if all, some := together(false), together(true); some > all*6/10 {
		t.Errorf("%d kinds in 300 draws of a swarm, %d without", some, all)
	}
}

func TestMixesThatDrawNothingAreRefused(t *testing.T) {
	one := nemesis.Names{Clients: []sim.ProcessID{"client-1"}, Redis: []sim.ProcessID{"redis-1"}}
	for name, change := range map[string]func(*Mix){
		"no faults":         func(m *Mix) { m.Fewest, m.Most = 0, 0 },
		"no weights":        func(m *Mix) { m.Weights = Weights{} },
		"nothing to strike": func(m *Mix) { m.Weights = weightsOf(nemesis.FailOver, nemesis.ExpireSession) },
		"all excluded": func(m *Mix) {
			m.Weights, m.Without = weightsOf(nemesis.Pause), []nemesis.Exclusion{{Kind: nemesis.Pause}}
		},
	} {
		mix := Default()
		change(&mix)
		if _, err := NewGenerator(mix, one, time.Minute); !errors.Is(err, ErrNothing) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewGenerator(Default(), nemesis.Names{}, time.Minute); !errors.Is(err, ErrNothing) {
		t.Errorf("nobody: %v", err)
	}
}
