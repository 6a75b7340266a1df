package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/temporary"
)

// programs is the folder that contains the programs once they have been built.
var programs string

func TestMain(m *testing.M) {
	folder, err := temporary.New()
	if err != nil {
		panic(err)
	}
	programs = folder.Path()
	code := m.Run()
	folder.Close()
	os.Exit(code)
}

// build builds fencepost and this module's program in the same folder.
var build = sync.OnceValue(func() error {
	for folder, name := range map[string]string{".": "fencepost-campaign", filepath.Join("..", ".."): "fencepost"} {
		c := exec.Command("go", "build", "-o", filepath.Join(programs, name), "./cmd/fencepost")
		if c.Dir = folder; folder == "." {
			c.Args[len(c.Args)-1] = "."
		}
		if text, err := c.CombinedOutput(); err != nil {
			return errors.New(string(text))
		}
	}
	return nil
})

func program(t testing.TB, dir, name string, args ...string) *exec.Cmd {
	t.Helper()
	if err := build(); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(filepath.Join(programs, name), args...)
	c.Dir = dir
	c.Env = append(os.Environ(), natsURL+"=", "COLUMNS=", "NO_COLOR=1")
	return c
}

// campaignOf returns a command that runs fencepost campaign, which starts this module's program.
func campaignOf(t testing.TB, dir string, args ...string) *exec.Cmd {
	return program(t, dir, "fencepost", append([]string{"campaign"}, args...)...)
}

// outcome is the result of a command: its standard output, its standard error and its exit code.
type outcome struct {
	out, problems string
	code          int
}

func call(t testing.TB, c *exec.Cmd) (o outcome) {
	t.Helper()
	var out, problems bytes.Buffer
	c.Stdout, c.Stderr = &out, &problems
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{out.String(), problems.String(), c.ProcessState.ExitCode()}
}

// inOneProcess runs a fencepost command, and returns its outcome and the files in its output folder x.
func inOneProcess(t *testing.T, args ...string) (o outcome, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	o = call(t, program(t, dir, "fencepost", append(args, "--out", "x")...))
	return o, filesIn(t, filepath.Join(dir, "x"))
}

// filesIn reads the files in a folder, except for a server's store.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path == storeIn(dir):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		all[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// same compares the files in two folders, which must be equal.
func same(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s differs:\n%.2000s\nwant\n%.2000s", name, got[name], text)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is not left by one process", name)
		}
	}
}

// fencepost campaign run prints the same text and leaves the same files, byte for byte, as the command that searches in
// one process.
func TestRunReportsWhatOneProcessDoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ of, call []string }{
		{[]string{"explore", "kleppmann-gc-pause", "--seed", "5", "--seeds", "300"},
			[]string{"kleppmann-gc-pause", "--seed", "5", "--seeds", "300"}},
		{[]string{"explore", "set-nx-px-holder-crash", "--seeds", "100", "--all"},
			[]string{"set-nx-px-holder-crash", "--seeds", "100", "--all"}},
		{[]string{"explore", "fenced-gc-pause", "--seeds", "100", "--json"},
			[]string{"fenced-gc-pause", "--seeds", "100", "--json"}},
		{[]string{"verify", "delayed-restart", "--faults", "1", "--delays", "1"},
			[]string{"delayed-restart", "--verify", "--faults", "1", "--delays", "1"}},
		{[]string{"verify", "kleppmann-gc-pause", "--seed", "3", "--faults", "1", "--delays", "1", "--budget", "300"},
			[]string{"kleppmann-gc-pause", "--verify", "--seed", "3", "--faults", "1", "--delays", "1",
				"--budget", "300"}},
	} {
		want, files := inOneProcess(t, c.of...)
		dir := t.TempDir()
		got := call(t, campaignOf(t, dir, append([]string{"run", "--out", "x", "--patience", "1s"}, c.call...)...))
		if got.out != want.out || got.code != want.code {
			t.Errorf("%v: exit %d\n%s%s\nwant %d\n%s%s", c.call, got.code, got.out, got.problems, want.code, want.out,
				want.problems)
		}
		same(t, filesIn(t, filepath.Join(dir, "x")), files)
	}
}

// waitFor reads a process's output until a line contains the given words, and returns that line.
func waitFor(t testing.TB, from io.Reader, words string) string {
	t.Helper()
	var all strings.Builder
	for b := make([]byte, 1); ; {
		n, err := from.Read(b)
		all.Write(b[:n])
		if n > 0 && b[0] == '\n' {
			if lines := strings.Split(all.String(), "\n"); strings.Contains(lines[len(lines)-2], words) {
				return lines[len(lines)-2]
			}
		}
		if err != nil {
			t.Fatalf("no line with %q in:\n%s", words, &all)
		}
	}
}

// longEnough is how long a test waits for something that other processes do. It is long, because they may have to share
// their processor with many others.
const longEnough = 5 * time.Minute

// until calls happened again and again until it returns true. If that takes too long, the test fails, and the failure
// names what has not happened.
func until(t testing.TB, what string, happened func() bool) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), longEnough)
	defer stop()
	for !happened() {
		if ctx.Err() != nil {
			t.Fatalf("after %v, there is still not %s", longEnough, what)
		}
	}
}
