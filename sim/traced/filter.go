//go:build linux && amd64

package traced

import (
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

// untouched lists the system calls that the kernel executes unchanged, because they depend only on the process or on
// files. Every other system call stops the thread, so that the machine can handle it. The exceptions are in filter.
var untouched = []uint32{
	// memory
	unix.SYS_MMAP, unix.SYS_MPROTECT, unix.SYS_MUNMAP, unix.SYS_BRK, unix.SYS_MREMAP, unix.SYS_MSYNC, unix.SYS_MINCORE,
	unix.SYS_MADVISE, unix.SYS_MLOCK, unix.SYS_MLOCK2, unix.SYS_MUNLOCK, unix.SYS_MEMBARRIER, unix.SYS_PKEY_ALLOC,
	unix.SYS_PKEY_FREE, unix.SYS_PKEY_MPROTECT, unix.SYS_GET_MEMPOLICY, unix.SYS_SET_MEMPOLICY,
	unix.SYS_MBIND,
	// signals
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_RT_SIGPENDING,
	unix.SYS_SIGALTSTACK,
	// open files, and information about files
	unix.SYS_LSEEK, unix.SYS_IOCTL, unix.SYS_PREAD64, unix.SYS_PREADV, unix.SYS_ACCESS, unix.SYS_FACCESSAT,
	unix.SYS_FACCESSAT2, unix.SYS_DUP, unix.SYS_FCNTL,
	unix.SYS_GETCWD, unix.SYS_CHDIR, unix.SYS_FCHDIR, unix.SYS_READLINK,
	unix.SYS_READLINKAT, unix.SYS_STAT, unix.SYS_FSTAT, unix.SYS_LSTAT, unix.SYS_NEWFSTATAT, unix.SYS_STATX,
	unix.SYS_STATFS, unix.SYS_FSTATFS, unix.SYS_FADVISE64, unix.SYS_UMASK, unix.SYS_GETXATTR, unix.SYS_LGETXATTR,
	unix.SYS_FGETXATTR, unix.SYS_READAHEAD, unix.SYS_EPOLL_CTL,
	// information about the process
	unix.SYS_GETUID, unix.SYS_GETGID, unix.SYS_GETEUID, unix.SYS_GETEGID, unix.SYS_GETGROUPS,
	unix.SYS_GETRESUID, unix.SYS_GETRESGID, unix.SYS_GETRLIMIT, unix.SYS_SETRLIMIT, unix.SYS_PRLIMIT64,
	unix.SYS_PERSONALITY, unix.SYS_ARCH_PRCTL, unix.SYS_PRCTL, unix.SYS_CAPGET, unix.SYS_SET_ROBUST_LIST,
	unix.SYS_GET_ROBUST_LIST, unix.SYS_GETPRIORITY, unix.SYS_SETPRIORITY, unix.SYS_SCHED_GETPARAM,
	unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_GETSCHEDULER, unix.SYS_SCHED_SETSCHEDULER,
	unix.SYS_SCHED_GET_PRIORITY_MAX, unix.SYS_SCHED_GET_PRIORITY_MIN, unix.SYS_RESTART_SYSCALL,
}

// Classic BPF operations that the filters use.
const (
	load      = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	ifEqual   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	ifGreater = unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K
	give      = unix.BPF_RET | unix.BPF_K
)

// The offsets of the system call number, the architecture and the arguments in seccomp_data.
const (
	callNumber, architecture    = 0, 4
	firstArgument, argumentSize = 16, 8
)

// standardOutput and standardError are the file descriptors of a program's standard output and standard error.
const standardOutput, standardError = 1, 2

// replacers lists the system calls that can replace one open file with another. Each is mapped to the index of the
// argument with the descriptor to be replaced. These calls stop the thread only if that file is standard input, output
// or error.
var replacers = map[uint32]uint32{unix.SYS_CLOSE: 0, unix.SYS_CLOSE_RANGE: 0, unix.SYS_DUP2: 1, unix.SYS_DUP3: 1}

// filter returns the seccomp program. A system call made for another architecture kills the process, because that
// architecture numbers its system calls differently. Writes to standard output and standard error do not stop the
// thread, because an interpreter makes hundreds of them when it prints an error.
func filter() []byte {
	calls := slices.Sorted(slices.Values(untouched))
	program := []unix.SockFilter{
		{Code: load, K: architecture},
		{Code: ifEqual, Jt: 1, K: unix.AUDIT_ARCH_X86_64},
		{Code: give, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: load, K: callNumber},
	}
	for _, nr := range slices.Sorted(maps.Keys(replacers)) { // all other calls skip these checks
		program = append(program, unix.SockFilter{Code: ifEqual, Jf: 4, K: nr},
			unix.SockFilter{Code: load, K: firstArgument + replacers[nr]*argumentSize},
			unix.SockFilter{Code: ifGreater, Jf: 1, K: standardError},
			unix.SockFilter{Code: give, K: unix.SECCOMP_RET_ALLOW},
			unix.SockFilter{Code: give, K: unix.SECCOMP_RET_TRACE})
	}
	program = append(program, unix.SockFilter{Code: ifEqual, Jf: 5, K: unix.SYS_WRITE},
		unix.SockFilter{Code: load, K: firstArgument},
		unix.SockFilter{Code: ifEqual, Jt: 2, K: standardOutput},
		unix.SockFilter{Code: ifEqual, Jt: 1, K: standardError},
		unix.SockFilter{Code: give, K: unix.SECCOMP_RET_TRACE},
		unix.SockFilter{Code: give, K: unix.SECCOMP_RET_ALLOW})
	for i, nr := range calls {
		program = append(program, unix.SockFilter{Code: ifEqual, Jt: uint8(len(calls) - i), K: nr})
	}
	return encoded(append(program, unix.SockFilter{Code: give, K: unix.SECCOMP_RET_TRACE},
		unix.SockFilter{Code: give, K: unix.SECCOMP_RET_ALLOW}))
}

// stricterFilter returns a seccomp program that traps every write, so that the thread stops before it. It is installed
// when a program replaces its standard output or error.
func stricterFilter() []byte {
	return encoded([]unix.SockFilter{{Code: load, K: callNumber}, {Code: ifEqual, Jf: 1, K: unix.SYS_WRITE},
		{Code: give, K: unix.SECCOMP_RET_TRACE}, {Code: give, K: unix.SECCOMP_RET_ALLOW}})
}

// encoded encodes a seccomp program for the kernel.
func encoded(program []unix.SockFilter) (b []byte) {
	for _, i := range program {
		b = le.AppendUint16(b, i.Code)
		b = append(b, i.Jt, i.Jf)
		b = le.AppendUint32(b, i.K)
	}
	return b
}

// replacesOutput executes a system call that may replace standard output or error.
func (t *thread) replacesOutput() outcome {
	if t.p.replaced {
		return passes
	}
	program := stricterFilter()
	sp := t.regs.Rsp - 256 // below the part of the stack that the thread may use
	head := le.AppendUint64(le.AppendUint64(nil, uint64(len(program)/8)), sp+16)
	added := append(head, program...)
	before, call := make([]byte, len(added)), t.regs
	if !peek(t.tid, sp, before) || !poke(t.tid, sp, added) {
		t.p.m.fail(t, t.name, "but its stack cannot be written to")
		return gone
	}
	result := t.passThrough(func(r *unix.PtraceRegs) {
		r.Orig_rax, r.Rdi, r.Rsi, r.Rdx = unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
			unix.SECCOMP_FILTER_FLAG_TSYNC, sp
	})
	poke(t.tid, sp, before)
	if result != 0 {
		t.p.m.fail(t, t.name, "and the kernel refused to trace what it writes: "+unix.Errno(-result).Error())
		return gone
	}
	t.p.replaced = true
	t.regs = call
	t.regs.Rip -= 2 // the thread makes the call again
	t.regs.Rax, t.regs.Orig_rax = call.Orig_rax, ^uint64(0)
	unix.PtraceSetRegs(t.tid, &t.regs)
	return answered
}
