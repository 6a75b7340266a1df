package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/cmd/task"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// instantOfSignal is the environment variable for the instant at which the program under test receives a signal; 0
// means never.
const instantOfSignal = "FENCEPOST_TEST_SIGNAL_AT"

// interruptedMain runs the program and sends it SIGTERM at one instant. In these tests, an instant is any moment at
// which the program checks whether to stop or reports progress. The program keeps running after the signal has arrived.
// At the end, interruptedMain prints the number of instants.
func interruptedMain() {
	at, err := strconv.ParseInt(os.Getenv(instantOfSignal), 10, 64)
	if err != nil {
		panic(err)
	}
	var instants atomic.Int64
	var signalled context.Context
	instant := func() {
		if instants.Add(1) == at && signalled != nil {
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Signal(syscall.SIGTERM)
			}
			if err != nil {
				panic(err)
			}
			<-signalled.Done()
		}
	}
	begin := output.Interruptible
	output.Interruptible = func() (context.Context, context.CancelFunc) {
		ctx, stop := begin()
		signalled = ctx
		return asked{ctx, instant}, stop
	}
	output.ProgressOn = func(io.Writer) func(string, int, int) { return func(string, int, int) { instant() } }
	code := run(os.Args[1:], os.Stdout, os.Stderr)
	fmt.Fprintf(os.Stderr, "instants %d\n", instants.Load())
	os.Exit(code)
}

// asked is a context that calls instant whenever its Err method is called.
type asked struct {
	context.Context
	instant func()
}

func (a asked) Err() error {
	a.instant()
	return a.Context.Err()
}

// outcome is the result of one invocation of the program.
type outcome struct {
	code     int
	instants int
	stderr   string
	text     []byte
	doc      map[string]any
	dir      string
}

// interruptAt runs the program in a folder with the given files and interrupts it at an instant.
func interruptAt(t *testing.T, instant int, files map[string]string, args ...string) *outcome {
	t.Helper()
	r := &outcome{dir: t.TempDir()}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("fencepost-interrupted", args...)
	c.Dir, c.Env = r.dir, append(os.Environ(), fmt.Sprintf("%s=%d", instantOfSignal, instant))
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	r.code, r.text = c.ProcessState.ExitCode(), stdout.Bytes()
	lines := strings.Split(strings.TrimSuffix(stderr.String(), "\n"), "\n")
	last := lines[len(lines)-1]
	r.stderr = strings.Join(lines[:len(lines)-1], "\n")
	if _, err := fmt.Sscanf(last, "instants %d", &r.instants); err != nil {
		t.Fatalf("%v at instant %d: %s", args, instant, stderr.String())
	}
	return r
}

