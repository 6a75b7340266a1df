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
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

func golden(t *testing.T, name, got string) {
	t.Helper()
	testkit.Golden(t, filepath.Join("testdata", name), got)
}

func textOf(t *testing.T, run *single.Run, opt document.TextOptions) string {
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
				golden(t, fmt.Sprintf("%s-%d.txt", r.name, width), textOf(t, r.run(), document.TextOptions{Width: width}))
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
			for n, l := range strings.Split(textOf(t, run, document.TextOptions{Width: width}), "\n") {
				if text.Cells(l) > width {
					t.Fatalf("%s at %d: line %d has %d cells: %q", r.name, width, n+1, text.Cells(l), l)
				}
			}
		}
	}
}

func TestColourAddsEscapesAndNothingElse(t *testing.T) {
	escape := regexp.MustCompile("\x1b\\[(0|1|1;31|32|33)m")
	for _, r := range runs {
		plain := textOf(t, r.run(), document.TextOptions{Width: 100})
		coloured := textOf(t, r.run(), document.TextOptions{Width: 100, Color: true})
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
		lines := strings.Split(strings.TrimSpace(textOf(t, r.run(), document.TextOptions{})), "\n")
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
	body := textOf(t, calm(), document.TextOptions{Width: 80})
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

// many is a thousand seeds of which some came out otherwise.
func many() *Many {
	runs := spanned("restart-forgets", 1000)
	runs.Campaign = ran(988, 11, 1,
		format.Group{Mismatch: format.Mismatch{Name: "mutual-exclusion", Want: "holds",
			Got: "violated by lost in crash (no persistence)"}, Runs: 9, First: 7},
		format.Group{Mismatch: format.Mismatch{Name: "unavailability", Want: "9s..11s"}, Runs: 2, First: 99})
	lost := checker.Cause{Kind: checker.LostInCrash, Detail: checker.NoPersistence}
	runs.Laws = campaign.Laws{{Law: checker.MutualExclusion, Counts: campaign.Counts{Holds: 990, Violated: 9, Undecided: 1}},
		{Law: checker.ResourceSafety, Counts: campaign.Counts{Unchecked: 1000}},
		{Law: checker.Ownership, Counts: campaign.Counts{Holds: 1000}}}
	runs.Findings = campaign.Findings{{Law: checker.MutualExclusion, Cause: lost, Runs: 9, First: 7}}
	expected := format.All{Laws: map[checker.Law]format.Law{checker.MutualExclusion: {Outcome: checker.Holds}},
		Metrics: []format.Bound{{Name: "unavailability", Min: 9, Max: 11, Text: "9s..11s"}}}
	return &Many{Runs: runs, Subject: &scenarios.Scenario{Expect: expected,
		Summary: "A node restarts empty while a lock is held by the bare quorum."},
		Shown: []*single.Run{restart()}, Repeat: "fencepost run restart-forgets --seeds 1000"}
}

// spanned are so many runs of a scenario, all made.
func spanned(scenario string, n int) *search.Runs {
	return &search.Runs{Span: search.Span{Scenario: scenario, From: 1, Seeds: n, Shard: search.Whole, Done: n}}
}

// ran is how runs came out, each of which differs from all others.
func ran(expected, otherwise, undecided int, groups ...format.Group) (c format.Campaign) {
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
	if err := many().Text(&b, document.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "many-80.txt", b.String())
}

func TestManyRunsWithoutAnyIsNoPass(t *testing.T) {
	many := &Many{Runs: spanned("a-lock", 0), Subject: &scenarios.Scenario{}}
	if got := many.standing(); got.Words() != document.NothingJudged || got.Sign() == "✓" || got.Class() == "good" {
		t.Errorf("no run at all is %q", got.Words())
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestWriteErrorIsReturned(t *testing.T) {
	if err := kleppmann().Text(brokenWriter{}, document.TextOptions{}); err != os.ErrClosed {
		t.Error(err)
	}
	if err := kleppmann().HTML(brokenWriter{}, nil); err == nil {
		t.Error("html hides the error")
	}
}
