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

// TestStoriesStayAsTheyAre compares the explanations of random runs with a file, so that every change to an explanation
// is noticed. The tests in package claims check whether explanations are true. In continuous integration, the test
// compares only the explanations from the first round of runs (one run of each subject, see claims.Runs), which are at
// the beginning of the file. On a developer's machine, it compares only some of the first round. Only a full run tries
// all stories, so only a full run can rewrite the file.
func TestStoriesStayAsTheyAre(t *testing.T) {
	const enough = 30_000 // bytes of stories compared every day
	rounds, path := 1, filepath.Join("testdata", "stories.txt")
	if testkit.Full() {
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
		return testkit.Thorough() || b.Len() < enough
	})
	if testkit.Full() {
		testkit.Golden(t, path, b.String())
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	least := testkit.Size(enough, len(want)/8, len(want))
	if b.Len() < least {
		t.Errorf("%d bytes of stories, want at least %d", b.Len(), least)
	}
	for _, story := range strings.Split(b.String(), "\n== ") {
		if !strings.Contains(string(want), story) {
			t.Errorf("%s does not contain this story (FENCEPOST_FULL=1 go test -update rewrites it):\n%s",
				path, story)
		}
	}
}
