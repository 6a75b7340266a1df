package single_test

import (
	"fmt"
	"html"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

func explained(t *testing.T, s *scenarios.Scenario) *single.Run {
	t.Helper()
	result, err := scenarios.NewRunner(s).Run(s.Plan(1))
	if err != nil {
		t.Fatal(err)
	}
	run, err := single.Explain(s, result, s.Judge(result))
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// TestEveryFormHasEachCause checks that, if a law is violated by two causes, a report contains both in every output
// format. The text and the page must say for each cause which fault it needs. In del-by-slow-client, a pause breaks
// exclusion, and later the paused client's DEL breaks it again. Two more laws are violated by one cause each.
func TestEveryFormHasEachCause(t *testing.T) {
	s, err := scenarios.Named("del-by-slow-client")
	if err != nil {
		t.Fatal(err)
	}
	run := explained(t, s)
	f := run.Verdict.Of(checker.MutualExclusion)
	if len(f.Further) != 1 || len(f.Further[0].Trials) == 0 || !f.Further[0].Trials[0].Needed {
		t.Fatalf("it is %s: %+v", f.Came(), f.Further)
	}
	d := run.Document()
	var text, page strings.Builder
	if err := d.Text(&text, document.TextOptions{Width: 100}); err != nil {
		t.Fatal(err)
	}
	if err := d.HTML(&page, "page.html"); err != nil {
		t.Fatal(err)
	}
	junit, err := document.JUnit(d.Suite)
	if err != nil {
		t.Fatal(err)
	}
	object, err := d.JSON("run")
	if err != nil {
		t.Fatal(err)
	}
	const first, second = "holder outlived its lease (pause)", "removed by non-owner"
	needed := fmt.Sprintf("Without %q: holds.", s.Faults[0])
	for _, form := range []string{text.String(), html.UnescapeString(page.String())} {
		if n := strings.Count(form, needed); n != 4 {
			t.Errorf("%d of 4 causes need the pause:\n%s", n, form)
		}
	}
	for form, want := range map[string][]string{
		text.String():  {"mutual-exclusion violated: " + first, "mutual-exclusion violated: " + second},
		page.String():  {first, "also: " + second},
		string(junit):  {first + ", also by " + second},
		string(object): {`"cause":"` + first + `"`, `"further":[{"cause":"` + second + `"`},
	} {
		for _, words := range want {
			if !strings.Contains(form, words) {
				t.Errorf("%q is missing in\n%s", words, form)
			}
		}
	}
}

// TestTheHeadlineIsAboutWhatTheRunIsToShow checks that, if a run has several violations but should show only one of
// them, the headline is about that one.
func TestTheHeadlineIsAboutWhatTheRunIsToShow(t *testing.T) {
	s, err := scenarios.Named("del-by-slow-client")
	if err != nil {
		t.Fatal(err)
	}
	run := explained(t, s)
	first := run.Headline()
	run.Focus = &single.Focus{Law: checker.MutualExclusion, Cause: checker.Cause{Kind: checker.RemovedByNonOwner}}
	if focused := run.Headline(); !strings.Contains(first, "client-1 had paused past its lease") ||
		!strings.Contains(focused, "removed by a request that did not own it") ||
		run.Gravest() != checker.MutualExclusion {
		t.Errorf("without a focus the headline is %q, with one %q", first, focused)
	}
}

// TestFaultsRecordedInTheSameWordsAreNamed checks the explanation for a plan with two failovers that are recorded in
// the same words, so that a record may belong to either. The explanation must name the faults that were found to be
// needed, and must never contain an empty list.
func TestFaultsRecordedInTheSameWordsAreNamed(t *testing.T) {
	s, err := scenarios.Parse("failovers.yaml", []byte(`name: failovers
servers: {redis: 1, replicas: 1, down-after: 1000ms, reconfigure-after: 500ms}
clients: 4
lock: {retry: {delay: 20ms..60ms}, protocol: set-nx-px, value: per-acquire, ttl: 1300ms}
work: {cycles: 2, writes: 2, hold: 700ms, compute: 50ms}
limit: 60s
faults:
  - fail over redis-1 to redis-1-replica-1 after validity-checked by client-4
  - fail over redis-1 to redis-1-replica-1 after acquire-start by client-1
`))
	if err != nil {
		t.Fatal(err)
	}
	run := explained(t, s)
	f := run.Verdict.Of(checker.LeaseExclusion)
	if line := s.Faults[1].Recorded(); f.Outcome != checker.Violated || !strings.Contains(f.Explanation, line) {
		t.Errorf("%s: %q is not named: %s", f.Came(), line, f.Explanation)
	}
}

// TestAFaultIsNeededAloneOnlyIfNothingLaterDoesTheSame checks that a shutdown is not reported as necessary by itself if
// a later fault causes the same violation without it.
func TestAFaultIsNeededAloneOnlyIfNothingLaterDoesTheSame(t *testing.T) {
	s, err := scenarios.Parse("fixed.yaml", []byte(`name: fixed-value
servers: {redis: 1, persistence: {append-fsync: always}}
clients: 2
lock: {retry: {delay: 100ms}, protocol: set-nx-px, value: fixed, ttl: 3000ms}
work: {cycles: 2, writes: 1, hold: 3000ms, check-validity: on, locks: [alpha, beta]}
resource: {fencing: off}
limit: 60s
faults:
  - pause redis-1 for 590ms at 5475ms
  - shut down redis-1 after quorum-reached by client-1, restart after 37ms
  - drift client-1 clock by -50000ppm from 2210ms for 1793ms
`))
	if err != nil {
		t.Fatal(err)
	}
	run := explained(t, s)
	f := run.Verdict.Of(checker.Ownership)
	shutdown := `"` + s.Faults[1].String() + `"`
	if len(f.Trials) == 0 || !f.Trials[0].Later {
		t.Fatalf("it is %s: %v", f.Came(), f.Trials)
	}
	want := " The violation does not occur without " + shutdown + " and the later faults."
	if !strings.Contains(f.Explanation, want) || strings.Contains(f.Explanation, "without "+shutdown+".") {
		t.Errorf("it says: %s", f.Explanation)
	}
}
