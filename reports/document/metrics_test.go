package document

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
)

// TestMetricsAreWrittenForPeople checks that metrics are written without exponents and in a unit that suits their size.
func TestMetricsAreWrittenForPeople(t *testing.T) {
	for _, test := range []struct {
		value float64
		unit  string
		want  string
	}{
		{2.691e-06, "s", "2.691 µs"}, {9.99949e-04, "s", "999.9 µs"}, {1e-3, "s", "0.001 s"}, {0, "s", "0 s"},
		{0.005064, "s", "0.005064 s"}, {12.34567, "s", "12.35 s"}, {123456, "s", "123500 s"},
		{0.5, "ratio", "50%"}, {1e-7, "ratio", "0.00001%"}, {12346, "", "12350"}, {3, "", "3"},
	} {
		m := checker.Metric{Name: "x", Unit: test.unit, Value: test.value, Samples: 1}
		if got := MetricValue(m); got != test.want {
			t.Errorf("%g %s: %s, want %s", test.value, test.unit, got, test.want)
		}
	}
}
