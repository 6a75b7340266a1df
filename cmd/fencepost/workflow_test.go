package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"
)

// TestTheExampleWorkflowCallsWhatThereIs reads the workflow as GitHub does and holds each call against the commands.
func TestTheExampleWorkflowCallsWhatThereIs(t *testing.T) {
	text, err := os.ReadFile("../../.github/workflows/locks.yml")
	if err != nil {
		t.Fatal(err)
	}
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct{ Run string }
		}
	}
	if err := yaml.Unmarshal(text, &workflow); err != nil {
		t.Fatal(err)
	}
	var called []string
	for name, job := range workflow.Jobs {
		for _, step := range job.Steps {
			_, call, ok := strings.Cut(step.Run, "go run ./cmd/fencepost ")
			if !ok {
				continue
			}
			call, _, _ = strings.Cut(strings.NewReplacer("${{ matrix.shard }}", "1", "$SEEDS", "10").Replace(call),
				" || ")
			command, args, err := newRoot().Find(strings.Fields(call))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			command.InitDefaultHelpFlag()
			if err := command.ParseFlags(args); err != nil {
				t.Errorf("%s: %s: %v", name, call, err)
			}
			command.Flags().Visit(func(f *pflag.Flag) { called = append(called, command.Name()+" --"+f.Name) })
		}
	}
	for _, flag := range []string{"run --junit", "explore --shard", "merge --junit"} {
		if !slices.Contains(called, flag) {
			t.Errorf("the workflow does not show %s", flag)
		}
	}
}
