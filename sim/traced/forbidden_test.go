//go:build linux && amd64

package traced

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestWhereTracingIsForbidden checks that if a container forbids one of the calls that tracing needs, the error says
// what to do.
func TestWhereTracingIsForbidden(t *testing.T) {
	for name, nr := range map[string]int{"ptrace": unix.SYS_PTRACE, "pidfd_getfd": unix.SYS_PIDFD_GETFD,
		"process_vm_readv": unix.SYS_PROCESS_VM_READV} {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), fmt.Sprint("TRACED_TEST_FORBIDS=", nr))
		out, err := c.CombinedOutput()
		const want = "client could not be started: this machine does not allow tracing it, which virtual time needs " +
			"(operation not permitted): in Docker, add --cap-add SYS_PTRACE"
		if err != nil || !strings.HasPrefix(string(out), want) {
			t.Errorf("%s: %s (%v), want %s …", name, out, err, want)
		}
	}
}

// forbids makes a system call unavailable to this process, as a container might. It then starts a program and prints
// the error.
func forbids(nr string) {
	var number uint32
	fmt.Sscan(nr, &number)
	program := []unix.SockFilter{{Code: load}, {Code: ifEqual, Jf: 1, K: number},
		{Code: give, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}, {Code: give, K: unix.SECCOMP_RET_ALLOW}}
	head := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	runtime.LockOSThread()
	unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&head)))
	if e != 0 {
		fmt.Println(e)
		os.Exit(1)
	}
	tracer, err := NewTracer(0, 0)
	if err == nil {
		_, err = tracer.New(Options{Network: &echoNet{}}).Start(Command{Name: "client", Args: []string{"/bin/true"}})
	}
	fmt.Println(err)
	os.Exit(0)
}
