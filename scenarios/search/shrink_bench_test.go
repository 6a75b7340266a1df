package search

import (
	"slices"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/cmd/processor"
)

// BenchmarkShrink shrinks the violations that 2,000 random plans cause in a scenario, but at most ten for each law and
// cause. It reports how many violations there were, how many of them are left with at most one fault, and the median
// cost of shrinking. It also reports the median and maximum number of faults, before and after shrinking.
func BenchmarkShrink(b *testing.B) {
	for _, name := range []string{"kleppmann-gc-pause", "fenced-gc-pause", "failover-loses-lock", "restart-everysec",
		"no-elapsed-check",
		"token-per-client", "etcd-lease-pause", "zookeeper-session-expiry", "get-then-del-race",
		"two-locks-with-timeout"} {
		b.Run(name, func(b *testing.B) {
			s := named(b, name)
			found := drawViolations(b, s, 2000, 10)
			var before, after, runs []int
			var cost []time.Duration
			for b.Loop() {
				before, after, runs, cost = nil, nil, nil, nil
				for _, v := range found {
					start := processor.Time()
					r := mustShrink(b, s, v)
					cost = append(cost, processor.Time()-start)
					before, after, runs = append(before, len(v.plan.Faults)), append(after, len(r.Plan.Faults)),
						append(runs, r.Runs)
				}
			}
			alone := 0
			for _, n := range after {
				if n <= 1 {
					alone++
				}
			}
			slices.Sort(cost)
			b.ReportMetric(float64(len(found)), "violations")
			b.ReportMetric(middle(before), "faults-before")
			b.ReportMetric(float64(slices.Max(before)), "faults-before-max")
			b.ReportMetric(middle(after), "faults-after")
			b.ReportMetric(float64(slices.Max(after)), "faults-after-max")
			b.ReportMetric(100*float64(alone)/float64(len(found)), "%one-fault")
			b.ReportMetric(middle(runs), "runs/shrink")
			b.ReportMetric(cost[len(cost)/2].Seconds()*1000, "cpu-ms/shrink")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func middle(list []int) float64 {
	slices.Sort(list)
	return float64(list[len(list)/2])
}
