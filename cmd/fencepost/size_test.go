package main

import (
	"os"
	"runtime/debug"
	"testing"
)

// A test leaves much garbage and keeps little: collecting it less often saves a third of its time.
func init() { debug.SetGCPercent(400) }

// full reports whether campaigns are to have their full size: with FENCEPOST_FULL=1, as .ci/run sets it, and without -short.
func full() bool { return os.Getenv("FENCEPOST_FULL") != "" && !testing.Short() }

func fullOnly(t *testing.T) {
	t.Helper()
	if !full() {
		t.Skip("only at full size: FENCEPOST_FULL=1")
	}
}
