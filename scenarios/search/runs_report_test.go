package search

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/reporttest"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/single"
	"github.com/fencepost-sim/fencepost/scenarios/single/singletest"
)

// reportOf returns a report on a scenario's finished runs. The report contains only the outcomes of the runs.
func reportOf(scenario string, c format.Campaign) *RunsReport {
	return &RunsReport{Result: &Result{Span: spanned(scenario, c.Seeds), Repeated: &Repeated{Campaign: c}},
		Subject: &scenarios.Scenario{}}
}

// thousand returns a report on a thousand seeds. Some of their runs did not turn out as expected.
func thousand() *RunsReport {
	r := reportOf("restart-forgets", ran(988, 11, 1,
		format.Group{Mismatch: format.Mismatch{Name: "mutual-exclusion", Want: "holds",
			Got: "violated by lost in crash (no persistence)"}, Runs: 9, First: 7},
		format.Group{Mismatch: format.Mismatch{Name: "unavailability", Want: "9s..11s"}, Runs: 2, First: 99}))
	lost := checker.Cause{Kind: checker.LostInCrash, Detail: checker.NoPersistence}
	r.Laws = campaign.Laws{
		{Law: checker.MutualExclusion, Counts: campaign.Counts{Holds: 990, Violated: 9, Undecided: 1}},
		{Law: checker.ResourceSafety, Counts: campaign.Counts{Unchecked: 1000}},
		{Law: checker.Ownership, Counts: campaign.Counts{Holds: 1000}}}
	r.Findings = campaign.Findings{{Law: checker.MutualExclusion, Cause: lost, Runs: 9, First: 7}}
	r.Subject.Expect = format.All{
		Laws:    map[checker.Law]format.Law{checker.MutualExclusion: {Outcome: checker.Holds}},
		Metrics: []format.Bound{{Name: "unavailability", Min: 9, Max: 11, Text: "9s..11s"}}}
	r.Subject.Summary = "A node restarts empty while only a bare quorum of nodes has the lock's key."
	r.Shown, r.Repeat = []*single.Run{singletest.Restart()}, "fencepost run restart-forgets --seeds 1000"
	return r
}

// ran returns a campaign with the given numbers of expected, other and undecided runs. All runs have different digests.
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

func TestTheReportOfManyRuns(t *testing.T) {
	d := thousand().Document()
	var text, object bytes.Buffer
	if err := d.Text(&text, document.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "testdata/runs-80.txt", text.String())
	line, err := d.JSON("run")
	if err != nil || json.Indent(&object, line, "", " ") != nil {
		t.Fatalf("%v in %s", err, line)
	}
	testkit.Golden(t, "testdata/runs.json", object.String())
}

func TestNoRunIsNoPass(t *testing.T) {
	r := reportOf("a-lock", format.Campaign{Seeds: 10})
	r.Ran, r.Campaign.Seeds = nil, 0
	if d := r.Document(); d.Verdict != document.Words(document.Undecided) || d.Tone == document.Good {
		t.Errorf("no run at all is %q", d.Verdict)
	}
}

// documents returns reports of explore and of run --seeds, with and without findings.
func documents(interrupted bool) map[string]*document.Document {
	stuck := foundBy(checker.DeadlockFreedom, checker.CauseNotRecorded, true, 3, "shut down redis-1 at 0s")
	stuck.Run.Verdict.Findings[0].Explanation = `Probe asked for "lock" at 60 s.`
	stuck.Run.Verdict.Findings[0].Holders = []history.Process{history.Probe}
	all := map[string]*document.Document{
		"runs with one to show": thousand().Document(),
		"runs with a sample":    nil,
		"runs with none":        reportOf("a-lock", ran(0, 0, 5)).Document(),
		"exploration": reported(foundBy(checker.MutualExclusion, checker.HolderOutlivedLease, true, 2,
			"pause client-1 for 1s at 1s")).Document(),
		"exploration that found nothing":      reported().Document(),
		"exploration that mentions the probe": reported(stuck).Document(),
	}
	sample := reportOf("a-lock", ran(5, 0, 0))
	sample.Sample = singletest.Calm()
	all["runs with a sample"] = sample.Document()
	for _, d := range all {
		d.Interrupted = interrupted
	}
	return all
}

func TestReportsCanBeRead(t *testing.T) {
	for _, interrupted := range []bool{true, false}[:testkit.Size(1, 2, 2)] {
		for name, d := range documents(interrupted) {
			if err := reporttest.Check(d); err != nil {
				t.Errorf("%s, interrupted %t: %v", name, interrupted, err)
			}
		}
	}
}

