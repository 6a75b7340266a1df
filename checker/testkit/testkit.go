// Package testkit is what the tests of all packages share: how much they try, and how they renew what they expect.
//
// Goals: one variable for the full size, one flag that renews. Non-goals: anything that the program itself needs;
// packages import it only in their tests.
package testkit

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// Update is set to rewrite the files that tests compare with; then read the diff.
var Update = flag.Bool("update", false, "rewrite what the tests expect")

// A test leaves much garbage and keeps little: collecting it seldom saves a third of its time and more.
func init() { debug.SetGCPercent(1600) }

// Full reports whether campaigns are to have their full size: with FENCEPOST_FULL=1, as .ci/full sets it, and without
// -short.
func Full() bool { return os.Getenv("FENCEPOST_FULL") != "" && !testing.Short() }

// Size is how much a test tries: every day, and at full size.
func Size(everyday, full int) int {
	if Full() {
		return full
	}
	return everyday
}

// FullOnly skips a test that has no smaller size, or none that is worth its time every day.
func FullOnly(t testing.TB) {
	t.Helper()
	if !Full() {
		t.Skip("only at full size: FENCEPOST_FULL=1")
	}
}

// Lacks ends a test for which this machine lacks something: at full size it fails, otherwise it is skipped.
func Lacks(t testing.TB, what error) {
	t.Helper()
	if Full() {
		t.Fatal("FENCEPOST_FULL=1 asks for it: ", what)
	}
	t.Skip("not on this machine: ", what)
}

// Needs ends a test that needs programs which this machine lacks.
func Needs(t testing.TB, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			Lacks(t, err)
		}
	}
}

// Script makes a shell script with the given name, and returns its path.
func Script(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// FreeAddress is a host and a port of this machine at which nobody listens. The host is a random loopback address, so
// that nobody takes the port meanwhile.
func FreeAddress(t testing.TB) (host, port string) {
	t.Helper()
	host = fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
	l, err := net.Listen("tcp", host+":0")
	if err != nil {
		Lacks(t, err)
	}
	defer l.Close()
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return host, port
}

// Golden compares got with the content of a file, byte for byte, or rewrites the file.
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

// GoldenPart is Golden for the part of a file between the marks of that name, "<!-- name: begin -->" and
// "<!-- name: end -->".
func GoldenPart(t testing.TB, path, name, got string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->"
	before, rest, begins := strings.Cut(string(text), begin)
	want, after, ends := strings.Cut(rest, end)
	switch {
	case !begins || !ends:
		t.Fatalf("%s has no marks of %s", path, name)
	case *Update:
		Write(t, path, before+begin+got+end+after)
	case got != want:
		t.Errorf("%s differs between the marks of %s (go test -update rewrites it; read the diff). Got:\n%s",
			path, name, got)
	}
}

// Write rewrites a file that holds what tests expect.
func Write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
