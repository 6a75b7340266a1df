package reports

import (
	"io"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/documenttest"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/single"
	"github.com/fencepost-sim/fencepost/scenarios/single/singletest"
)

// pageKind is a kind of page, of work that was interrupted or not.
type pageKind struct {
	name  string
	write func(w io.Writer, interrupted bool) error
}

// allPages are the pages of all commands that can be interrupted, with and without a run to show.
func allPages() []pageKind {
	broken := campaign.Laws{{Law: checker.MutualExclusion, Counts: campaign.Counts{Holds: 3, Violated: 2}}}
	lock := &scenarios.Scenario{Name: "a-lock", Promise: checker.Promise{Laws: []checker.Law{checker.MutualExclusion}}}
	runs := func(interrupted bool, c format.Campaign) *search.Runs {
		r := spanned("a-lock", 5)
		if r.Laws, r.Campaign = broken, c; interrupted {
			r.Seeds++
		}
		return r
	}
	return []pageKind{
		{"exploration", func(w io.Writer, interrupted bool) error {
			found := foundBy(checker.MutualExclusion, checker.HolderOutlivedLease, true, 2)
			found.Run = singletest.Kleppmann()
			e := &search.Exploration{Span: spanned("a-lock", 5).Span, Laws: broken}
			return (&Exploration{Exploration: e, Subject: lock, Interrupted: interrupted, Repeat: "fencepost explore",
				Findings: []ExploredFinding{found}}).html(w, nil)
		}},
		{"runs with one to show", func(w io.Writer, interrupted bool) error {
			c := ran(3, 2, 0, format.Group{Mismatch: format.Mismatch{Name: string(checker.MutualExclusion),
				Want: "holds", Got: "violated"}, Runs: 2, First: 3})
			return (&Many{Runs: runs(interrupted, c), Subject: lock, Shown: []*single.Run{singletest.Kleppmann()}}).html(w, nil)
		}},
		{"runs with none to show", func(w io.Writer, interrupted bool) error {
			return (&Many{Runs: runs(interrupted, ran(0, 0, 5)), Subject: lock}).html(w, nil)
		}},
		{"verification", func(w io.Writer, interrupted bool) error {
			v := verified()
			if interrupted {
				v.Ending = campaign.Interrupted
			}
			return v.html(w)
		}},
		{"verification with a counterexample", func(w io.Writer, interrupted bool) error {
			v := verified()
			v.counterexample(checker.MutualExclusion, checker.HolderOutlivedLease, 1, singletest.Kleppmann())
			if interrupted {
				v.Ending = campaign.Interrupted
			}
			return v.html(w)
		}},
	}
}

func pageText(t *testing.T, k pageKind, interrupted bool) string {
	t.Helper()
	var b strings.Builder
	if err := k.write(&b, interrupted); err != nil {
		t.Fatalf("%s: %v", k.name, err)
	}
	return b.String()
}

func TestPagesSayThatTheWorkWasInterrupted(t *testing.T) {
	for _, k := range allPages() {
		for _, interrupted := range []bool{true, false} {
			if says := strings.Contains(pageText(t, k, interrupted), document.Interruption); says != interrupted {
				t.Errorf("%s, interrupted %t: it says so: %t", k.name, interrupted, says)
			}
		}
	}
}

func TestPagesAreWellFormedAndLoadNothing(t *testing.T) {
	for _, k := range allPages() {
		if err := documenttest.Page(pageText(t, k, true)); err != nil {
			t.Errorf("%s: %v", k.name, err)
		}
	}
}

// TestPagesExplainTheLawsTheyName: each page has the sentence of a law beside its name.
func TestPagesExplainTheLawsTheyName(t *testing.T) {
	for _, k := range allPages() {
		if n, err := documenttest.Explained(pageText(t, k, false)); err != nil || n == 0 {
			t.Errorf("%s explains %d laws: %v", k.name, n, err)
		}
	}
}

func TestThePageOfRunsShowsTheMostTelling(t *testing.T) {
	odd, open := singletest.Kleppmann(), singletest.Kleppmann()
	odd.OK, open.OK, open.Undecided = false, false, true
	for _, c := range []struct {
		many Many
		want string
	}{
		{Many{Shown: []*single.Run{odd, open}}, "The first run that came out otherwise: seed"},
		{Many{Shown: []*single.Run{open}}, "The first run that is undecided: seed"},
		{Many{Sample: singletest.Kleppmann()}, "A run that came out as expected: seed"},
	} {
		c.many.Runs, c.many.Subject = spanned("a-lock", 1), &scenarios.Scenario{}
		var b strings.Builder
		if err := c.many.html(&b, nil); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), c.want) || !strings.Contains(b.String(), `id="chart"`) {
			t.Errorf("%q or the picture is missing", c.want)
		}
	}
}

func TestTotalsAreOpenMetrics(t *testing.T) {
	runs := spanned(`a "b"`, 5)
	runs.Campaign, runs.Laws = ran(3, 2, 0),
		campaign.Laws{{Law: checker.TokenOrder, Counts: campaign.Counts{Holds: 3, Violated: 2}}}
	runs.Plan = []campaign.Planned{{Line: "pause client-1", Struck: 5, Met: 4}, {Line: "pause client-1", Struck: 1}}
	many := &Many{Runs: runs, Subject: &scenarios.Scenario{}}
	text := string(many.OpenMetrics())
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		series, _, _ := strings.Cut(line, "} ")
		if seen[series] {
			t.Errorf("twice: %s", line)
		}
		seen[series] = true
	}
	for _, want := range []string{`fencepost_runs{scenario="a \"b\"",outcome="not as expected"} 2`,
		`fencepost_distinct_runs{scenario="a \"b\""} 5`,
		`fencepost_law_runs{scenario="a \"b\"",law="token-order",outcome="violated"} 2`,
		`fencepost_fault_runs{scenario="a \"b\"",fault="pause client-1",number="1",effect="struck while the lock was held or asked for"} 4`} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	if !strings.HasSuffix(text, "# EOF\n") {
		t.Error("it does not end")
	}
}

// TestOnlyASampleHasARate: the plans of an exploration are drawn, the placements of a verification are not.
func TestOnlyASampleHasARate(t *testing.T) {
	for _, k := range allPages() {
		rated := strings.Contains(pageText(t, k, false), "share of runs")
		if rated != (k.name == "exploration") {
			t.Errorf("%s tells a rate of violations: %t", k.name, rated)
		}
	}
}
