package advise

import (
	"bytes"
	"html"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/reporttest"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// TestAdviceFitsTheScreen checks that the table fits on the screen, no matter how many laws are broken. Its last
// column, the number of servers, must never be cut off.
func TestAdviceFitsTheScreen(t *testing.T) {
	for _, width := range []int{80, 100, 160} {
		for n := 1; n <= len(checker.Laws); n++ {
			best := &Tried{Changes: []Change{{Key: "servers.persistence.append-fsync", Value: "always"}},
				Mended: checker.Laws[:n], Cost: Cost{Acquire: 11 * time.Millisecond, Requests: 10, Servers: 7}}
			base := &Tried{}
			for _, law := range checker.Laws[:n] {
				base.Given.Findings = append(base.Given.Findings,
					campaign.Finding{Law: law, Cause: checker.Cause{Kind: "some cause"}})
			}
			a := &Report{Advice: &Advice{Broken: checker.Laws[:n], Base: base, Mending: []*Tried{best}},
				Scenario: &scenarios.Scenario{Name: "mine"}}
			var b bytes.Buffer
			if err := a.Document().Text(&b, document.TextOptions{Width: width}); err != nil {
				t.Fatal(err)
			}
			rows := 0
			for _, line := range strings.Split(b.String(), "\n") {
				marks, is := strings.CutSuffix(line, "11.0      10.0        7")
				if is && strings.Count(marks, "✓") == n {
					rows++
				}
				if text.Cells(line) > width {
					t.Errorf("%d laws at %d: %q", n, width, line)
				}
			}
			if rows != 1 || !strings.Contains(b.String(), "requests  servers\n") {
				t.Errorf("%d laws at %d: no whole row\n%s", n, width, b.String())
			}
		}
	}
}

// TestConclusionsAgreeWithTheTable checks the first sentence. It may say that every promise is kept only if the table
// below says so too. Each number in the sentence must be a trial's number of runs.
func TestConclusionsAgreeWithTheTable(t *testing.T) {
	trial := func(n int) Trial { return Trial{Runs: n} }
	cause := func(law checker.Law, kind checker.CauseKind, runs, of int, nature string) Breach {
		return Breach{Finding: campaign.Finding{Law: law, Cause: checker.Cause{Kind: kind}, Runs: runs}, Of: of,
			Nature: nature}
	}
	mutual, stuck := checker.MutualExclusion, checker.DeadlockFreedom
	for _, c := range []struct {
		name      string
		elsewhere int
		anew      []Breach
		otherwise []Breach
		givesUp   bool
		left      []checker.Law
		keeps     bool
		want      string
	}{
		{name: "all", keeps: true, want: "Set lock.ttl to 9s: then every promise is kept, in 20 runs under these " +
			"faults and 2,100 under new faults of the same kinds. It costs no additional time, requests or servers."},
		{name: "other servers", elsewhere: 60, keeps: true,
			want: "Set lock.ttl to 9s: then every promise is kept, in 20 runs under these faults, " +
				"60 in which they strike servers that the change adds and 2,100 under new faults of the same kinds. " +
				"It costs no additional " +
				"time, requests or servers."},
		{name: "what no lock keeps", keeps: true,
			otherwise: []Breach{cause(stuck, checker.NoQuorumLeft, 4, 2120, "why")},
			want: "Set lock.ttl to 9s: then every promise but deadlock-freedom is kept, in 20 runs under these " +
				"faults and 2,100 under new faults of the same kinds. Of these 2,120 runs, 4 break " +
				"deadlock-freedom, which no lock can prevent. It costs no additional time, requests or servers."},
		{name: "what breaks as before",
			otherwise: []Breach{cause(stuck, checker.StuckInCycle, 1200, 2120, ""),
				cause(stuck, checker.NoQuorumLeft, 4, 2120, "why")},
			want: "No change and no pair keeps every promise. The closest is: lock.ttl to 9s. It keeps " +
				"mutual-exclusion, in 20 runs under these faults and 2,100 under new faults of the same kinds; but " +
				"of these 2,120 runs, 1,204 break deadlock-freedom."},
		{name: "what breaks anew", anew: []Breach{cause(stuck, checker.StuckInCycle, 1, 7, ""),
			{Finding: campaign.Finding{Law: checker.Ownership}}}, givesUp: true,
			want: "No change and no pair keeps every promise. The closest is: lock.ttl to 9s. It keeps " +
				"mutual-exclusion, in 20 runs under these faults and 2,100 under new faults of the same kinds; but " +
				"it breaks deadlock-freedom in 1 of 7 runs: stuck in a cycle of waiters; ownership is no longer " +
				"shown to hold; clients give up where they used to acquire the lock."},
		{name: "what is left undecided", left: []checker.Law{checker.TokenOrder},
			want: "No change and no pair keeps every promise. The closest is: lock.ttl to 9s. It keeps " +
				"mutual-exclusion, in 20 runs under these faults and 2,100 under new faults of the same kinds; but " +
				"token-order was not shown to hold."},
	} {
		best := &Tried{Changes: []Change{{Key: "lock.ttl", Value: "9s"}}, Given: trial(20),
			Elsewhere: trial(c.elsewhere), Fresh: trial(2100), Mended: []checker.Law{mutual}, New: c.anew,
			Known: c.otherwise, GivesUp: c.givesUp, Left: c.left}
		a := &Report{Advice: &Advice{Promised: checker.Laws, Broken: []checker.Law{mutual},
			Base: &Tried{}, Mending: []*Tried{best}}, Scenario: &scenarios.Scenario{Name: "mine"}}
		if got := a.conclusion(); got != c.want || a.keeps(best) != c.keeps {
			t.Errorf("%s, keeps %v: %s\nnot\n%s", c.name, a.keeps(best), got, c.want)
		}
		var b bytes.Buffer
		if err := a.Document().Text(&b, document.TextOptions{Width: 160}); err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, breached := range c.anew {
			lines = append(lines, "  ! "+breach(breached))
		}
		for _, breached := range c.otherwise {
			lines = append(lines, "  · "+breach(breached))
		}
		for _, line := range lines {
			if !strings.Contains(b.String(), line+"\n") {
				t.Errorf("%s: the table lacks %q\n%s", c.name, line, b.String())
			}
		}
		explained := strings.Contains(b.String(), "nature  deadlock-freedom: why.")
		if explained != (c.keeps && c.otherwise != nil) {
			t.Errorf("%s: nature\n%s", c.name, b.String())
		}
	}
}

// TestChangesToMakeByHandAreListed checks that the report lists the changes that the file's author has to make by hand,
// and says why.
func TestChangesToMakeByHandAreListed(t *testing.T) {
	a := &Report{Advice: &Advice{Base: &Tried{}}, Scenario: &scenarios.Scenario{Name: "mine"},
		ByHand: &CommentsError{Line: 3, Changes: []string{"lock.release: script", "no lock.quorum"}}}
	var shown strings.Builder
	if err := a.Document().Text(&shown, document.TextOptions{Width: 120}); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"line 3 has a comment inside { } or [ ], which would be lost", "by hand",
		"change  lock.release: script\n        no lock.quorum\n"} {
		if !strings.Contains(shown.String(), words) {
			t.Errorf("%q is missing:\n%s", words, shown.String())
		}
	}
}

