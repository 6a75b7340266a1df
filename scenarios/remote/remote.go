// Package remote has runs made by another process: the test binary of a package whose lock is Go code
// (scenarios/locktest). To whoever searches, sweeps or cuts down, such a lock is then a scenario like any other.
//
// Goals: a run made elsewhere is the same to the last event as one made here; a process that dies or hangs ends its run
// with an error that says so, and nothing is left of it. Non-goals: what happens in that process.
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
	"time"

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

// Answer is what came of a request.
type Answer struct {
	Scenario string // of the test, if that was asked for
	Failure  string // of the lock's own code; there is no run then
	History  *history.History
	Digest   sim.Digest
	Events   int
	Limited  bool
}

// mark opens a line that is an answer, among what the code under test prints.
const mark = "\x16fencepost answer "

// Serve answers requests, a line each, until there are no more.
func Serve(in io.Reader, out io.Writer, answer func(Request) Answer) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil // whoever asked has gone
		}
		var r Request
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(answer(r)); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "\n%s%s\n", mark, base64.StdEncoding.EncodeToString(b.Bytes())); err != nil {
			return err
		}
	}
}

// Environment is the variable that has a test binary serve, by its value.
const Environment, Served = "FENCEPOST_LOCKTEST_SERVE", "1"

// Test is a test of a package that calls locktest.Run, in a binary of its own.
type Test struct {
	folder, binary, name string

	mu   sync.Mutex
	idle []*worker
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

// known makes sure that there is such a test.
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

// Pattern is what -run takes to run that test alone.
func (t *Test) Pattern() string { return Pattern(t.name) }

// Pattern is what -run takes to run the test of a name alone.
func Pattern(test string) string { return "^" + strings.ReplaceAll(test, "/", "$/^") + "$" }

// Environ is the environment of a process that makes runs, with one variable more: on one thread, with randomness that
// can be seeded, and so that a data race ends it in the run that shows it.
func Environ(more string) []string {
	return append(os.Environ(), more, "GOMAXPROCS=1", "GOTRACEBACK=all", "GODEBUG=asyncpreemptoff=1,randseednop=0",
		"GORACE=halt_on_error=1 "+os.Getenv("GORACE"))
}

// Scenario asks for the scenario that the test's Config describes.
func (t *Test) Scenario() ([]byte, error) {
	a, err := t.ask(Request{})
	return []byte(a.Scenario), err
}

// Run makes a run.
func (t *Test) Run(s *scenarios.Scenario, p nemesis.Plan) (scenarios.Result, error) {
	a, err := t.ask(Request{string(s.Text()), p.String()})
	if err == nil && a.Failure != "" {
		err = errors.New(a.Failure)
	}
	return scenarios.Result{Plan: p, History: a.History, Digest: a.Digest, Events: a.Events, Limited: a.Limited}, err
}

func (t *Test) ask(r Request) (Answer, error) {
	w, err := t.worker()
	if err != nil {
		return Answer{}, err
	}
	a, err := w.ask(r)
	if err != nil {
		return a, w.end(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.idle = append(t.idle, w)
	return a, nil
}

// worker is a process that has nothing to do.
func (t *Test) worker() (*worker, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.idle); n > 0 {
		w := t.idle[n-1]
		t.idle = t.idle[:n-1]
		return w, nil
	}
	return t.start()
}

// Close ends the processes and removes the binary.
func (t *Test) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range t.idle {
		w.end(nil)
	}
	t.idle = nil
	os.RemoveAll(filepath.Dir(t.binary))
}

// worker is a process that makes runs.
type worker struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	said bytes.Buffer // to stderr
	text []byte       // to stdout, beside answers
}

func (t *Test) start() (*worker, error) {
	w := &worker{cmd: exec.Command(t.binary, "-test.run="+t.Pattern(), "-test.count=1", "-test.timeout=0")}
	w.cmd.Dir = t.folder
	w.cmd.Env = Environ(Environment + "=" + Served)
	w.cmd.Stderr = &w.said
	in, err := w.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.in, w.out = in, bufio.NewReader(out)
	return w, w.cmd.Start()
}

// hung is how long a run may take by the host's clock. Honest ones take milliseconds.
const hung = time.Minute

func (w *worker) ask(r Request) (a Answer, err error) {
	text, err := json.Marshal(r)
	if err != nil {
		return a, err
	}
	stuck := false
	guard := time.AfterFunc(hung, func() {
		stuck = true
		w.cmd.Process.Kill()
	})
	defer guard.Stop()
	if _, err := w.in.Write(append(text, '\n')); err != nil {
		return a, err
	}
	for {
		line, err := w.out.ReadString('\n')
		if rest, is := strings.CutPrefix(strings.TrimSuffix(line, "\n"), mark); is {
			b, err := base64.StdEncoding.DecodeString(rest)
			if err != nil {
				return a, err
			}
			return a, gob.NewDecoder(bytes.NewReader(b)).Decode(&a)
		}
		w.text = append(w.text, line[:min(len(line), max(0, shown-len(w.text)))]...)
		if err != nil {
			if stuck {
				err = fmt.Errorf("the run did not end within %v of real time", hung)
			}
			return a, err
		}
	}
}

// shown is how many bytes of what a process printed are told.
const shown = 4 << 10

// end ends the process, and says why it is of no more use.
func (w *worker) end(err error) error {
	w.in.Close()
	w.cmd.Process.Kill()
	ended := w.cmd.Wait()
	if err == nil {
		return nil
	}
	said := w.said.Bytes()
	return fmt.Errorf("the process that makes the runs failed: %w (%v)\n%s%s", err, ended, w.text,
		said[:min(len(said), shown)])
}
