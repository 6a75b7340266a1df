// Package relations holds what must be true of two runs, or of two histories, whatever scenario, plan and seed: a fault on
// what nobody uses changes no verdict, a fault split in two acts as the whole, and so on. Each relation is tried on the
// catalogue, on the corpus and on random plans of both; FENCEPOST_FULL=1 tries many more.
//
// Goals: a mistake in the simulator or the checker that no expectation names shows as two runs that should agree and do not.
// Non-goals: saying what is right in one run; that is for the catalogue and the laws.
package relations

import (
	"os"
	"testing"
)

// full asks for the large size of every relation.
var full = os.Getenv("FENCEPOST_FULL") == "1"

// tally counts the triples of scenario, plan and seed to which a relation was put.
type tally struct{ tried int }

// newTally counts for a relation. When the test is over it says how many triples were tried; none is a failure.
func newTally(t *testing.T, relation string) *tally {
	t.Helper()
	n := &tally{}
	t.Cleanup(func() {
		t.Logf("%s: %d triples", relation, n.tried)
		if n.tried == 0 {
			t.Errorf("%s: nothing was tried", relation)
		}
	})
	return n
}

func (n *tally) done() { n.tried++ }
