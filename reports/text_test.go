package reports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/reports/report"
	"github.com/fencepost-sim/fencepost/reports/single"
	"github.com/fencepost-sim/fencepost/reports/term"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/expect"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/tally"
)

func golden(t *testing.T, name, got string) {
	t.Helper()
	testkit.Golden(t, filepath.Join("testdata", name), got)
}

func text(t *testing.T, run *single.Run, opt report.TextOptions) string {
	t.Helper()
	var b strings.Builder
	if err := run.Text(&b, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestText(t *testing.T) {
	for _, r := range runs {
		for _, width := range []int{80, 160} {
			t.Run(fmt.Sprintf("%s-%d", r.name, width), func(t *testing.T) {
				golden(t, fmt.Sprintf("%s-%d.txt", r.name, width), text(t, r.run(), report.TextOptions{Width: width}))
			})
		}
	}
}

func TestNoLineIsWiderThanTheTerminal(t *testing.T) {
	wide := kleppmann()
	wide.Scenario = strings.Repeat("分散", 60)
	wide.Summary = strings.Repeat("ロック ", 60)
	wide.Plan = append(wide.Plan, "cut client-1 | "+strings.Repeat("redis-1 ", 40)+"at 1s for 5s")
	for _, r := range append(runs, struct {
		name string
		run  func() *single.Run
	}{"wide", func() *single.Run { return wide }}) {
		run := r.run()
		for width := 60; width <= 200; width++ {
			for n, l := range strings.Split(text(t, run, report.TextOptions{Width: width}), "\n") {
				if term.Cells(l) > width {
					t.Fatalf("%s at %d: line %d has %d cells: %q", r.name, width, n+1, term.Cells(l), l)
				}
			}
		}
	}
}

func TestColourAddsEscapesAndNothingElse(t *testing.T) {
	escape := regexp.MustCompile("\x1b\\[(0|1|1;31|32|33)m")
	for _, r := range runs {
		plain := text(t, r.run(), report.TextOptions{Width: 100})
		coloured := text(t, r.run(), report.TextOptions{Width: 100, Color: true})
		if strings.Contains(plain, "\x1b") || !strings.Contains(coloured, "\x1b") {
			t.Errorf("%s: escapes are not where they should be", r.name)
		}
		if escape.ReplaceAllString(coloured, "") != plain {
			t.Errorf("%s: colour changed the text", r.name)
		}
	}
}

func TestVerdictComesFirstAndTheCommandLast(t *testing.T) {
	for _, r := range runs {
		lines := strings.Split(strings.TrimSpace(text(t, r.run(), report.TextOptions{})), "\n")
		verdicts := map[string]string{"kleppmann": "broken, as expected", "fenced": "broken, as expected",
			"calm": "held"}
		standing := "  " + cmp.Or(verdicts[r.name], "broken, not as expected")
		if !strings.HasSuffix(lines[0], standing) {
			t.Errorf("%s begins with %q", r.name, lines[0])
		}
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, "again   "+r.run().Repeat) {
			t.Errorf("%s ends with %q", r.name, last)
		}
	}
}

func TestCalmRunStaysShort(t *testing.T) {
	body := text(t, calm(), report.TextOptions{Width: 80})
	from := strings.Index(body, "seconds")
	to := strings.Index(body, "\nmetrics")
	if n := strings.Count(body[from:to], "\n"); n > 41 {
		t.Errorf("the timeline takes %d lines", n)
	}
}

func TestUndecidedLawSaysWhy(t *testing.T) {
	r := calm()
	r.Undecided = true
	r.Verdict.Findings[5] = checker.Finding{Law: checker.DeadlockFreedom, Outcome: checker.Undecided,
		Explanation: "The run ended too soon."}
	got := text(t, r, report.TextOptions{})
	if !strings.Contains(got, "? deadlock-freedom  undecided") || !strings.Contains(got, "The run ended too soon.") {
		t.Error(got)
	}
	if !strings.HasSuffix(strings.SplitN(got, "\n", 2)[0], "undecided") {
		t.Error(got)
	}
}

func TestEmptyRunIsNoPass(t *testing.T) {
	got := text(t, &single.Run{Scenario: "nothing"}, report.TextOptions{})
	if !strings.Contains(got, "not as expected") || !strings.Contains(got, "– mutual-exclusion  unchecked") ||
		strings.Contains(got, "✓") {
		t.Error(got)
	}
}

// many is a thousand seeds of which some came out otherwise.
func many() *Many {
	runs := spanned("restart-forgets", 1000)
	runs.Campaign = campaign(988, 11, 1,
		expect.Group{Mismatch: expect.Mismatch{Name: "mutual-exclusion", Want: "holds",
			Got: "violated by lost in crash (no persistence)"}, Runs: 9, First: 7},
		expect.Group{Mismatch: expect.Mismatch{Name: "unavailability", Want: "9s..11s"}, Runs: 2, First: 99})
	lost := checker.Cause{Kind: checker.LostInCrash, Detail: checker.NoPersistence}
	runs.Laws = tally.Laws{{Law: checker.MutualExclusion, Counts: tally.Counts{Holds: 990, Violated: 9, Undecided: 1}},
		{Law: checker.ResourceSafety, Counts: tally.Counts{Unchecked: 1000}},
		{Law: checker.Ownership, Counts: tally.Counts{Holds: 1000}}}
	runs.Findings = tally.Findings{{Law: checker.MutualExclusion, Cause: lost, Runs: 9, First: 7}}
	expected := expect.All{Laws: map[checker.Law]expect.Law{checker.MutualExclusion: {Outcome: checker.Holds}},
		Metrics: []expect.Bound{{Name: "unavailability", Min: 9, Max: 11, Text: "9s..11s"}}}
	return &Many{Runs: runs, Subject: &scenarios.Scenario{Expect: expected,
		Summary: "A node restarts empty while a lock is held by the bare quorum."},
		Shown: []*single.Run{restart()}, Repeat: "fencepost run restart-forgets --seeds 1000"}
}

// spanned are so many runs of a scenario, all made.
func spanned(scenario string, n int) *search.Runs {
	return &search.Runs{Span: search.Span{Scenario: scenario, From: 1, Seeds: n, Shard: search.Whole, Done: n}}
}

// campaign is how runs came out, each of which differs from all others.
func campaign(expected, otherwise, undecided int, groups ...expect.Group) (c expect.Campaign) {
	seeds := expected + otherwise + undecided
	digests := []string{}
	for i := range seeds {
		digests = append(digests, strconv.FormatInt(int64(i), 16))
	}
	text, err := json.Marshal(
		map[string]any{"seeds": seeds, "as_expected": expected, "otherwise": otherwise, "undecided": undecided,
			"digests": digests})
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		panic(err)
	}
	c.Groups = groups
	return c
}

func TestTextMany(t *testing.T) {
	var b strings.Builder
	if err := many().Text(&b, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "many-80.txt", b.String())
}

func TestManyRunsWithoutAnyIsNoPass(t *testing.T) {
	many := &Many{Runs: spanned("a-lock", 0), Subject: &scenarios.Scenario{}}
	if got := many.standing(); got.Words() != report.NothingJudged || got.Sign() == "✓" || got.Class() == "good" {
		t.Errorf("no run at all is %q", got.Words())
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestWriteErrorIsReturned(t *testing.T) {
	if err := kleppmann().Text(brokenWriter{}, report.TextOptions{}); err != os.ErrClosed {
		t.Error(err)
	}
	if err := kleppmann().HTML(brokenWriter{}, nil); err == nil {
		t.Error("html hides the error")
	}
}