// number converts a number from a JSON document to an int; it returns 0 if v is not a number.
func number(v any) int {
	n, _ := v.(float64)
	return int(n)
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// anyOf reports whether match returns true for any element of a list.
func anyOf(v any, match func(map[string]any) bool) bool {
	for _, e := range list(v) {
		if match(object(e)) {
			return true
		}
	}
	return false
}

// longCommands lists the commands that can be interrupted, each with its arguments. Its functions broken and complete
// say which exit code must come with a JSON document: 1 if broken returns true, else 0 if complete does.
var longCommands = []struct {
	name     string
	args     []string
	broken   func(doc map[string]any) bool
	complete func(doc map[string]any) bool // nil: the result is complete unless the command was interrupted
	check    func(t *testing.T, r *outcome)
	marked   bool // whether the command writes a page
}{
	{name: "run", args: []string{"run", "lost.yaml", "--seeds", "100", "--out", "out", "--html", "page.html"},
		marked: true, broken: func(d map[string]any) bool { return number(d["unexpected_runs"]) > 0 },
		check: func(t *testing.T, r *outcome) {
			if made := number(r.doc["expected_runs"]) +
				number(r.doc["unexpected_runs"]); number(r.doc["unexpected_runs"]) != made ||
				(made > 0) != (len(list(r.doc["groups"])) > 0 && len(list(r.doc["runs"])) > 0) {
				t.Errorf("not all of %d runs are reported", made)
			}
		}},
	{name: "run sound", args: []string{"run", "sound.yaml", "--seeds", "100", "--out", "out", "--html", "page.html"},
		marked: true, broken: func(d map[string]any) bool { return number(d["unexpected_runs"]) > 0 }},
	{name: "explore", args: []string{"explore", "promised.yaml", "--seeds", "60", "--out", "out", "--html",
		"page.html"},
		broken: brokenPromise, complete: allSeeds, check: reportsWhatTheRecordHolds, marked: true},
	{name: "explore unpromised",
		args:   []string{"explore", "unpromised.yaml", "--seeds", "60", "--out", "out", "--html", "page.html"},
		broken: brokenPromise, complete: allSeeds, check: reportsWhatTheRecordHolds, marked: true},
	{name: "sweep", args: []string{"sweep", "lost.yaml", "--vary", "ttl=1s..9s/2s", "--law", "lease-exclusion",
		"--seeds", "4", "--out", "out",
		"--html", "page.html", "--assert", "lease-exclusion holds when ttl >= 3s"}, marked: true,
		broken: func(d map[string]any) bool {
			return anyOf(d["assertions"], func(a map[string]any) bool { return a["result"] == "failed" })
		},
		check: func(t *testing.T, r *outcome) {
			if len(list(r.doc["points"])) != 5 {
				t.Error("a point is missing")
			}
		}},
	{name: "sweep, nothing asserted",
		args: []string{"sweep", "lost.yaml", "--vary", "ttl=1s..9s/4s", "--law", "lease-exclusion",
			"--seeds", "4", "--out", "out"}, broken: func(map[string]any) bool { return false }},
	{name: "compare", args: []string{"compare", "--seeds", "1", "--out", "out", "--html", "page.html"}, marked: true,
		broken: func(map[string]any) bool { return false }},
	{name: "verify", args: []string{"verify", "lost.yaml", "--keep-faults", "--kinds", "pause", "--out", "out",
		"--html", "page.html"}, marked: true,
		broken: func(d map[string]any) bool { return d["outcome"] == "violated" }},
	{name: "verify sound", args: []string{"verify", "sound.yaml", "--kinds", "pause,crash", "--out", "out", "--html",
		"page.html"}, marked: true,
		broken: func(d map[string]any) bool { return d["outcome"] == "violated" }},
	{name: "advise", args: []string{"advise", "forgets.yaml", "--seeds", "5", "--out", "out"},
		broken: func(d map[string]any) bool { return d["outcome"] == "not saved" }},
	{name: "advise on what is found", args: []string{"advise", "promised.yaml", "--seeds", "12", "--out", "out"},
		broken: func(d map[string]any) bool { return d["outcome"] == "not saved" }},
	{name: "corpus", args: []string{"corpus", "--seeds", "2", "--sound", "60", "--out", "out"},
		broken: func(d map[string]any) bool {
			return anyOf(d["mutants"], func(m map[string]any) bool { return m["caught"] == false }) ||
				anyOf(d["sound"], func(l map[string]any) bool { return len(list(l["broken"])) > 0 })
		}},
	{name: "odds", args: []string{"odds", "--runs", "40"},
		broken: func(d map[string]any) bool {
			return anyOf(d["odds"], func(r map[string]any) bool { return r["agrees"] == false })
		}},
}

func brokenPromise(d map[string]any) bool {
	for _, l := range object(d["laws"]) {
		if law := object(l); law["promised"] == true && number(law["violated"]) > number(law["not_promised"]) {
			return true
		}
	}
	return false
}

func allSeeds(d map[string]any) bool { return number(d["runs"]) == number(d["seeds"]) }

// reportsWhatTheRecordHolds compares an exploration's report with the saved record from which it can be resumed.
func reportsWhatTheRecordHolds(t *testing.T, r *outcome) {
	e, err := task.ReadResult(filepath.Join(r.dir, "out"), task.ExplorationFile)
	if err != nil {
		t.Fatal(err)
	}
	if number(r.doc["runs"]) != e.Done() || len(list(r.doc["findings"])) != len(e.Findings) {
		t.Fatalf("%d runs and %d findings are reported, %d and %d recorded", number(r.doc["runs"]),
			len(list(r.doc["findings"])), e.Done(), len(e.Findings))
	}
	for _, f := range e.Findings {
		if !anyOf(r.doc["findings"], func(g map[string]any) bool {
			law := object(object(object(g["run"])["laws"])[string(f.Law)])
			return g["law"] == string(f.Law) && g["cause"] == f.Cause.String() && number(g["runs"]) == f.Runs &&
				law["outcome"] == "violated"
		}) {
			t.Errorf("%s by %s is not reported", f.Law, f.Cause)
		}
		if _, err := os.Stat(
			filepath.Join(r.dir, "out", search.Slug(f), search.PlanFile)); err != nil {
			t.Error(err)
		}
	}
}

var interruptedFiles = map[string]string{
	"lost.yaml": "name: lost\nservers: {redis: 1, persistence: none}\nlock: {protocol: set-nx-px, ttl: 6s}\nwork: " +
		"{hold: 3s}\nfaults:\n  - crash redis-1 losing everything at 1s, restart after 1s\nexpect: {lease-exclusion: " +
		"holds}\npromise: [ownership]\nmix: {weights: {pause: 1}}\n",
	"forgets.yaml": "name: forgets\nservers: {redis: 1, persistence: none}\nlock: {protocol: setnx}\nwork: {hold: " +
		"1s}\nfaults:\n  - crash redis-1 losing everything at 500ms, restart after 100ms\npromise: " +
		"[mutual-exclusion]\n",
	"sound.yaml": "name: sound\nservers: {redis: 1}\nlock: {protocol: set-nx-px, ttl: 6s}\nwork: {hold: 1s}\nmix: " +
		"{weights: {pause: 1, crash: 1}}\npromise: [ownership]\n",
	"promised.yaml": "name: my-lock\nservers: {redis: 1, persistence: {append-fsync: always}}\nlock: {protocol: " +
		"set-nx-px, ttl: 2s}\nwork: {writes: 1, check-validity: on}\nmix: {weights: {pause: 2, cut: 1}}\npromise: " +
		"[mutual-exclusion]\n",
	"unpromised.yaml": "name: my-lock\nservers: {redis: 1, persistence: {append-fsync: always}}\nlock: {protocol: " +
		"set-nx-px, ttl: 2s}\nwork: {writes: 1, check-validity: on}\nmix: {weights: {pause: 2, cut: 1}}\nexpect: " +
		"{mutual-exclusion: violated, resource-safety: violated}\n",
}

// TestInterruptedCommandsReportWhatTheyFound sends each long command a signal at many instants, from its first to its
// last. The command must report everything that it has found so far, say that it was interrupted, and exit with the
// code for its findings.
func TestInterruptedCommandsReportWhatTheyFound(t *testing.T) {
	for i, c := range longCommands {
		t.Run(c.name, func(t *testing.T) {
			testkit.OneIn(t, 3)
			if c.args[0] == "corpus" || c.args[0] == "compare" || i%2 > 0 {
				testkit.FullOnly(t)
			}
			t.Parallel()
			args := append(c.args, "--json", "--workers", "1", "--junit", "junit.xml")
			whole := interruptAt(t, 0, interruptedFiles, args...)
			if whole.code == exitBadInput || whole.instants < 3 {
				t.Fatalf("exit %d, %d instants: %s", whole.code, whole.instants, whole.stderr)
			}
			interrupted := 0
			for _, instant := range someInstants(whole.instants) {
				r := interruptAt(t, instant, interruptedFiles, args...)
				if err := json.Unmarshal(r.text, &r.doc); err != nil || r.stderr != "" {
					t.Fatalf("instant %d of %d, exit %d: %v\n%s%s", instant, whole.instants, r.code, err, r.stderr,
						r.text)
				}
				complete := r.doc["interrupted"] == false
				if c.complete != nil {
					complete = c.complete(r.doc)
				}
				want := exitUndecided
				switch {
				case c.broken(r.doc):
					want = exitOtherwise
				case complete:
					want = exitExpected
				}
				if r.code != want {
					t.Errorf("instant %d of %d: exit %d, not %d\n%s", instant, whole.instants, r.code, want, r.text)
				}
				if c.check != nil {
					c.check(t, r)
				}
				if r.doc["interrupted"] == true {
					interrupted++
					r.isMarked(t, c.marked, complete)
				}
			}
			if interrupted == 0 {
				t.Error("it was never interrupted")
			}
		})
	}
}

// TestAnInterruptedAgreementReportsItsRows checks that an interrupted live --agree reports every row that was finished
// before the signal, and the scenario that was running when the signal arrived.
func TestAnInterruptedAgreementReportsItsRows(t *testing.T) {
	testkit.ThoroughOnly(t)
	if !runsHere([]string{"live"}) {
		t.Skip("live runs on Linux")
	}
	t.Parallel()
	args := []string{"live", "--agree", "--servers", "simulated", "tair-cad-release", "set-nx-px-holder-crash",
		"kleppmann-gc-pause", "--json", "--workers", "1", "--junit", "junit.xml"}
	var r *outcome
	var rows []any
	for range 10 {
		r = interruptAt(t, 2, nil, args...) // at this instant the first row is finished, and the second may be running
		if err := json.Unmarshal(r.text, &r.doc); err != nil || r.stderr != "" || r.code != exitUndecided {
			t.Fatalf("exit %d: %v\n%s%s", r.code, err, r.stderr, r.text)
		}
		rows = list(r.doc["rows"])
		// On a busy host, the first scenario's real run can differ from its simulated run. The scenario is then run
		// again, and the signal interrupts that second run.
		if len(rows) > 0 && object(rows[0])["agrees"] == true {
			break
		}
	}
	if len(rows) == 0 || len(rows) > 2 || object(rows[0])["agrees"] != true || len(rows)-number(r.doc["agree"]) !=
		number(r.doc["failed"]) || r.doc["interrupted"] != true {
		t.Errorf("%s", r.text)
	}
	if len(rows) > 1 && object(rows[1])["failed"] != "interrupted: the run was not judged" {
		t.Errorf("%s", r.text)
	}
	r.isMarked(t, false, false)
}

// isMarked checks that the written files say that the work was interrupted.
func (r *outcome) isMarked(t *testing.T, page, complete bool) {
	t.Helper()
	junit, err := os.ReadFile(filepath.Join(r.dir, "junit.xml"))
	if err != nil || !complete && !bytes.Contains(junit, []byte(`<error type="undecided" message="interrupted:`)) {
		t.Errorf("junit.xml does not say so: %v\n%s", err, junit)
	}
	if text, err := os.ReadFile(filepath.Join(r.dir, "page.html")); page &&
		(err != nil || !bytes.Contains(text, []byte(document.Interruption))) {
		t.Errorf("the page does not say so: %v", err)
	}
}

// someInstants returns some of n instants: the first few, then others further and further apart, and the last two.
// Unless this is a full test, it returns only one in the middle.
func someInstants(n int) (all []int) {
	if !testkit.Full() {
		return []int{n/2 + 1}
	}
	step := 1
	for i := 1; i <= n; i += step {
		all = append(all, i)
		if len(all) > 3 {
			step = max(step, i/2)
		}
	}
	return append(all, n-1, n)
}

// TestTextSaysThatItWasInterrupted checks that text reports also say that the work was interrupted.
func TestTextSaysThatItWasInterrupted(t *testing.T) {
	for _, c := range longCommands {
		t.Run(c.name, func(t *testing.T) {
			if c.args[0] != "explore" {
				testkit.FullOnly(t)
			}
			t.Parallel()
			r := interruptAt(t, 2, interruptedFiles, c.args...)
			if !bytes.Contains(r.text, []byte("\nstopped ")) || r.code == exitBadInput {
				t.Errorf("exit %d: %s\n%s", r.code, r.stderr, r.text)
			}
		})
	}
}

// TestInterruptedExplorationGoesOn interrupts an exploration at one instant (see interruptedMain), or at many in a full
// test, and resumes it. The result must equal that of an uninterrupted exploration.
func TestInterruptedExplorationGoesOn(t *testing.T) {
	t.Parallel()
	args := []string{"explore", "promised.yaml", "--seeds", "60", "--out", "out", "--json", "--workers", "1"}
	whole := interruptAt(t, 0, interruptedFiles, args...)
	interrupted := 0
	for _, instant := range someInstants(whole.instants) {
		r := interruptAt(t, instant, interruptedFiles, args...)
		if err := json.Unmarshal(r.text, &r.doc); err != nil {
			t.Fatalf("instant %d of %d: %v\n%s", instant, whole.instants, err, r.text)
		}
		if r.doc["interrupted"] == true {
			interrupted++
		}
		again := exec.Command("fencepost", "explore", "--resume", "out", "--json")
		again.Dir = r.dir
		text, _ := again.Output()
		if again.ProcessState.ExitCode() != whole.code || !bytes.Equal(text, whole.text) {
			t.Fatalf("instant %d of %d: resumed, it ends with exit %d\n%s\nnot to\n%s", instant, whole.instants,
				again.ProcessState.ExitCode(), text, whole.text)
		}
		if of, want := folder(t, filepath.Join(r.dir, "out")),
			folder(t, filepath.Join(whole.dir, "out")); !reflect.DeepEqual(of, want) {
			t.Fatalf("instant %d of %d: the folders differ", instant, whole.instants)
		}
	}
	if interrupted == 0 {
		t.Error("it was never interrupted")
	}
}

// folder returns the contents of all files in a folder, by their paths relative to the folder.
func folder(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, dir)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestSignalsReachTheProgram builds the program, runs it until its record contains a finding, and then sends it a
// signal.
func TestSignalsReachTheProgram(t *testing.T) {
	testkit.FullOnly(t) // the test builds the program
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "fencepost"),
		".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			here := t.TempDir()
			if err := os.WriteFile(filepath.Join(here, "promised.yaml"), []byte(interruptedFiles["promised.yaml"]),
				0o666); err != nil {
				t.Fatal(err)
			}
			c := exec.CommandContext(t.Context(), filepath.Join(dir, "fencepost"), "explore", "promised.yaml",
				"--seeds", "9223372036854775807", "--out", "out", "--json")
			var stdout, stderr bytes.Buffer
			c.Dir, c.Stdout, c.Stderr = here, &stdout, &stderr
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- c.Wait() }()
			for {
				e, err := task.ReadResult(filepath.Join(here, "out"), task.ExplorationFile)
				if err == nil && len(e.Findings) > 0 {
					break
				}
				select {
				case err := <-ended:
					t.Fatalf("it ended without a signal: %v\n%s%s", err, stderr.String(), stdout.String())
				default:
				}
			}
			if err := c.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			<-ended
			r := &outcome{code: c.ProcessState.ExitCode(), dir: here}
			if err := json.Unmarshal(stdout.Bytes(), &r.doc); err != nil || r.code != exitOtherwise ||
				r.doc["interrupted"] != true {
				t.Fatalf("exit %d: %v\n%s%s", r.code, err, stderr.String(), stdout.String())
			}
			reportsWhatTheRecordHolds(t, r)
		})
	}
}

