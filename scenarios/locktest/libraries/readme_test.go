package libraries

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// results reads the results in testdata, in the order of All.
func results(t *testing.T) (all []result) {
	t.Helper()
	for _, l := range All {
		text, err := os.ReadFile(filepath.Join("testdata", l.Name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var r result
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// TestFindings replays each finding of the README. The run must break the law that the finding names, by the cause that
// it names.
func TestFindings(t *testing.T) {
	for i, r := range results(t) {
		for _, f := range r.Findings {
			t.Run(f.Name, func(t *testing.T) {
				c := All[i].config(f.Care == "fenced")
				c.Replay = filepath.Join("testdata", f.Name, "plan.txt")
				c.Laws = []checker.Law{f.Law}
				r, ok := locktest.Explore(t, c)
				if !ok {
					return
				}
				judgeable(t, r)
				if r.Runs != 1 || !slices.ContainsFunc(r.Breaches, func(b locktest.Breach) bool {
					return b.Law == f.Law && b.Cause == f.Cause
				}) {
					t.Errorf("it should break %s by %s: %+v", f.Law, f.Cause, r.Breaches)
				}
			})
		}
	}
}

// TestReadme checks that the README matches testdata, and that testdata holds nothing else.
func TestReadme(t *testing.T) {
	all := results(t)
	testkit.Golden(t, "README.md", readme(t, all))
	known := map[string]bool{}
	for _, r := range all {
		known[r.Library+".json"] = true
		for _, f := range r.Findings {
			known[f.Name] = true
		}
	}
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !known[e.Name()] {
			t.Errorf("testdata/%s is of no finding", e.Name())
		}
	}
}

func readme(t *testing.T, all []result) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(opening)
	for _, l := range All {
		fmt.Fprintf(&b, "- **%s**: %s\n", l.Name, l.Version)
	}
	b.WriteString(legend)
	for _, v := range views {
		v.table(&b, all)
	}
	b.WriteString(differing(all) + afterTable)
	for i, r := range all {
		fmt.Fprintf(&b, "\n### %s\n", r.Library)
		for _, f := range r.Findings {
			f.write(t, &b, All[i].Name)
		}
	}
	b.WriteString(closing)
	return b.String()
}

// view is a table of the README: one law, for clients with a certain care.
type view struct {
	title string
	care  string // of the clients; empty: any
	of    func(counts) int
}

var views = []view{
	{"Two leases ran at once (lease-exclusion)", "", func(c counts) int { return c.Leases }},
	{"A key was removed or prolonged that was another's (ownership)", "", func(c counts) int { return c.Owners }},
	{"The data took a superseded holder's write, without care (resource-safety)", "none",
		func(c counts) int { return c.Data }},
	{"… with careful clients", "careful", func(c counts) int { return c.Data }},
	{"… with fenced clients", "fenced", func(c counts) int { return c.Data }},
	{"The tokens' counter went back or repeated itself (token-order)", "fenced",
		func(c counts) int { return c.Tokens }},
	{"Somebody waited far too long (deadlock-freedom, fault-tolerance)", "",
		func(c counts) int { return c.Waits }},
}

// table writes a row for each library. A cell says in how many schedules the law was broken; if in none, it gives an
// upper bound of the rate.
func (v *view) table(b *strings.Builder, all []result) {
	fmt.Fprintf(b, "\n**%s**\n\n| library | of |", v.title)
	for _, f := range families {
		fmt.Fprintf(b, " %s |", f.name)
	}
	b.WriteString("\n|---|--:|" + strings.Repeat("---|", len(families)) + "\n")
	for _, r := range all {
		fmt.Fprintf(b, "| %s | %d |", r.Library, v.most(r))
		for _, f := range families {
			b.WriteString(strings.TrimRight(" "+v.cell(r, f.name), " ") + " |")
		}
		b.WriteByte('\n')
	}
}

// differing lists the libraries with seeds that broke a law and gave another run the second time.
func differing(all []result) string {
	var list []string
	for _, r := range all {
		n, of := 0, 0
		for _, c := range r.Cells {
			n, of = n+c.Differing, of+c.Runs
		}
		if n > 0 {
			list = append(list, fmt.Sprintf("%s in %d of %d", r.Library, n, of))
		}
	}
	if list == nil {
		return ""
	}
	return "\n" + wrapped("Schedules that broke a law, and gave another run when they were repeated: "+
		strings.Join(list, ", ")+". What is counted of them is their first run.")
}

// sum adds up the schedules under a family that could be judged, and those that broke the law.
func (v *view) sum(r result, family string) (broken, judged int) {
	for _, c := range r.Cells {
		if c.Family == family && (v.care == "" || c.Care == v.care) {
			broken, judged = broken+v.of(c), judged+c.Runs-c.Stopped
		}
	}
	return broken, judged
}

// most returns the largest number of schedules in a cell of a library's row. It does not count schedules in which the
// library stopped the clock, and ignores the column of all faults, which may include a longer search.
func (v *view) most(r result) (n int) {
	for _, f := range families {
		if _, judged := v.sum(r, f.name); f.name != anything.name {
			n = max(n, judged)
		}
	}
	return n
}

func (v *view) cell(r result, family string) string {
	broken, judged := v.sum(r, family)
	words := fmt.Sprint(broken)
	switch {
	case judged == 0:
		return ""
	case broken == 0:
		words = fmt.Sprintf("<1/%d", campaign.OneIn(judged))
	}
	if judged != v.most(r) {
		words += fmt.Sprintf(" of %d", judged)
	}
	return words
}

// TestNoCellIsABareZero: a cell is never a bare 0. It says how many schedules there were, or gives an upper bound of
// the rate.
func TestNoCellIsABareZero(t *testing.T) {
	of := func(family, care string, runs, stopped, leases int) counts {
		return counts{Family: family, Work: "short", Care: care, Runs: runs, Stopped: stopped, Leases: leases}
	}
	r := result{Library: "x", Cells: []counts{of("pauses", "none", 40, 0, 0), of("pauses", "careful", 40, 0, 0),
		of("network", "none", 40, 0, 3), of("network", "careful", 40, 0, 0), of("clocks", "none", 40, 3, 0),
		of("clocks", "careful", 40, 0, 0), of("restarts", "none", 40, 40, 0)}}
	v := view{title: "T", of: func(c counts) int { return c.Leases }}
	var b strings.Builder
	v.table(&b, []result{r})
	const want = "\n**T**\n\n| library | of | pauses | network | restarts | failovers | clocks | all |\n" +
		"|---|--:|---|---|---|---|---|---|\n| x | 80 | <1/27 | 3 | | | <1/26 of 77 | |\n"
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
	for _, r := range results(t) {
		for _, v := range views {
			for _, f := range families {
				if cell := v.cell(r, f.name); strings.HasPrefix(cell, "0") {
					t.Errorf("%s, %s, %s: %s", r.Library, v.title, f.name, cell)
				}
			}
		}
	}
}

// write describes a finding: who causes it, what it shows, and how to repeat it.
func (f *finding) write(t *testing.T, b *strings.Builder, library string) {
	t.Helper()
	why := whose(library, f)
	if why == "" {
		t.Errorf("nobody has said yet what %s shows", f.Name)
	}
	test := "TestLibraries"
	if f.Care == "fenced" {
		test = "TestFenced"
	}
	cut := ""
	if !f.Minimal {
		cut = ", not cut down to the last"
	}
	said := fmt.Sprintf("**%s: %s.** %s Found under %s, %s work, care: %s, in %d of %d runs; the first is seed %d, "+
		"after %.1f s of CPU%s.", f.Law, f.Cause, why, f.Family, f.Work, f.Care, f.Runs, f.Of, f.Seed,
		max(f.CPU, 50*time.Millisecond).Seconds(), cut)
	fmt.Fprintf(b, "\n%s\n```\n%s\n\ngo test -v -run '^%s$/^%s$' \\\n  -locktest.plan testdata/%s/plan.txt .\n```\n",
		wrapped(said), strings.Join(f.Faults, "\n"), test, library, f.Name)
}

// width is the largest width of the lines of the README's paragraphs, in bytes.
const width = 115

func wrapped(text string) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		if column > 0 && column+1+len(word) > width {
			b.WriteByte('\n')
			column = 0
		}
		if column > 0 {
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String() + "\n"
}
