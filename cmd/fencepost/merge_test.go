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
// runs, so the program need not be named. Another program is refused.
func TestShardsOfAProgramAreMerged(t *testing.T) {
	testkit.ThoroughOnly(t)
	if err := traced.Allowed(); err != nil {
		testkit.Lacks(t, err)
	}
	worker := workerCommand(t, "redis-py")
	t.Chdir(t.TempDir())
	const text = "name: sound\nservers: {redis: 1}\nclients: 2\nlock: {protocol: set-nx-px, ttl: 10s}\n" +
		"mix: {weights: {pause: 1}, pause: 1ms..2ms}\npromise: [mutual-exclusion]\n"
	if err := os.WriteFile("sound.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	call := func(args ...string) (code int, shown string) {
		var out, problems bytes.Buffer
		code = run(args, &out, &problems)
		return code, asPasted(out.String() + problems.String())
	}
	for _, shard := range []string{"1", "2"} {
		if code, shown := call("explore", "sound.yaml", "--client", worker, "--seeds", "6", "--shard", shard+"/2",
			"--out", shard); code == exitBadInput {
			t.Fatal(shown)
		}
	}
	for _, out := range []string{"with", "without"} {
		args := []string{"merge", "1", "2", "--out", out}
		if out == "with" {
			args = append(args, "--client", worker)
		}
		if code, shown := call(args...); code != exitExpected || !strings.Contains(shown, "6 random plans from 1") ||
			!strings.Contains(shown, "--client '"+worker+"'") {
			t.Errorf("%q: exit %d\n%s", args, code, shown)
		}
	}
	with, err := os.ReadFile(filepath.Join("with", "verdict.json"))
	without, err2 := os.ReadFile(filepath.Join("without", "verdict.json"))
	if err != nil || err2 != nil || !bytes.Equal(with, without) {
		t.Errorf("%v, %v: without the program, the verdict is\n%s\nwith it\n%s", err, err2, without, with)
	}
	code, shown := call("merge", "1", "2", "--client", "another", "--out", "other")
	if want := "holds the results of the program '" + worker + "', not of the program another"; code != exitBadInput ||
		!strings.Contains(shown, want) {
		t.Errorf("another program: exit %d, no %q\n%s", code, want, shown)
	}
}
