package main

import (
	"testing"

	"github.com/fencepost-sim/fencepost/reports/reporttest"
)

// TestTheKeysOfAStatusHaveOneStyle checks that the keys of "status --json" look like those of other documents.
func TestTheKeysOfAStatusHaveOneStyle(t *testing.T) {
	if odd := reporttest.OddKeys(status{}); len(odd) > 0 {
		t.Errorf("%q", odd)
	}
}
