package campaign

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// counted returns the results for all laws, each with the counts c.
func counted(c Counts) Laws {
	laws := NewLaws(checker.Laws)
	for i := range laws {
		laws[i].Counts = c
	}
	return laws
}

func tableText(t document.Table, width int) []string {
	var b strings.Builder
	t.Text(document.TextOptions{Width: width}.Writer(&b))
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// TestAColumnIsOneEntry checks that one entry in countColumns is enough to add a column. The test adds a column that
// shows in how many runs a law was exercised. It must appear with its title before the rate, and nothing else may
// change.
func TestAColumnIsOneEntry(t *testing.T) {
	laws, promise := counted(Counts{Holds: 900, Violated: 100}), checker.Promise{Laws: checker.Laws}
	before := tableText(laws.RateTable(promise), 100)
	all := countColumns
	t.Cleanup(func() { countColumns = all })
	countColumns = append(slices.Clone(all), countColumn{"exercised", Counts.Exercised})
	after := tableText(laws.RateTable(promise), 100)
	for i, line := range before {
		last, added := "10%", "      1,000  "
		if i == 0 {
			last, added = "share of runs", "  exercised  "
		}
		at := strings.LastIndex(line, last)
		if want := line[:at-gap] + added + line[at:]; at < 0 || after[i] != want {
			t.Errorf("%q became %q, want %q", line, after[i], want)
		}
	}
	if len(before) != len(checker.Laws)+1 || len(after) != len(before) {
		t.Errorf("%d lines became %d", len(before), len(after))
	}
}

// gap is the number of terminal cells between two columns.
const gap = 2

// TestTheTableOfLawsFitsATerminal checks the table with counts of up to several hundred thousand runs. In an 80-column
// terminal, there must be a gap between any two counts, and the percentage of runs must not be truncated.
func TestTheTableOfLawsFitsATerminal(t *testing.T) {
	for runs := 1; runs < 1_000_000; runs = runs*3 + 1 {
		for _, broken := range []int{0, 1, runs / 2, runs} {
			for _, promise := range []checker.Promise{{}, {Laws: checker.Laws}} {
				laws := counted(Counts{Holds: runs - broken, Violated: broken, Undecided: runs, Unchecked: runs})[:1]
				table := laws.RateTable(promise)
				row := table.Rows[0]
				lines := tableText(table, 80)
				want := append([]string{row.Name, text.Grouped(runs - broken), text.Grouped(broken),
					text.Grouped(runs), text.Grouped(runs)}, strings.Fields(row.Cells[4].Words)...)
				if got := strings.Fields(strings.Join(lines[1:], " ")); !slices.Equal(got[1:], want) {
					t.Errorf("%q, want %q", got[1:], want)
				}
			}
		}
	}
}

// TestALawIsMarkedByWhatWasPromised checks that a broken promise is marked as a failure. A violated law that was not
// promised is neither a pass nor a failure, and a law that was never exercised is not a pass.
func TestALawIsMarkedByWhatWasPromised(t *testing.T) {
	all := checker.Promise{Laws: checker.Laws}
	for _, c := range []struct {
		counts  Counts
		promise checker.Promise
		sign    string
		words   string
	}{
		{Counts{Holds: 5, Violated: 5}, all, "✗", "50%"},
		{Counts{Holds: 5, Violated: 5}, checker.Promise{}, "·", "50%, not promised"},
		{Counts{Holds: 5, Violated: 5, Excused: 5}, all, "·", "50%, not promised"},
		{Counts{Holds: 6, Violated: 4, Excused: 3}, all, "✗", "10%"},
		{Counts{Holds: 299}, all, "✓", "< 1% (95% sure)"},
		{Counts{Undecided: 3, Unchecked: 4}, all, "–", ""},
	} {
		row := counted(c.counts)[:1].RateTable(c.promise).Rows[0]
		if row.Sign != c.sign || row.Cells[len(row.Cells)-1].Words != c.words {
			t.Errorf("%+v, promised %v: %s, %q", c.counts, c.promise.Laws != nil, row.Sign,
				row.Cells[len(row.Cells)-1].Words)
		}
	}
}
