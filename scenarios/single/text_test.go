package single_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/single"
	"github.com/fencepost-sim/fencepost/scenarios/single/singletest"
)

func golden(t *testing.T, name, got string) {
	t.Helper()
	testkit.Golden(t, filepath.Join("testdata", name), got)
}

func textOf(t *testing.T, run *single.Run, opt document.TextOptions) string {
	t.Helper()
	var b strings.Builder
	if err := run.Document().Text(&b, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestText(t *testing.T) {
	for _, r := range singletest.Runs {
		for _, width := range []int{80, 160} {
			t.Run(fmt.Sprintf("%s-%d", r.Name, width), func(t *testing.T) {
				golden(t, fmt.Sprintf("%s-%d.txt", r.Name, width),
					textOf(t, r.Run(), document.TextOptions{Width: width}))
			})
		}
	}
}

func TestNoLineIsWiderThanTheTerminal(t *testing.T) {
	wide := singletest.Kleppmann()
	wide.Scenario = strings.Repeat("分散", 60)
	wide.Summary = strings.Repeat("ロック ", 60)
	wide.Plan = append(wide.Plan, "cut client-1 | "+strings.Repeat("redis-1 ", 40)+"at 1s for 5s")
	for _, r := range append(singletest.Runs, struct {
		Name string
		Run  func() *single.Run
	}{"wide", func() *single.Run { return wide }}) {
		run := r.Run()
		for width := 60; width <= 200; width += testkit.Size(7, 1, 1) {
			for n, l := range strings.Split(textOf(t, run, document.TextOptions{Width: width}), "\n") {
				if text.Cells(l) > width {
					t.Fatalf("%s at %d: line %d has %d cells: %q", r.Name, width, n+1, text.Cells(l), l)
				}
			}
		}
	}
}

func TestColourAddsEscapesAndNothingElse(t *testing.T) {
	escape := regexp.MustCompile("\x1b\\[(0|1|1;31|32|33)m")
	for _, r := range singletest.Runs {
		plain := textOf(t, r.Run(), document.TextOptions{Width: 100})
		coloured := textOf(t, r.Run(), document.TextOptions{Width: 100, Color: true})
		if strings.Contains(plain, "\x1b") || !strings.Contains(coloured, "\x1b") {
			t.Errorf("%s: escapes are not where they should be", r.Name)
		}
		if escape.ReplaceAllString(coloured, "") != plain {
			t.Errorf("%s: colour changed the text", r.Name)
		}
	}
}

func TestVerdictComesFirstAndTheCommandLast(t *testing.T) {
	for _, r := range singletest.Runs {
		lines := strings.Split(strings.TrimSpace(textOf(t, r.Run(), document.TextOptions{})), "\n")
		verdicts := map[string]string{"kleppmann": "broken, as expected", "fenced": "broken, as expected",
			"calm": "held"}
		standing := "  " + cmp.Or(verdicts[r.Name], "broken, not as expected")
		if !strings.HasSuffix(lines[0], standing) {
			t.Errorf("%s begins with %q", r.Name, lines[0])
		}
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, "again   "+r.Run().Repeat) {
			t.Errorf("%s ends with %q", r.Name, last)
		}
	}
}

func TestCalmRunStaysShort(t *testing.T) {
	body := textOf(t, singletest.Calm(), document.TextOptions{Width: 80})
	from := strings.Index(body, "seconds")
	to := strings.Index(body, "\nmetrics")
	if n := strings.Count(body[from:to], "\n"); n > 41 {
		t.Errorf("the timeline takes %d lines", n)
	}
}

func TestUndecidedLawSaysWhy(t *testing.T) {
	r := singletest.Calm()
	r.Undecided = true
	r.Verdict.Findings[5] = checker.Finding{Law: checker.DeadlockFreedom, Outcome: checker.Undecided,
		Explanation: "The run ended too soon."}
	got := textOf(t, r, document.TextOptions{})
	if !strings.Contains(got, "? deadlock-freedom  undecided") || !strings.Contains(got, "The run ended too soon.") {
		t.Error(got)
	}
	if !strings.HasSuffix(strings.SplitN(got, "\n", 2)[0], "undecided") {
		t.Error(got)
	}
}

func TestEmptyRunIsNoPass(t *testing.T) {
	got := textOf(t, &single.Run{Scenario: "nothing"}, document.TextOptions{})
	if !strings.Contains(got, "not as expected") || !strings.Contains(got, "– mutual-exclusion  unchecked") ||
		strings.Contains(got, "✓") {
		t.Error(got)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestWriteErrorIsReturned(t *testing.T) {
	if err := singletest.Kleppmann().Document().Text(brokenWriter{}, document.TextOptions{}); err != os.ErrClosed {
		t.Error(err)
	}
	if err := singletest.Kleppmann().Document().HTML(brokenWriter{}, "page.html"); err == nil {
		t.Error("html hides the error")
	}
}
