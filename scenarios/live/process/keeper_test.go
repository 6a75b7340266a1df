//go:build linux

package process

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// parent is an environment variable that makes a process started by this test act as a run: it starts several processes
// and is then killed.
const parent = "FENCEPOST_KEEPER_TEST_PARENT"

func TestMain(m *testing.M) {
	Main()
	if os.Getenv(parent) != "" {
		beParent()
	}
	os.Exit(m.Run())
}

// family is a shell command that starts three processes: a child, a process that has left the session, and a process
// that has also lost its parent. Each writes its ID to a file. Once all of them have done so, the file "all" exists.
const family = `echo $$ >leader
sh -c 'echo $$ >child; exec sleep 1000' &
setsid sh -c 'echo $$ >gone-off; exec sleep 1000' &
(setsid sh -c 'echo $$ >orphan; exec sleep 1000' & )
while [ ! -s child ] || [ ! -s gone-off ] || [ ! -s orphan ]; do :; done
echo >all
sleep 1000`

var members = []string{"leader", "child", "gone-off", "orphan"}

// beParent starts a keeper, which runs the family command. It prints the keeper's folder, and waits to be killed.
func beParent() {
	k, err := Start()
	if err == nil {
		_, err = k.Start(Command{Args: []string{"sh", "-c", family}, Env: os.Environ()})
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(k.Folder())
	select {}
}

// await waits until done returns true.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// numbers returns the process IDs that the processes started by family have written to files.
func numbers(t *testing.T, folder string) (list []int) {
	t.Helper()
	await(t, "the family is there", func() bool { return exists(filepath.Join(folder, "all")) })
	for _, m := range members {
		b, err := os.ReadFile(filepath.Join(folder, m))
		pid, err2 := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		list = append(list, pid)
	}
	return list
}

// runs reports whether a process exists and has not ended yet.
func runs(pid int) bool {
	s, ok := readStat(fmt.Sprintf("/proc/%d/stat", pid))
	return ok && s.state != "Z" && s.state != "X"
}

func awaitGone(t *testing.T, folder string, pids []int) {
	t.Helper()
	for i, pid := range pids {
		await(t, members[i]+" has ended", func() bool { return !runs(pid) })
	}
	await(t, folder+" is deleted", func() bool { return !exists(folder) })
}

func TestNothingOutlivesARunThatIsKilled(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), parent+"=1")
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		folder, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		folder = strings.TrimSpace(folder)
		pids := numbers(t, folder)
		for i, pid := range pids {
			if !runs(pid) {
				t.Fatalf("%s does not run", members[i])
			}
		}
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // the error says that it was killed
		awaitGone(t, folder, pids)
	}
}

func TestCloseEndsTheFamilyAndTheFolder(t *testing.T) {
	k := started(t)
	p := run(t, k, family)
	pids := numbers(t, k.Folder())
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	for i, pid := range pids {
		if runs(pid) {
			t.Errorf("%s runs after Close", members[i])
		}
	}
	if exists(k.Folder()) {
		t.Errorf("%s is there after Close", k.Folder())
	}
	if p.ended().Err == nil && p.ended().Signal != syscall.SIGKILL {
		t.Errorf("the command %v", p.ended())
	}
	if _, err := k.Start(Command{Args: []string{"true"}}); !errors.Is(err, ErrGone) {
		t.Errorf("after Close something was started: %v", err)
	}
}

func TestKeeperThatIsKilledTakesItsChildrenAlong(t *testing.T) {
	k := started(t)
	p := run(t, k, "exec sleep 1000")
	if err := k.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if s := p.ended(); !errors.Is(s.Err, ErrGone) {
		t.Errorf("the command %v", s)
	}
	await(t, "the command has ended", func() bool { return !runs(p.pid) })
	if err := p.Stop(); !errors.Is(err, ErrGone) {
		t.Errorf("Stop: %v", err)
	}
	if err := os.RemoveAll(k.Folder()); err != nil {
		t.Error(err)
	}
}

func started(t *testing.T) *Keeper {
	t.Helper()
	k, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() })
	return k
}

