package verify

import (
	"context"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/cmd/processor"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// BenchmarkVerify tries all fault placements in a Redlock run with three servers and two clients, on all cores, with
// fencepost verify's default settings. Run it with -benchtime 1x.
func BenchmarkVerify(b *testing.B) {
	for _, x := range []struct {
		name           string
		faults, delays int
	}{{"OneFault", 1, 2}, {"TwoFaults", 2, 1}} {
		b.Run(x.name, func(b *testing.B) {
			s, err := scenarios.Parse("verified.yaml",
				[]byte(strings.Replace(soundRedlock, ", deadlock-freedom, fault-tolerance", "", 1)))
			if err != nil {
				b.Fatal(err)
			}
			runs, schedules, n := 0, 0, 0
			start := processor.Time()
			for b.Loop() {
				v, err := Scenario(context.Background(), s, Options{Faults: x.faults, Delays: x.delays, Seed: 1})
				if err != nil {
					b.Fatal(err)
				}
				if standing, open := v.Standing(); standing != document.Passed {
					b.Fatal(standing, open, v.Found)
				}
				runs, n = runs+v.runs(), n+1
				schedules = v.Lengths[x.faults].Schedules
			}
			b.ReportMetric(float64(schedules), "schedules")
			b.ReportMetric(float64(runs)/b.Elapsed().Seconds(), "runs/s")
			b.ReportMetric(b.Elapsed().Seconds()/float64(n), "s")
			b.ReportMetric((processor.Time()-start).Seconds()/float64(n), "cpu-s")
		})
	}
}
