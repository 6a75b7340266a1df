package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// Undisturbed runs a test that depends on real time. If the test fails, and none of this process's code ran for a while
// during the test, the host may be to blame. In that case, Undisturbed runs the test again, at most twice. The third
// result counts. Each repetition is logged, and noted in the file that FENCEPOST_REPEATS names.
func Undisturbed(t *testing.T, test func(t testing.TB)) {
	t.Helper()
	undisturbed(t, longestGap, test)
}

// standstill is how long the host must have stopped the process, at least, to excuse a failure. Server and client
// timeouts are several times as long.
const standstill = 200 * time.Millisecond

func undisturbed(t testing.TB, watch func() (stop func() time.Duration), test func(t testing.TB)) {
	t.Helper()
	for range 2 {
		a := &attempt{TB: t}
		stop := watch()
		a.run(test)
		still := stop()
		for _, line := range a.lines {
			t.Log(line)
		}
		switch {
		case a.skipped:
			t.SkipNow()
		case a.failed && still < standstill:
			t.FailNow()
		case !a.failed:
			return
		}
		t.Logf("the host stood still for %v: running the test again", still)
		if err := noteRepeat(fmt.Sprintf("%s: the host stood still for %v", t.Name(), still)); err != nil {
			t.Error(err)
		}
	}
	test(t)
}

// repeats is the environment variable that names a file. Each time a test is repeated, a line is added to this file. A
// line in the log would be lost, because go test does not print the log of a test that passes.
const repeats = "FENCEPOST_REPEATS"

func noteRepeat(line string) error {
	path := os.Getenv(repeats)
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = fmt.Fprintln(file, line)
	return err
}

// longestGap measures the longest time during which nothing in this process was running, until stop is called.
func longestGap() (stop func() time.Duration) {
	over, longest := make(chan struct{}), make(chan time.Duration)
	go func() {
		const every = 10 * time.Millisecond
		tick := time.NewTicker(every)
		defer tick.Stop()
		gap, last := time.Duration(0), time.Now()
		for {
			select {
			case <-over:
				longest <- gap
				return
			case <-tick.C:
				now := time.Now()
				gap, last = max(gap, now.Sub(last)-every), now
			}
		}
	}()
	return func() time.Duration {
		close(over)
		return <-longest
	}
}

// attempt is a run of a test whose result might not count. It records what the run would report to the test.
type attempt struct {
	testing.TB
	mu              sync.Mutex
	failed, skipped bool
	lines           []string
	cleanups        []func()
}

// run runs the test and then its cleanups. As in the testing package, the test has its own goroutine, so that Fatal can
// end it.
func (a *attempt) run(test func(testing.TB)) {
	a.do(func() { test(a) })
	for len(a.cleanups) > 0 {
		last := len(a.cleanups) - 1
		f := a.cleanups[last]
		a.cleanups = slices.Delete(a.cleanups, last, last+1)
		a.do(f)
	}
}

func (a *attempt) do(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// log records a line, preceded by the file and line number where the test logged it.
func (a *attempt) log(text string) {
	_, file, line, _ := runtime.Caller(2)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lines = append(a.lines, fmt.Sprintf("%s:%d: %s", filepath.Base(file), line, text))
}

func (a *attempt) Cleanup(f func())                  { a.cleanups = append(a.cleanups, f) }
func (a *attempt) Log(args ...any)                   { a.log(fmt.Sprint(args...)) }
func (a *attempt) Logf(format string, args ...any)   { a.log(fmt.Sprintf(format, args...)) }
func (a *attempt) Error(args ...any)                 { a.log(fmt.Sprint(args...)); a.Fail() }
func (a *attempt) Errorf(format string, args ...any) { a.log(fmt.Sprintf(format, args...)); a.Fail() }
func (a *attempt) Fatal(args ...any)                 { a.log(fmt.Sprint(args...)); a.FailNow() }
func (a *attempt) Fatalf(format string, args ...any) {
	a.log(fmt.Sprintf(format, args...))
	a.FailNow()
}
func (a *attempt) Skip(args ...any)                 { a.log(fmt.Sprint(args...)); a.SkipNow() }
func (a *attempt) Skipf(format string, args ...any) { a.log(fmt.Sprintf(format, args...)); a.SkipNow() }

func (a *attempt) Fail() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failed = true
}

func (a *attempt) Failed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed
}

func (a *attempt) FailNow() {
	a.Fail()
	runtime.Goexit()
}

func (a *attempt) SkipNow() {
	a.mu.Lock()
	a.skipped = true
	a.mu.Unlock()
	runtime.Goexit()
}

func (a *attempt) Skipped() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.skipped
}
