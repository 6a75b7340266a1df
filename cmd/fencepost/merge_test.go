//go:build linux

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim/traced"
)

// TestShardsOfAProgramAreMerged explores redis-py's lock in two shards and merges them. Without findings, this takes no
// runs, so the program need not be named. Otherwise, the error says how to name it.
func TestShardsOfAProgramAreMerged(t *testing.T) {
	testkit.ThoroughOnly(t)
	if err := traced.Allowed(); err != nil {
		testkit.Lacks(t, err)
	}
	worker := workerCommand(t, "redis-py")
	t.Chdir(t.TempDir())
	for name, pause := range map[string]string{"sound": "1ms..2ms", "broken": "12s..15s"} {
		text := "name: " + name + "\nservers: {redis: 1}\nclients: 2\nlock: {protocol: set-nx-px, ttl: 10s}\n" +
			"mix: {weights: {pause: 1}, faults: 1, at-points: 100%, points: [acquired], pause: " + pause + "}\n" +
			"promise: [resource-safety]\n"
		if err := os.WriteFile(name+".yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, shard := range []string{"1", "2"} {
			var out, problems bytes.Buffer
			if code := run([]string{"explore", name + ".yaml", "--client", worker, "--seeds", "6", "--shard",
				shard + "/2", "--out", name + shard}, &out, &problems); code == exitBadInput {
				t.Fatalf("%s%s", out.String(), problems.String())
			}
		}
		merged := func(more ...string) (code int, shown string) {
			var out, problems bytes.Buffer
			code = run(append([]string{"merge", name + "1", name + "2", "--out", name}, more...), &out, &problems)
			return code, asPasted(out.String() + problems.String())
		}
		if code, shown := merged("--client", worker); (code == exitExpected) != (name == "sound") ||
			!strings.Contains(shown, "6 random plans from 1") || !strings.Contains(shown, "--client '"+worker+"'") {
			t.Errorf("%s: exit %d\n%s", name, code, shown)
		}
		with, err := os.ReadFile(filepath.Join(name, "verdict.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
		code, shown := merged()
		without, _ := os.ReadFile(filepath.Join(name, "verdict.json"))
		switch {
		case name == "sound" && (code != exitExpected || !bytes.Equal(with, without)):
			t.Errorf("without the program: exit %d\n%s\n%s\nwant\n%s", code, shown, without, with)
		case name == "broken" && (code != exitBadInput || without != nil || !strings.HasSuffix(shown,
			"takes further runs: add --client '"+worker+"'")):
			t.Errorf("without the program: exit %d\n%s", code, shown)
		}
	}
}
