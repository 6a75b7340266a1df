//go:build linux && amd64

package traced

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// unlike lists the system calls with results that differ from those on the host. For each of them, the machine behaves
// like a system that lacks or forbids it.
var unlike = []string{"bind", "listen", "io_uring_setup", "pidfd_open", "pidfd_send_signal", "rseq"}

// TestAProgramSeesWhatItSeesOnTheKernel checks that each program prints the same output in virtual time as on the host.
// If all programs are run, they must together make all modeled system calls except those in unlike.
func TestAProgramSeesWhatItSeesOnTheKernel(t *testing.T) {
	type program struct {
		name    string
		command func(t *testing.T, echo string) []string
	}
	var all []program
	for _, what := range []string{"threads", "pipe", "signals", "files", "children", "echo", "reset", "end", "absolute",
		"options", "timerfd", "output", "rare"} {
		all = append(all, program{what, func(t *testing.T, echo string) []string { return goProgram(t, what, echo) }})
	}
	all = append(all, program{"changes", func(t *testing.T, _ string) []string {
		return goProgram(t, "changes", t.TempDir())
	}}, program{"python folder", func(t *testing.T, _ string) []string {
		return python(t, "testdata/folder.py", folder(t, 10))
	}})
	for _, what := range []string{"waits", "children", "signals", "signalfd", "timers", "shared", "copied"} {
		all = append(all, program{"python " + what, func(t *testing.T, echo string) []string {
			return python(t, "testdata/"+what+".py", echo)
		}})
	}
	real, made, ran := realEcho(t), madeCalls(t), 0
	for _, p := range all {
		t.Run(p.name, func(t *testing.T) {
			testkit.OneIn(t, 5)
			ran++
			got := newStage(t, 0).run(1, 0, nil, p.command(t, echoing)...)
			want := onTheHost(t, got.printed, p.command(t, real)...)
			if got.err != nil || got.printed != want || got.exit != (Exit{}) {
				t.Errorf("it prints\n%s%v (%v), and on the host\n%s", got.printed, got.exit, got.err, want)
			}
		})
	}
	for _, c := range calls {
		if ran == len(all) && !made[c.name] && !slices.Contains(unlike, c.name) {
			t.Errorf("no program makes the call %s", c.name)
		}
	}
}

// madeCalls returns a set. Until the end of the test, the name of each modeled system call that a program makes is
// added to it.
func madeCalls(t *testing.T) map[string]bool {
	own, made := maps.Clone(calls), map[string]bool{}
	for nr, c := range own {
		calls[nr] = call{c.name, func(t *thread) outcome {
			made[c.name] = true
			return c.do(t)
		}}
	}
	t.Cleanup(func() { calls = own })
	return made
}

// TestEqualSeedsGiveEqualCalls checks that two runs with the same seed make the same system calls at the same times
// with the same results, and print the same output. This must also hold with threads and with asyncio, and for runs
// that begin with a copy of a checkpoint.
func TestEqualSeedsGiveEqualCalls(t *testing.T) {
	for name, args := range map[string][]string{"threads": goProgram(t, "threads"),
		"echo":     goProgram(t, "echo", echoing),
		"random":   goProgram(t, "random"),
		"children": python(t, "testdata/children.py", echoing), "python": python(t, "testdata/waits.py", echoing),
		"signals": python(t, "testdata/signals.py", echoing), "shared": python(t, "testdata/shared.py", echoing),
		"signalfd": python(t, "testdata/signalfd.py", echoing), "timers": python(t, "testdata/timers.py", echoing),
		"copied": python(t, "testdata/copied.py", echoing),
		"procfs": python(t, append([]string{"testdata/procfs.py"}, madeFiles()...)...)} {
		t.Run(name, func(t *testing.T) {
			testkit.OneIn(t, 4)
			s, again := newStage(t, 0), newStage(t, 0)
			a, b, c := s.run(7, 0, nil, args...), s.run(7, 0, nil, args...), again.run(7, 0, nil, args...)
			for _, o := range []run{b, c} {
				if !slices.Equal(a.calls, o.calls) || a.printed != o.printed || a.err != nil {
					t.Errorf("%d and %d calls, the first that differ: %v\n%s%v\n%s%v", len(a.calls), len(o.calls),
						firstDifference(a.calls, o.calls), a.printed, a.err, o.printed, o.err)
				}
			}
			if len(a.calls) < 10 {
				t.Errorf("%d calls are recorded", len(a.calls))
			}
		})
	}
}