// TestWhatToDoComesFirst checks that the advice comes first in the text and on the page, as a sentence and as a diff,
// and that what broke the lock comes after it.
func TestWhatToDoComesFirst(t *testing.T) {
	base := &Tried{}
	base.Given = Trial{Runs: 20, Findings: []campaign.Finding{{Law: checker.Ownership,
		Cause: checker.Cause{Kind: checker.RemovedByNonOwner}, Runs: 20}}}
	best := &Tried{Changes: []Change{{Key: "lock.ttl", Value: "9s"}}, Mended: []checker.Law{checker.Ownership}}
	a := &Report{Advice: &Advice{Promised: checker.Laws, Broken: best.Mended, Base: base, Mending: []*Tried{best}},
		Scenario: &scenarios.Scenario{Name: "mine"}, Diff: "--- mine\n+++ mine\n-lock: {ttl: 8s}\n+lock: {ttl: 9s}\n"}
	var shown, page strings.Builder
	if err := a.Document().Text(&shown, document.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := a.Document().Pages("page.html")[0].Write(&page); err != nil {
		t.Fatal(err)
	}
	if err := reporttest.Page(page.String()); err != nil {
		t.Error(err)
	}
	if n, err := reporttest.Explained(page.String()); n != 1 || err != nil {
		t.Errorf("%d laws are explained: %v", n, err)
	}
	for _, form := range []string{shown.String(), html.UnescapeString(page.String())} {
		last := -1
		for _, words := range []string{"Set lock.ttl to 9s: then every promise is kept", "-lock: {ttl: 8s}",
			"+lock: {ttl: 9s}", "removed by non-owner", "lock.ttl: 9s", "A change is marked ✓ if"} {
			at := strings.Index(form, words)
			if at <= last {
				t.Errorf("%q stands at %d, after %d, in\n%s", words, at, last, form)
			}
			last = at
		}
	}
}
