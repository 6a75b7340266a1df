package libraries

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// results are those that testdata keeps, in the order of All.
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

// TestFindings replays each finding of the README and demands that it breaks the law that it is said to break, by the
// cause.
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
				if r.Runs != 1 || len(r.Breaches) != 1 || r.Breaches[0].Law != f.Law || r.Breaches[0].Cause != f.Cause {
					t.Errorf("it should break %s by %s: %+v", f.Law, f.Cause, r.Breaches)
				}
			})
		}
	}
}

// TestReadme demands that the README says what testdata holds, and that testdata holds nothing else.
func TestReadme(t *testing.T) {
	all := results(t)
	want := readme(t, all)
	if *update {
		save(t, ".", "README.md", want)
		return
	}
	if got, err := os.ReadFile("README.md"); err != nil || string(got) != want {
		t.Errorf("README.md is not what testdata holds (%v): run go test -run TestReadme -update .", err)
	}
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
	fmt.Fprintf(&b, legend, matrixSeeds)
	b.WriteString("| library | work |")
	for _, f := range families {
		fmt.Fprintf(&b, " %s |", f.name)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(families)) + "\n")
	for _, r := range all {
		for _, w := range works {
			row(&b, r, w.name)
		}
	}
	b.WriteString(afterTable)
	for i, r := range all {
		fmt.Fprintf(&b, "\n### %s\n", r.Library)
		for _, f := range r.Findings {
			f.write(t, &b, All[i].Name)
		}
	}
	b.WriteString(closing)
	return b.String()
}

// row is a row of the table; none if the library does not do such work.
func row(b *strings.Builder, r result, work string) {
	var line strings.Builder
	some := false
	for _, f := range families {
		var data, marks []string
		var sum counts
		for _, c := range r.Cells {
			if c.Family == f.name && c.Work == work {
				data = append(data, fmt.Sprint(c.Data))
				sum.Leases, sum.Waits, sum.Tokens = sum.Leases+c.Leases, sum.Waits+c.Waits, sum.Tokens+c.Tokens
				sum.Stopped += c.Stopped
			}
		}
		for n, mark := range map[*int]string{&sum.Leases: "L", &sum.Waits: "W", &sum.Tokens: "T", &sum.Stopped: "S"} {
			if *n > 0 {
				marks = append(marks, mark)
			}
		}
		if data == nil {
			line.WriteString(" |")
			continue
		}
		some = true
		fmt.Fprintf(&line, " %s |", strings.TrimSpace(strings.Join(data, " · ")+" "+strings.Join(sorted(marks), "")))
	}
	if some {
		fmt.Fprintf(b, "| %s | %s |%s\n", r.Library, work, line.String())
	}
}

func sorted(marks []string) (all []string) {
	for _, m := range []string{"L", "S", "T", "W"} {
		for _, has := range marks {
			if has == m {
				all = append(all, m)
			}
		}
	}
	return all
}

// write describes a finding: what it is, what it shows, and how it is repeated.
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

// width is how long the lines of the README's paragraphs are.
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
