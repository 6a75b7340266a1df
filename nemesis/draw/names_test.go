package draw

import (
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/internal/processes"
)

var testNames = nemesis.Names(processes.All)

// only gives the kinds a weight of 1 each.
func only(kinds ...nemesis.Kind) Weights {
	var w Weights
	for _, k := range kinds {
		w[k] = 1
	}
	return w
}