// TestACopyHasThreadsAndFiles runs a program that already has threads and open files when it creates the first socket
// that it will connect. The program must be copied at that point, and must not be started again, even if it has an
// earlier socket that it never connects, or if another thread creates a socket at the same time. Each copy must have
// everything that the original had, including memory that the program has excluded from forks.
func TestACopyHasThreadsAndFiles(t *testing.T) {
	s := newStage(t, 0)
	args := python(t, "testdata/copied.py", echoing)
	first := s.run(1, 0, nil, args...)
	for seed := range uint64(5) {
		r := s.run(seed, 0, nil, args...)
		opened := slices.ContainsFunc(r.calls, func(c Call) bool { return c.Name == "eventfd2" })
		if r.err != nil || r.printed != first.printed || opened {
			t.Errorf("seed %d: it starts again: %t; %v, and it prints\n%s, not\n%s", seed, opened, r.err, r.printed,
				first.printed)
		}
	}
	for _, c := range s.tracer.checkpoints {
		if one := c.members[0]; len(c.members) != 1 || len(one.others) != 5 || len(one.files) != 11 {
			t.Errorf("a copy has %d more threads and %d files", len(one.others), len(one.files))
		}
	}
	if len(s.tracer.checkpoints) != 1 {
		t.Errorf("%d checkpoints", len(s.tracer.checkpoints))
	}
}

// TestAFamilyIsCopied checks that a program started by a script is copied together with the script, and that both
// copies continue.
func TestAFamilyIsCopied(t *testing.T) {
	s := newStage(t, 0)
	code := strings.Join(python(t, "testdata/waits.py", echoing), " ") + "; echo $? over"
	want := s.run(1, 0, nil, "/bin/sh", "-c", code).printed
	if !strings.HasSuffix(want, "\n0 over\n") {
		t.Errorf("it prints\n%s", want)
	}
	for seed := range uint64(3) {
		r := s.run(seed, 0, nil, "/bin/sh", "-c", code)
		started := slices.ContainsFunc(r.calls, func(c Call) bool { return c.Name == "execve" })
		if r.err != nil || r.printed != want || started || r.exit != (Exit{}) {
			t.Errorf("seed %d: it starts again: %t; %v, %v, and it prints\n%s, not\n%s", seed, started, r.err, r.exit,
				r.printed, want)
		}
	}
	for _, c := range s.tracer.checkpoints {
		if n := len(c.members); n != 2 {
			t.Errorf("%d processes are copied", n)
		}
	}
}

func firstDifference(a, b []Call) []Call {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return []Call{a[i], b[i]}
		}
	}
	return nil
}

// TestASeedDecides checks that a program's random numbers depend on the seed, and that other values, such as its
// process ID, do not.
func TestASeedDecides(t *testing.T) {
	s := newStage(t, 0)
	const other = 1 + sharedBy // a seed that has its own checkpoint
	a, b := s.run(1, 0, nil, goProgram(t, "random")...), s.run(other, 0, nil, goProgram(t, "random")...)
	if a.printed == b.printed {
		t.Errorf("seeds 1 and %d both give %q", other, a.printed)
	}
	if !strings.HasSuffix(a.printed, " 1000 1\n") || !strings.HasSuffix(b.printed, " 1000 1\n") {
		t.Errorf("the numbers of the process and of its parent are %q and %q", a.printed, b.printed)
	}
}

// TestRandomStateOfACheckpoint runs a program that seeds a random number generator before it creates its first socket.
// For all seeds that share a checkpoint, the generator must give the same numbers; for other seeds, it must give
// different numbers. Random numbers that the program requests after the checkpoint must differ from seed to seed.
func TestRandomStateOfACheckpoint(t *testing.T) {
	s := newStage(t, 0)
	code := "import os, random, socket; socket.socket(); print(random.random()); print(os.urandom(8))"
	before, after := map[string][]uint64{}, map[string]bool{}
	seeds := []uint64{1, 2, sharedBy - 1, sharedBy, sharedBy + 1, 1}
	for _, seed := range seeds {
		r := s.run(seed, 0, nil, python(t, "-c", code)...)
		first, second, _ := strings.Cut(r.printed, "\n")
		before[first], after[second] = append(before[first], seed), true
		if r.err != nil || len(s.tracer.checkpoints) != 1 {
			t.Errorf("seed %d: %v, %d checkpoints", seed, r.err, len(s.tracer.checkpoints))
		}
	}
	var groups [][]uint64
	for _, g := range before {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, slices.Compare)
	want := [][]uint64{{1, 2, sharedBy - 1, 1}, {sharedBy, sharedBy + 1}}
	if !slices.EqualFunc(groups, want, slices.Equal) || len(after) != len(seeds)-1 {
		t.Errorf("equal numbers for the seeds %d, want %d; %d others", groups, want, len(after))
	}
}

