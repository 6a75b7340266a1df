package checker_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/claims"
)

// TestStoriesStayAsTheyAre writes down the stories of random runs. Package claims holds what they say to the truth, by
// taking faults away and by counting anew, and allows for one in a hundred; here none may change unseen.
func TestStoriesStayAsTheyAre(t *testing.T) {
	var b strings.Builder
	claims.Stories(t, 6, 1, func(s *claims.Story) bool {
		fmt.Fprintf(&b, "== %s %d\n%s %s of %s, of %s, about %q, by %d of %d: %s\n", s.Scenario.Name, s.Plan.Seed,
			s.Law, s.Came(), s.Lock, s.Holders, s.About, s.At, s.Witness, s.Explanation)
		for _, i := range s.Faults {
			fmt.Fprintf(&b, "named: %s\n", s.History.Events[i].Value)
		}
		fmt.Fprintf(&b, "remedy: %s\n", s.Remedy)
		return true
	})
	testkit.Golden(t, filepath.Join("testdata", "stories.txt"), b.String())
}
