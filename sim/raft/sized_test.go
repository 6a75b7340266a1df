package raft

import (
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// sized returns a number of seeds at full size, and a fifth of it by default.
func sized(seeds uint64) uint64 {
	if testkit.Full() {
		return seeds
	}
	return seeds / 5
}