// Only exploration reports state the rate of runs that break a law, because an exploration's plans are a random sample.
// Many runs of one plan are not such a sample.
func TestOnlyASampleHasARate(t *testing.T) {
	for name, d := range documents(false) {
		var page strings.Builder
		if err := d.HTML(&page, "page.html"); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(page.String(), "share of runs") != strings.HasPrefix(name, "exploration") {
			t.Errorf("%s states a share of runs, or lacks it", name)
		}
	}
}

// Reports contain commands that reproduce a finding or show the example. These commands work when they are pasted into
// a shell.
func TestCommandsWithinReportsCanBePasted(t *testing.T) {
	found := foundBy(checker.MutualExclusion, checker.CauseNotRecorded, true, 1, "pause client-1 for 1s at 1s")
	found.Run.Repeat = reporttest.LongCommand
	runs := thousand()
	runs.Shown[0].Repeat = reporttest.LongCommand
	for name, c := range map[string]struct {
		document *document.Document
		all      bool
		commands int
	}{"exploration": {reported(found).Document(), false, 1}, "all": {reported(found).Document(), true, 2},
		"runs": {runs.Document(), false, 1}} {
		for _, width := range []int{60, 80, 120, 200} {
			var b strings.Builder
			if err := c.document.Text(&b, document.TextOptions{Width: width, All: c.all}); err != nil {
				t.Fatal(err)
			}
			if n := reporttest.Pasted(b.String(), reporttest.LongCommand); n != c.commands {
				t.Errorf("%s at %d: %d of %d commands can be pasted:\n%s", name, width, n, c.commands, b.String())
			}
		}
	}
}

func TestThePageOfRunsShowsTheMostInstructive(t *testing.T) {
	odd, open := singletest.Kleppmann(), singletest.Kleppmann()
	odd.OK, open.OK, open.Undecided = false, false, true
	for want, r := range map[string]*RunsReport{
		"A run with a different outcome: seed":           {Shown: []*single.Run{odd, open}},
		"The first run whose outcome is undecided: seed": {Shown: []*single.Run{open}},
		"A run that came out as expected: seed":          {Sample: singletest.Kleppmann()},
	} {
		r.Result = &Result{Span: spanned("a-lock", 1), Repeated: &Repeated{}}
		r.Subject = &scenarios.Scenario{}
		var b strings.Builder
		if err := r.Document().HTML(&b, "page.html"); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) || !strings.Contains(b.String(), `id="chart"`) ||
			!strings.Contains(b.String(), `href="page-seed-`) {
			t.Errorf("%q, the timeline or a link is missing", want)
		}
	}
}

func TestTotalsAreOpenMetrics(t *testing.T) {
	r := reportOf(`a "b"\c`, ran(3, 2, 0))
	r.Laws = campaign.Laws{{Law: checker.TokenOrder, Counts: campaign.Counts{Holds: 3, Violated: 2}}}
	r.Plan = []campaign.Planned{{Line: "pause client-1", Struck: 5, Met: 4}, {Line: "pause client-1", Struck: 1}}
	text := string(r.Document().Metrics)
	if err := reporttest.CheckOpenMetrics(text); err != nil {
		t.Error(err)
	}
	for _, want := range []string{`fencepost_runs{scenario="a \"b\"\\c",outcome="not as expected"} 2`,
		`fencepost_distinct_runs{scenario="a \"b\"\\c"} 5`,
		`fencepost_law_runs{scenario="a \"b\"\\c",law="token-order",outcome="violated"} 2`,
		`fencepost_fault_runs{scenario="a \"b\"\\c",fault="pause client-1",number="1",` +
			`effect="struck while an affected client held or asked for a lock"} 4`} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
}

// Runs can be missing although no signal came: the folder that holds them may not have been merged. Only a signal is
// called an interruption, in every form of the report.
func TestOnlyASignalIsCalledAnInterruption(t *testing.T) {
	for _, interrupted := range []bool{true, false} {
		r := thousand()
		r.Seeds, r.Interrupted = 2000, interrupted
		d := r.Document()
		var text, page strings.Builder
		junit, err := document.JUnit(d.Suite)
		err = errors.Join(err, d.Text(&text, document.TextOptions{Width: 160}), d.HTML(&page, "page.html"))
		if err != nil {
			t.Fatal(err)
		}
		for form, said := range map[string]string{"text": text.String(), "page": page.String(),
			"JUnit": string(junit)} {
			if !strings.Contains(said, "1000 of 2000 seeds were run") {
				t.Errorf("%s does not say that runs are missing", form)
			}
			if says := strings.Contains(said, document.Interruption); says != interrupted {
				t.Errorf("interrupted %t: %s says so: %t", interrupted, form, says)
			}
		}
		var object struct{ Interrupted *bool }
		line, err := d.JSON("run")
		if err = errors.Join(err, json.Unmarshal(line, &object)); err != nil || object.Interrupted == nil ||
			*object.Interrupted != interrupted {
			t.Errorf("interrupted %t: %v in %s", interrupted, err, line)
		}
	}
}
