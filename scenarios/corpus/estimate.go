package corpus

import (
	"fmt"
	"math"

	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// estimate contains the totals of several searches for a mutant. They are used to estimate the mean number of runs it
// takes to catch the mutant.
type estimate struct {
	Searches int
	Caught   int // number of searches that caught the mutant; the others reached their limit
	Runs     int // number of runs of all these searches
}

// estimated returns the estimate for the given searches. It ignores searches that were not run or were interrupted.
func estimated(list []*search.FirstViolation) (e estimate) {
	for _, s := range list {
		if s == nil || s.Interrupted {
			continue
		}
		e.Searches++
		e.Runs += s.Runs
		if s.Found {
			e.Caught++
		}
	}
	return e
}

// average returns the maximum likelihood estimate of the mean number of runs it takes to catch the mutant. It returns
// +Inf if no search caught it.
func (e estimate) average() float64 { return float64(e.Runs) / float64(e.Caught) }

// tail is the probability that the true mean is below the interval. It is equally likely to be above the interval.
const tail = 0.05

// bounds returns the 90% confidence interval for the mean number of runs, rounded outward to whole runs. high is
// infinite if no search caught the mutant.
//
// If a run catches the mutant with probability p, the mean is 1/p. If all d searches end with a catch, their total
// number of runs has a negative binomial distribution: the total is at most n if and only if n runs include at least d
// catches. Therefore the bounds for p are the exact ones for inverse sampling (Lui, Confidence limits for the
// population prevalence rate based on the negative binomial distribution, Statistics in Medicine 14, 1995). At the
// lower bound for p, n runs include at least d catches with probability tail. At the upper bound, n-1 runs include
// fewer than d catches with probability tail. If a search reached its limit, the last run is not a catch. Then the
// upper bound for p is that of Clopper and Pearson (Biometrika 26, 1934): n runs include at most d catches with
// probability tail.
//
// The runs are not completely independent: plans whose faults strike at events of the same fault-free run share that
// run's seed.
func (e estimate) bounds() (low, high float64) {
	if e.Runs == 0 {
		return 1, math.Inf(1)
	}
	runs, catches := e.Runs, e.Caught
	if e.Caught == e.Searches {
		runs, catches = runs-1, catches-1
	}
	const rounding = 1e-9 // tolerance for a bound that is a whole number
	low = math.Floor((1 + rounding) / chanceOf(runs, catches, tail))
	if e.Caught == 0 {
		return low, math.Inf(1)
	}
	return low, math.Ceil((1 - rounding) / chanceOf(e.Runs, e.Caught-1, 1-tail))
}

// chanceOf returns the p for which atMost(runs, catches, p) equals the given probability.
func chanceOf(runs, catches int, probability float64) float64 {
	low, high := 0.0, 1.0
	for low < high {
		middle := (low + high) / 2
		if middle == low || middle == high {
			break
		}
		if atMost(runs, catches, middle) > probability {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// atMost returns the probability that the given number of runs contains at most the given number of catches, if each
// run catches the mutant with probability p.
func atMost(runs, catches int, p float64) float64 {
	if catches >= runs {
		return 1
	}
	sum := 0.0
	all, _ := math.Lgamma(float64(runs + 1))
	for i := range catches + 1 {
		these, _ := math.Lgamma(float64(i + 1))
		others, _ := math.Lgamma(float64(runs - i + 1))
		// The conversions prevent the compiler from fusing the product and the sum into one operation, which some
		// platforms round differently.
		caught, missed := float64(float64(i)*math.Log(p)), float64(float64(runs-i)*math.Log1p(-p))
		sum += math.Exp(all - these - others + caught + missed)
	}
	return sum
}

// mean and interval format the mean and its confidence interval.
func (e estimate) mean() string {
	if e.Caught == 0 {
		return "–"
	}
	return text.Grouped(int(math.Round(e.average())))
}

func (e estimate) interval() string {
	low, high := e.bounds()
	if math.IsInf(high, 1) {
		return "> " + text.Grouped(int(low))
	}
	return fmt.Sprintf("%s–%s", text.Grouped(int(low)), text.Grouped(int(high)))
}
