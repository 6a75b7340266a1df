package search

import (
	"context"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/sim"
)

// TestALawIsNotKeptBecauseAClientEnded checks the verdict on a run in which a client ended before its work was done. A
// law that holds in this run must be undecided, and the report must say why. Violations in this run must count.
func TestALawIsNotKeptBecauseAClientEnded(t *testing.T) {
	const text = "name: ended\nservers: {redis: 1}\nclients: 2\nlock: {protocol: set-nx-px, ttl: 1s}\n" +
		"work: {hold: 2s}\n"
	plain, err := scenarios.Parse("ended.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s := plain.With(&scenarios.Code{Programs: sim.Points,
		Elsewhere: func(_ *scenarios.Scenario, p nemesis.Plan, _ scenarios.Wanted) (scenarios.Result, error) {
			r, err := scenarios.NewRunner(plain).Run(p)
			r.EndedEarly = "client-2 ended"
			return r, err
		}})
	e, err := NewExploration(s, 1, 20, Whole)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Run(context.Background(), s, 1, nil); err != nil {
		t.Fatal(err)
	}
	for _, l := range e.Laws {
		if l.Holds > 0 {
			t.Errorf("%s holds in %d runs", l.Law, l.Holds)
		}
	}
	if l := e.Laws.Of(checker.MutualExclusion); l.Violated == 0 || e.Undecided == 0 {
		t.Errorf("%+v, and %d runs are undecided", l, e.Undecided)
	}
	notes := strings.Join((&Report{Result: e, Subject: s}).notes(), "\n")
	if !strings.Contains(notes, "if a client ended before it finished its work, a law that holds in that run counts "+
		"as undecided") {
		t.Errorf("%q", notes)
	}
}
