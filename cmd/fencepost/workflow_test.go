package main

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"
)

// TestTheExampleWorkflowsCallWhatThereIs checks that the commands and flags in the workflows exist. It reads the
// workflows as GitHub does.
func TestTheExampleWorkflowsCallWhatThereIs(t *testing.T) {
	called := append(calledBy(t, "../../.github/workflows/locks.yml"),
		calledBy(t, "../../.github/workflows/play.yml")...)
	for _, flag := range []string{"run --junit", "explore --shard", "merge --junit", "play --static"} {
		if !slices.Contains(called, flag) {
			t.Errorf("the workflows do not show %s", flag)
		}
	}
}

// TestWorkflowsTakeNoMoreThanTheyNeed checks that each workflow declares its permissions, and that it names actions by
// commit, because a tag can later point to a different commit.
func TestWorkflowsTakeNoMoreThanTheyNeed(t *testing.T) {
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	uses, byCommit := regexp.MustCompile(`uses: (.*)`), regexp.MustCompile(`^[\w/-]+@[0-9a-f]{40} # v\d`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "\npermissions:\n  contents: read\n") ||
			strings.Contains(string(text), "@latest") {
			t.Errorf("%s does not say which permissions it has, or takes whatever is latest", file)
		}
		for _, of := range uses.FindAllStringSubmatch(string(text), -1) {
			if !byCommit.MatchString(of[1]) {
				t.Errorf("%s: %s is no commit", file, of[1])
			}
		}
	}
}

// calledBy lists the flags that a workflow passes to the commands, each with the name of its command.
func calledBy(t *testing.T, path string) (called []string) {
	t.Helper()
	text, err := os.ReadFile(path)
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
	return called
}

// TestTheFullSizeRunsBySchedule checks the workflow that runs the complete campaigns on a schedule, or only the
// campaigns that are requested.
func TestTheFullSizeRunsBySchedule(t *testing.T) {
	text, err := os.ReadFile("../../.github/workflows/full.yml")
	if err != nil {
		t.Fatal(err)
	}
	var workflow struct {
		On struct {
			Schedule []struct{ Cron string }
			Dispatch struct{ Inputs map[string]any } `yaml:"workflow_dispatch"`
		}
		Jobs map[string]struct {
			Env   map[string]string
			Steps []struct{ Run string }
		}
	}
	if err := yaml.Unmarshal(text, &workflow); err != nil {
		t.Fatal(err)
	}
	if len(workflow.On.Schedule) != 1 || len(strings.Fields(workflow.On.Schedule[0].Cron)) != 5 {
		t.Errorf("scheduled at %v", workflow.On.Schedule)
	}
	job := workflow.Jobs["full"]
	// The input is passed as an environment variable. If it were inserted into a command, its text could itself be run
	// as a command.
	if workflow.On.Dispatch.Inputs["campaigns"] == nil || job.Env["CAMPAIGNS"] != "${{ inputs.campaigns }}" {
		t.Errorf("inputs %v, variables %v", workflow.On.Dispatch.Inputs, job.Env)
	}
	if n := len(job.Steps); n == 0 || job.Steps[n-1].Run != "bash .ci/full $CAMPAIGNS" {
		t.Errorf("steps %v", job.Steps)
	}
}

// TestTheRaceDetectorSeesEveryGoroutine checks that .ci/run runs the race detector on exactly the packages whose own
// code starts goroutines.
func TestTheRaceDetectorSeesEveryGoroutine(t *testing.T) {
	text, err := os.ReadFile("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	joined := strings.ReplaceAll(string(text), "\\\n", " ")
	call := regexp.MustCompile(`(?m)^go test -race -short -timeout \S+ (\./.*)$`).FindStringSubmatch(joined)
	if call == nil {
		t.Fatal(".ci/run does not call the race detector")
	}
	named := func(room string) bool {
		return slices.ContainsFunc(strings.Fields(call[1]), func(pattern string) bool {
			below, all := strings.CutSuffix(strings.TrimPrefix(pattern, "./"), "/...")
			return room == below || all && strings.HasPrefix(room, below+"/")
		})
	}
	starting := 0
	for _, s := range sources(t) {
		if s.test || isNested(s.room) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok {
				if starting++; !named(s.room) {
					t.Errorf("%s starts a goroutine, and .ci/run does not test %s with the race detector",
						s.set.Position(n.Pos()), s.room)
				}
			}
			return true
		})
	}
	if starting < 10 {
		t.Errorf("found %d statements that start goroutines", starting)
	}
}
