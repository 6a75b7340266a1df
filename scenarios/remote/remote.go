// Package remote performs runs in another process, which executes the test binary of a package whose lock is Go code
// (scenarios/locktest). Therefore, scenarios with such a lock can be searched, swept and shrunk in the same way as any
// other scenario.
//
// Goals: a run in another process is the same, to the last event, as a run in this process. If a process dies or hangs,
// its run ends with an error that says so, and leaves no process or file behind. Non-goals: what happens inside that
// process.
package remote

import (
	"bufio"
	"bytes"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/nearest"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/temporary"
	"github.com/fencepost-sim/fencepost/sim"
)

// Request is a request for a run of a scenario. If Scenario is empty, it requests the text of the test's scenario.
type Request struct {
	Scenario, Plan string // contents of the scenario file and of the plan file
	Sent           bool   // the answer must contain the messages that the clients send
}

// Answer is the reply to a request.
type Answer struct {
	Scenario string // the test's scenario, if the request asked for it
	Failure  string // how the lock's own code failed; if set, there is no run
	Refused  string // why the plan cannot be carried out; if set, there is no run
	History  *history.History
	Digest   sim.Digest
	Events   int
	Limited  bool
	Missed   []nemesis.Missed
	Sent     []nemesis.Sent
	Last     bool // the process cannot perform further runs
	Unsure   bool // something left over from an earlier run of the process may have affected this run
}

// Serve sends a first message and then answers requests, one per line, until the input ends.
func Serve(in io.Reader, out, problems io.Writer, answer func(Request) Answer) error {
	if err := Say(out, problems, nil); err != nil {
		return err
	}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil // the other process has ended
		}
		var r Request
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(answer(r)); err != nil {
			return err
		}
		if err := Say(out, problems, base64.StdEncoding.AppendEncode(nil, b.Bytes())); err != nil {
			return err
		}
	}
}

// Environment is the name of an environment variable. If its value is Served, a test binary serves requests.
const Environment, Served = "FENCEPOST_LOCKTEST_SERVE", "1"

// Test is a test in its package's test binary. It calls locktest.Run.
type Test struct {
	folder, binary, name string
	// the binary's folder, which Close removes; nil if the Test did not build a binary
	built *temporary.Folder

	mu      sync.Mutex // never held while a process starts, because that takes time
	flags   []string
	idle    []*Process
	oneEach bool // each process performs only one run
}

// Build builds the test binary of the package in a folder, for the test with the given name. Close removes the binary.
// If this process is killed before that, the next process that builds a binary removes it.
func Build(folder, name string) (*Test, error) {
	if name == "" {
		return nil, fmt.Errorf("%s is a Go package: name one of its tests with --run", folder)
	}
	dir, err := temporary.New()
	if err != nil {
		return nil, err
	}
	t := &Test{folder: folder, binary: filepath.Join(dir.Path(), "lock.test"), name: name, built: dir}
	build := exec.Command("go", "test", "-c", "-o", t.binary, ".")
	build.Dir = folder
	// the go command uses this folder too, so its files are also removed if this process is killed
	build.Env = append(os.Environ(), "GOTMPDIR="+dir.Path())
	text, err := build.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go test -c in %s: %w\n%s", folder, err, text)
	} else if _, missing := os.Stat(t.binary); missing != nil {
		err = fmt.Errorf("%s has no tests", folder)
	} else {
		err = t.known(folder)
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// Open returns the test with the given name in a test binary that was built earlier on this platform. The binary runs
// in folder, which need not be the package's own folder. If the lock does not read any files, an empty folder is
// enough.
func Open(binary, folder, name string) (*Test, error) {
	if name == "" {
		return nil, fmt.Errorf("%s is a test binary: name one of its tests", binary)
	}
	binary, err := filepath.Abs(binary) // absolute, because the binary is executed in the folder
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(folder); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", folder)
	}
	t := &Test{folder: folder, binary: binary, name: name}
	if err := t.known(binary); err != nil {
		return nil, err
	}
	return t, nil
}

// Binary returns the absolute path of the test binary.
func (t *Test) Binary() string { return t.binary }

// known checks that the binary can be executed and contains the test. name is what error messages call the binary.
func (t *Test) known(name string) error {
	list := exec.Command(t.binary, "-test.list", ".*")
	list.Dir = t.folder
	text, err := list.Output()
	var ended *exec.ExitError
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%s is not a program for %s/%s: %w", name, runtime.GOOS, runtime.GOARCH, err)
	case errors.As(err, &ended):
		return fmt.Errorf("%s does not list its tests: %w\n%s", name, err, ended.Stderr)
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	}
	names := strings.Fields(string(text))
	top, _, _ := strings.Cut(t.name, "/")
	if slices.Contains(names, top) {
		return nil
	}
	problem := fmt.Sprintf("%s has no test %s", name, top)
	if near := nearest.Word(top, names); near != "" {
		problem += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return errors.New(problem)
}

