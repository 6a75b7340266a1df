package shrink

import (
	"os"
	"testing"
)

// full reports whether campaigns are to have their full size: with FENCEPOST_FULL=1, as .ci/run sets it, and without -short.
func full() bool { return os.Getenv("FENCEPOST_FULL") != "" && !testing.Short() }
