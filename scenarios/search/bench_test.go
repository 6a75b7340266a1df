package search

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/cmd/processor"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// BenchmarkExplore measures how much a second worker helps. It reports the runs of kleppmann-gc-pause per second with
// the command's settings. The time of a run includes drawing its plan, judging it and counting its result.
func BenchmarkExplore(b *testing.B) {
	s := named(b, "kleppmann-gc-pause")
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			const seeds = 10_000
			start := processor.Time()
			for b.Loop() {
				explored(b, s, 1, seeds, Whole, workers)
			}
			b.ReportMetric(float64(b.N)*seeds/b.Elapsed().Seconds(), "runs/s")
			b.ReportMetric(float64(b.N)*seeds/(processor.Time()-start).Seconds(), "runs/cpu-s")
		})
	}
}

// BenchmarkExploreMemory shows that memory use does not grow with the number of seeds. It reports the largest heap size
// after a garbage collection, in MiB. Run it with -benchtime 1x, because a million seeds take minutes.
func BenchmarkExploreMemory(b *testing.B) {
	s := named(b, "kleppmann-gc-pause")
	for _, seeds := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("seeds=%d", seeds), func(b *testing.B) {
			var highest uint64
			for b.Loop() {
				e, err := NewExploration(s, 1, seeds, Whole)
				if err != nil {
					b.Fatal(err)
				}
				next := 0
				err = e.Run(context.Background(), s, 0, func() {
					if e.Done() >= next {
						next = e.Done() + seeds/20
						runtime.GC()
						var m runtime.MemStats
						runtime.ReadMemStats(&m)
						highest = max(highest, m.HeapAlloc)
					}
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(highest)/(1<<20), "MiB")
		})
	}
}

// BenchmarkFindTheGCPause reports the processor time from a cold start to the first run in which the pause breaks the
// lock.
func BenchmarkFindTheGCPause(b *testing.B) {
	s := named(b, "kleppmann-gc-pause")
	start := processor.Time()
	for b.Loop() {
		e := explored(b, s, 1, 128, Whole, 1)
		if len(e.Findings) == 0 {
			b.Fatal("not found")
		}
	}
	b.ReportMetric((processor.Time()-start).Seconds()/float64(b.N), "cpu-s/find")
}

// BenchmarkGuided compares the processor time per run of two searches: one in which half of the plans are guided, and
// one in which all plans are drawn independently of other runs. It reports the ratio for each scenario, and the
// geometric mean of the ratios.
func BenchmarkGuided(b *testing.B) {
	product, n := 1.0, 0.0
	for _, name := range []string{"restart-forgets", "kleppmann-gc-pause", "lua-release-by-slow-client",
		"redlock-failover-loses-locks", "etcd-keepalive-counted-from-receipt", "zookeeper-pause-fenced"} {
		b.Run(name, func(b *testing.B) {
			guided := named(b, name)
			free := *guided
			free.Mix.Guided = 0
			var cpu [2]time.Duration
			for b.Loop() {
				for i, s := range []*scenarios.Scenario{&free, guided} {
					start := processor.Time()
					explored(b, s, 1, 2048, Whole, 1)
					cpu[i] += processor.Time() - start
				}
			}
			ratio := float64(cpu[1]) / float64(cpu[0])
			b.ReportMetric(ratio, "guided/free")
			product, n = product*ratio, n+1
		})
	}
	b.Logf("geometric mean: %.2f", math.Pow(product, 1/max(n, 1)))
}
