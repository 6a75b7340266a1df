package task

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// searched explores a scenario with the given number of seeds, beginning with seed 1.
func searched(t *testing.T, s *scenarios.Scenario, seeds int) *search.Result {
	t.Helper()
	e, err := search.NewExploration(s, 1, seeds, search.Whole)
	if err == nil {
		err = e.Run(t.Context(), s, 1, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// prepared prepares an exploration for its report, as a command does, and lets it write to a new folder. It returns
// what will be printed.
func prepared(t *testing.T, x *Exploration) (out *strings.Builder) {
	t.Helper()
	c := &cobra.Command{Use: "explore"}
	x.Register(c)
	out = new(strings.Builder)
	c.SetOut(out)
	x.Out = filepath.Join(t.TempDir(), "out")
	if err := x.Prepare(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return out
}

// conclude reports an exploration. A broken promise is no error.
func conclude(t *testing.T, x *Exploration) {
	t.Helper()
	if err := x.Conclude(t.Context()); err != nil && !errors.As(err, new(output.Ended)) {
		t.Fatal(err)
	}
}
