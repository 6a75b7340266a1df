package main

import (
	"fmt"
	"syscall"
	"time"
	"unsafe"
)

// timerSpec is an itimerspec.
type timerSpec struct{ interval, value syscall.Timespec }

func timerfdCreate(clock, flags uintptr) (int, syscall.Errno) {
	fd, _, e := syscall.Syscall(syscall.SYS_TIMERFD_CREATE, clock, flags, 0)
	return int(fd), e
}

func timerfdSet(fd int, flags uintptr, interval, value time.Duration) (before timerSpec, e syscall.Errno) {
	s := timerSpec{syscall.NsecToTimespec(int64(interval)), syscall.NsecToTimespec(int64(value))}
	_, _, e = syscall.Syscall6(syscall.SYS_TIMERFD_SETTIME, uintptr(fd), flags, uintptr(unsafe.Pointer(&s)),
		uintptr(unsafe.Pointer(&before)), 0, 0)
	return before, e
}

func timerfdGet(fd int) (s timerSpec, e syscall.Errno) {
	_, _, e = syscall.Syscall(syscall.SYS_TIMERFD_GETTIME, uintptr(fd), uintptr(unsafe.Pointer(&s)), 0)
	return s, e
}

// timerfdRead returns the number of expirations.
func timerfdRead(fd, size int) (n uint64, err error) {
	b := make([]byte, size)
	got, err := syscall.Read(fd, b)
	if got == 8 {
		n = *(*uint64)(unsafe.Pointer(&b[0]))
	}
	return n, err
}

// polled returns what poll reports about a file descriptor within the given number of milliseconds.
func polled(fd, milliseconds int) (int16, int) {
	p := struct {
		fd              int32
		events, revents int16
	}{int32(fd), 5, 0}
	n, _, _ := syscall.Syscall(syscall.SYS_POLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(milliseconds))
	return p.revents, int(n)
}

// timerfd sets several timerfds, waits for them in several ways, and makes invalid calls.
func timerfd() {
	const nonBlocking, absolute = syscall.O_NONBLOCK, 1
	const step = 200 * time.Millisecond
	for _, clock := range []uintptr{0, 1, 7, 3, 11, 99} {
		fd, e := timerfdCreate(clock, syscall.O_CLOEXEC)
		if e == 0 {
			syscall.Close(fd)
		}
		fmt.Println(clock, fd > 2, e)
	}
	_, e := timerfdCreate(1, 1)
	fmt.Println("flags", e)

	fd, _ := timerfdCreate(1, 0)
	again, _ := timerfdCreate(1, nonBlocking)
	began := time.Now()
	fmt.Println(timerfdSet(fd, 0, 0, step))
	fmt.Println(timerfdRead(fd, 8))
	fmt.Println(time.Since(began) >= step)
	fmt.Println(timerfdGet(fd))
	fmt.Println(timerfdRead(again, 8))
	timerfdSet(again, 0, step, step)
	fmt.Println(timerfdRead(again, 7))
	fmt.Println(timerfdRead(again, 8))
	fmt.Println(polled(again, 0))
	fmt.Println(polled(again, 1000))
	time.Sleep(5 * step)
	n, err := timerfdRead(again, 16)
	fmt.Println(n >= 5 && n < 50, err)
	s, e := timerfdGet(again)
	left := time.Duration(s.value.Nano())
	fmt.Println(s.interval, left > 0, left <= step, e)
	before, e := timerfdSet(again, 0, 0, 0)
	fmt.Println(before.interval, before.value.Nano() > 0, e)
	fmt.Println(timerfdGet(again))
	fmt.Println(polled(again, int(2*step/time.Millisecond)))

	// A second descriptor for the same timer, watched by an edge-triggered epoll instance.
	other, _ := syscall.Dup(again)
	timerfdSet(other, 0, 0, 1)
	fmt.Println(polled(again, 1000))
	poll, _ := syscall.EpollCreate1(0)
	const edges = 1 << 31
	event := syscall.EpollEvent{Events: syscall.EPOLLIN | edges, Fd: int32(other)}
	fmt.Println(syscall.EpollCtl(poll, syscall.EPOLL_CTL_ADD, other, &event))
	for range 2 {
		list := make([]syscall.EpollEvent, 3)
		n, err := syscall.EpollWait(poll, list, 0)
		fmt.Println(n, err, list[0].Events)
	}
	fmt.Println(timerfdRead(other, 8))
	fmt.Println(timerfdRead(again, 8))
	syscall.Close(other)
	syscall.Close(again)

	// Wall-clock times, and times in the past.
	day, _ := timerfdCreate(0, 0)
	for _, clock := range []struct {
		fd     int
		number uintptr
	}{{day, 0}, {fd, 1}} {
		for _, d := range []time.Duration{step, -step} {
			var now syscall.Timespec
			gettime(clock.number, &now)
			_, e := timerfdSet(clock.fd, absolute, 0, time.Duration(now.Nano())+d)
			fmt.Println(e)
			fmt.Println(timerfdRead(clock.fd, 8))
			var then syscall.Timespec
			gettime(clock.number, &then)
			fmt.Println(then.Nano()-now.Nano() >= int64(d))
		}
	}
	_, e = timerfdSet(day, 4, 0, step)
	fmt.Println(e)
	_, e = timerfdSet(day, 0, 0, -1)
	fmt.Println(e)
	_, e = timerfdSet(99, 0, 0, step)
	fmt.Println(e)
	_, e = timerfdSet(poll, 0, 0, step)
	fmt.Println(e)
	_, e = timerfdGet(poll)
	fmt.Println(e)
	fmt.Println(syscall.Write(day, make([]byte, 8)))
}
