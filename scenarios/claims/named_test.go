package claims

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// TestFaultsThatAStoryNamesAreNecessary takes the faults of each story, as a report gives it, away and runs again. A
// fault is named in vain if the law is broken by the same cause all the same, be it between others, whether or not what
// strikes later is taken away as well, and the fault belongs to no group of named ones of which that takes the absence
// of all. One that is not named although the law holds without it is missing, if the same plan with other seeds needs
// it too. Of either there may be one in a hundred. FENCEPOST_FULL=1 goes on until a thousand names were tried.
func TestFaultsThatAStoryNamesAreNecessary(t *testing.T) {
	enough, rounds, each := 60, 10, 1
	if testkit.Full() {
		enough, rounds, each = 1000, 500, 2
	}
	wrongs := NewWrongs(t)
	n := NewNecessity(t, wrongs)
	Stories(t, rounds, each, func(s *Story) bool {
		n.Story(s)
		return n.Named < enough
	})
	vain, missing := wrongs.Count("in vain"), wrongs.Count("missing")
	t.Logf("%d stories; of %d faults named %d in vain; in %d stories one is missing", n.Stories, n.Named, vain, missing)
	if n.Named < enough {
		t.Errorf("only %d faults were named", n.Named)
	}
	if 100*vain > n.Named || 100*missing > n.Stories {
		t.Errorf("of %d faults %d are named in vain, and in %d of %d stories one is missing", n.Named, vain, missing,
			n.Stories)
	}
	if other := wrongs.Count("") - vain - missing; other > 0 {
		t.Errorf("%d stories contradict their findings or their plans", other)
	}
}
