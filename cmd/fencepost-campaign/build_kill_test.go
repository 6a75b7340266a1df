//go:build unix

package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// TestAKillWhileAPackageIsBuiltLeavesNothing checks what happens after the command that starts a campaign of a Go
// package is killed, either alone or along with all processes that it has started. The next command must leave nothing
// in the temporary folder, and its report must equal that of a single process. The test waits until the killed
// processes have ended. The kills happen at different moments, so the next command finds different states.
func TestAKillWhileAPackageIsBuiltLeavesNothing(t *testing.T) {
	t.Parallel()
	here, err := filepath.Abs(lockPackage)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{here, "--run", "TestALockThatHoldsItsLease", "--seeds", "20"}
	want, files := inOneProcess(t, append([]string{"explore"}, args...)...)
	// the test kills the command as soon as a file that matches this pattern exists in the temporary folder
	moments := []string{"*/go-build*"}
	if testkit.Full() {
		moments = []string{"*", "*/go-build*", "*/go-build*/b001", "*/go-build*/*/importcfg.link", "*/lock.test", "no"}
	}
	for _, moment := range moments {
		for _, all := range []bool{false, true} {
			dir, temporary := t.TempDir(), t.TempDir()
			begins := func(command string) *exec.Cmd {
				c := program(t, dir, "fencepost-campaign", append([]string{command, "--out", "x"}, args...)...)
				c.Env = append(c.Env, "TMPDIR="+temporary)
				return c
			}
			killOnceThere(t, begins("start"), filepath.Join(temporary, moment), all)
			got := call(t, begins("run"))
			if got.out != want.out || got.code != want.code {
				t.Errorf("%s, %t: exit %d\n%s%s\nwant %d\n%s", moment, all, got.code, got.out, got.problems, want.code,
					want.out)
			}
			same(t, filesIn(t, filepath.Join(dir, "x")), files)
			if left, err := os.ReadDir(temporary); len(left) > 0 || err != nil {
				t.Errorf("%s, %t: %v is left, %v", moment, all, left, err)
			}
		}
	}
}

// killOnceThere starts a command and kills it, or its whole process group, as soon as a file matches the pattern or the
// command serves its campaign. It waits until all processes that the command has started have ended.
func killOnceThere(t *testing.T, c *exec.Cmd, pattern string, group bool) {
	t.Helper()
	lives, held, err := os.Pipe() // every process that the command starts inherits the other end
	if err != nil {
		t.Fatal(err)
	}
	defer lives.Close()
	says, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.ExtraFiles, c.SysProcAttr = []*os.File{held}, &syscall.SysProcAttr{Setpgid: true}
	if err := errors.Join(c.Start(), held.Close()); err != nil {
		t.Fatal(err)
	}
	serves := make(chan struct{})
	go func() {
		defer close(serves)
		for text, b := "", make([]byte, 1<<10); !strings.Contains(text, "the server of campaign"); {
			n, err := says.Read(b)
			if text += string(b[:n]); err != nil {
				return
			}
		}
	}()
	for there := false; !there; {
		select {
		case <-serves:
			there = true
		case <-time.After(time.Millisecond):
			found, err := filepath.Glob(pattern)
			if err != nil {
				t.Fatal(err)
			}
			there = len(found) > 0
		}
	}
	pid := c.Process.Pid
	if group {
		pid = -pid
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.Wait()
	if _, err := io.Copy(io.Discard, lives); err != nil {
		t.Fatal(err)
	}
}
