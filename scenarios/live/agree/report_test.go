package agree

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
)

func side(wall time.Duration, outcome checker.Outcome, kind checker.CauseKind) Side {
	return Side{Wall: wall, Verdict: checker.Verdict{Findings: []checker.Finding{
		{Law: checker.LeaseExclusion, Outcome: outcome, Cause: checker.Cause{Kind: kind}}}}}
}

var (
	alike = Row{Name: "alike", Scaled: 5, Simulated: side(10*time.Millisecond, checker.Violated,
		checker.ExpiredEarly), Live: side(5*time.Second, checker.Violated, checker.ExpiredEarly)}
	other = Row{Name: "other", Scaled: 1, Runs: 3, Simulated: side(10*time.Millisecond, checker.Violated,
		checker.ExpiredEarly), Live: side(5*time.Second, checker.Holds, "")}
	known  = Row{Name: "split-vote-fixed-delay", Scaled: 1, Simulated: other.Simulated, Live: other.Live}
	silent = Row{Name: "silent", Scaled: 5, Simulated: alike.Simulated, Live: Side{
		Verdict: checker.Verdict{Findings: []checker.Finding{{Law: checker.LeaseExclusion, Outcome: checker.Violated,
			Cause: checker.Cause{Kind: checker.CauseNotRecorded}, Unrecorded: true}}}}}
	refused = Row{Name: "refused", Refused: "no such server"}
	late    = Row{Name: "late", Scaled: 1, Runs: 3, Failed: "client-1 is late\nit printed:\nx"}
)

func TestTheAgreementIsReported(t *testing.T) {
	var b bytes.Buffer
	a := &Agreement{Rows: []Row{alike, other, known, refused, late, silent}, Servers: "redis"}
	if err := a.Document().Text(&b, document.TextOptions{Width: 80}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		" ✓ alike                   ÷ 5            10.0 ms  5.00 s\n     broken: lease-exclusion\n",
		" ✗ other                   as they are    10.0 ms  5.00 s\n",
		"     lease-exclusion simulated violated: expired early, real holds\n",
		" ± split-vote-fixed-delay",
		"     Three clients can keep splitting",
		" – refused\n     no such server\n",
		" ? late\n     failed in 3 runs: client-1 is late it printed: x\n",
		"     not compared, because real members do not record it: the cause of",
		"2 agree, 1 differ for a known reason, 1 differ, 1 cannot be run on both sides, 1",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	text, err := a.Document().JSON("live")
	if err != nil {
		t.Fatal(err)
	}
	var d agreementJSON
	if err := json.Unmarshal(text, &d); err != nil || d.Agree != 2 || d.Explained != 1 || d.Differ != 1 ||
		d.Refused != 1 || d.Failed != 1 || d.Rows[4].Failed != late.Failed ||
		len(d.Rows[1].Differs) != 1 || len(d.Rows[5].NotRecorded) != 1 || d.Rows[2].Explanation == "" ||
		d.Rows[0].Violated[0] != "lease-exclusion" {
		t.Errorf("%v %+v", err, d)
	}
	var results []document.Result
	for _, c := range a.Document().Suite.Cases {
		results = append(results, c.Result)
	}
	want := []document.Result{document.Passed, document.Failed, document.Passed, document.Undecided,
		document.Undecided, document.Passed}
	if !slices.Equal(results, want) {
		t.Errorf("the cases are %v, want %v", results, want)
	}
}

func TestHowAnAgreementStands(t *testing.T) {
	for _, c := range []struct {
		a    Agreement
		want document.Result
	}{
		{Agreement{Rows: []Row{alike, known, refused}}, document.Passed},
		{Agreement{Rows: []Row{alike, other}}, document.Failed},
		{Agreement{Rows: []Row{refused}}, document.Undecided},
		{Agreement{Rows: []Row{alike, late}}, document.Undecided},
		{Agreement{Rows: []Row{other, late}}, document.Failed},
		{Agreement{Rows: []Row{alike}, Interrupted: true}, document.Undecided},
	} {
		if got := c.a.Standing(); got != c.want {
			t.Errorf("%+v stands %v, want %v", c.a, got, c.want)
		}
	}
}
