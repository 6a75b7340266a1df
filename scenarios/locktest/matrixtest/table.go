package matrixtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// Reasons contains the reasons for the violations in a table. A key consists of a client, a law and a cause, and stands
// for all such violations. If a key is the name of a single finding, it takes precedence. A reason is the text in bold
// at the beginning of an entry, "- **Reason.**", in the file that contains the table. The entry says which lines of the
// library cause the violation and, after "Promised:", what the library's documentation says about it.
type Reasons map[string]string

// keyOf returns the key in r under which the reason for a finding is stored.
func (r Reasons) keyOf(client string, f *Finding) (key string) {
	if r[f.Name] != "" {
		return f.Name
	}
	return client + " " + f.Way()
}

// Table compares a table in a file with the clients' results in testdata. With -update, it writes the table. The table
// has a row for each kind of violation by a client, and a column for each family of faults. A cell contains the number
// of runs for each of the Protections, with a link to the smallest run. The test fails if a finding has no plan or no
// reason, or if there is a reason or a plan without a finding.
func Table(t *testing.T, path, name string, clients []Client, families []Family, reasons Reasons) {
	t.Helper()
	var b strings.Builder
	b.WriteString("| client | law | broken by |")
	for _, f := range families {
		fmt.Fprintf(&b, " %s |", f.Name)
	}
	b.WriteString(" why |\n|---|---|---|" + strings.Repeat("---|", len(families)) + "---|\n")
	used := map[string]bool{}
	for _, client := range clients {
		result, err := read(client.Name)
		if err != nil {
			t.Fatal(err)
		}
		result.hasPlans(t, client.Name)
		rows(&b, client, &result, families, func(f *Finding) string {
			key := reasons.keyOf(client.Name, f)
			if used[key] = true; reasons[key] == "" {
				t.Errorf("no reason is recorded for %s (%s): %s", f.Name, key, f.Faults)
			}
			return reasons[key]
		})
	}
	for key := range reasons {
		if !used[key] {
			t.Errorf("no finding has the recorded reason %s", key)
		}
	}
	explained(t, path, reasons)
	testkit.GoldenPart(t, path, name, b.String())
}

// rows writes one client's rows.
func rows(b *strings.Builder, client Client, result *Result, families []Family, why func(*Finding) string) {
	var ways []string
	for i := range result.Findings {
		if way := result.Findings[i].Way(); !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
	}
	slices.Sort(ways)
	for _, way := range ways {
		cells, whys := make([]string, len(families)), []string{}
		for i := range result.Findings {
			f := &result.Findings[i]
			at := slices.IndexFunc(families, func(x Family) bool { return x.Name == f.Family })
			if f.Way() != way || at < 0 {
				continue
			}
			cells[at] = fmt.Sprintf("[%s](testdata/%s/plan.txt)", result.counts(client, f), f.Name)
			if reason := why(f); !slices.Contains(whys, reason) {
				whys = append(whys, reason)
			}
		}
		law, cause, _ := strings.Cut(way, ": ")
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", client.Name, law, cause, strings.Join(cells, " | "),
			strings.ToLower(strings.Join(whys, "; ")))
	}
}

// counts returns how many runs show a finding, one number for each of the Protections that the client can use.
func (r *Result) counts(client Client, f *Finding) string {
	var all []string
	for _, p := range Protections {
		if p.Precautions.Fences && client.Tokenless {
			continue
		}
		n := 0
		for _, c := range r.Cells {
			if c.Protection == p.Name && c.Family == f.Family && c.Law == f.Law && c.Cause == f.Cause {
				n = c.Runs
			}
		}
		all = append(all, fmt.Sprint(n))
	}
	return strings.Join(all, ", ")
}

// hasPlans checks that each cell has a finding, and that every plan in testdata belongs to a finding.
func (r *Result) hasPlans(t *testing.T, client string) {
	t.Helper()
	for _, c := range r.Cells {
		if !slices.ContainsFunc(r.Findings, func(f Finding) bool {
			return f.Family == c.Family && f.Law == c.Law && f.Cause == c.Cause
		}) {
			t.Errorf("%+v of %s has no matching finding", c, client)
		}
	}
	folders, err := filepath.Glob(filepath.Join("testdata", client+"-*", "plan.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, plan := range folders {
		name := filepath.Base(filepath.Dir(plan))
		if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Name == name }) {
			t.Errorf("%s belongs to no finding", plan)
		}
	}
}

// explained checks that the file has an entry for each reason.
func explained(t *testing.T, path string, reasons Reasons) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range reasons {
		_, entry, found := strings.Cut(string(text), "\n- **"+reason+".**")
		entry, _, _ = strings.Cut(entry, "**")
		if !found || !strings.Contains(entry, "Promised:") || !strings.Contains(entry, "line") {
			t.Errorf("%s has no complete entry (the reason, the lines, what is promised) for - **%s.**", path, reason)
		}
	}
}
