package locktest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/remote"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/sim"
)

// servedBy runs a test binary in the given folder and returns the digests of its runs.
func servedBy(t *testing.T, binary, folder, name string) (digests []sim.Digest) {
	t.Helper()
	test, err := remote.Open(binary, folder, name)
	if err != nil {
		t.Fatal(err)
	}
	defer test.Close()
	text, err := test.Scenario()
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenarios.ParseWith(name, text, &scenarios.Code{Elsewhere: test.Run})
	if err != nil {
		t.Fatal(err)
	}
	plans, err := search.NewPlans(s)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(5) {
		r, err := test.Run(s, plans.Plan(seed), scenarios.Wanted{})
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, r.Digest)
	}
	if _, err := test.Run(s, nemesis.Plan{Scenario: s.Name, Seed: 1}, scenarios.Wanted{}); err != nil {
		t.Error(err)
	}
	return digests
}

// TestATestBinaryRunsInAnEmptyFolder checks that a test binary performs the same runs in an empty folder as in its
// package's folder, and leaves no files behind.
func TestATestBinaryRunsInAnEmptyFolder(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const name = "TestALockThatHoldsItsLease"
	here, empty := servedBy(t, binary, ".", name), t.TempDir()
	there := servedBy(t, binary, empty, name)
	for i := range here {
		if here[i] != there[i] {
			t.Errorf("seed %d: digest %016x, in an empty folder %016x", i, here[i], there[i])
		}
	}
	left, err := os.ReadDir(empty)
	if err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
	if _, err := os.Stat(binary); err != nil {
		t.Errorf("the binary is gone: %v", err)
	}
}

// TestARelativePathOfATestBinaryIsOfThisFolder checks that a relative path to a test binary refers to the working
// directory of this process, not to the folder in which the binary runs.
func TestARelativePathOfATestBinaryIsOfThisFolder(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(binary))
	test, err := remote.Open(filepath.Base(binary), t.TempDir(), "TestALockThatHoldsItsLease")
	if err != nil {
		t.Fatal(err)
	}
	defer test.Close()
	if test.Binary() != binary {
		t.Errorf("%s, want %s", test.Binary(), binary)
	}
}

func TestWhatIsNoTestBinaryIsAnError(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const name = "TestALockThatHoldsItsLease"
	for _, x := range []struct{ binary, folder, name, want string }{
		{binary, folder, "", "is a test binary: name one of its tests"},
		{binary, folder, "TestALockThatHoldItsLease",
			`has no test TestALockThatHoldItsLease (did you mean "` + name + `"?)`},
		{binary, filepath.Join(folder, "none"), name, "none: no such file"},
		{binary, binary, name, "is not a folder"},
		{filepath.Join(folder, "none"), folder, name, "none: no such file"},
		{file("plain", "text", 0o600), folder, name, "permission denied"},
		{file("foreign", "text", 0o700), folder, name, "is not a program for "},
		{file("script", "#!/bin/sh\necho it does not know $1 >&2\nexit 3\n", 0o700), folder, name,
			"does not list its tests: exit status 3\nit does not know -test.list"},
		{file("silent", "#!/bin/sh\n", 0o700), folder, name, "has no test " + name},
	} {
		test, err := remote.Open(x.binary, x.folder, x.name)
		if err == nil {
			test.Close()
		}
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s in %s, %q: %v; want %q", x.binary, x.folder, x.name, err, x.want)
		}
	}
}
