package single_test

import (
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/single"
	"github.com/fencepost-sim/fencepost/scenarios/single/singletest"
)

// TestTheOpeningSaysWhatTheScenarioIsThereToShow checks that a green "as expected" never appears above a broken law.
// Instead, the report must say what the scenario should show.
func TestTheOpeningSaysWhatTheScenarioIsThereToShow(t *testing.T) {
	paused := format.Law{Outcome: checker.Violated,
		Cause: checker.Cause{Kind: checker.HolderOutlivedLease, Detail: checker.ByPause}}
	holds := format.Law{Outcome: checker.Holds}
	unavailable := single.MetricLine(format.Bound{Name: "unavailability", Text: "< 1s"}, false)
	for _, c := range []struct {
		what         string
		expected     []single.ExpectLine
		ok, broken   bool
		word, intent string
	}{
		{"it breaks what it should", []single.ExpectLine{
			singletest.Line(checker.MutualExclusion, paused, checker.Violated, true),
			singletest.Line(checker.LeaseExclusion, holds, checker.Holds, true),
			singletest.Line(checker.ResourceSafety, format.Law{Outcome: checker.Violated}, checker.Violated, true),
			singletest.Line(checker.Ownership, single.Unbroken, checker.Holds, true),
			unavailable}, true, true,
			"broken, as expected", "Came out as the file expects: mutual-exclusion and resource-safety broken, " +
				"lease-exclusion kept, unavailability < 1s."},
		{"it keeps what it should", []single.ExpectLine{
			singletest.Line(checker.MutualExclusion, holds, checker.Holds, true)}, true,
			false, "held, as expected", "Came out as the file expects: mutual-exclusion kept."},
		{"it names nothing", []single.ExpectLine{
			singletest.Line(checker.MutualExclusion, nil, checker.Holds, true)}, true, false,
			"held", ""},
		{"it names nothing and breaks", []single.ExpectLine{
			singletest.Line(checker.MutualExclusion, nil, checker.Violated, false)}, false, true,
			"broken", ""},
		{"it breaks something else", []single.ExpectLine{
			singletest.Line(checker.MutualExclusion, holds, checker.Violated, false),
			singletest.Line(checker.Ownership, holds, checker.Holds, true)}, false, true,
			"broken, not as expected", "Not as expected: mutual-exclusion."},
		{"it breaks a promise", []single.ExpectLine{
			singletest.Line(checker.MutualExclusion, single.Promised, checker.Violated, false)},
			false, true, "promise broken", "Not as promised: mutual-exclusion."},
	} {
		run := singletest.Kleppmann()
		run.Expected, run.OK, run.Undecided = c.expected, c.ok, false
		run.Promise = c.expected[0].Standing.Promise
		if !c.broken {
			run.Verdict = checker.Verdict{Findings: []checker.Finding{{Law: checker.MutualExclusion,
				Outcome: checker.Holds}}}
		}
		got := textOf(t, run, document.TextOptions{Width: 200, Color: true})
		first, _, _ := strings.Cut(got, "\n")
		_, words, _ := strings.Cut(strings.TrimSuffix(first, "\x1b[0m"), "  \x1b[")
		_, words, _ = strings.Cut(words, "m")
		if words != c.word || c.broken && strings.Contains(first, "\x1b[32m") {
			t.Errorf("%s: %q", c.what, first)
		}
		said := strings.Contains(got, "Came out as the file") || strings.Contains(got, "Not as ")
		if !strings.Contains(got, c.intent+"\n") && !strings.Contains(got, c.intent+"\x1b") ||
			said != (c.intent != "") {
			t.Errorf("%s: want %q in\n%s", c.what, c.intent, got)
		}
		if page := render(t, run); c.broken && strings.Contains(page, `<div class="standing good">`) ||
			!strings.Contains(page, c.word) {
			t.Errorf("%s: the page praises it", c.what)
		}
	}
}

// TestTheHeadlineOfASurpriseIsTheSurprise checks that if a run contradicts its expectation, its headline is about the
// unexpected violation, even if a more serious law is broken as expected.
func TestTheHeadlineOfASurpriseIsTheSurprise(t *testing.T) {
	run := singletest.Kleppmann()
	run.Verdict = checker.Verdict{Findings: []checker.Finding{
		{Law: checker.MutualExclusion, Outcome: checker.Violated, Cause: checker.Cause{Kind: checker.CauseNotRecorded}},
		{Law: checker.TokenOrder, Outcome: checker.Violated, Cause: checker.Cause{Kind: checker.TokenRepeated}}}}
	run.OK, run.Expected = false, []single.ExpectLine{
		singletest.Line(checker.MutualExclusion, format.Law{Outcome: checker.Violated}, checker.Violated, true),
		singletest.Line(checker.TokenOrder, format.Law{Outcome: checker.Holds}, checker.Violated, false)}
	if got := textOf(t, run, document.TextOptions{Width: 200}); !strings.Contains(got, "fencing token") {
		t.Error(got)
	}
	run.OK, run.Expected[1].Standing.Result = true, document.Passed
	if got := textOf(t, run, document.TextOptions{Width: 200}); !strings.Contains(got, "inside at once") {
		t.Error(got)
	}
}
