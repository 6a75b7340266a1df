package corpus_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
	"github.com/fencepost-sim/fencepost/scenarios/corpus"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// families maps names to groups of fault kinds that break locks in similar ways.
var families = map[string][]nemesis.Kind{
	"pauses":    {nemesis.Pause},
	"network":   {nemesis.Cut, nemesis.DelayLink, nemesis.DelayMessage, nemesis.Break},
	"restarts":  {nemesis.Crash, nemesis.ShutDown},
	"failovers": {nemesis.FailOver, nemesis.Crash, nemesis.Cut},
	"clocks":    {nemesis.Jump, nemesis.Drift},
}

// TestSoundLocksKeepTheirPromisesUnderEachFamily checks that a sound lock keeps its promises if only faults from one
// family strike. A lock that uses Redis may exclude faults after which a server stays down forever. The test draws such
// faults nevertheless, and the lock must keep its promises.
//
// FENCEPOST_SOUND is the number of seeds for each lock and family. With 1000, the test takes about five minutes on one
// core.
func TestSoundLocksKeepTheirPromisesUnderEachFamily(t *testing.T) {
	seeds, _ := strconv.Atoi(os.Getenv("FENCEPOST_SOUND"))
	if seeds == 0 && testkit.Full() {
		seeds = 100
	}
	names := corpus.Names()
	if !testkit.Thorough() {
		names = testkit.Sample(t, names)
	}
	explored := 0
	for _, name := range names {
		for _, family := range slices.Sorted(maps.Keys(families)) {
			s := lock(t, name)
			weights := draw.Weights{}
			for _, k := range families[family] {
				if s.Mix.Weights[k] > 0 {
					weights[k] = 1
				}
			}
			s.Mix.Weights, s.Mix.Swarm = weights, false
			if s.Servers.Backend == locks.OnRedis {
				s.Mix.Without = slices.DeleteFunc(s.Mix.Without, func(x nemesis.Exclusion) bool { return x.Forever })
			}
			e, err := search.NewExploration(s, 0, max(seeds, 2), search.Whole)
			if errors.Is(err, draw.ErrNothing) { // these faults cannot strike any server or client of this lock
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			explored++
			if err := e.Run(context.Background(), s, 0, nil); err != nil {
				t.Fatal(err)
			}
			for _, f := range e.Findings {
				if s.Promise.Covers(f.Law, f.Cause) {
					t.Errorf("%s, %s: %s by %s in %d runs, first with seed %d", name, family, f.Law, f.Cause, f.Runs,
						f.First)
				}
			}
		}
	}
	if explored < 3*len(names) {
		t.Errorf("only %d families of faults could strike %d locks", explored, len(names))
	}
}
