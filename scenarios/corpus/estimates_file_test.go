package corpus

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// estimates are the searches of ESTIMATES.md.
var estimates = Options{Seeds: 20_000, Starts: 8, Unaimed: true}

const (
	estimatesFile  = "ESTIMATES.md"
	estimatesBegin = "<!-- estimates: begin -->\n"
	estimatesEnd   = "<!-- estimates: end -->"
)

// TestTheEstimatesAreThoseOfTheReport: the table has a row for each mutant, with the numbers of the report. Those of
// mutants that are caught within few runs are made again, and with FENCEPOST_ESTIMATES=1 those of all, which takes 15
// minutes of processor time; with -update as well it renews the table.
func TestTheEstimatesAreThoseOfTheReport(t *testing.T) {
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
		if m.Within > soon || i%testkit.Size(6, 1) != 0 {
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
		if want := c.estimatesRow(&r); row != want {
			t.Errorf("%s\nis now\n%s", row, want)
		}
	}
	if made < 5 {
		t.Errorf("%d rows were made again", made)
	}
}

// estimatesHead is the first lines of the table.
func (c *Corpus) estimatesHead() []string {
	columns := c.columns()
	titles := []string{"lock", "mutant"}
	for _, column := range columns[:len(columns)-2] { // without how long it took, and what was found
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

// estimates is the table and what it sums up to.
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
