package advise

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/claims"
)

// Seeds of the first assembled scenario in the default test and in the full test. The full test starts at a seed that
// has not been used in any search.
const (
	everydayAssembly = 1
	fullAssembly     = 15_100_000
)

// TestCausesAreNecessaryAndRemediesHelp performs more runs to check the explanations of violations in assembled
// scenarios. It removes each fault that an explanation names. In 99% of the cases, the violation must disappear. It
// also applies each sentence of a remedy. In 98% of the cases, this must help. No remedy may name something that the
// scenario already does. With FENCEPOST_FULL=1, the test tries a thousand violations, at most 25 for each pair of law
// and cause.
func TestCausesAreNecessaryAndRemediesHelp(t *testing.T) {
	from, enough, each := uint64(everydayAssembly), testkit.Size(5, 25, 1000), testkit.Size(2, 2, 25)
	if testkit.Full() {
		from = fullAssembly
	}
	wrongs := claims.NewWrongs(t)
	// The default test tries so few remedies that a single failure would already exceed 2%. So it tolerates two: one
	// scenario may lead to two findings with the same remedy.
	spare := testkit.Size(2, 2, 0)
	n, r := claims.NewNecessity(t, wrongs), newRemedyTrials(t, wrongs)
	causes, last := map[string]int{}, uint64(0)
	assembledStories(t, from, each, func(s *claims.Story) bool {
		causes[s.Cause.String()]++
		last = s.Plan.Seed
		n.Story(s)
		r.story(s)
		return n.Stories < enough
	})
	vain, missing := wrongs.Count("in vain"), wrongs.Count("missing")
	t.Logf("%d violations of seeds %d to %d, by %d causes; of %d faults named %d in vain; in %d stories one is missing",
		n.Stories, from, last, len(causes), n.Named, vain, missing)
	for _, cause := range slices.SortedFunc(maps.Keys(causes), func(a, b string) int {
		return cmp.Or(causes[b]-causes[a], cmp.Compare(a, b))
	}) {
		t.Logf("%d violations by %s", causes[cause], cause)
	}
	r.report()
	switch {
	case 100*vain > n.Named || 100*missing > n.Stories:
		t.Errorf("of %d faults %d are named in vain, and in %d of %d stories one is missing", n.Named, vain, missing,
			n.Stories)
	case 50*(r.idle()-spare) > r.applied || r.inForce() > 0:
		t.Errorf("of %d remedies %d did not help, and %d were in force already", r.applied, r.idle(), r.inForce())
	}
	if other := wrongs.Count("") - vain - missing - r.idle() - r.inForce(); other > 0 {
		t.Errorf("%d stories contradict their findings or their plans", other)
	}
}
