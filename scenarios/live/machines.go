package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/sim/traced"
)

// Virtual performs runs in virtual time for scenarios whose clients are programs. All of a run's processes belong to
// the same host thread, so Virtual keeps one thread for each concurrent run.
type Virtual struct {
	command string   // the command that starts a client
	words   []string // the command's words
	dir     string
	tracer  *traced.Tracer  // set only in each thread's copy: the thread's tracer
	compare bool            // likewise: record the calls, to compare them with another run's
	stopped context.Context // done once Stop was called
	stop    context.CancelFunc

	mu   sync.Mutex
	idle []*machinist
	all  int
}

// NewVirtual returns a Virtual whose clients each run the given command, without a shell. It returns an error if the
// command cannot be split into words, or if this host cannot run programs in virtual time. A scenario whose clients
// cannot be programs is refused when it is run.
func NewVirtual(command string) (*Virtual, error) {
	words, err := wordsOf(command)
	if err != nil {
		return nil, err
	}
	if err := traced.Allowed(); err != nil {
		return nil, err
	}
	dir, err := os.Getwd()
	v := &Virtual{command: command, words: words, dir: dir}
	v.stopped, v.stop = context.WithCancel(context.Background())
	return v, err
}

// machinist is a goroutine with its own thread that performs runs.
type machinist struct {
	jobs chan func(*traced.Tracer)
	done chan struct{} // closed when the thread's processes have ended
}

// Code returns the scenarios.Code that performs runs with v.
func (v *Virtual) Code() *scenarios.Code {
	code := Programs(scenarios.Origin{Client: presentable(v.command)})
	code.Elsewhere = v.carryOut
	return code
}

// Programs returns the Code of clients that are programs, without a function that performs their runs.
func Programs(o scenarios.Origin) *scenarios.Code {
	return &scenarios.Code{Programs: passed, Given: passedSettings, Origin: o}
}

// hire returns an idle machinist.
func (v *Virtual) hire() (*machinist, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if n := len(v.idle); n > 0 {
		m := v.idle[n-1]
		v.idle = v.idle[:n-1]
		return m, nil
	}
	m := &machinist{make(chan func(*traced.Tracer)), make(chan struct{})}
	number, began := v.all, make(chan error)
	v.all++
	go func() {
		// The goroutine never unlocks the thread, so the thread and the processes that it started end with the
		// goroutine.
		runtime.LockOSThread()
		defer close(m.done)
		t, err := traced.NewTracer(number, 0)
		if began <- err; err != nil {
			return
		}
		for job := range m.jobs {
			job(t)
		}
		t.Close()
	}()
	return m, <-began
}

// Stop ends all current and future runs with ErrInterrupted. It may be called on any goroutine.
func (v *Virtual) Stop() { v.stop() }

// Close ends the threads and their processes. The caller must make sure that no run is in progress.
func (v *Virtual) Close() {
	if v == nil {
		return
	}
	for _, m := range v.idle {
		close(m.jobs)
		<-m.done
	}
	v.idle = nil
}

// One in repeatEvery runs is performed twice, to check that the same seed gives the same run.
const repeatEvery = 32

// carryOut performs the run that plan p describes. The error is a *[scenarios.CodeError] if the program cannot be run,
// or if a second run with the same seed is different. Several goroutines may call carryOut at the same time.
func (v *Virtual) carryOut(s *scenarios.Scenario, p nemesis.Plan, w scenarios.Wanted) (scenarios.Result, error) {
	m, err := v.hire()
	if err != nil {
		return scenarios.Result{}, err
	}
	var result *Result
	done := make(chan struct{})
	m.jobs <- func(t *traced.Tracer) {
		defer close(done)
		twice := p.Seed%repeatEvery == 1
		if result, err = v.run(s, p, w, t, twice); err == nil && twice {
			err = v.rerun(s, p, w.Sent, t, result)
		}
	}
	<-done
	v.mu.Lock()
	v.idle = append(v.idle, m)
	v.mu.Unlock()
	var client *ClientError
	var start *traced.StartError
	var program *traced.ProgramError
	switch {
	case errors.As(err, &client) || errors.As(err, &start) || errors.As(err, &program):
		return scenarios.Result{}, &scenarios.CodeError{Text: err.Error()}
	case err != nil:
		return scenarios.Result{}, err
	}
	return result.Result, nil
}

// run performs one run on this thread. If compare is set, it records the run's calls.
func (v *Virtual) run(s *scenarios.Scenario, p nemesis.Plan, w scenarios.Wanted, t *traced.Tracer, compare bool) (
	*Result, error,
) {
	mine := &Virtual{words: v.words, dir: v.dir, tracer: t, compare: compare}
	return Run(Options{Scenario: s, Command: strings.Join(v.words, " "), Fleet: Simulated{}, Patience: Patience,
		Context: v.stopped, Virtual: mine, wanted: w}, p)
}

// rerun repeats a run, and returns an error if the second run differs from the first.
func (v *Virtual) rerun(s *scenarios.Scenario, p nemesis.Plan, sent bool, t *traced.Tracer, first *Result) error {
	second, err := v.run(s, p, scenarios.Wanted{Sent: sent}, t, true)
	if err != nil {
		return err
	}
	a, b := first.calls, second.calls
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return differs(p.Seed, nil, &b[i])
		case i >= len(b):
			return differs(p.Seed, &a[i], nil)
		case a[i] != b[i]:
			return differs(p.Seed, &a[i], &b[i])
		}
	}
	if first.Digest != second.Digest {
		return &scenarios.CodeError{Text: fmt.Sprintf("two runs with seed %d differ in what the clients wrote, "+
			"although their system calls are the same: "+
			"a client depends on something on the host that the simulation does not control", p.Seed)}
	}
	return nil
}

// differs returns an error that describes the first difference between the calls of two runs with the same seed.
func differs(seed uint64, a, b *traced.Call) error {
	show := func(c *traced.Call) string {
		if c == nil {
			return "it was over"
		}
		return c.String()
	}
	return &scenarios.CodeError{Text: fmt.Sprintf("two runs with seed %d differ: in one, %s; in the other, %s. "+
		"A client depends on something on the host that differs from run to run", seed, show(a), show(b))}
}

// wordsOf splits a command into words. It understands quotes. Any other character with a special meaning to a shell is
// an error.
func wordsOf(command string) (words []string, err error) {
	var word strings.Builder
	var quote rune
	inWord := false
	for _, c := range command {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c == ' ' || c == '\t' || c == '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		case strings.ContainsRune("|&;<>()$`\\*?[#~{", c):
			return nil, fmt.Errorf("--client %q: in virtual time, the command is a program with its arguments, "+
				"and no shell interprets it, so %q has no meaning: remove it", command, c)
		default:
			word.WriteRune(c)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("--client %q: a quote is not closed", command)
	}
	if inWord {
		words = append(words, word.String())
	}
	if len(words) == 0 || slices.Contains(words[:1], "") {
		return nil, errors.New("--client is empty: name a program")
	}
	return words, nil
}
