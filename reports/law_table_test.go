package reports

import (
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/reports/report"
)

// TestAColumnIsOneRow adds a column to the table of laws: how often a law was seen at all. It stands under its title,
// the rate after it, and nothing else moves.
func TestAColumnIsOneRow(t *testing.T) {
	const rated = "a run breaks it"
	before := exploreText(t, explored(), report.TextOptions{})
	all := lawColumns
	t.Cleanup(func() { lawColumns = all })
	lawColumns = append(all[:len(all):len(all)], lawColumn{"seen", 60, func(l *toldLaw) int { return l.Exercised() }})
	after := strings.Split(exploreText(t, explored(), report.TextOptions{}), "\n")
	laws := 0
	for i, line := range strings.Split(before, "\n") {
		switch {
		case strings.Contains(line, rated):
			if want := line[:strings.Index(line, rated)] + "  seen  " + rated; after[i] != want {
				t.Errorf("the head is %q, want %q", after[i], want)
			}
		case strings.HasPrefix(line, " ✗ ") && strings.Contains(line, "900"):
			laws++
			rate := strings.LastIndex(line, "10")
			if want := line[:rate] + " 1,000  " + line[rate:]; after[i] != want {
				t.Errorf("a law is %q, want %q", after[i], want)
			}
		case after[i] != line:
			t.Errorf("a line without laws is %q, and was %q", after[i], line)
		}
	}
	if laws != 7 {
		t.Errorf("%d laws were seen", laws)
	}
}