// TestAReaderThatHasLeft closes the reading end of the command's output early, as head does. The command must still
// complete its work without printing an error, and exit with the code for its result.
func TestAReaderThatHasLeft(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	codes := map[int]bool{}
	for _, args := range [][]string{{"run", "setnx-holder-crash", "--out", "out"}, {"list"}, {"show", "format"},
		{"run", "setnx-holder-crash", "--json"}, {"check", "broken.jsonl"}, {"check", "open.jsonl", "--json"},
		{"check", "--schema"}} {
		end := func(stdout *os.File) int {
			dir := t.TempDir()
			const enters = `{"time":%d,"process":"client-%d","type":"ok","f":"acquire","lock":"l"}` + "\n"
			for name, text := range map[string]string{"broken.jsonl": fmt.Sprintf(enters+enters, 1, 1, 2, 2),
				"open.jsonl": fmt.Sprintf(enters, 1, 1) + "{"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var stderr bytes.Buffer
			c := &exec.Cmd{Path: self, Args: append([]string{"fencepost"}, args...), Stdout: stdout, Stderr: &stderr,
				Dir: dir}
			err := c.Run()
			if stderr.Len() > 0 {
				t.Errorf("%v: %v\n%s", args, err, stderr.String())
			}
			if _, err := os.Stat(filepath.Join(dir, "out", "fencepost.lock")); err == nil {
				t.Errorf("%v has left its lock", args)
			}
			return c.ProcessState.ExitCode()
		}
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		read.Close()
		left, stayed := end(write), end(nil)
		write.Close()
		if left != stayed {
			t.Errorf("%v: exit %d where the reader has left, else %d", args, left, stayed)
		}
		codes[left] = true
	}
	if len(codes) < 3 {
		t.Errorf("exit codes: %v", codes)
	}
}

// TestLargestCounts asks each long command for as many runs as possible, and interrupts it after some of them. Commands
// that prepare hundreds of runs before the first one ends are tested only in a full run (see testkit.Full).
func TestLargestCounts(t *testing.T) {
	const most = "9223372036854775807"
	for _, args := range [][]string{
		{"run", "lost.yaml", "--seeds", most, "--out", "out"},
		{"run", "lost.yaml", "--seeds", most, "--shard", "2/3", "--out", "out"},
		{"run", "lost.yaml", "--seed", most, "--seeds", most, "--workers", "4096", "--out", "out"},
		{"explore", "promised.yaml", "--seeds", most, "--out", "out"},
		{"explore", "promised.yaml", "--seeds", most, "--shard", "100000/100000", "--out", "out"},
		{"sweep", "lost.yaml", "--vary", "ttl=1s..9s/4s", "--seeds", most, "--out", "out"},
		{"compare", "--seeds", most},
		{"corpus", "--seeds", most, "--sound", most, "--out", "out"},
		{"verify", "sound.yaml", "--budget", most, "--out", "out"},
		{"odds", "--runs", most},
		{"advise", "promised.yaml", "--seeds", "1000000", "--out", "out"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			testkit.OneIn(t, 3)
			if args[0] == "corpus" || slices.Contains(args, "4096") {
				testkit.FullOnly(t)
			}
			t.Parallel()
			r := interruptAt(t, 3, interruptedFiles, append(args, "--json")...)
			if err := json.Unmarshal(r.text, &r.doc); err != nil || r.doc["interrupted"] != true || r.stderr != "" ||
				r.code != exitOtherwise && r.code != exitUndecided {
				t.Errorf("exit %d: %v\n%s%s", r.code, err, r.stderr, r.text)
			}
			for _, key := range []string{"expected_runs", "unexpected_runs", "undecided_runs", "runs"} {
				if n, _ := r.doc[key].(float64); n < 0 {
					t.Errorf("%s: %v", key, n)
				}
			}
		})
	}
	for _, args := range [][]string{{"run", "x", "--workers", most}, {"explore", "x", "--workers", most},
		{"corpus", "--workers", most},
		{"sweep", "x", "--workers", "-1"}, {"verify", "x", "--workers", "4097"}, {"compare", "--workers", "-1"},
		{"odds", "--workers", "4097"}} {
		if said := checkClean(t, args[0], args...); !strings.HasPrefix(said,
			"fencepost: --workers must be 1 to 4096, not ") {
			t.Errorf("%v: %s", args, said)
		}
	}
}