// TestAProgramKnowsItsNumber checks that a program that uses the C library makes at most one system call to get its
// process ID, and gets the same ID each time. Writing to standard output or error must stop the program at most once.
func TestAProgramKnowsItsNumber(t *testing.T) {
	code := "import os, sys; [sys.stderr.write(str(os.getpid())) for _ in range(100)]"
	r := newStage(t, 0).run(1, 0, nil, python(t, "-c", code)...)
	if want := strings.Repeat("1000", 100); r.printed != want || r.err != nil {
		t.Errorf("%q (%v), want %q", r.printed, r.err, want)
	}
	for _, name := range []string{"getpid", "write"} {
		n := 0
		for _, c := range r.calls {
			if c.Name == name {
				n++
			}
		}
		if n > 1 {
			t.Errorf("it stops at %d calls of %s", n, name)
		}
	}
}

// TestTimeIsVirtual checks that a program that sleeps for a day ends immediately, although a day has passed on its
// clocks.
func TestTimeIsVirtual(t *testing.T) {
	r := newStage(t, 0).run(1, 0, nil, goProgram(t, "sleep", "24h")...)
	if r.printed != "24h0m0s\n" || r.took.Round(time.Second) != 24*time.Hour {
		t.Errorf("it prints %q after %v (%v)", r.printed, r.took, r.err)
	}
}

// TestCallsWithoutEndTakeTime checks that once a program has made many calls within a short time, each further one
// takes longer. If the program goes on like this, its calls must take longer still, so that even a program that never
// waits reaches the end of the run after a bounded number of calls.
func TestCallsWithoutEndTakeTime(t *testing.T) {
	const loop = `import os, time
time.sleep(1)
for step in range(2):
    began = time.monotonic()
    for _ in range(1000):
        os.getppid()
    print(round(time.monotonic() - began, 2))
    time.sleep(10)
`
	for name, c := range map[string]struct {
		made, all int
		want      string
	}{"few": {0, 0, "0.0\n0.0\n"}, "many": {mostFast, mostFast, "0.1\n0.0\n"},
		"many for long": {laterFast, mostCalls, "2.0\n0.0\n"}} {
		r := newStage(t, 0).run(1, 500*time.Millisecond, func(p *Process) {
			p.calls = callCount{all: c.all, since: p.m.now, made: c.made}
		}, python(t, "-c", loop)...)
		if r.printed != c.want || r.err != nil {
			t.Errorf("%s calls: it prints %q (%v), want %q", name, r.printed, r.err, c.want)
		}
	}
}

// TestFaultsOfAProcess checks the effects of faults. A jump moves only the wall clock. A drift changes the rate of both
// clocks. During a pause, time passes but the process does nothing. A killed process no longer exists.
func TestFaultsOfAProcess(t *testing.T) {
	// The program prints both clocks when it starts, and then every second by its own clock.
	lines := func(list ...string) string { return strings.Join(list, "\n") + "\n" }
	for name, c := range map[string]struct {
		fault func(p *Process)
		want  string
		took  time.Duration
	}{
		"none": {func(*Process) {}, lines("1767225600 86400", "1767225601 86401", "1767225602 86402",
			"1767225603 86403", "1767225604 86404"), 5 * time.Second},
		"jump": {func(p *Process) { p.Jump(-time.Hour) }, lines("1767225600 86400", "1767225601 86401",
			"1767222002 86402", "1767222003 86403", "1767222004 86404"), 5 * time.Second},
		// After 1.5 s the clocks run at half the rate: 3.5 s of the program's time take 7 s.
		"drift": {func(p *Process) { p.Drift(-500_000) }, lines("1767225600 86400", "1767225601 86401",
			"1767225602 86402", "1767225603 86403", "1767225604 86404"), 8500 * time.Millisecond},
		"pause": {func(p *Process) {
			p.Pause()
			if err := p.m.Run(100*time.Second, func() bool { return false }); err != nil {
				t.Error(err)
			}
			p.Resume()
		}, lines("1767225600 86400", "1767225601 86401", "1767225700 86500", "1767225701 86501", "1767225702 86502"),
			103 * time.Second},
		"kill": {func(p *Process) { p.Kill() }, lines("1767225600 86400", "1767225601 86401"), 1500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			r := newStage(t, 0).run(1, 1500*time.Millisecond, c.fault, goProgram(t, "clocks")...)
			if r.printed != c.want || r.took.Round(100*time.Millisecond) != c.took || r.err != nil {
				t.Errorf("it prints\n%safter %v (%v); want\n%safter %v", r.printed, r.took, r.err, c.want, c.took)
			}
		})
	}
}

