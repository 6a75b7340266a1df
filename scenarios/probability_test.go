package scenarios

import (
	"context"
	"fmt"
	"math"
	"testing"
)

func TestFormulaGivesTheCataloguesFigures(t *testing.T) {
	for held, want := range map[int]string{5: "9.9e-06", 3: "3.0e-02"} {
		o := Odds{Servers: 5, Held: held, Chance: 0.01}
		if got := fmt.Sprintf("%.1e", o.Formula()); got != want {
			t.Errorf("%d held: %s, want %s", held, got, want)
		}
		if got := fmt.Sprintf("%.0e", o.Article()); got != "1e-10" {
			t.Errorf("the article's: %s", got)
		}
	}
}

// TestFormulaIsTheSumOverAllLosses compares the formula with adding up all sets of servers that may lose the lock.
func TestFormulaIsTheSumOverAllLosses(t *testing.T) {
	for n := 1; n <= 7; n += 2 {
		for held := n/2 + 1; held <= n; held++ {
			o := Odds{Servers: n, Held: held, Chance: 0.3}
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
				if free >= o.Quorum() {
					sum += p
				}
			}
			if math.Abs(sum-o.Formula()) > 1e-12 {
				t.Errorf("N=%d h=%d: %g, want %g", n, held, o.Formula(), sum)
			}
		}
	}
}

func TestMeasuredLossesAgreeWithTheFormula(t *testing.T) {
	runs := 4000
	if !full() || raceEnabled {
		runs = 400
	}
	for _, held := range []int{3, 4, 5} {
		o, err := MeasureOdds(context.Background(), held, 0.2, runs)
		if err != nil {
			t.Fatal(err)
		}
		low, high := o.Interval()
		if !o.Agrees() || o.Lost == 0 {
			t.Errorf("%d held: lost in %d of %d runs, %.4f to %.4f; by the formula %.4f", held, o.Lost, o.Runs, low, high, o.Formula())
		}
	}
}
