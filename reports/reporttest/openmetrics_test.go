package reporttest

import (
	"fmt"
	"strings"
	"testing"
)

func TestWhatIsNotOpenMetricsIsRefused(t *testing.T) {
	const good = "# TYPE a_seconds gauge\n# UNIT a_seconds seconds\n# HELP a_seconds \\\"Wait\\\".\n" +
		"a_seconds{b=\"c\\\\d\\n\"} 1\na_seconds 2.5e-3\n# TYPE z gauge\nz +Inf\n# EOF\n"
	if err := CheckOpenMetrics(good); err != nil {
		t.Error(err)
	}
	for _, c := range []struct{ from, to, want string }{
		{"# EOF\n", "# EOF", `the last line is not "# EOF"`},
		{"# EOF\n", "# EOF\nx 1\n", `the last line is not "# EOF"`},
		{`\"Wait\"`, `"Wait"`, "neither metadata nor a sample"},
		{`c\\d`, `c\d`, "neither metadata nor a sample"},
		{`c\\d\n`, "c\nd", "neither metadata nor a sample"},
		{"2.5e-3", "2,5", "neither metadata nor a sample"},
		{"a_seconds 2", "a_seconds  2", "neither metadata nor a sample"},
		{"# UNIT a_seconds seconds", "# UNIT a_seconds ratio", "the name does not end with the unit"},
		{"gauge", "counter", "the type is not gauge"},
		{"# TYPE z gauge\n", "", "does not follow its family's metadata"},
		{"z +Inf\n", "z +Inf\n# HELP z Late.\n", "the metadata is repeated, or follows a sample"},
		{"z +Inf\n", "z +Inf\nz 1\n", "the metric is repeated"},
		{`{b="c\\d\n"}`, `{b="c",b="d"}`, "two labels have the same name"},
		{"# TYPE z gauge\nz +Inf", "# TYPE z gauge\nz 1\na_seconds{b=\"d\"} 3",
			"does not follow its family's metadata"},
		{"# TYPE z gauge\nz +Inf", "# TYPE z_total gauge\nz_total 1", "the name ends with a reserved suffix"},
		{"# TYPE z gauge\nz +Inf", "# TYPE z gauge\nz 1\n# TYPE a_seconds gauge",
			"the lines of the family are not together"},
	} {
		bad := strings.Replace(good, c.from, c.to, 1)
		if err := CheckOpenMetrics(bad); bad == good || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%q for %q: %v, want %q", c.to, c.from, err, c.want)
		}
	}
}
