package checker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/claims"
)

// TestStoriesStayAsTheyAre compares the explanations of random runs with a file, so that no explanation changes
// unnoticed. The tests of package claims check whether explanations are true. By default the test performs only the
// first round, whose explanations come first in the file.
func TestStoriesStayAsTheyAre(t *testing.T) {
	rounds, path := 1, filepath.Join("testdata", "stories.txt")
	if testkit.Full() || *testkit.Update {
		rounds = 6
	}
	var b strings.Builder
	claims.Stories(t, rounds, 1, func(s *claims.Story) bool {
		fmt.Fprintf(&b, "== %s %d\n%s %s of %s, of %s, about %q, by %d of %d: %s\n", s.Scenario.Name, s.Plan.Seed,
			s.Law, s.Came(), s.Lock, s.Holders, s.About, s.At, s.Witness, s.Explanation)
		for _, i := range s.Faults {
			fmt.Fprintf(&b, "named: %s\n", s.History.Events[i].Value)
		}
		fmt.Fprintf(&b, "remedy: %s\n", s.Remedy)
		return true
	})
	if testkit.Full() || *testkit.Update {
		testkit.Golden(t, path, b.String())
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.HasPrefix(string(want), got) || len(got) < len(want)/8 {
		t.Errorf("%s begins otherwise (go test -update rewrites it; read the diff). Got:\n%s", path, got)
	}
}
