//go:build linux && amd64

package traced

import (
	"slices"

	"golang.org/x/sys/unix"
)

// untouched lists the calls that the kernel carries out unchanged, because they depend only on the process or on files.
// Every other call stops the thread, so that the machine can handle it.
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
	unix.SYS_FACCESSAT2, unix.SYS_DUP, unix.SYS_DUP2, unix.SYS_DUP3, unix.SYS_FCNTL,
	unix.SYS_CLOSE, unix.SYS_CLOSE_RANGE, unix.SYS_GETCWD, unix.SYS_CHDIR, unix.SYS_FCHDIR, unix.SYS_READLINK,
	unix.SYS_READLINKAT, unix.SYS_STAT, unix.SYS_FSTAT, unix.SYS_LSTAT, unix.SYS_NEWFSTATAT, unix.SYS_STATX,
	unix.SYS_STATFS, unix.SYS_FSTATFS, unix.SYS_GETDENTS, unix.SYS_GETDENTS64, unix.SYS_FADVISE64, unix.SYS_UMASK,
	unix.SYS_GETXATTR, unix.SYS_LGETXATTR, unix.SYS_FGETXATTR, unix.SYS_READAHEAD,
	unix.SYS_EPOLL_CTL,
	// information about the process
	unix.SYS_UNAME, unix.SYS_GETUID, unix.SYS_GETGID, unix.SYS_GETEUID, unix.SYS_GETEGID, unix.SYS_GETGROUPS,
	unix.SYS_GETRESUID, unix.SYS_GETRESGID, unix.SYS_GETRLIMIT, unix.SYS_SETRLIMIT, unix.SYS_PRLIMIT64,
	unix.SYS_PERSONALITY, unix.SYS_ARCH_PRCTL, unix.SYS_PRCTL, unix.SYS_CAPGET, unix.SYS_SET_ROBUST_LIST,
	unix.SYS_GET_ROBUST_LIST, unix.SYS_GETPRIORITY, unix.SYS_SETPRIORITY, unix.SYS_SCHED_GETPARAM,
	unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_GETSCHEDULER, unix.SYS_SCHED_SETSCHEDULER,
	unix.SYS_SCHED_GET_PRIORITY_MAX, unix.SYS_SCHED_GET_PRIORITY_MIN, unix.SYS_RESTART_SYSCALL,
}

// Operations of classic BPF that the filter uses.
const (
	load    = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	ifEqual = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	give    = unix.BPF_RET | unix.BPF_K
)

// filter returns the seccomp program. Calls of other architectures kill the process, because their numbers have other
// meanings.
func filter() []byte {
	const number, arch = 0, 4 // offsets in seccomp_data
	calls := slices.Sorted(slices.Values(untouched))
	program := []unix.SockFilter{
		{Code: load, K: arch},
		{Code: ifEqual, Jt: 1, K: unix.AUDIT_ARCH_X86_64},
		{Code: give, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: load, K: number},
	}
	for i, nr := range calls {
		program = append(program, unix.SockFilter{Code: ifEqual, Jt: uint8(len(calls) - i), K: nr})
	}
	program = append(program, unix.SockFilter{Code: give, K: unix.SECCOMP_RET_TRACE},
		unix.SockFilter{Code: give, K: unix.SECCOMP_RET_ALLOW})
	var b []byte
	for _, i := range program {
		b = le.AppendUint16(b, i.Code)
		b = append(b, i.Jt, i.Jf)
		b = le.AppendUint32(b, i.K)
	}
	return b
}