func run(t *testing.T, k *Keeper, script string) *Process {
	t.Helper()
	p, err := k.Start(Command{Args: []string{"sh", "-c", script}, Env: os.Environ(), Log: "out"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestStopIsOverWhenNothingRuns stops a group of two processes that are counting as fast as they can. Neither may
// continue to count between Stop and Cont.
func TestStopIsOverWhenNothingRuns(t *testing.T) {
	k := started(t)
	p := run(t, k, `count() { i=0; while :; do i=$((i+1)); echo $i >$1; done; }
count one & count two`)
	read := func(name string) string {
		b, _ := os.ReadFile(filepath.Join(k.Folder(), name)) // the file may not exist yet
		return string(b)
	}
	for range 5 {
		was := read("one") + read("two")
		await(t, "both count", func() bool {
			is := read("one") + read("two")
			return read("one") != "" && read("two") != "" && is != was
		})
		if err := p.Stop(); err != nil {
			t.Fatal(err)
		}
		if all, ended := stopped(p.pid); !all || ended {
			t.Fatal("a process of the group has not stopped")
		}
		one, two := read("one"), read("two")
		for range 100 {
			if read("one") != one || read("two") != two {
				t.Fatal("a stopped process goes on")
			}
		}
		if err := p.Cont(); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if s := p.ended(); s.Signal != syscall.SIGKILL || s.String() != "was ended by signal 9 (killed)" {
		t.Errorf("a stopped process that was killed %v", s)
	}
	if err := p.Stop(); !errors.Is(err, ErrEnded) {
		t.Errorf("Stop of what has ended: %v", err)
	}
	if err := p.Kill(); err != nil {
		t.Errorf("Kill of what has ended: %v", err)
	}
}

func TestHowCommandsStartAndEnd(t *testing.T) {
	k := started(t)
	p := run(t, k, "echo said; echo failed >&2; exit 3")
	if s := p.ended(); s.Code != 3 || s.Signal != 0 || s.String() != "ended with exit status 3" {
		t.Errorf("it %v", s)
	}
	if b, err := os.ReadFile(filepath.Join(k.Folder(), "out")); string(b) != "said\nfailed\n" {
		t.Errorf("it printed %q: %v", b, err)
	}
	p = run(t, k, "exec sleep 1000")
	if err := p.terminate(); err != nil {
		t.Fatal(err)
	}
	if s := p.ended(); s.Signal != syscall.SIGTERM {
		t.Errorf("what was asked to end %v", s)
	}
	noProgram := filepath.Join(k.Folder(), "no-program")
	if err := os.WriteFile(noProgram, []byte("\x7fELF and no more"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		c    Command
		want string
	}{
		{Command{}, "the command to start is empty"},
		{Command{Args: []string{"no-such-command"}},
			"cannot start no-such-command: executable file not found in $PATH"},
		{Command{Args: []string{"/no/such/command"}},
			"cannot start /no/such/command: stat /no/such/command: no such file or directory"},
		{Command{Args: []string{noProgram}}, "cannot start " + noProgram + ": exec format error"},
		{Command{Args: []string{"/bin/true"}, Dir: "/no/such/folder"},
			"cannot start /bin/true: stat /no/such/folder: no such file or directory"},
		{Command{Args: []string{"/bin/true"}, Log: "/no/such/file"},
			"cannot start /bin/true: open /no/such/file: no such file or directory"},
	} {
		_, err := k.Start(c.c)
		if err == nil || err.Error() != c.want {
			t.Errorf("%+v:\n got %v\nwant %v", c.c, err, c.want)
		}
	}
}

// TestOutputIsWholeWhenWaitReturns checks that the output is complete when Wait returns, even if the command ends
// immediately or a child keeps the output open.
func TestOutputIsWholeWhenWaitReturns(t *testing.T) {
	k := started(t)
	for script, want := range map[string]string{
		"echo one; echo two >&2; exit 3":      "one\ntwo\nended with exit status 3",
		"seq 1 20000 | tail -n 1":             "20000\n<nil>",
		"sleep 1000 & echo done":              "done\n<nil>",
		"exec 2>&1; no-such-command; exit $?": "sh: 1: no-such-command: not found\nended with exit status 127",
	} {
		var said strings.Builder
		p, err := k.Start(Command{Args: []string{"sh", "-c", script}, Env: os.Environ(), Output: &said})
		if err != nil {
			t.Fatal(err)
		}
		err = p.Wait()
		if got := said.String() + fmt.Sprint(err); got != want {
			t.Errorf("%s: %q", script, got)
		}
	}
}

// TestSignalsAreIgnoredByNobodyElse checks that a command inherits this process's signal handling rather than the
// keeper's.
func TestSignalsAreIgnoredByNobodyElse(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) || signal.Ignored(syscall.SIGINT) {
		t.Skip("this process ignores SIGHUP or SIGINT, as under nohup, and the keeper does not pass that on")
	}
	ignored := func(status string) string {
		_, after, _ := strings.Cut(status, "SigIgn:")
		return strings.Fields(after)[0]
	}
	own, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	p, err := started(t).Start(Command{Args: []string{"cat", "/proc/self/status"}, Output: &said})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	if got, want := ignored(said.String()), ignored(string(own)); got != want {
		t.Errorf("a command ignores the signals %s, and this process %s", got, want)
	}
}

// TestManyThatEndAtOnce checks that a command's exit status is known even if the command ends before Start returns.
func TestManyThatEndAtOnce(t *testing.T) {
	k := started(t)
	for i := range 100 {
		p, err := k.Start(Command{Args: []string{"sh", "-c", fmt.Sprint("exit ", i)}})
		if err != nil {
			t.Fatal(err)
		}
		if s := p.ended(); s.Code != i {
			t.Fatalf("exit %d: it %v", i, s)
		}
	}
}

// TestAKeeperThatCannotCleanUpIsReported checks that Close returns the keeper's last report, which says why the folder
// could not be deleted.
func TestAKeeperThatCannotCleanUpIsReported(t *testing.T) {
	r, w := io.Pipe()
	k := &Keeper{cmd: exec.Command("true"), orders: w, gone: make(chan struct{}), running: map[int]*Process{}}
	go io.Copy(io.Discard, r)
	k.listen(bufio.NewReader(strings.NewReader(`{"ID":0,"Error":"the folder is busy"}` + "\n")))
	if err := k.Close(); err == nil || err.Error() != "the folder is busy" {
		t.Error(err)
	}
}
