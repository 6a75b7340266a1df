//go:build linux && amd64

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim/traced"
)

// TestErrorsNameTheScenarioAtMostOnce makes each command fail on a scenario, at different depths of the program. An
// error that each layer prefixes with the scenario's name is hard to read.
func TestErrorsNameTheScenarioAtMostOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"my-lock.yaml": "name: my-lock\nservers: {redis: 1}\nlock: {protocol: set-nx-px, ttl: 6s}\n",
		// a mix from which no fault can be drawn: there are no replicas
		"no-mix/my-lock.yaml": "name: my-lock\nservers: {redis: 1}\nlock: {protocol: set-nx-px, ttl: 6s}\n" +
			"mix: {weights: {fail over: 1}}\n",
		"plan.txt": "scenario my-lock.yaml\nseed 1\npause client-9 for 1s at 1s\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	const most = "18446744073709551615"
	for i, args := range []string{
		"run my-lock.yaml --plan plan.txt", "replay plan.txt", "run my-lock.yaml --seeds 3 --shard 1/9",
		"run my-lock.yaml --seeds 9 --seed " + most, "explore my-lock.yaml --seeds 3 --shard 1/9",
		"explore my-lock.yaml --seeds 9 --seed " + most, "explore no-mix/my-lock.yaml",
		"verify no-mix/my-lock.yaml --kinds fail-over", "advise no-mix/my-lock.yaml --seeds 2",
		"sweep my-lock.yaml --vary ttl=9s..1s/1s",
		"run my-lock.yaml --client false", "explore my-lock.yaml --client false --seeds 2",
		"verify my-lock.yaml --client false --requests", "advise my-lock.yaml --client false --seeds 2",
		"explore my-lock.yaml --client ./none",
	} {
		if err := traced.Allowed(); err != nil && strings.Contains(args, "--client") {
			testkit.Lacks(t, err)
			continue
		}
		var stdout, stderr bytes.Buffer
		run(append(strings.Fields(args), "--out", fmt.Sprint("out-", i)), &stdout, &stderr)
		first, _, _ := strings.Cut(stderr.String(), "\n")
		if first == "" {
			t.Errorf("%s: no error", args)
		}
		if n := strings.Count(first, "my-lock"); n > 1 {
			t.Errorf("%s names the scenario %d times: %s", args, n, first)
		}
	}
}
