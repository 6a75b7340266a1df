//go:build linux && amd64

package traced

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// program builds the static Go program in testdata and returns its path.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "traced")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "program")
	build := exec.Command("go", "build", "-o", path, "./testdata/program")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		os.Stderr.Write(text)
		return "", err
	}
	return path, nil
})

func TestMain(m *testing.M) {
	if dir := os.Getenv("TRACED_TEST_LEAVES"); dir != "" {
		leaves(dir)
	}
	if nr := os.Getenv("TRACED_TEST_FORBIDS"); nr != "" {
		forbids(nr)
	}
	code := m.Run()
	if path, err := program(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

func goProgram(t *testing.T, args ...string) []string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{path}, args...)
}

func python(t *testing.T, args ...string) []string {
	t.Helper()
	const path = "/usr/bin/python3"
	testkit.Needs(t, path)
	return append([]string{path}, args...)
}

// Addresses for tests in virtual time. A server is listening on the first, nobody is listening on the second, and the
// third never answers.
const (
	echoing = "10.0.0.1:7"
	nobody  = "10.0.0.1:8"
	silent  = "10.0.0.1:9"
)

// echoNet is a network with a server that echoes lines. If it receives the line "reset", it resets the connection. If
// it receives the line "end", it closes the connection.
type echoNet struct{}

func (n *echoNet) Dialed(c *Conn) {
	switch c.To.String() {
	case echoing:
		c.Open()
	case silent:
	default:
		c.Refuse(false)
	}
}

func (n *echoNet) Wrote(c *Conn, b []byte) {
	switch string(b) {
	case "reset\n":
		c.Deliver([]byte("bye"))
		c.Reset()
	case "end\n":
		c.Deliver([]byte("bye"))
		c.Finish()
	default:
		c.Deliver(b)
	}
}

func (n *echoNet) Closed(*Conn)    {}
func (n *echoNet) Exited(*Process) {}

// realEcho starts echoNet's server on the host, and returns its address.
func realEcho(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go answer(c.(*net.TCPConn))
		}
	}()
	return ln.Addr().String()
}

func answer(c *net.TCPConn) {
	defer c.Close()
	b := make([]byte, 64<<10)
	for {
		n, err := c.Read(b)
		if err != nil {
			return
		}
		switch string(b[:n]) {
		case "reset\n":
			c.Write([]byte("bye"))
			time.Sleep(200 * time.Millisecond) // wait, because data in transit would be lost
			c.SetLinger(0)
			return
		case "end\n":
			c.Write([]byte("bye"))
			return
		}
		c.Write(b[:n])
	}
}

type run struct {
	printed string
	exit    Exit
	calls   []Call
	took    time.Duration
	err     error
}

// stage holds a tracer for one test's programs.
type stage struct {
	*testing.T
	tracer *Tracer
}

// allowed skips the test if the host does not allow programs to be traced.
func allowed(t *testing.T) {
	t.Helper()
	if err := Allowed(); err != nil {
		testkit.Lacks(t, err)
	}
}

func newStage(t *testing.T, busy time.Duration) *stage {
	allowed(t)
	runtime.LockOSThread() // the thread ends with the test's goroutine
	tracer, err := NewTracer(0, busy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tracer.Close)
	return &stage{t, tracer}
}

const epoch = 1_767_225_600_000_000_000

// environment contains the programs' environment variables, both in virtual time and on the host.
var environment = []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8"}

// run runs a program. If action is not nil, it is called once the program has been running for the given time.
func (s *stage) run(seed uint64, after time.Duration, action func(*Process), args ...string) (r run) {
	s.Helper()
	m := s.tracer.New(Options{Seed: seed, Network: &echoNet{}, Wall: epoch,
		Record: func(c Call) { r.calls = append(r.calls, c) }})
	defer m.Close()
	p, err := m.Start(Command{Name: "program", Args: args, Env: environment,
		Scratch: scratchOf(args)})
	if program := (*ProgramError)(nil); errors.As(err, &program) {
		return run{err: err}
	}
	if err != nil {
		s.Fatal(err)
	}
	over := func() bool { return p.ended }
	if action != nil {
		r.err = m.Run(after, over)
		action(p)
	}
	if r.err == nil {
		r.err = m.Run(time.Duration(1<<60), over)
	}
	r.exit, r.printed, r.took = p.exit, string(p.Printed()), m.Now()
	return r
}

// scratchOf returns the folder that a program may write to. Tests pass it as the program's last argument.
func scratchOf(args []string) string {
	if last := args[len(args)-1]; filepath.IsAbs(last) && len(args) > 2 {
		return last
	}
	return ""
}

// mostTries is the maximum number of times that a program is run on the host, and mostTime is the maximum duration of
// each run. The test fails only if all runs differ from the one in virtual time.
const (
	mostTries = 10
	mostTime  = 20 * time.Second
)

// onTheHost runs a program directly on the host, without a machine, and returns what it prints. want is what it prints
// in virtual time. The output does not contain any times, and the programs wait far longer than any of their other
// steps take. Nevertheless, a busy host can delay a program for even longer. For example, a timeout may then end before
// the event that should end the wait. No program can prevent this. Therefore, a program that hangs or prints something
// else is run again. If a system call really behaves differently, the difference shows up in every run.
func onTheHost(t *testing.T, want string, args ...string) (printed string) {
	t.Helper()
	for range mostTries {
		if printed = runOnce(t, args...); printed == want {
			break
		}
		t.Logf("on the host, it prints\n%s\nnot\n%s", printed, want)
	}
	return printed
}

// runOnce runs a program on the host. When the time limit expires, it kills the program along with all processes that
// the program has started.
func runOnce(t *testing.T, args ...string) (printed string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), mostTime)
	defer cancel()
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	// On a busy host, the signals with which Go preempts its own threads would cut sleeps short.
	c.Env = append(environment[:2:2], "GODEBUG=asyncpreemptoff=1")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	var out bytes.Buffer
	c.Stdout, c.Stderr, c.WaitDelay = &out, &out, time.Second
	if err := c.Run(); err != nil {
		fmt.Fprintf(&out, "on the host: %v\n", err)
	}
	return out.String()
}
