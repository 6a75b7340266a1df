package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// absolute waits until several clocks show given times, and prints whether it has waited long enough.
func absolute() {
	const wait = 50 * time.Millisecond
	word := uint32(1)
	until := func(clock uintptr, d time.Duration) *syscall.Timespec {
		var ts syscall.Timespec
		gettime(clock, &ts)
		ts = syscall.NsecToTimespec(ts.Nano() + int64(d))
		return &ts
	}
	took := func(what string, f func() syscall.Errno) {
		began := time.Now()
		e := f()
		d := time.Since(began)
		fmt.Println(what, e, d >= wait, d < 100*wait)
	}
	futex := func(op uintptr, ts *syscall.Timespec) func() syscall.Errno {
		return func() syscall.Errno {
			_, _, e := syscall.Syscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(&word)), op, 1,
				uintptr(unsafe.Pointer(ts)), 0, 0xffffffff)
			return e
		}
	}
	sleep := func(clock, flags uintptr, ts *syscall.Timespec) func() syscall.Errno {
		return func() syscall.Errno {
			_, _, e := syscall.Syscall6(syscall.SYS_CLOCK_NANOSLEEP, clock, flags, uintptr(unsafe.Pointer(ts)), 0, 0, 0)
			return e
		}
	}
	const waitBits, wallClock = 9, 0x100
	const wall, monotonic, boot, tai = 0, 1, 7, 11
	for _, d := range []time.Duration{wait, -wait} {
		took("futex, wall clock", futex(waitBits|wallClock, until(wall, d)))
		took("futex, monotonic clock", futex(waitBits, until(monotonic, d)))
		for _, clock := range []uintptr{wall, monotonic, boot, tai} {
			took(fmt.Sprint("sleep, clock ", clock), sleep(clock, 1, until(clock, d)))
		}
	}
	took("a number for a time", sleep(wall, 1, &syscall.Timespec{Nsec: 1e9}))
	took("coarse clock", sleep(5, 1, until(wall, wait)))
	took("processor time of a thread", sleep(3, 0, &syscall.Timespec{Nsec: 1}))
	took("no clock", sleep(99, 0, &syscall.Timespec{Nsec: 1}))
	took("futex, for a time", futex(0, &syscall.Timespec{Nsec: int64(wait)}))
	took("sleep, for a time", sleep(wall, 0, &syscall.Timespec{Nsec: int64(wait)}))
}

// until waits for 10 s or, unless the program's argument begins with "for", until the wall clock has advanced by 10 s.
// It waits with a timerfd if the argument ends with "by a timer file", and otherwise with clock_nanosleep.
func until() {
	flags, ts := uintptr(0), syscall.Timespec{Sec: 10}
	how, timer := strings.CutSuffix(os.Args[2], " by a timer file")
	if how != "for" {
		gettime(0, &ts)
		flags, ts.Sec = 1, ts.Sec+10
	}
	if timer {
		if how == "until a jump" {
			flags |= 2
		}
		fd, _ := timerfdCreate(0, 0)
		timerfdSet(fd, flags, 0, time.Duration(ts.Nano()))
		fmt.Println(timerfdRead(fd, 8))
		return
	}
	syscall.Syscall6(syscall.SYS_CLOCK_NANOSLEEP, 0, flags, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
}

// options sets options of TCP sockets, and prints the values that it reads back.
func options() {
	const socket, tcp, ip, six = syscall.SOL_SOCKET, syscall.IPPROTO_TCP, syscall.IPPROTO_IP, syscall.IPPROTO_IPV6
	type bytes = []byte
	number := func(v int32) bytes { return (*[4]byte)(unsafe.Pointer(&v))[:] }
	pair := func(a, b int32) bytes { return append(append(bytes{}, number(a)...), number(b)...) }
	times := func(a, b int32) bytes { return append(pair(a, 0), pair(b, 0)...) }
	for _, domain := range []int{syscall.AF_INET, syscall.AF_INET6} {
		fd, err := syscall.Socket(domain, syscall.SOCK_STREAM, 0)
		fmt.Println(err)
		get := func(level, name int, b bytes) (bytes, syscall.Errno) {
			n := int32(len(b))
			_, _, e := syscall.Syscall6(syscall.SYS_GETSOCKOPT, uintptr(fd), uintptr(level), uintptr(name),
				uintptr(unsafe.Pointer(&b[0])), uintptr(unsafe.Pointer(&n)), 0)
			return b[:n], e
		}
		for _, o := range []struct {
			level, name int
			value       bytes
		}{
			{tcp, syscall.TCP_NODELAY, number(7)}, {tcp, syscall.TCP_NODELAY, number(0)},
			{tcp, syscall.TCP_NODELAY, bytes{1}}, {tcp, syscall.TCP_CORK, number(1)},
			{tcp, syscall.TCP_KEEPIDLE, number(30)}, {tcp, syscall.TCP_KEEPIDLE, number(0)},
			{tcp, syscall.TCP_KEEPIDLE, number(40_000)}, {tcp, syscall.TCP_KEEPINTVL, number(10)},
			{tcp, syscall.TCP_KEEPCNT, number(3)}, {tcp, syscall.TCP_KEEPCNT, number(300)},
			{tcp, syscall.TCP_SYNCNT, number(2)}, {tcp, 18, number(5000)}, {tcp, 18, number(-1)},
			{tcp, syscall.TCP_LINGER2, number(5)}, {tcp, syscall.TCP_QUICKACK, number(0)}, {tcp, 9999, number(1)},
			{socket, syscall.SO_KEEPALIVE, number(1)}, {socket, syscall.SO_REUSEADDR, number(1)},
			{socket, syscall.SO_LINGER, pair(1, 5)}, {socket, syscall.SO_RCVTIMEO, times(1, 500_000)},
			{socket, syscall.SO_SNDTIMEO, times(2, 0)}, {socket, syscall.SO_SNDBUF, number(50_000)},
			{socket, syscall.SO_RCVBUF, number(50_000)}, {socket, syscall.SO_RCVBUF, number(1)},
			{socket, syscall.SO_SNDBUF, number(1)},
			{socket, syscall.SO_OOBINLINE, number(1)}, {socket, syscall.SO_TYPE, nil}, {socket, syscall.SO_ERROR, nil},
			{socket, 15, number(1)}, {socket, 38, nil}, {socket, 39, nil},
			{ip, syscall.IP_TOS, number(0x13)}, {ip, syscall.IP_TTL, number(33)}, {ip, syscall.IP_TTL, number(300)},
			{six, syscall.IPV6_V6ONLY, number(1)}, {six, syscall.IPV6_UNICAST_HOPS, number(3)},
			{six, 67, number(8)},
		} {
			fmt.Print(o.level, " ", o.name, ": ")
			fmt.Print(get(o.level, o.name, make(bytes, 16)))
			if o.value != nil {
				_, _, e := syscall.Syscall6(syscall.SYS_SETSOCKOPT, uintptr(fd), uintptr(o.level), uintptr(o.name),
					uintptr(unsafe.Pointer(&o.value[0])), uintptr(len(o.value)), 0)
				fmt.Print(" ", o.value, " ", e, " ")
				fmt.Print(get(o.level, o.name, make(bytes, 16)))
				fmt.Print(get(o.level, o.name, make(bytes, 2)))
			}
			fmt.Println()
		}
		syscall.Close(fd)
	}
}
