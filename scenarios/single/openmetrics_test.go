package single

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/reporttest"
)

func TestOpenMetricsKeepsFamiliesTogether(t *testing.T) {
	run := &Run{Scenario: `a "b"`, Seed: 7, Metrics: checker.Metrics{
		{Name: "lock_acquisition_time_p50", Value: 0.25, Samples: 4},
		{Name: "fencing_token_reject_rate"},
		{Name: "wake_ups_per_release", Value: 1, Samples: 2},
		{Name: `lock_acquisition_time_p50{process="client-1"}`, Value: 0.5, Samples: 1},
	}}
	want := `# TYPE lock_acquisition_time_p50 gauge
# HELP lock_acquisition_time_p50 Median time from asking for a lock to holding it, in seconds.
lock_acquisition_time_p50{scenario="a \"b\"",seed="7"} 0.25
lock_acquisition_time_p50{scenario="a \"b\"",seed="7",process="client-1"} 0.5
# TYPE wake_ups_per_release gauge
# HELP wake_ups_per_release Number of waiting clients that were notified, per release.
wake_ups_per_release{scenario="a \"b\"",seed="7"} 1
# EOF
`
	if err := reporttest.CheckOpenMetrics(want); err != nil {
		t.Error(err)
	}
	if got := string(run.openMetrics()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestEveryMetricIsExplained(t *testing.T) {
	for _, m := range checker.Measure(reporttest.Kleppmann().History) {
		if family, _ := splitLabel(m.Name); metricHelp[family] == "" {
			t.Errorf("%s has no help", family)
		}
	}
}
