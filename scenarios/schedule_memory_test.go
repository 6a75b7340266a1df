package scenarios

import (
	"runtime"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
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

// schedules are runs of Redlock on five nodes: three clients with five cycles each, and one random fault.
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

// run makes the run of a seed.
func (s *schedules) run(t testing.TB, seed uint64) Result {
	result, err := s.Run(nemesis.Plan{Seed: seed, Faults: s.faults.Draw(seed)})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// What one schedule takes of the heap, the mean of a hundred.
const (
	allocationsOfARun, bytesOfARun           = 465, 29_650
	allocationsOfASchedule, bytesOfASchedule = 678, 57_300 // the run, and all laws judged
)

// TestASchedulesMemory holds what a schedule takes of the heap to the figures above, which are the same on every
// machine: where they rise, so has its time. What takes less is stated here, too.
func TestASchedulesMemory(t *testing.T) {
	if raceEnabled {
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

// heapUse gives the allocations and bytes that one call takes, once memory that is used again is there.
func heapUse(do func(seed uint64)) (allocations, bytes uint64) {
	const seeds = 100
	all := func() {
		for seed := range uint64(seeds) {
			do(seed + 1)
		}
	}
	all()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	all()
	runtime.ReadMemStats(&after)
	return (after.Mallocs - before.Mallocs) / seeds, (after.TotalAlloc - before.TotalAlloc) / seeds
}

// near allows for one in a hundred: when Go's maps grow is random.
func near(got, want uint64) bool { return 99*want <= 100*got && 100*got <= 101*want }
