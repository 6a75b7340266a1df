package corpus

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// estimates are the options for the searches with results in ESTIMATES.md.
var estimates = Options{Seeds: 20_000, Starts: 8, Unaimed: true}

const (
	estimatesFile  = "ESTIMATES.md"
	estimatesBegin = "<!-- estimates: begin -->\n"
	estimatesEnd   = "<!-- estimates: end -->"
)

// TestTheEstimatesAreThoseOfTheReport checks that the table in ESTIMATES.md has a row for each mutant, with the numbers
// in the report. It repeats the measurements for some mutants that need only a few runs, and the results must agree
// with the table. A full test repeats those for all mutants that are caught within 100 runs. With
// FENCEPOST_ESTIMATES=1, the test repeats all measurements, which takes 15 minutes of processor time, and with -update,
// it also rewrites the table.
func TestTheEstimatesAreThoseOfTheReport(t *testing.T) {
	testkit.ThoroughOnly(t)
	file, err := os.ReadFile(estimatesFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(file), estimatesBegin)
	table, after, whole := strings.Cut(rest, estimatesEnd)
	if !whole {
		t.Fatalf("%s has no table", estimatesFile)
	}
	if os.Getenv("FENCEPOST_ESTIMATES") != "" {
		c, err := Run(t.Context(), estimates)
		if err != nil {
			t.Fatal(err)
		}
		testkit.Golden(t, estimatesFile, before+estimatesBegin+c.estimates()+estimatesEnd+after)
		return
	}
	rows := strings.Split(table, "\n")
	head := len((&Corpus{Starts: estimates.Starts, Unaimed: true}).estimatesHead())
	c := &Corpus{Seeds: estimates.Seeds, Starts: estimates.Starts, Unaimed: true}
	made := 0
	for i, m := range mutants {
		row := rows[min(head+i, len(rows)-1)]
		if !strings.HasPrefix(row, fmt.Sprintf("| %s | %s | ", m.Of, m.Name)) {
			t.Fatalf("row %d is not that of %s: %s", i, m.Name, row)
		}
		if testkit.Full() && m.Within > soon || !testkit.Full() && !telling(row) {
			continue
		}
		made++
		r := MutantResult{Mutant: m}
		for n := i; n < estimates.searches(); n += len(mutants) {
			s, err := estimates.search(t.Context(), n)
			if err != nil {
				t.Fatal(err)
			}
			if estimates.place(n).unaimed {
				r.Unaimed = append(r.Unaimed, &s.Search)
			} else {
				r.Searches = append(r.Searches, &s.Search)
			}
		}
		if now := c.estimatesRow(&r); !near(row, now) {
			t.Errorf("%s\nis now\n%s", row, now)
		}
	}
	if made < 2 {
		t.Errorf("%d rows were made again", made)
	}
}

var interval = regexp.MustCompile(`[0-9][0-9,]*–[0-9][0-9,]*`)

// telling reports whether a few searches for a row's mutant are enough to show whether the search has become worse.
// This is the case if only a few runs are needed to catch the mutant, and more runs are needed without aimed faults
// (faults that strike at an event in a fault-free run).
func telling(row string) bool {
	is := interval.FindAllString(row, 2)
	return len(is) == 2 && ends(is[0])[1] <= 30 && ends(is[0])[1] < ends(is[1])[0]
}

// near reports whether two rows agree: they have the same number of intervals, and these overlap pairwise. Changes to
// faults, to servers, or to how faults are drawn alter the numbers slightly, by chance. If the search gets worse, the
// numbers change much more.
func near(a, b string) bool {
	as, bs := interval.FindAllString(a, -1), interval.FindAllString(b, -1)
	if len(as) != len(bs) {
		return false
	}
	for i := range as {
		a, b := ends(as[i]), ends(bs[i])
		if a[1] < b[0] || b[1] < a[0] {
			return false
		}
	}
	return true
}

// ends returns an interval's lower and upper bounds.
func ends(interval string) (n [2]int) {
	low, high, _ := strings.Cut(strings.ReplaceAll(interval, ",", ""), "–")
	n[0], _ = strconv.Atoi(low)
	n[1], _ = strconv.Atoi(high)
	return n
}

func TestRowsAreNearIfTheirIntervalsOverlap(t *testing.T) {
	const row = "| lock | mutant | 1,500 | 900–3,000 | 20 | 10–40 | 0.1 |"
	for other, want := range map[string]bool{
		row: true,
		"| lock | mutant | 5,000 | 3,000–9,000 | 20 | 10–40 | 0.1 |": true,
		"| lock | mutant | 5,000 | 3,001–9,000 | 20 | 10–40 | 0.1 |": false,
		"| lock | mutant | 1,500 | 900–3,000 | 20 | 41–90 | 0.1 |":   false,
		"| lock | mutant | 1,500 | 900–3,000 | none | > 90 | 0.1 |":  false,
	} {
		if near(row, other) != want || near(other, row) != want {
			t.Errorf("%s\n%s\nnear: %v", row, other, !want)
		}
	}
}

// estimatesHead returns the header rows of the table in ESTIMATES.md.
func (c *Corpus) estimatesHead() []string {
	columns := c.columns()
	titles := []string{"lock", "mutant"}
	for _, column := range columns[:len(columns)-2] { // leave out the columns for the time and for the cause
		title := column.Title
		if column.Group.Title != "" {
			title += ", " + column.Group.Title
		}
		titles = append(titles, title)
	}
	return []string{"| " + strings.Join(titles, " | ") + " |", "|" + strings.Repeat("---|", len(titles))}
}

func (c *Corpus) estimatesRow(m *MutantResult) string {
	return fmt.Sprintf("| %s | %s | %s |", m.Of, m.Name, strings.Join(c.numbers(m), " | "))
}

// estimates returns the table in ESTIMATES.md, followed by its totals.
func (c *Corpus) estimates() string {
	lines := c.estimatesHead()
	for i := range c.Mutants {
		lines = append(lines, c.estimatesRow(&c.Mutants[i]))
	}
	lines = append(lines, "")
	for _, f := range c.totals() {
		lines = append(lines, text.Count(len(c.Mutants), "mutant")+": "+f.Value+".")
	}
	return strings.Join(lines, "\n") + "\n"
}
