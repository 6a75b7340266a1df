package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// TestReadmeShowsWhatTheCommandsSay holds the README's output and its track record equal to the program's; -update
// rewrites them.
func TestReadmeShowsWhatTheCommandsSay(t *testing.T) {
	path, err := filepath.Abs("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := fill(t, string(text), "output", readmeOutput(t, "run", "kleppmann-gc-pause"))
	want = fill(t, want, "exploration", readmeOutput(t, "explore", "kleppmann-gc-pause", "--seeds", "1000"))
	want = fill(t, want, "delayed restart", delayedRestart(t, filepath.Dir(path)))
	want = fill(t, want, "comparison", readmeOutput(t, "compare", "--seeds", "20"))
	want = fill(t, want, "track record", trackRecord(t))
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatal("the README shows something else than the program; rewrite it with: go test ./cmd/fencepost -update")
	}
	if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestReadmeScenarioComesOutAsItSays runs the scenario that the README shows.
func TestReadmeScenarioComesOutAsItSays(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	t.Chdir(t.TempDir())
	if err := os.WriteFile("example.yaml", []byte(example), 0o666); err != nil {
		t.Fatal(err)
	}
	var out, problems bytes.Buffer
	if code := run([]string{"run", "example.yaml", "--seeds", "200"}, &out, &problems); code != 0 {
		t.Errorf("exit %d\n%s%s", code, problems.String(), out.String())
	}
}

// fill puts content between the marks of that name.
func fill(t *testing.T, text, name, content string) string {
	t.Helper()
	begin, end := fmt.Sprintf("<!-- %s: begin -->\n", name), fmt.Sprintf("<!-- %s: end -->", name)
	before, rest, hasBegin := strings.Cut(text, begin)
	_, after, hasEnd := strings.Cut(rest, end)
	if !hasBegin || !hasEnd {
		t.Fatalf("the README lacks the marks of %s", name)
	}
	return before + begin + content + end + after
}

// delayedRestart is what the sweep in the README says; root is the repository.
func delayedRestart(t *testing.T, root string) string {
	worst := filepath.Join(root, "scenarios/testdata/delayed-restart-worst-case.yaml")
	output := readmeOutput(t, "sweep", worst, "--law", "lease-exclusion", "--vary", "restart=0s..12s/500ms",
		"--assert", "lease-exclusion holds when restart >= ttl * 1.01 + 2ms", "--out", "maps")
	_, output, _ = strings.Cut(output, "\n\nlease-exclusion  ")
	output, _, _ = strings.Cut(output, "\n\n✓ held")
	lines := strings.Split("lease-exclusion  "+output, "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool {
		return strings.Contains(l, "fencepost run") || strings.HasPrefix(strings.TrimSpace(l), "--seed")
	})
	return "```text\n" + strings.Join(lines, "\n") + "\n```\n"
}

// readmeOutput is what a command prints on a terminal of 80 columns.
func readmeOutput(t *testing.T, args ...string) string {
	t.Chdir(t.TempDir())
	t.Setenv("COLUMNS", "80")
	var out, problems bytes.Buffer
	if code := run(args, &out, &problems); code != exitExpected && code != exitOtherwise {
		t.Fatalf("exit %d: %s", code, problems.String())
	}
	return "```text\n" + out.String() + "```\n"
}

// trackRecord is the table of the catalogue: situation, scenario, verdict.
func trackRecord(t *testing.T) string {
	var b strings.Builder
	for _, section := range scenarios.Sections {
		fmt.Fprintf(&b, "\n**%s**\n\n| situation | scenario | verdict |\n|---|---|---|\n", section.Title)
		for _, name := range section.Names {
			s, err := scenarios.Named(name)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "| %s | `%s` | %s |\n", s.Summary, name, strings.Join(verdicts(s), "; "))
		}
	}
	return b.String() + "\n"
}

// verdicts are a scenario's expectations, those of one outcome and cause together.
func verdicts(s *scenarios.Scenario) []string {
	laws := map[string][]string{}
	var order []string
	for _, law := range checker.Laws {
		if e, named := s.Expect.Laws[law]; named {
			if laws[e.String()] == nil {
				order = append(order, e.String())
			}
			laws[e.String()] = append(laws[e.String()], string(law))
		}
	}
	var all []string
	for _, outcome := range order {
		how, cause, _ := strings.Cut(outcome, " by ")
		entry := strings.Join(laws[outcome], ", ") + " **" + how + "**"
		if cause != "" {
			entry += ": " + cause
		}
		all = append(all, entry)
	}
	for _, m := range s.Expect.Metrics {
		all = append(all, "`"+m.Name+"` "+m.Text)
	}
	return all
}
