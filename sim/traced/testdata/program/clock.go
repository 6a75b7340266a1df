package main

import (
	"syscall"
	"unsafe"
)

func gettime(clock uintptr, ts *syscall.Timespec) {
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(ts)), 0)
}
