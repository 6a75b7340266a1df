package machine

import (
	"os"
	"syscall"
	"unsafe"
)

// machineClock is CLOCK_MONOTONIC, in ns, as every process of the machine reads it.
func machineClock() int64 {
	const monotonic = 1
	var t syscall.Timespec
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

// inode distinguishes files.
func inode(i os.FileInfo) uint64 {
	if s, ok := i.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return 0
}
