package draw

import "github.com/fencepost-sim/fencepost/nemesis"

// weightsOf returns weights of 1 for the given kinds and 0 for all others.
func weightsOf(kinds ...nemesis.Kind) Weights {
	var w Weights
	for _, k := range kinds {
		w[k] = 1
	}
	return w
}
