package sweep

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/campaign/campaigntest"
)

// sweepsToDivide returns sweeps on one and two axes. They have edges, ranges in which the outcome depends on the seed,
// invalid points, and assertions.
func sweepsToDivide() []sweeping {
	list := []sweeping{
		{scenario: worstCase, vary: []string{"restart=100ms..1.1s/500ms", "lock.ttl=250ms,500ms"}, seeds: 3, sure: 5,
			asserts: []string{"lease-exclusion holds when restart >= ttl * 1.01 + 2ms"}},
		{scenario: "testdata/hasty-server.yaml", set: []string{"network.delay=200us..2ms"}, seeds: 3, sure: 8,
			vary: []string{"by=1980ms..2080ms/50ms"}},
		{scenario: "restart-everysec", vary: []string{"append-fsync=always,everysec,no"}, seeds: 2, sure: 4},
	}
	if testkit.Full() {
		list[0].seeds, list[0].sure, list[1].sure = 20, 300, 300
	}
	return list
}

func TestASweepIsTheSameHoweverItIsDivided(t *testing.T) {
	for i, c := range sweepsToDivide() {
		if i > 0 && !testkit.Thorough() {
			break
		}
		b := c.subject(t)
		o := c.options(t, b)
		worker := func() (campaign.Worker, error) {
			stranger := c.subject(t)
			return stranger.NewWorker(c.options(t, stranger))
		}
		campaigntest.HoweverItIsDivided(t, worker, func(hands campaign.Hands) []byte {
			o.Hands = hands
			s, err := b.Sweep(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			return campaigntest.Printed(t, (&Report{Sweep: s, Scenario: b.scenario}).Document())
		})
	}
}

// TestAStageOfAnotherSweepIsRefused checks that a worker refuses a stage from another sweep.
func TestAStageOfAnotherSweepIsRefused(t *testing.T) {
	c := sweepsToDivide()[2]
	b := c.subject(t)
	w, err := b.NewWorker(c.options(t, b))
	if err != nil {
		t.Fatal(err)
	}
	const level = `{"Unit":0,"N":0,"Text":"no"}`
	for spec, fits := range map[string]bool{
		`[{"A":{"Levels":[` + level + `]},"Runs":2}]`:                                true,
		`[{"A":{"Levels":[` + level + `]},"Runs":9}]`:                                false,
		`[{"A":{"Levels":[` + level + `,` + level + `]},"Runs":2}]`:                  false,
		`[{"A":{"Levels":[` + level + `]},"B":{"Levels":[` + level + `]},"Axis":1}]`: false,
		`[{"Runs":2}]`: false,
		`[{"A":{"Levels":[` + level + `]},"Walks":2}]`: false,
	} {
		value, err := w.Make(t.Context(), campaign.Stage{Name: "points", Spec: []byte(spec), Size: 1}, 0, 1)
		if (err == nil) != fits {
			t.Errorf("%s: %s, %v", spec, value, err)
		}
	}
}