// TestFaultsStrikeAFamily checks that pausing a program also stops the processes that it has started, and that the
// clocks of all these processes show the same times. When the first process ends or is killed, the others must end,
// too.
func TestFaultsStrikeAFamily(t *testing.T) {
	const code = `import os, time
child = os.fork()
for _ in range(3): print(time.time() // 1, time.monotonic() // 1, flush=True) or time.sleep(1)
child and os.wait()`
	for name, c := range map[string]struct {
		fault func(p *Process)
		want  string
	}{
		"pause": {func(p *Process) {
			p.Pause()
			if err := p.m.Run(100*time.Second, func() bool { return false }); err != nil {
				t.Error(err)
			}
			p.Resume()
		}, "1767225600.0 86400.0\n1767225601.0 86401.0\n1767225700.0 86500.0\n"},
		"jump": {func(p *Process) { p.Jump(time.Hour) },
			"1767225600.0 86400.0\n1767225601.0 86401.0\n1767229202.0 86402.0\n"},
		"kill": {func(p *Process) { p.Kill() }, "1767225600.0 86400.0\n1767225601.0 86401.0\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var all []int
			r := newStage(t, 0).run(1, 1500*time.Millisecond, func(p *Process) {
				for _, o := range p.members {
					all = append(all, o.pid)
				}
				c.fault(p)
			}, python(t, "-c", code)...)
			lines := strings.SplitAfter(r.printed, "\n")
			slices.Sort(lines)
			twice := strings.Split(strings.ReplaceAll(c.want, "\n", "\n|"), "|")
			twice = append(twice, twice...)
			slices.Sort(twice)
			if got := strings.Join(lines, ""); got != strings.Join(twice, "") || len(all) != 2 {
				t.Errorf("it prints\n%s (%v), want each line of\n%stwice", r.printed, r.err, c.want)
			}
			for _, pid := range all {
				if _, err := os.Stat(fmt.Sprint("/proc/", pid)); err == nil {
					t.Errorf("process %d is left", pid)
				}
			}
		})
	}
}

// TestAWaitForATimeOfDayEndsWhenTheClockShowsIt checks that a wait until a given wall-clock time ends earlier if the
// clock jumps ahead, and later if it runs slow. A jump must not change a wait for a duration.
func TestAWaitForATimeOfDayEndsWhenTheClockShowsIt(t *testing.T) {
	for what, want := range map[string][3]time.Duration{
		"until": {10 * time.Second, 5 * time.Second, 19 * time.Second},
		"for":   {10 * time.Second, 10 * time.Second, 19 * time.Second},

		"until by a timer file":        {10 * time.Second, 5 * time.Second, 19 * time.Second},
		"for by a timer file":          {10 * time.Second, 10 * time.Second, 19 * time.Second},
		"until a jump by a timer file": {10 * time.Second, time.Second, 19 * time.Second},
	} {
		for i, fault := range []func(*Process){func(*Process) {}, func(p *Process) { p.Jump(5 * time.Second) },
			func(p *Process) { p.Drift(-500_000) }} {
			r := newStage(t, 0).run(1, time.Second, fault, goProgram(t, "until", what)...)
			if r.took.Round(100*time.Millisecond) != want[i] || r.err != nil {
				t.Errorf("%s, fault %d: the wait took %v (%v), want %v", what, i, r.took, r.err, want[i])
			}
		}
	}
}

