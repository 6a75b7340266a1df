package checker_test

import (
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// TestALawOfOneFileIsKnownToAllRooms checks that a law defined in a single file works in all packages: a scenario can
// expect and promise it, and the verdicts on one run and on many runs include it. The runs have all three outcomes: the
// law holds, is broken, or cannot be checked.
func TestALawOfOneFileIsKnownToAllRooms(t *testing.T) {
	checker.WithPromptRelease(t)
	const law = checker.PromptRelease
	for _, c := range []struct {
		work, expect string
		want         checker.Outcome
		standing     document.Result
	}{
		{"{hold: 100ms}", "holds", checker.Holds, document.Passed},
		{"{hold: 1500ms}", "violated", checker.Violated, document.Passed},
		{"{hold: 1500ms}", "holds", checker.Violated, document.Failed},
		{"{hold: forever}", "holds", checker.Unchecked, document.Failed},
	} {
		s, err := scenarios.Parse("law.yaml",
			[]byte("name: law\nservers: {redis: 1}\nclients: 1\nlock: {protocol: set-nx-px}\nwork: "+
				c.work+"\nlimit: 30s\nexpect: {prompt-release: "+c.expect+"}\npromise: [prompt-release]\n"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := scenarios.NewRunner(s).Run(s.Plan(1))
		if err != nil {
			t.Fatal(err)
		}
		j := s.Judge(r)
		if got := j.Verdict.Of(law).Outcome; got != c.want || j.Standing() != c.standing {
			t.Errorf("%s: %v, %v, want %v, %v", c.work, got, j.Standing(), c.want, c.standing)
		}
		laws := campaign.NewLaws(checker.Laws)
		laws.Count(j.Verdict)
		last := laws[len(laws)-1]
		if last.Law != law || (last.Holds == 1) != (c.want == checker.Holds) ||
			(last.Violated == 1) != (c.want == checker.Violated) {
			t.Errorf("%s is counted as %+v", c.work, last)
		}
	}
	if !strings.Contains(law.Says(), "longer than a second") {
		t.Errorf("it says %q", law.Says())
	}
	_, err := scenarios.Parse("law.yaml",
		[]byte("name: law\nservers: {redis: 1}\nlock: {protocol: set-nx-px}\nexpect: {prompt-relese: holds}\n"))
	if err == nil || !strings.Contains(err.Error(), `did you mean "prompt-release"`) {
		t.Errorf("a slip is answered with %v", err)
	}
}
