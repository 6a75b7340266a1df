//go:build linux && amd64

package traced

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// When a process forks, the kernel copies only the calling thread. A new copy of a checkpoint must therefore create the
// other threads with system calls. At a checkpoint, every thread is stopped on entry to a system call, and the thread's
// copy makes this call again.

// saved is the state of a thread at its process's checkpoint.
type saved struct {
	thread *thread
	state  []byte // floating-point and vector registers
	mask   uint64 // blocked signals
	stack  []byte // the stack for signals (a stack_t); nil: none
}

// ptrace requests, and the number of the register set with the floating-point and vector registers.
const (
	getMask, setMask = 0x420a, 0x420b
	vectors          = 0x202
)

// request makes a ptrace request that takes an address and a size.
func request(nr, tid int, addr, data uintptr) error {
	if _, _, err := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(nr), uintptr(tid), addr, data, 0, 0); err != 0 {
		return err
	}
	return nil
}

// saves returns what is needed to copy the thread.
func (t *thread) saves() (s saved, err error) {
	s = saved{thread: t, state: make([]byte, 16<<10)}
	part := unix.Iovec{Base: &s.state[0], Len: uint64(len(s.state))}
	err = errors.Join(request(unix.PTRACE_GETREGSET, t.tid, vectors, uintptr(unsafe.Pointer(&part))),
		request(getMask, t.tid, 8, uintptr(unsafe.Pointer(&s.mask))))
	s.state = s.state[:part.Len]
	if err == nil {
		s.stack, err = t.signalStack()
	}
	return s, err
}

// sizeOfStack is the size of a stack_t in bytes.
const sizeOfStack = 24

// signalStack returns a thread's alternate signal stack, as a stack_t, or nil if the thread has none.
func (t *thread) signalStack() ([]byte, error) {
	at := t.regs.Rsp - 256
	before, stack := make([]byte, sizeOfStack), make([]byte, sizeOfStack)
	if !peek(t.tid, at, before) {
		return nil, errors.New("its stack cannot be read")
	}
	if _, err := t.asks(unix.SYS_SIGALTSTACK, 0, at); err != nil {
		return nil, err
	}
	if !peek(t.tid, at, stack) || !poke(t.tid, at, before) {
		return nil, errors.New("its stack cannot be read")
	}
	const disabled = 2
	if le.Uint32(stack[8:])&disabled != 0 {
		return nil, nil
	}
	return stack, nil
}

// asks has a stopped thread execute an extra system call, and returns the call's result. The thread must have stopped
// on entry to another system call, which it executes afterward.
func (t *thread) asks(nr uint64, args ...uint64) (result int64, err error) {
	entry := t.regs
	r := entry
	r.Orig_rax, r.Rax = nr, nr
	for i, to := range []*uint64{&r.Rdi, &r.Rsi, &r.Rdx, &r.R10} {
		if i < len(args) {
			*to = args[i]
		}
	}
	if err := unix.PtraceSetRegs(t.tid, &r); err != nil {
		return 0, err
	}
	unix.PtraceSyscall(t.tid, 0)
	if _, err := wait(t.tid); err != nil {
		return 0, err
	}
	err = unix.PtraceGetRegs(t.tid, &r)
	return int64(r.Rax), errors.Join(err, t.entersAgain(repeating(entry)))
}

// allowsCopying makes sure that the process's forks include all of its memory. Programs such as V8 exclude parts of
// their memory from forks, because they fork only to execute another program.
func (p *Process) allowsCopying() error {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/smaps")
	if err != nil {
		return err
	}
	var from, to uint64 // the mapping that the lines describe
	for line := range strings.Lines(string(text)) {
		var a, b uint64
		if n, _ := fmt.Sscanf(line, "%x-%x ", &a, &b); n == 2 {
			from, to = a, b
		}
		flags, ok := strings.CutPrefix(line, "VmFlags:")
		if ok && slices.Contains(strings.Fields(flags), "dc") {
			if _, err := p.threads[0].asks(unix.SYS_MADVISE, from, to-from, unix.MADV_DOFORK); err != nil {
				return err
			}
		}
	}
	return nil
}

// repeating returns the registers that make a thread repeat a system call. entry contains the thread's registers on
// entry to the call.
func repeating(entry unix.PtraceRegs) *unix.PtraceRegs {
	entry.Rip -= 2
	entry.Rax, entry.Orig_rax = entry.Orig_rax, ^uint64(0)
	return &entry
}

// copyThread adds a thread with the saved state s to a copied process. pid is the process's first thread, which must be
// stopped outside any system call.
func copyThread(pid int, s *saved) (tid int, err error) {
	if tid, err = newThread(pid); err != nil {
		return 0, err
	}
	part := unix.Iovec{Base: &s.state[0], Len: uint64(len(s.state))}
	err = errors.Join(unix.PtraceSetRegs(tid, repeating(s.thread.regs)),
		request(unix.PTRACE_SETREGSET, tid, vectors, uintptr(unsafe.Pointer(&part))))
	if err == nil && s.stack != nil {
		at := s.thread.regs.Rsp - 256
		before := make([]byte, sizeOfStack)
		if !peek(tid, at, before) || !poke(tid, at, s.stack) {
			return 0, errors.New("cannot write to its stack")
		}
		_, err = inject(tid, unix.SYS_SIGALTSTACK, at, 0)
		poke(tid, at, before)
	}
	return tid, errors.Join(err, request(setMask, tid, 8, uintptr(unsafe.Pointer(&s.mask))))
}

// newThread makes a stopped process create a thread. The new thread stops before its first instruction.
func newThread(pid int) (tid int, err error) {
	var old unix.PtraceRegs
	if err := unix.PtraceGetRegs(pid, &old); err != nil {
		return 0, err
	}
	code := make([]byte, 8)
	if _, err := unix.PtracePeekText(pid, uintptr(old.Rip), code); err != nil {
		return 0, err
	}
	if err := pokeCode(pid, old.Rip, []byte{0x0f, 0x05, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc}); err != nil {
		return 0, err // syscall; int3
	}
	r := old
	r.Orig_rax, r.Rax, r.Rsi, r.Rdx, r.R10, r.R8 = ^uint64(0), unix.SYS_CLONE, old.Rsp, 0, 0, 0
	r.Rdi = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_THREAD |
		unix.CLONE_SYSVSEM
	if err := unix.PtraceSetRegs(pid, &r); err != nil {
		return 0, err
	}
	for {
		if err := unix.PtraceCont(pid, 0); err != nil {
			return 0, err
		}
		st, err := wait(pid)
		switch {
		case err != nil:
			return 0, err
		case event(st) == unix.PTRACE_EVENT_SECCOMP:
			continue
		case event(st) == unix.PTRACE_EVENT_CLONE:
			number, err := unix.PtraceGetEventMsg(pid)
			if err != nil {
				return 0, err
			}
			tid = int(number)
			if _, err := wait(tid); err != nil {
				return 0, err
			}
			continue
		case st.StopSignal() != unix.SIGTRAP || tid == 0:
			return 0, fmt.Errorf("the process did not get a thread (status %#x)", uint32(st))
		}
		return tid, errors.Join(pokeCode(pid, old.Rip, code), unix.PtraceSetRegs(pid, &old))
	}
}
