package main

import (
	"os"
	"testing"
)

// full reports whether campaigns are to have their full size: with FENCEPOST_FULL=1, as .ci/run sets it, and without -short.
func full() bool { return os.Getenv("FENCEPOST_FULL") != "" && !testing.Short() }

func fullOnly(t *testing.T) {
	t.Helper()
	if !full() {
		t.Skip("only at full size: FENCEPOST_FULL=1")
	}
}