// Origin returns how stored results name the test. folder is what the user calls its package's folder.
func (t *Test) Origin(folder string) (scenarios.Origin, error) {
	info, err := buildinfo.ReadFile(t.binary)
	if err != nil {
		return scenarios.Origin{}, err
	}
	return scenarios.Origin{Package: strings.TrimSuffix(info.Path, ".test"), Test: t.name,
		Folder: filepath.ToSlash(filepath.Clean(folder))}, nil
}

// Pattern returns the -run argument that selects only the test with the given name.
func Pattern(test string) string { return "^" + strings.ReplaceAll(test, "/", "$/^") + "$" }

// Scenario returns the scenario that the test's Config describes.
func (t *Test) Scenario() ([]byte, error) {
	a, err := t.ask(Request{})
	return []byte(a.Scenario), err
}

// Run runs a plan. The error is a *scenarios.CodeError if the lock's own code failed.
func (t *Test) Run(s *scenarios.Scenario, p nemesis.Plan, w scenarios.Wanted) (scenarios.Result, error) {
	a, err := t.ask(Request{string(s.Text()), p.String(), w.Sent})
	if err == nil && a.Failure != "" {
		err = &scenarios.CodeError{Text: a.Failure}
	}
	if err == nil && a.Refused != "" {
		err = errors.New(a.Refused)
	}
	return scenarios.Result{Plan: p, History: a.History, Digest: a.Digest, Events: a.Events, Limited: a.Limited,
		Missed: a.Missed, Sent: a.Sent}, err
}

// SetFlags sets additional arguments for all processes started from now on.
func (t *Test) SetFlags(args []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flags = args
}

// OneRunEach makes every run from now on use a new process, because the code may keep state between runs.
func (t *Test) OneRunEach() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.oneEach = true
	t.endIdle()
}

// ask sends a request to a process. If this process has already performed other runs, ask repeats the run in a new
// process in two cases: if it failed, and if an earlier run may have affected it. If it does not fail both times, the
// code must be keeping state between runs, so from then on each run uses a new process.
func (t *Test) ask(r Request) (Answer, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return Answer{}, err
	}
	a, first, err := t.askOne(text, false)
	failed := err != nil || a.Failure != ""
	if first || !failed && !a.Unsure {
		return a, err
	}
	a, _, err = t.askOne(text, true)
	if !failed || err == nil && a.Failure == "" {
		t.OneRunEach()
	}
	return a, err
}

// askOne sends a request to an idle process, or to a new one if no process is idle or if anew is set. A process that
// does not answer is not used again. first reports whether this was the first request to the process.
func (t *Test) askOne(text []byte, anew bool) (a Answer, first bool, err error) {
	p, err := t.process(anew)
	if err != nil {
		return a, true, err
	}
	first = p.asked == 0
	_ = p.send(text) // if this fails, the process has ended, and Next says why
	line, err := p.Next()
	if err != nil {
		return a, first, &scenarios.CodeError{Text: err.Error()}
	}
	b, err := base64.StdEncoding.DecodeString(string(line))
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(b)).Decode(&a)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if a.Last || a.Unsure || t.oneEach {
		p.Close()
	} else {
		t.idle = append(t.idle, p)
	}
	return a, first, err
}

// process returns an idle process, or a new one if no process is idle or if anew is set.
func (t *Test) process(anew bool) (*Process, error) {
	p, flags := t.take(anew)
	if p != nil {
		return p, nil
	}
	args := append([]string{"-test.run=" + Pattern(t.name), "-test.count=1", "-test.timeout=0"}, flags...)
	p, err := Start(t.binary, t.folder, Environment+"="+Served, 0, args...)
	if err == nil {
		if _, err = p.Next(); err != nil { // the first message says that it has started
			err = &scenarios.CodeError{Text: err.Error()}
		}
	}
	return p, err
}

// take returns an idle process, or the flags for a new one if no process is idle or if anew is set.
func (t *Test) take(anew bool) (p *Process, flags []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.idle)
	if n == 0 || anew {
		return nil, t.flags
	}
	p, t.idle = t.idle[n-1], t.idle[:n-1]
	return p, nil
}

// Close ends the processes, and removes the binary if Build created it.
func (t *Test) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endIdle()
	if t.built != nil {
		t.built.Close()
		t.built = nil
	}
}

// endIdle ends the idle processes. It must be called with mu held.
func (t *Test) endIdle() {
	for _, p := range t.idle {
		p.Close()
	}
	t.idle = nil
}
