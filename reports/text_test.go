package reports

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/single"
	"github.com/fencepost-sim/fencepost/scenarios/single/singletest"
)

func golden(t *testing.T, name, got string) {
	t.Helper()
	testkit.Golden(t, filepath.Join("testdata", name), got)
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
		Shown: []*single.Run{singletest.Restart()}, Repeat: "fencepost run restart-forgets --seeds 1000"}
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
	if got := many.standing(); got.Words() != document.NothingJudged || got.Sign() == "✓" || got.Tone() == document.Good {
		t.Errorf("no run at all is %q", got.Words())
	}
}
