package locktest

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// pipeOf is the environment variable with the path of a named pipe, which TestOfAnEndlessRun's run opens.
const pipeOf = "FENCEPOST_LOCKTEST_PIPE"

// TestOfAnEndlessRun is a test whose run never ends.
func TestOfAnEndlessRun(t *testing.T) {
	if os.Getenv(pipeOf) == "" {
		t.Skip("it is run by TestProcessesOfTheRunsEndWithTheirTest")
	}
	Run(t, Config{SkipTrial: true, Seeds: 1, New: func(*Client) (Lock, error) {
		pipe, err := os.OpenFile(os.Getenv(pipeOf), os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		_, _ = pipe.WriteString("begun\n")
		<-outside // the pipe stays open
		return nil, pipe.Close()
	}})
}

// TestProcessesOfTheRunsEndWithTheirTest checks that when a test process is killed, its worker processes end too, even
// though they do not receive a signal. The test notices that the last worker has ended because the pipe is then closed.
func TestProcessesOfTheRunsEndWithTheirTest(t *testing.T) {
	if os.Getenv(pipeOf) != "" || os.Getenv(environment) != "" {
		return
	}
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestOfAnEndlessRun$")
	cmd.Env = append(os.Environ(), pipeOf+"="+name)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	lines := bufio.NewReader(pipe)
	if line, err := lines.ReadString('\n'); line != "begun\n" {
		t.Errorf("%q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	if more, err := lines.ReadString('\n'); err == nil { // this returns when no process has the pipe open any more
		t.Errorf("%q", more)
	}
}
