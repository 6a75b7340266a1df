package search

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/single/singletest"
)

// spanned returns a span of n of a scenario's seeds, all of which have been run.
func spanned(scenario string, n int) Span {
	return Span{Scenario: scenario, From: 1, Seeds: n, Shard: Whole, Ran: Ranges{rangeOf(1, uint64(n))}}
}

// foundBy returns a finding with the given law, cause and smallest plan.
func foundBy(law checker.Law, kind checker.CauseKind, promised bool, runs int, plan ...string) ReducedFinding {
	run := singletest.Kleppmann()
	run.Plan, run.Repeat = plan, "fencepost replay found/"+strings.Repeat("long-name-", 6)+"/plan.txt"
	run.Verdict = checker.Verdict{Findings: []checker.Finding{{Law: law, Outcome: checker.Violated,
		Cause: checker.Cause{Kind: kind}}}}
	return ReducedFinding{Finding: campaign.Finding{Law: law, Cause: checker.Cause{Kind: kind}, Runs: runs, First: 7},
		Promised: promised, Small: &Shrunk{First: nemesis.Plan{Faults: make([]nemesis.Fault, 5)}}, Run: run}
}

func reported(findings ...ReducedFinding) *Report {
	found := &Result{Span: spanned("lock", 1000), Laws: campaign.NewLaws(checker.Laws),
		Drawn: &Drawn{Faults: []campaign.Fault{{Kind: nemesis.Pause, Drawn: 10, Struck: 9, Met: 8}}}}
	for i := range found.Laws {
		found.Laws[i].Counts = campaign.Counts{Holds: 900, Violated: 100}
	}
	subject := &scenarios.Scenario{Promise: checker.Promise{Laws: checker.Laws}}
	return &Report{Result: found, Subject: subject, Findings: findings,
		Files: "found", Repeat: "fencepost explore lock --seed 1 --seeds 1000"}
}

func exploreText(t *testing.T, e *Report, opt document.TextOptions) string {
	t.Helper()
	var b strings.Builder
	if err := e.Document().Text(&b, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Findings that break a promise come first, then findings about more serious laws, then more frequent findings. Each
// plan is listed once, at the position of its most serious finding.
func TestFindingsAreGroupedByPlanAndOrderedByGravityThenFrequency(t *testing.T) {
	e := reported(
		foundBy(checker.LeaseExclusion, checker.ExpiredEarly, true, 90, "jump a"),
		foundBy(checker.MutualExclusion, checker.LostInFailover, false, 99, "fail over b"),
		foundBy(checker.DeadlockFreedom, checker.NoQuorumLeft, true, 80, "cut c"),
		foundBy(checker.MutualExclusion, checker.LostInCrash, true, 2, "crash d", "crash e"),
		foundBy(checker.MutualExclusion, checker.ExpiredEarly, true, 3, "jump a"),
	)
	var got []string
	for _, g := range e.byPlan() {
		var laws []string
		for _, f := range g {
			laws = append(laws, string(f.Law))
		}
		got = append(got, strings.Join(g[0].Run.Plan, "+")+": "+strings.Join(laws, ","))
	}
	want := []string{"jump a: mutual-exclusion,lease-exclusion", "crash d+crash e: mutual-exclusion",
		"cut c: deadlock-freedom", "fail over b: mutual-exclusion"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The report fits on a screen even if there are many findings: it lists as many as it can and counts the rest. With
// --all, it lists them all.
func TestAnExplorationFitsAScreen(t *testing.T) {
	for n := 0; n < 60; n += 1 + n/8 {
		var findings []ReducedFinding
		for i := range n {
			findings = append(findings, foundBy(checker.Laws[i%len(checker.Laws)], checker.CauseNotRecorded, true, i+1,
				fmt.Sprintf("pause client-1 for %ds at 1s", i+1),
				"cut client-1 | redis-1 redis-2 redis-3 redis-4 redis-5 after acquired by client-1 for 10s"))
		}
		got := exploreText(t, reported(findings...), document.TextOptions{Width: 80})
		lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
		if len(lines) > 50 {
			t.Errorf("%d findings take %d lines", n, len(lines))
		}
		named := strings.Count(got, "   breaks  ")
		for _, l := range lines {
			var more int
			if strings.HasPrefix(l, " ✗ ") && strings.HasSuffix(l, " run") ||
				strings.HasSuffix(l, " runs") && strings.HasPrefix(l, " ✗ ") {
				named++
			} else if _, err := fmt.Sscanf(l, "   and %d plan", &more); err == nil {
				named += more
			}
			if text.Cells(l) > 80 {
				t.Errorf("%d columns: %s", text.Cells(l), l)
			}
		}
		if named != n {
			t.Errorf("%d of %d findings are named or counted:\n%s", named, n, got)
		}
		if all := exploreText(t, reported(findings...), document.TextOptions{Width: 80, All: true}); strings.Count(all,
			"   breaks  ") != n {
			t.Errorf("--all tells %d of %d", strings.Count(all, "   breaks  "), n)
		}
	}
}