// TestWhatIsRefused checks that an operation that a program must not perform fails with the same error as on a real
// system that forbids it.
func TestWhatIsRefused(t *testing.T) {
	s := newStage(t, 0)
	scratch := t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{goProgram(t, "udp"), "true\n"},
		{goProgram(t, "lacking"), "permission denied permission denied\n" +
			strings.Repeat("function not implemented\n", 4)},
		{goProgram(t, "refused", nobody), "dial true\n"},
		{goProgram(t, "refused", silent), "dial false\n"},
		{goProgram(t, "writes", scratch),
			"open /tmp/written-by-a-program: read-only file system\n<nil>\ntext <nil>\n"},
		{python(t, "-c", opensTerminal), "No such device or address\n"},
	} {
		if r := s.run(1, 0, nil, c.args...); r.printed != c.want || r.err != nil {
			t.Errorf("%q prints %q (%v), want %q", c.args[1:], r.printed, r.err, c.want)
		}
	}
	if _, err := os.Stat("/tmp/written-by-a-program"); err == nil {
		t.Error("it has written a file")
	}
	// A JVM looks for other JVMs' files. What it does next must not depend on which JVMs are running on the host.
	const other = "/tmp/hsperfdata_test-of-fencepost"
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(other)
	const missing = "open " + other + ": no such file or directory\n"
	if r := s.run(1, 0, nil, goProgram(t, "opens", other)...); r.printed != missing || r.err != nil {
		t.Errorf("a file of a JVM: %q (%v)", r.printed, r.err)
	}
}

// opensTerminal is a program that prints why it cannot open its terminal.
const opensTerminal = `import os
try:
    os.open("/dev/tty", os.O_RDWR)
except OSError as e:
    print(e.strerror)`

// stoppedByATimer is a program that creates a timer whose signal stops it.
const stoppedByATimer = `import ctypes, time
call, timer = ctypes.CDLL(None).syscall, ctypes.c_int()
call(222, 1, (ctypes.c_int * 16)(0, 0, 19), ctypes.byref(timer))
call(223, timer, 0, (ctypes.c_long * 4)(0, 0, 0, 1000), None)
time.sleep(1)`

// TestWhatCannotBeRun checks that a run ends with an error if its program does something that is not modeled, or never
// lets anything else run. The error must say what the program did.
func TestWhatCannotBeRun(t *testing.T) {
	s := newStage(t, 200*time.Millisecond)
	for i, c := range []struct {
		args []string
		want string
	}{
		{goProgram(t, "inotify"), "program calls inotify_init1 in thread 1000, which is not modeled"},
		{python(t, "-c", "import signal; signal.setitimer(signal.ITIMER_PROF, 1)"), "program calls setitimer in " +
			"thread 1000, for a timer that counts processor time, which is not modeled: turn off the profiler"},
		{python(t, "-c", "import signal; signal.getitimer(signal.ITIMER_VIRTUAL)"), "program calls getitimer in " +
			"thread 1000, for a timer that counts processor time, which is not modeled: turn off the profiler"},
		{python(t, "-c", "import ctypes; ctypes.CDLL(None).timer_create(2, None, bytes(8))"), "program calls " +
			"timer_create in thread 1000, for a timer that counts processor time, which is not modeled"},
		{goProgram(t, "spin"), "program has used 200ms of processor time without making a system call"},
		{python(t, "-c", "while True: pass"), "program has used 200ms of processor time without making a system call"},
		{python(t, "-c", "import os\nwhile True: os.fork()"), "program calls clone in thread 1"},
		{python(t, "-c", "import os\nwhile os.fork(): os.wait()"),
			"program calls clone in thread 1000, to start another process, although it has already started 300"},
		{python(t, "-c", "import os; os.kill(0, 19)"), "program calls kill in thread 1000, to send SIGSTOP"},
		{python(t, "-c", "import signal; signal.raise_signal(20)"),
			"program calls tgkill in thread 1000, to send SIGTSTP"},
		{python(t, "-c", stoppedByATimer), "program calls timer_settime in thread 1000, to send SIGSTOP"},
	} {
		if !testkit.Thorough() && i%4 > 0 {
			continue
		}
		r := s.run(1, 0, nil, c.args...)
		if e := (*ProgramError)(nil); !errors.As(r.err, &e) || !strings.HasPrefix(e.Error(), c.want) {
			t.Errorf("%q: %v, want %q …", c.args[1:], r.err, c.want)
		}
	}
	m := s.tracer.New(Options{Network: &echoNet{}})
	defer m.Close()
	_, err := m.Start(Command{Name: "program", Args: []string{"no-such-program"}, Env: []string{"PATH=/bin"}})
	const want = "program could not be started: there is no program no-such-program in PATH=/bin"
	if e := (*StartError)(nil); !errors.As(err, &e) || err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
}
