package locktest

import (
	"runtime"
	"syscall"
	"unsafe"
)

// offline makes every later connect(2) in this process fail. So a lock that dials without the client's DialContext
// cannot reach a server on this host, where its keys might collide with real data. If the host does not allow a process
// to restrict itself in this way, offline has no effect.
func offline() {
	is, known := map[string]struct{ architecture, seccomp uint32 }{
		"amd64": {0xc000003e, 317}, "arm64": {0xc00000b7, 277}, // AUDIT_ARCH_*, and the number of seccomp(2)
	}[runtime.GOARCH]
	if !known {
		return
	}
	const (
		load, jumpEqual, ret = 0x20, 0x15, 0x06 // BPF_LD|BPF_W|BPF_ABS, BPF_JMP|BPF_JEQ|BPF_K, BPF_RET|BPF_K
		number, architecture = 0, 4             // offsets in seccomp_data
		allow, fail          = 0x7fff0000, 0x00050000
		noNewPrivileges      = 38 // of prctl(2)
		filter               = 1  // SECCOMP_SET_MODE_FILTER
		allThreads, quick    = 1, 4
	)
	program := []syscall.SockFilter{
		{Code: load, K: architecture},
		{Code: jumpEqual, Jf: 3, K: is.architecture},
		{Code: load, K: number},
		{Code: jumpEqual, Jf: 1, K: syscall.SYS_CONNECT},
		{Code: ret, K: fail | uint32(syscall.ENETUNREACH)},
		{Code: ret, K: allow},
	}
	rules := syscall.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, _, err := syscall.RawSyscall6(syscall.SYS_PRCTL, noNewPrivileges, 1, 0, 0, 0, 0); err == 0 {
		syscall.RawSyscall(uintptr(is.seccomp), filter, allThreads|quick, uintptr(unsafe.Pointer(&rules)))
	}
	runtime.KeepAlive(program)
}
