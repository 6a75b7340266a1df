package reports

import (
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// A green "as expected" never stands over a law that is broken; what the scenario is there to show is said in words.
func TestTheOpeningSaysWhatTheScenarioIsThereToShow(t *testing.T) {
	pause := "violated by holder outlived its lease (pause)"
	for _, c := range []struct {
		what         string
		expected     []single.ExpectLine
		ok, broken   bool
		word, intent string
	}{
		{"it breaks what it should", []single.ExpectLine{expectLine("mutual-exclusion", pause, pause, true),
			expectLine("lease-exclusion", "holds", "holds", true),
			expectLine("resource-safety", "violated", "violated", true),
			expectLine("ownership", "not violated", "holds", true),
			expectLine("unavailability", "< 1s", "0.1 s", true)}, true, true,
			"broken, as expected", "Came out as the file expects: mutual-exclusion and resource-safety broken, " +
				"lease-exclusion kept, unavailability < 1s."},
		{"it keeps what it should", []single.ExpectLine{expectLine("mutual-exclusion", "holds", "holds", true)}, true,
			false, "held, as expected", "Came out as the file expects: mutual-exclusion kept."},
		{"it names nothing", []single.ExpectLine{unnamed("mutual-exclusion", "holds", true)}, true, false, "held", ""},
		{"it names nothing and breaks", []single.ExpectLine{unnamed("mutual-exclusion", pause, false)}, false, true,
			"broken", ""},
		{"it breaks something else", []single.ExpectLine{expectLine("mutual-exclusion", "holds", pause, false),
			expectLine("ownership", "holds", "holds", true)}, false, true,
			"broken, not as expected", "Not as expected: mutual-exclusion."},
		{"it breaks a promise", []single.ExpectLine{expectLine("mutual-exclusion", single.Promised, pause, false)},
			false, true, "promise broken", "Not as promised: mutual-exclusion."},
	} {
		run := kleppmann()
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

// Of a run that came out otherwise than expected the headline is what nobody expected, though a graver law is broken
// too.
func TestTheHeadlineOfASurpriseIsTheSurprise(t *testing.T) {
	run := kleppmann()
	run.Verdict = checker.Verdict{Findings: []checker.Finding{
		{Law: checker.MutualExclusion, Outcome: checker.Violated, Cause: checker.Cause{Kind: checker.Untold}},
		{Law: checker.TokenOrder, Outcome: checker.Violated, Cause: checker.Cause{Kind: checker.TokenRepeated}}}}
	run.OK, run.Expected = false, []single.ExpectLine{expectLine("mutual-exclusion", "violated", "violated", true),
		expectLine("token-order", "holds", "violated", false)}
	if got := textOf(t, run, document.TextOptions{Width: 200}); !strings.Contains(got, "fencing token") {
		t.Error(got)
	}
	run.OK, run.Expected[1].Standing.Result = true, document.Passed
	if got := textOf(t, run, document.TextOptions{Width: 200}); !strings.Contains(got, "inside at once") {
		t.Error(got)
	}
}
