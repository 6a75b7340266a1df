package raft

import (
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// sized returns the number of seeds for a test: all at full size, and a fifth of them by default.
func sized(seeds uint64) uint64 {
	if testkit.Full() {
		return seeds
	}
	return seeds / 5
}
