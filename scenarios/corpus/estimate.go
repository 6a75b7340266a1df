package corpus

import (
	"fmt"
	"math"

	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// estimate is how many runs it takes on average to catch a mutant, from several searches of it.
type estimate struct {
	Searches int
	Caught   int // of the searches; the others ended at their limit
	Runs     int // of all searches together
}

// estimated counts searches; one that was not made or not ended does not count.
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

// average is the most likely mean number of runs until the mutant is caught; infinite if it never was.
func (e estimate) average() float64 { return float64(e.Runs) / float64(e.Caught) }

// tail is the probability with which the mean lies below its interval, and that with which it lies above it.
const tail = 0.05

// bounds are the 90 % confidence interval of the mean number of runs, in whole runs, rounded outwards. high is
// infinite if no search caught the mutant.
//
// If a run catches it with probability p, the mean is 1/p, and the runs of d searches that each end with a catch have
// a negative binomial distribution: they number at most n if n runs have at least d catches. So the ends of the
// interval of p are the exact ones of inverse sampling (Lui, Confidence limits for the population prevalence rate
// based on the negative binomial distribution, Statistics in Medicine 14, 1995): where n runs have d catches, and
// where n-1 runs have fewer, with probability tail. If some search ended at its limit, the last run is no catch, and
// the higher end of p is that of Clopper and Pearson (Biometrika 26, 1934), where n runs have no more than d.
//
// Plans that are aimed at one run without faults share its seed, so that runs are not quite independent.
func (e estimate) bounds() (low, high float64) {
	if e.Runs == 0 {
		return 1, math.Inf(1)
	}
	runs, catches := e.Runs, e.Caught
	if e.Caught == e.Searches {
		runs, catches = runs-1, catches-1
	}
	const rounding = 1e-9 // of an end that is a whole number
	low = math.Floor((1 + rounding) / chanceOf(runs, catches, tail))
	if e.Caught == 0 {
		return low, math.Inf(1)
	}
	return low, math.Ceil((1 - rounding) / chanceOf(e.Runs, e.Caught-1, 1-tail))
}

// chanceOf is the chance of a catch with which so many runs have at most so many catches with the given probability.
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

// atMost is the probability that so many runs, each of which catches with chance p, have at most so many catches.
func atMost(runs, catches int, p float64) float64 {
	if catches >= runs {
		return 1
	}
	sum := 0.0
	all, _ := math.Lgamma(float64(runs + 1))
	for i := range catches + 1 {
		these, _ := math.Lgamma(float64(i + 1))
		others, _ := math.Lgamma(float64(runs - i + 1))
		// The conversions keep a product and a sum from becoming one step, which is more exact on some platforms.
		caught, missed := float64(float64(i)*math.Log(p)), float64(float64(runs-i)*math.Log1p(-p))
		sum += math.Exp(all - these - others + caught + missed)
	}
	return sum
}

// mean and interval are those of the estimate in words.
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
