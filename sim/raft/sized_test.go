package raft

import (
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// sized returns the number of seeds to use in a test: all of them in a full test, and a fifth otherwise.
func sized(seeds uint64) uint64 {
	if testkit.Full() {
		return seeds
	}
	return seeds / 5
}
