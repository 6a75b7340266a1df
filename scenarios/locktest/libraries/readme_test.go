package libraries

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
	"github.com/fencepost-sim/fencepost/scenarios/locktest/matrixtest"
	"github.com/fencepost-sim/fencepost/scenarios/remote"
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

// TestFindings replays each finding in the README. The replayed run must violate the law that the finding names, with
// the same cause.
func TestFindings(t *testing.T) {
	for i, r := range results(t) {
		for _, f := range r.Findings {
			t.Run(f.Name, func(t *testing.T) {
				c := All[i].config(f.Protection == "fenced")
				folder := filepath.Join("testdata", f.Name)
				matrixtest.NamesItsCommand(t, folder, f.test(r.Library))
				c.Replay = filepath.Join(folder, "plan.txt")
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

// TestReadme checks that the README and the pages in findings match testdata, and that neither folder contains any
// other files.
func TestReadme(t *testing.T) {
	all := results(t)
	testkit.Golden(t, "README.md", readme(all))
	known := map[string]bool{}
	for i, r := range all {
		page := filepath.Join("findings", r.Library+".md")
		testkit.Golden(t, page, pageOf(t, &All[i], &r))
		known[page], known[filepath.Join("testdata", r.Library+".json")] = true, true
		for _, f := range r.Findings {
			known[filepath.Join("testdata", f.Name)] = true
		}
	}
	for _, pattern := range []string{"findings/*", "testdata/*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if !known[path] {
				t.Errorf("%s belongs to no library and no finding: remove it", path)
			}
		}
	}
}

// TestTheSummaryFitsAScreen checks that the README's summary, from its title to the end of the table, has at most 45
// lines of at most 100 columns.
func TestTheSummaryFitsAScreen(t *testing.T) {
	summary, _, _ := strings.Cut(readme(results(t)), "\n\n[redsync]: ")
	lines := strings.Split(summary, "\n")
	if len(lines) > 45 {
		t.Errorf("the summary has %d lines, want at most 45", len(lines))
	}
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > 100 {
			t.Errorf("%d columns, want at most 100: %s", n, line)
		}
	}
}

// readme returns the README: a summary of all libraries, and a description of how they were run.
func readme(all []result) string {
	var b, links strings.Builder
	b.WriteString(opening + "| library | version |")
	for _, f := range families {
		fmt.Fprintf(&b, " %s |", f.name)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(families)) + "\n")
	for i, r := range all {
		fmt.Fprintf(&b, "| [%s] | %s |", r.Library, short(All[i].Version))
		for _, f := range families {
			b.WriteString(strings.TrimRight(" "+summary(r, f.name), " ") + " |")
		}
		b.WriteByte('\n')
		fmt.Fprintf(&links, "[%s]: findings/%[1]s.md\n", r.Library)
	}
	return b.String() + "\n" + links.String() + method + differing(all) + closing
}

// modulePath matches a module's path: the part before its name, the name (a group), and the major version.
var modulePath = regexp.MustCompile(`github\.com/[\w-]+/(?:[\w-]+/)*?([\w-]+)(?:/v\d+)? `)

// short replaces the module paths in a list of versions with the modules' names.
func short(versions string) string { return modulePath.ReplaceAllString(versions, "$1 ") }

// summary returns one letter for each promise that was broken under a family of faults, and a letter with a question
// mark for each promise that no schedule decided. It returns a dot if there are none, and "" if the family was not
// tried.
func summary(r result, family string) string {
	letters := ""
	for _, v := range views {
		runs, decided, broken := v.sum(r, family)
		switch {
		case runs == 0:
			return ""
		case broken > 0:
			letters += v.letter
		case decided == 0 && v.letter != "":
			letters += v.letter + "?"
		}
	}
	if letters == "" {
		return "·"
	}
	return letters
}

// pageOf returns one library's page. It says how frequent each violation was, and contains each finding with its reason
// and the command that repeats it.
func pageOf(t *testing.T, l *Library, r *result) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, pageOpening, l.Name, l.Version, l.Setting)
	b.WriteString("| promise | of |")
	for _, f := range families {
		fmt.Fprintf(&b, " %s |", f.name)
	}
	b.WriteString("\n|---|--:|" + strings.Repeat("---|", len(families)) + "\n")
	for _, v := range views {
		v.row(&b, r)
	}
	b.WriteString(beforeFindings)
	for _, f := range r.Findings {
		f.write(t, &b, l.Name)
	}
	return b.String() + notRun[l.Name]
}

// view is a kind of row in the tables. It shows results for one law and for clients with a certain protection.
type view struct {
	title      string
	letter     string // letter in the summary; empty: not in the summary
	protection string // protection of the clients; empty: any
	law        checker.Law
	of         func(counts) int // number of runs in which the law, or a law that the title adds, was violated
}

