package compare

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

func TestFormulaGivesTheCataloguesFigures(t *testing.T) {
	for held, want := range map[int]string{5: "9.9e-06", 3: "3.0e-02"} {
		o := Odds{Servers: 5, Quorum: 3, Held: held, Chance: 0.01}
		if got := fmt.Sprintf("%.1e", o.Formula()); got != want {
			t.Errorf("%d held: %s, want %s", held, got, want)
		}
		if got := fmt.Sprintf("%.0e", o.Article()); got != "1e-10" {
			t.Errorf("the article's: %s", got)
		}
	}
}

// TestFormulaIsTheSumOverAllLosses compares the formula with the sum of the probabilities of all sets of servers that,
// if they lose the lock, make a second quorum possible.
func TestFormulaIsTheSumOverAllLosses(t *testing.T) {
	for n := 1; n <= 7; n++ {
		for quorum := 1; quorum <= n; quorum++ {
			for held := quorum; held <= n; held++ {
				compareWithSum(t, Odds{Servers: n, Quorum: quorum, Held: held, Chance: 0.3})
			}
		}
	}
}

func compareWithSum(t *testing.T, o Odds) {
	t.Helper()
	n, held := o.Servers, o.Held
	sum := 0.0
	for set := range 1 << n {
		p, free := 1.0, n-held
		for i := range n {
			lost := set>>i&1 == 1
			if p *= 0.7; lost {
				p *= 0.3 / 0.7
			}
			if lost && i < held {
				free++
			}
		}
		if free >= o.Quorum {
			sum += p
		}
	}
	if math.Abs(sum-o.Formula()) > 1e-12 {
		t.Errorf("%d of N=%d, h=%d: %g, want %g", o.Quorum, n, held, o.Formula(), sum)
	}
}

func TestMeasuredLossesAgreeWithTheFormula(t *testing.T) {
	runs := testkit.Size(100, 200, 4000)
	if testkit.Race {
		runs = 200
	}
	for _, asked := range []Odds{
		{Servers: 5, Quorum: 3, Held: 3, By: ByFailover},
		{Servers: 5, Quorum: 3, Held: 4, By: ByFailover},
		{Servers: 5, Quorum: 3, Held: 5, By: ByFailover},
		{Servers: 5, Quorum: 3, Held: 3, By: ByRestart},
		{Servers: 5, Quorum: 4, Held: 4, By: ByRestart},
		{Servers: 5, Quorum: 2, Held: 5, By: ByRestart},
		{Servers: 4, Quorum: 3, Held: 3, By: ByFailover},
		{Servers: 3, Quorum: 2, Held: 3, By: ByRestart},
		{Servers: 2, Quorum: 2, Held: 2, By: ByFailover},
		{Servers: 1, Quorum: 1, Held: 1, By: ByFailover}, // one pair: the probability equals k
		{Servers: 7, Quorum: 4, Held: 4, By: ByRestart},
	} {
		asked.Chance = 0.2
		o, err := asked.Measure(context.Background(), Options{Runs: runs})
		if err != nil {
			t.Fatal(err)
		}
		low, high := o.interval()
		if !o.agrees() || o.Lost == 0 {
			t.Errorf("%+v: lost in %d of %d runs, %.4f to %.4f; by the formula %.4f", asked, o.Lost, o.Runs, low, high,
				o.Formula())
		}
	}
}

func TestOddsAreTheSameForAnyNumberOfWorkers(t *testing.T) {
	asked := Odds{Servers: 3, Quorum: 2, Held: 3, By: ByRestart, Chance: 0.5}
	var first *Odds
	for workers := 1; workers <= 3; workers++ {
		got, err := asked.Measure(context.Background(), Options{Runs: 50, Crew: campaign.Crew{Workers: workers}})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = got
		}
		if *got != *first || got.Runs != 50 || got.Lost == 0 || got.Lost == got.Runs {
			t.Errorf("%d workers: %+v, not %+v", workers, got, first)
		}
	}
}
