//go:build linux && amd64

package traced

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file uses the kernel to inspect and change a stopped thread.

var le = binary.LittleEndian

// wait waits until a thread stops or ends, and returns its status.
func wait(tid int) (unix.WaitStatus, error) {
	var st unix.WaitStatus
	for {
		if _, err := unix.Wait4(tid, &st, unix.WALL, nil); err != unix.EINTR {
			return st, err
		}
	}
}

// quietStops makes the kernel send SIGCHLD to this program only when a process ends. By default, the kernel also sends
// it whenever a thread stops. Each such signal costs about as much time as the stop itself.
func quietStops() {
	const noStops = 1 // SA_NOCLDSTOP
	var action struct{ handler, flags, restorer, mask uint64 }
	set := func(to, old unsafe.Pointer) unix.Errno {
		_, _, err := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGCHLD), uintptr(to), uintptr(old), 8, 0, 0)
		return err
	}
	if set(nil, unsafe.Pointer(&action)) == 0 {
		action.flags |= noStops
		set(unsafe.Pointer(&action), nil)
	}
}

// event returns the ptrace event that stopped a thread, or 0 if something else stopped it.
func event(st unix.WaitStatus) int { return int(uint32(st) >> 16) }

// peek reads from a process's memory. It returns false if some of the memory is not mapped.
func peek(pid int, at uint64, b []byte) bool {
	if len(b) == 0 {
		return true
	}
	local := []unix.Iovec{{Base: &b[0], Len: uint64(len(b))}}
	n, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(at), Len: len(b)}}, 0)
	return err == nil && n == len(b)
}

// poke writes to a process's memory, at an address that the process itself could write to.
func poke(pid int, at uint64, b []byte) bool {
	if len(b) == 0 {
		return true
	}
	local := []unix.Iovec{{Base: &b[0], Len: uint64(len(b))}}
	n, err := unix.ProcessVMWritev(pid, local, []unix.RemoteIovec{{Base: uintptr(at), Len: len(b)}}, 0)
	return err == nil && n == len(b)
}

func peek64(pid int, at uint64) uint64 {
	var b [8]byte
	peek(pid, at, b[:])
	return le.Uint64(b[:])
}

func peek32(pid int, at uint64) uint32 {
	var b [4]byte
	peek(pid, at, b[:])
	return le.Uint32(b[:])
}

func poke64(pid int, at, v uint64) bool { return poke(pid, at, le.AppendUint64(nil, v)) }

func poke32(pid int, at uint64, v uint32) bool { return poke(pid, at, le.AppendUint32(nil, v)) }

// text reads a zero-terminated string. ok is false if the string is not mapped or is too long for a path.
func text(pid int, at uint64) (s string, ok bool) {
	var b []byte
	for len(b) < unix.PathMax {
		part := make([]byte, 64-at%64) // do not read across the end of a page, since the next one may not be mapped
		if !peek(pid, at, part) {
			return "", false
		}
		for i, c := range part {
			if c == 0 {
				return string(append(b, part[:i]...)), true
			}
		}
		b, at = append(b, part...), at+uint64(len(part))
	}
	return "", false
}

// pokeCode writes to a stopped thread's memory, at an address that the thread itself could not write to.
func pokeCode(tid int, at uint64, b []byte) error {
	_, err := unix.PtracePokeText(tid, uintptr(at), b)
	return err
}

// inject makes a stopped thread execute a system call, and then restores the thread's registers and code. The thread
// must not already be in a system call.
func inject(tid int, nr uint64, args ...uint64) (uint64, error) {
	var old unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &old); err != nil {
		return 0, err
	}
	code := make([]byte, 8)
	if _, err := unix.PtracePeekText(tid, uintptr(old.Rip), code); err != nil {
		return 0, err
	}
	if err := pokeCode(tid, old.Rip, []byte{0x0f, 0x05, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc}); err != nil {
		return 0, err // syscall; int3
	}
	r := old
	r.Orig_rax, r.Rax = ^uint64(0), nr
	for i, to := range []*uint64{&r.Rdi, &r.Rsi, &r.Rdx, &r.R10, &r.R8, &r.R9} {
		if i < len(args) {
			*to = args[i]
		}
	}
	if err := unix.PtraceSetRegs(tid, &r); err != nil {
		return 0, err
	}
	for {
		if err := unix.PtraceCont(tid, 0); err != nil {
			return 0, err
		}
		st, err := wait(tid)
		switch {
		case err != nil:
			return 0, err
		case st.Stopped() && event(st) == unix.PTRACE_EVENT_SECCOMP: // the filter is installed already
			continue
		case !st.Stopped() || st.StopSignal() != unix.SIGTRAP:
			return 0, fmt.Errorf("the process ended when it was started (status %#x)", uint32(st))
		}
		break
	}
	if err := unix.PtraceGetRegs(tid, &r); err != nil {
		return 0, err
	}
	err := errors.Join(pokeCode(tid, old.Rip, code), unix.PtraceSetRegs(tid, &old))
	if int64(r.Rax) < 0 && int64(r.Rax) > -4096 {
		err = errors.Join(err, unix.Errno(-int64(r.Rax)))
	}
	return r.Rax, err
}

// kindOf returns the mode, device and inode of one of this process's open files.
func kindOf(fd int) (mode uint32, device, inode uint64) {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return 0, 0, 0
	}
	return st.Mode & unix.S_IFMT, st.Rdev, st.Ino
}

// pollNow polls without waiting.
func pollNow(list []unix.PollFd) (ready int) {
	if len(list) == 0 {
		return 0
	}
	n, err := unix.Poll(list, 0)
	if err != nil {
		return 0
	}
	return n
}

// sharedPage creates a memory page shared by the machine and its processes.
func sharedPage() (fd int, page *[3]int64, err error) {
	if fd, err = unix.MemfdCreate("clock", unix.MFD_CLOEXEC); err != nil {
		return -1, nil, err
	}
	if err = unix.Ftruncate(fd, pageSize); err == nil {
		var m []byte
		if m, err = unix.Mmap(fd, 0, pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
			return fd, (*[3]int64)(unsafe.Pointer(&m[0])), nil
		}
	}
	unix.Close(fd)
	return -1, nil, err
}

// unmap releases a page created by sharedPage.
func unmap(page *[3]int64) {
	if page != nil {
		unix.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(page)), pageSize))
	}
}