var views = []view{
	{"exclusion: two leases never run at once (lease-exclusion)", "E", "", checker.LeaseExclusion,
		func(c counts) int { return c.Leases }},
	{"ownership: nobody removes or extends another's key (ownership)", "O", "", checker.Ownership,
		func(c counts) int { return c.Owners }},
	{"data: the resource accepts no late write (resource-safety), careless clients", "", "none",
		checker.ResourceSafety, func(c counts) int { return c.Data }},
	{"data, careful clients", "D", "careful", checker.ResourceSafety, func(c counts) int { return c.Data }},
	{"data, fenced clients", "", "fenced", checker.ResourceSafety, func(c counts) int { return c.Data }},
	{"tokens: no token repeats or goes back (token-order), fenced clients", "", "fenced", checker.TokenOrder,
		func(c counts) int { return c.Tokens }},
	{"waiting: nobody waits far too long (deadlock-freedom, fault-tolerance)", "W", "", checker.DeadlockFreedom,
		func(c counts) int { return c.Waits }},
}

// row writes a library's row for one law. Each cell says how many schedules broke the law or, if none did, gives an
// upper bound on the rate.
func (v *view) row(b *strings.Builder, r *result) {
	fmt.Fprintf(b, "| %s | %d |", v.title, v.most(*r))
	for _, f := range families {
		b.WriteString(strings.TrimRight(" "+v.cell(*r, f.name), " ") + " |")
	}
	b.WriteByte('\n')
}

// differing lists the libraries that broke a law with some seed and then gave a different result when the run was
// repeated.
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
	return "\n" + wrapped("Some schedules broke a law, but gave a different run when they were repeated: "+
		strings.Join(list, ", ")+". The tables count the first run.")
}

// sum returns how many schedules there were under a family of faults, how many of them decided the law, and how many
// broke it.
func (v *view) sum(r result, family string) (runs, decided, broken int) {
	for _, c := range r.Cells {
		if c.Family == family && (v.protection == "" || c.Protection == v.protection) {
			runs, decided, broken = runs+c.Runs, decided+c.Decided[v.law], broken+v.of(c)
		}
	}
	return runs, decided, broken
}

// most returns the maximum number of schedules that decided the law in a cell of a library's row. It ignores the column
// for all faults, which may include a longer search.
func (v *view) most(r result) (n int) {
	for _, f := range families {
		if _, decided, _ := v.sum(r, f.name); f.name != anything.name {
			n = max(n, decided)
		}
	}
	return n
}

func (v *view) cell(r result, family string) string {
	runs, decided, broken := v.sum(r, family)
	words := fmt.Sprint(broken)
	switch {
	case runs == 0:
		return ""
	case decided == 0:
		return "–"
	case broken == 0:
		words = fmt.Sprintf("<1/%d", campaign.OneIn(decided))
	}
	if decided != v.most(r) {
		words += fmt.Sprintf(" of %d", decided)
	}
	return words
}

// TestNoCellIsABareZero checks that no cell contains just 0. Each cell must give the number of schedules, or an upper
// bound on the rate.
func TestNoCellIsABareZero(t *testing.T) {
	of := func(family, protection string, runs, undecided, leases int) counts {
		return counts{Family: family, Work: "short", Protection: protection, Runs: runs, Leases: leases,
			Decided: map[checker.Law]int{checker.LeaseExclusion: runs - undecided}}
	}
	r := result{Library: "x", Cells: []counts{of("pauses", "none", 40, 0, 0), of("pauses", "careful", 40, 0, 0),
		of("network", "none", 40, 0, 3), of("network", "careful", 40, 0, 0), of("clocks", "none", 40, 3, 0),
		of("clocks", "careful", 40, 0, 0), of("restarts", "none", 40, 40, 0)}}
	v := view{title: "T", law: checker.LeaseExclusion, of: func(c counts) int { return c.Leases }}
	var b strings.Builder
	v.row(&b, &r)
	const want = "| T | 80 | <1/27 | 3 | – | | <1/26 of 77 | |\n"
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

// write writes a finding's description: who is responsible for it, what it shows, and how to repeat it.
func (f *finding) write(t *testing.T, b *strings.Builder, library string) {
	t.Helper()
	why := whose(library, f)
	if why == "" {
		t.Errorf("%s has no explanation: add one to ofLibrary or ofCause", f.Name)
	}
	cut := ""
	if !f.Minimal {
		cut = "; there may be a smaller plan"
	}
	client := f.Protection
	if client == "none" {
		client = "careless"
	}
	said := fmt.Sprintf("%s Found under %s, with %s work and %s clients, in %d of %d runs; the first is seed %d, "+
		"after %.1f s of processor time%s.", why, f.Family, f.Work, client, f.Runs, f.Of, f.Seed,
		max(f.CPU, 50*time.Millisecond).Seconds(), cut)
	fmt.Fprintf(b, "\n### %s: %s\n\n%s\n```\n%s\n\ngo test -v -run '%s' \\\n"+
		"  -locktest.plan testdata/%s/plan.txt .\n```\n", f.Law, f.Cause, wrapped(said), strings.Join(f.Faults, "\n"),
		remote.Pattern(f.test(library)), f.Name)
}

// test returns the name of the test that repeats the finding's run.
func (f *finding) test(library string) string {
	if f.Protection == "fenced" {
		return "TestFenced/" + library
	}
	return "TestLibraries/" + library
}

// width is the maximum line width for paragraphs on the pages, in bytes.
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
