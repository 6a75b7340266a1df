package checker

import (
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// TestJudgesThatContradictEachOtherDecideNothing tells the one judge what the other did not say.
func TestJudgesThatContradictEachOtherDecideNothing(t *testing.T) {
	clash := told(t, `
0s client-1 acquire invoke
1s client-1 acquire ok
2s client-2 acquire invoke
3s client-2 acquire ok
`)
	for _, c := range []struct {
		why            string
		h              *history.History
		byInterval     bool
		wantContradict bool
	}{
		{"both allow", busy(t, 100), false, false},
		{"only the interval check refutes", busy(t, 100), true, true},
		{"both refute", clash, true, false},
		{"only porcupine refutes", clash, false, true},
	} {
		var tr judge
		tr.Read(c.h)
		tr.Sections()
		var f Finding
		if got := tr.contradicted(&f, c.byInterval); got != c.wantContradict {
			t.Errorf("%s: contradicted is %v", c.why, got)
		}
		if c.wantContradict && (f.Outcome != Undecided || !strings.Contains(f.Explanation, "defect of the checker")) {
			t.Errorf("%s: %v, %s", c.why, f.Outcome, f.Explanation)
		}
	}
}

// TestOwnershipIsBrokenWhereACauseSaysSo: a key that a stranger removed breaks ownership, whatever else it breaks.
func TestOwnershipIsBrokenWhereACauseSaysSo(t *testing.T) {
	var c Checker
	seen := 0
	for round := range 20_000 {
		g := newGossip(uint64(round), 11)
		g.twoGrants()
		v := c.Check(g.h)
		for _, law := range []Law{LeaseExclusion, MutualExclusion} {
			if f := v.Of(law); f.Cause.Kind == RemovedByNonOwner {
				seen++
				if v.Of(Ownership).Outcome != Violated {
					t.Fatalf("round %d: %s by %v, but ownership is %v\n%s\n%s", round, law, f.Cause,
						v.Of(Ownership).Outcome, f.Explanation, encoded(t, g.h))
				}
			}
		}
	}
	if seen < 200 {
		t.Errorf("a stranger removed the key in %d rounds only", seen)
	}
}
