// Package remote makes runs in another process: the test binary of a package whose lock is Go code
// (scenarios/locktest). For searches, sweeps and cutting down, such a lock is then a scenario like any other.
//
// Goals: a run made in another process is the same to the last event as one made here; a process that dies or hangs
// ends its run with an error that says so, and leaves nothing behind. Non-goals: what happens in that process.
package remote

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/nearest"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/sim"
)

// Request asks for a run of a scenario; without a scenario, for that of the test.
type Request struct {
	Scenario, Plan string // the texts of files
}

// Answer is the reply to a request.
type Answer struct {
	Scenario string // of the test, if it was asked for
	Failure  string // of the lock's own code; there is no run then
	History  *history.History
	Digest   sim.Digest
	Events   int
	Limited  bool
}

// Serve answers requests, a line each, until there are no more.
func Serve(in io.Reader, out, problems io.Writer, answer func(Request) Answer) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil // the other process has gone
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

// Environment is the variable whose value Served makes a test binary serve.
const Environment, Served = "FENCEPOST_LOCKTEST_SERVE", "1"

// Test is a test of a package that calls locktest.Run, in a binary of its own.
type Test struct {
	folder, binary, name string

	mu   sync.Mutex
	idle []*Process
}

// Build builds the test binary of the package in a folder, for its test of the given name.
func Build(folder, name string) (*Test, error) {
	if name == "" {
		return nil, fmt.Errorf("%s is a Go package: say which of its tests with --run", folder)
	}
	dir, err := os.MkdirTemp("", "fencepost-")
	if err != nil {
		return nil, err
	}
	t := &Test{folder: folder, binary: filepath.Join(dir, "lock.test"), name: name}
	build := exec.Command("go", "test", "-c", "-o", t.binary, ".")
	build.Dir = folder
	if text, err := build.CombinedOutput(); err != nil {
		t.Close()
		return nil, fmt.Errorf("go test -c in %s: %w\n%s", folder, err, text)
	}
	if _, err := os.Stat(t.binary); err != nil {
		t.Close()
		return nil, fmt.Errorf("%s has no tests", folder)
	}
	return t, t.known()
}

// known checks that there is such a test.
func (t *Test) known() error {
	list := exec.Command(t.binary, "-test.list", ".*")
	list.Dir = t.folder
	text, err := list.Output()
	if err != nil {
		t.Close()
		return fmt.Errorf("%s: %w", t.folder, err)
	}
	names := strings.Fields(string(text))
	top, _, _ := strings.Cut(t.name, "/")
	for _, n := range names {
		if n == top {
			return nil
		}
	}
	t.Close()
	problem := fmt.Sprintf("%s has no test %s", t.folder, top)
	if near := nearest.Word(top, names); near != "" {
		problem += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return errors.New(problem)
}

// Pattern is the argument of -run that runs that test alone.
func (t *Test) Pattern() string { return Pattern(t.name) }

// Pattern is the argument of -run that runs only the test of a name.
func Pattern(test string) string { return "^" + strings.ReplaceAll(test, "/", "$/^") + "$" }

// Scenario asks for the scenario that the test's Config describes.
func (t *Test) Scenario() ([]byte, error) {
	a, err := t.ask(Request{})
	return []byte(a.Scenario), err
}

// Run makes a run. The error is a *scenarios.CodeError if the lock's own code failed in it.
func (t *Test) Run(s *scenarios.Scenario, p nemesis.Plan) (scenarios.Result, error) {
	a, err := t.ask(Request{string(s.Text()), p.String()})
	if err == nil && a.Failure != "" {
		err = &scenarios.CodeError{Text: a.Failure}
	}
	return scenarios.Result{Plan: p, History: a.History, Digest: a.Digest, Events: a.Events, Limited: a.Limited}, err
}

// ask sends a request to a process. A process that does not answer is of no more use.
func (t *Test) ask(r Request) (a Answer, err error) {
	text, err := json.Marshal(r)
	if err != nil {
		return a, err
	}
	p, err := t.process()
	if err != nil {
		return a, err
	}
	_ = p.send(text) // if this fails, the process has ended, and Next says why
	line, err := p.Next()
	if err != nil {
		return a, &scenarios.CodeError{Text: err.Error()}
	}
	b, err := base64.StdEncoding.DecodeString(string(line))
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(b)).Decode(&a)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.idle = append(t.idle, p)
	return a, err
}

// process returns an idle process.
func (t *Test) process() (*Process, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.idle); n > 0 {
		p := t.idle[n-1]
		t.idle = t.idle[:n-1]
		return p, nil
	}
	return Start(t.binary, t.folder, Environment+"="+Served, 0, "-test.run="+t.Pattern(), "-test.count=1",
		"-test.timeout=0")
}

// Close ends the processes and removes the binary.
func (t *Test) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.idle {
		p.Close()
	}
	t.idle = nil
	os.RemoveAll(filepath.Dir(t.binary))
}
