// Package testkit contains what the tests of all packages share: how much they try, and how their golden files are
// rewritten.
//
// Goals: environment variables choose how much all tests try: little on a developer's machine, more in continuous
// integration, and everything in a full run. A single flag rewrites all golden files.
//
// Non-goals: anything that the program itself needs. Only tests import this package.
package testkit

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// Update makes tests rewrite the files that they compare their results with. Read the diff afterward.
var Update = flag.Bool("update", false, "rewrite what the tests expect")

// Tests produce a lot of garbage but have little live memory. Collecting garbage less often saves at least a third of
// the time.
func init() { debug.SetGCPercent(1600) }

// Full reports whether this is a full run: the FENCEPOST_FULL environment variable is set, as it is by the .ci/full
// script, and -short is not set.
func Full() bool { return os.Getenv("FENCEPOST_FULL") != "" && !testing.Short() }

// Thorough reports whether a test should try more than usual: in a full run, and in continuous integration (CI=true)
// unless -short is set.
func Thorough() bool { return Full() || os.Getenv("CI") == "true" && !testing.Short() }

// Size returns how much a test tries: the first argument by default, the second in continuous integration, and the
// third in a full run.
func Size(everyday, thorough, full int) int {
	switch {
	case Full():
		return full
	case Thorough():
		return thorough
	}
	return everyday
}

// Sample returns the part of a list that a test tries: all of it in a full run, every third element in continuous
// integration, and every twelfth otherwise, but at least one. Which element comes first depends on the test's name, so
// that each element is tried by some tests.
func Sample[T any](t testing.TB, list []T) (some []T) {
	nth := 12
	switch {
	case Full():
		return list
	case Thorough():
		nth = 3
	}
	if nth = min(nth, len(list)); nth == 0 {
		return nil
	}
	first := 0
	for _, letter := range []byte(t.Name()) {
		first += int(letter)
	}
	for i := first % nth; i < len(list); i += nth {
		some = append(some, list[i])
	}
	return some
}

// ThoroughOnly skips a test that is useful only at a larger size, unless this is continuous integration or a full run.
func ThoroughOnly(t testing.TB) {
	t.Helper()
	if !Thorough() {
		t.Skip("skipped outside continuous integration: set CI=true to run it")
	}
}

// OneIn skips most subtests, unless this is continuous integration or a full run. About one subtest in n is always
// tried; a hash of the subtest's name decides which.
func OneIn(t testing.TB, n uint32) {
	t.Helper()
	h := fnv.New32a()
	h.Write([]byte(t.Name()))
	if h.Sum32()%n > 0 {
		ThoroughOnly(t)
	}
}

// FullOnly skips a test that is useful only at its full size, unless this is a full run.
func FullOnly(t testing.TB) {
	t.Helper()
	if !Full() {
		t.Skip("skipped unless at full size: set FENCEPOST_FULL=1 to run it")
	}
}

// Lacks ends a test because this machine lacks something that the test needs. The test fails in a full run and in
// continuous integration (CI=true), where .ci/install installs everything. Otherwise, it is skipped.
func Lacks(t testing.TB, what error) {
	t.Helper()
	switch {
	case Full():
		t.Fatal("FENCEPOST_FULL=1 asks for it: ", what)
	case os.Getenv("CI") == "true":
		t.Fatal("with CI=true, nothing may be missing: ", what)
	}
	t.Skip("not on this machine: ", what)
}

// Needs ends a test in the same way as Lacks if this machine lacks any of the programs.
func Needs(t testing.TB, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			Lacks(t, err)
		}
	}
}

// FullNeeds ends a test if this machine lacks a program that .ci/full installs, but .ci/install does not. The test
// fails in a full run. Otherwise, it is skipped.
func FullNeeds(t testing.TB, program string) {
	t.Helper()
	if Full() {
		Needs(t, program)
	}
	if _, err := exec.LookPath(program); err != nil {
		t.Skip("not on this machine: ", err)
	}
}

// Script creates a shell script with the given name and returns its path.
func Script(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// FreeAddress returns an unused host and port on this machine. The host is a random loopback address, so nobody else is
// likely to take the port before it is used.
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

// Golden compares got with a file's contents byte for byte. With -update, it rewrites the file instead.
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

// GoldenPart is like Golden, but for the part of a file between the marks "<!-- name: begin -->" and "<!-- name: end
// -->".
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
		t.Fatalf("%s has no marks for %s", path, name)
	case *Update:
		Write(t, path, before+begin+got+end+after)
	case got != want:
		t.Errorf("%s differs between the marks for %s (go test -update rewrites it; read the diff). Got:\n%s",
			path, name, got)
	}
}

// Write replaces a golden file's contents.
func Write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
