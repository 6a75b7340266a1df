// Package testkit is what the tests of all rooms share: how much they try, and how they renew what they expect.
//
// Goals: one variable for the full size, one flag that renews. Non-goals: anything that the program itself needs; no
// room imports it but in its tests.
package testkit

import (
	"flag"
	"os"
	"runtime/debug"
	"testing"
)

// Update is set to rewrite what tests expect, where that stands in a file; then read the diff.
var Update = flag.Bool("update", false, "rewrite what the tests expect")

// A test leaves much garbage and keeps little: collecting it less often saves a third of its time.
func init() { debug.SetGCPercent(400) }

// Full reports whether campaigns are to have their full size: with FENCEPOST_FULL=1, as .ci/run sets it, and without
// -short.
func Full() bool { return os.Getenv("FENCEPOST_FULL") != "" && !testing.Short() }

// FullOnly skips a test that has no smaller size.
func FullOnly(t testing.TB) {
	t.Helper()
	if !Full() {
		t.Skip("only at full size: FENCEPOST_FULL=1")
	}
}

// Golden holds got to what stands in a file, to the byte, or rewrites the file.
func Golden(t testing.TB, path, got string) {
	t.Helper()
	if *Update {
		Write(t, path, got)
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update rewrites it; read the diff). Got:\n%s", path, got)
	}
}

// Write rewrites a file that holds what tests expect.
func Write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
