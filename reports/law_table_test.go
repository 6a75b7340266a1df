package reports

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// TestAColumnIsOneRow adds a column to the table of laws: how often a law was seen at all. It stands under its title,
// the rate after it, and nothing else moves.
func TestAColumnIsOneRow(t *testing.T) {
	before := exploreText(t, explored(), document.TextOptions{})
	all := lawColumns
	t.Cleanup(func() { lawColumns = all })
	lawColumns = append(all[:len(all):len(all)], lawColumn{"seen", 64, func(l *toldLaw) int { return l.Exercised() }})
	after := strings.Split(exploreText(t, explored(), document.TextOptions{}), "\n")
	laws := 0
	for i, line := range strings.Split(before, "\n") {
		switch {
		case strings.Contains(line, rated.title):
			if want := line[:strings.Index(line, rated.title)] + "  seen  " + rated.title; after[i] != want {
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

// TestTheTableOfLawsFitsATerminal counts up to some hundred thousand runs: at 80 columns no count touches another, and
// the share of runs stands in full.
func TestTheTableOfLawsFitsATerminal(t *testing.T) {
	for runs := 1; runs < 1_000_000; runs = runs*3 + 1 {
		for _, broken := range []int{0, 1, runs / 2, runs} {
			for _, promised := range []bool{false, true} {
				l := toldLaw{campaign.Law{Law: checker.DeadlockFreedom, Counts: campaign.Counts{Holds: runs - broken,
					Violated: broken, Undecided: runs, Unchecked: runs}}, promised, nil}
				var b strings.Builder
				lawTable(document.TextOptions{}.Writer(&b), []toldLaw{l}, rated)
				words := strings.Fields(strings.Split(b.String(), "\n")[1])
				want := []string{string(l.Law.Law), text.Grouped(l.Holds), text.Grouped(l.Violated),
					text.Grouped(runs), text.Grouped(runs)}
				if want = append(want, strings.Fields(l.rate())...); !slices.Equal(words[1:], want) {
					t.Errorf("%q, want %q", words[1:], want)
				}
			}
		}
	}
}
