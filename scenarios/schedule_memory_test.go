package scenarios

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
)

const benchmarked = `
name: benchmark
servers: {redis: 5}
clients: 3
lock: {protocol: redlock}
work: {cycles: 5, writes: 1}
`

// schedules performs runs of a Redlock scenario with five nodes, three clients with five cycles each, and one random
// fault.
type schedules struct {
	*Runner
	faults *draw.Generator
}

func newSchedules(t testing.TB) *schedules {
	s, err := Parse("benchmark.yaml", []byte(benchmarked))
	if err != nil {
		t.Fatal(err)
	}
	single := draw.Default()
	single.Fewest, single.Most = 1, 1
	faults, err := draw.NewGenerator(single, s.Targets(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return &schedules{NewRunner(s), faults}
}

func (s *schedules) run(t testing.TB, seed uint64) Result {
	result, err := s.Run(nemesis.Plan{Seed: seed, Faults: s.faults.Draw(seed)})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// The expected numbers of heap allocations and allocated bytes in one run, averaged over a hundred runs.
const (
	allocationsOfARun, bytesOfARun           = 466, 29_950
	allocationsOfASchedule, bytesOfASchedule = 686, 58_450 // for the run and for judging all laws
)

// TestASchedulesMemory checks a run's heap use against the expected values above, which are the same on every machine.
// If a run uses more memory, runs have also become slower. If it uses less, the expected values must be lowered.
func TestASchedulesMemory(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	s := newSchedules(t)
	var c checker.Checker
	run := func(seed uint64) { s.run(t, seed) }
	judge := func(seed uint64) { c.Check(s.run(t, seed).History) }
	for _, each := range []struct {
		what               string
		do                 func(seed uint64)
		allocations, bytes uint64
	}{
		{"a run", run, allocationsOfARun, bytesOfARun},
		{"a run that is judged", judge, allocationsOfASchedule, bytesOfASchedule},
	} {
		allocations, bytes := heapUse(each.do)
		if !near(allocations, each.allocations) || !near(bytes, each.bytes) {
			t.Errorf("%s takes %d allocations and %d bytes, not %d and %d", each.what, allocations, bytes,
				each.allocations, each.bytes)
		}
	}
}

// heapUse returns the number of allocations and of allocated bytes per call to f, after a warm-up round that fills
// reused memory.
func heapUse(f func(seed uint64)) (allocations, bytes uint64) {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would empty the pools during the measurement
	const seeds = 100
	all := func() {
		for seed := range uint64(seeds) {
			f(seed + 1)
		}
	}
	all()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	all()
	runtime.ReadMemStats(&after)
	return (after.Mallocs - before.Mallocs) / seeds, (after.TotalAlloc - before.TotalAlloc) / seeds
}

// near reports whether two figures differ by at most 1%. Go's maps grow at random times, so figures may differ
// slightly.
func near(got, want uint64) bool { return 99*want <= 100*got && 100*got <= 101*want }
