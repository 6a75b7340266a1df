package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// Each catalog scenario's report begins with one sentence that says what happened, and with the scenario's purpose. The
// picture follows. No part of the report is wider than an 80-column terminal.
func TestEveryScenarioOpensWithAHeadline(t *testing.T) {
	for i, name := range scenarios.Names() {
		if i%testkit.Size(4, 1, 1) > 0 {
			continue
		}
		s, err := scenarios.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		result, err := scenarios.NewRunner(s).Run(s.Plan(1))
		if err != nil {
			t.Fatal(err)
		}
		run, err := single.Explain(s, result, s.Judge(result))
		if err != nil {
			t.Fatal(err)
		}
		run.Repeat = "fencepost run " + name + " --seed 1"
		var b strings.Builder
		if err := run.Document().Text(&b, document.TextOptions{Width: 80}); err != nil {
			t.Fatal(err)
		}
		opening, _, picture := strings.Cut(b.String(), "\nseconds ")
		parts := strings.Split(opening, "\n\n")
		if !picture || len(parts) < 3 {
			t.Errorf("%s: no headline before the picture:\n%s", name, opening)
			continue
		}
		if h := parts[1]; strings.Contains(h, "is broken: ") || strings.Count(h, "\n") > 1 ||
			!strings.HasSuffix(h, ".") {
			t.Errorf("%s: %q is no headline", name, h)
		}
		kept := strings.HasPrefix(parts[1], "No two clients") || strings.HasPrefix(parts[1], "No more than")
		if broken := run.Verdict.Violated(); broken == kept {
			t.Errorf("%s: broken %v, but %s", name, broken, parts[1])
		}
		if !strings.Contains(parts[2], "Came out as the file expects: ") {
			t.Errorf("%s does not say what it shows:\n%s", name, parts[2])
		}
		if text := strings.ToLower(b.String()); strings.Contains(text, "probe") &&
			!strings.Contains(text, "probe   a last client") {
			t.Errorf("%s speaks of the probe and does not say what it is:\n%s", name, text)
		}
		for _, l := range strings.Split(b.String(), "\n") {
			if utf8.RuneCountInString(l) > 80 && !strings.Contains(l, "://") { // a URL is not wrapped
				t.Errorf("%s: %d columns: %s", name, utf8.RuneCountInString(l), l)
			}
		}
	}
}
