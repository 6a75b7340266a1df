package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rdtsc and rdtscp read the CPU's time-stamp counter.
func rdtsc() uint64
func rdtscp() uint64

// raw makes a system call. Its arguments are numbers, strings, and pointers.
func raw(nr uintptr, args ...any) (int, syscall.Errno) {
	var a [6]uintptr
	for i, arg := range args {
		switch v := arg.(type) {
		case int:
			a[i] = uintptr(v)
		case uintptr:
			a[i] = v
		case string:
			b, _ := syscall.BytePtrFromString(v)
			a[i] = uintptr(unsafe.Pointer(b))
			defer runtime.KeepAlive(b)
		case unsafe.Pointer:
			a[i] = uintptr(v)
			defer runtime.KeepAlive(v)
		}
	}
	n, _, e := syscall.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	return int(n), e
}

// changes makes all system calls that change files, in a folder of its own.
func changes() {
	dir := os.Args[2]
	syscall.Chdir(dir)
	at, _ := syscall.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	times := [4]int64{1, 2, 3, 4}
	how := unix.OpenHow{Flags: unix.O_CREAT | unix.O_RDWR, Mode: 0o600}
	uid, gid := os.Getuid(), os.Getgid()
	fd, e := raw(unix.SYS_CREAT, "a", 0o600)
	fmt.Println("creat", fd > 2, e)
	text := []byte("some text")
	for _, c := range []struct {
		name string
		nr   uintptr
		args []any
	}{
		{"pwrite64", unix.SYS_PWRITE64, []any{fd, unsafe.Pointer(&text[0]), len(text), 5}},
		{"ftruncate", unix.SYS_FTRUNCATE, []any{fd, 8}},
		{"fallocate", unix.SYS_FALLOCATE, []any{fd, 0, 0, 20}},
		{"fchmod", unix.SYS_FCHMOD, []any{fd, 0o640}},
		{"fsync", unix.SYS_FSYNC, []any{fd}},
		{"fdatasync", unix.SYS_FDATASYNC, []any{fd}},
		{"flock", unix.SYS_FLOCK, []any{fd, unix.LOCK_EX | unix.LOCK_NB}},
		{"open", unix.SYS_OPEN, []any{"b", unix.O_CREAT | unix.O_EXCL | unix.O_WRONLY, 0o600}},
		{"open", unix.SYS_OPEN, []any{"b", unix.O_CREAT | unix.O_EXCL | unix.O_WRONLY, 0o600}},
		{"openat2", unix.SYS_OPENAT2, []any{at, "c", unsafe.Pointer(&how), int(unsafe.Sizeof(how))}},
		{"mkdir", unix.SYS_MKDIR, []any{"d", 0o700}},
		{"mkdir", unix.SYS_MKDIR, []any{"no/d", 0o700}},
		{"mkdirat", unix.SYS_MKDIRAT, []any{at, "e", 0o700}},
		{"link", unix.SYS_LINK, []any{"a", "f"}},
		{"linkat", unix.SYS_LINKAT, []any{at, "a", at, "g", 0}},
		{"symlink", unix.SYS_SYMLINK, []any{"a", "h"}},
		{"symlinkat", unix.SYS_SYMLINKAT, []any{"a", at, "i"}},
		{"rename", unix.SYS_RENAME, []any{"f", "j"}},
		{"renameat", unix.SYS_RENAMEAT, []any{at, "g", at, "k"}},
		{"renameat2", unix.SYS_RENAMEAT2, []any{at, "k", at, "b", unix.RENAME_NOREPLACE}},
		{"chmod", unix.SYS_CHMOD, []any{"b", 0o644}},
		{"fchmodat", unix.SYS_FCHMODAT, []any{at, "c", 0o604}},
		{"chown", unix.SYS_CHOWN, []any{"b", uid, gid}},
		{"fchownat", unix.SYS_FCHOWNAT, []any{at, "no", uid, gid, 0}},
		{"truncate", unix.SYS_TRUNCATE, []any{"b", 3}},
		{"utimensat", unix.SYS_UTIMENSAT, []any{at, "b", unsafe.Pointer(&times), 0}},
		{"unlinkat", unix.SYS_UNLINKAT, []any{at, "e", unix.AT_REMOVEDIR}},
		{"unlink", unix.SYS_UNLINK, []any{"j"}},
		{"rmdir", unix.SYS_RMDIR, []any{"d"}},
		{"rmdir", unix.SYS_RMDIR, []any{"a"}},
	} {
		_, e := raw(c.nr, c.args...)
		fmt.Println(c.name, e)
	}
	list, err := os.ReadDir(dir)
	fmt.Println(err)
	for _, f := range list {
		info, err := f.Info()
		fmt.Println(f.Name(), info.Mode(), info.Size(), err)
	}
	b, err := os.ReadFile("a")
	fmt.Printf("%q %v\n", b, err)
	info, _ := os.Stat("b")
	fmt.Println(info.ModTime().UnixNano())
}

// rare makes system calls that interpreters and libraries seldom make, such as older variants of common calls.
func rare() {
	var ends [2]int32
	_, e := raw(unix.SYS_PIPE, unsafe.Pointer(&ends))
	r, w := int(ends[0]), int(ends[1])
	fmt.Println("pipe", r > 2, w > r, e)
	one, two := []byte("one "), []byte("two")
	parts := []unix.Iovec{{Base: &one[0], Len: 4}, {Base: &two[0], Len: 3}}
	fmt.Println(raw(unix.SYS_WRITEV, w, unsafe.Pointer(&parts[0]), 2))
	fmt.Println(waits(r))
	into := []unix.Iovec{{Base: &make([]byte, 3)[0], Len: 3}, {Base: &make([]byte, 9)[0], Len: 9}}
	n, e := raw(unix.SYS_READV, r, unsafe.Pointer(&into[0]), 2)
	fmt.Printf("readv %d %v %q\n", n, e, unsafe.Slice(into[1].Base, 9))
	fmt.Println(waits(r))

	event, e := raw(unix.SYS_EVENTFD, 3)
	var count uint64
	fmt.Println("eventfd", event > 2, e)
	fmt.Println(raw(unix.SYS_READ, event, unsafe.Pointer(&count), 8))
	poll, e := raw(unix.SYS_EPOLL_CREATE, 1)
	fmt.Println("epoll_create", count, poll > 2, e)
	syscall.EpollCtl(poll, syscall.EPOLL_CTL_ADD, r, &syscall.EpollEvent{Events: syscall.EPOLLIN})
	list := make([]syscall.EpollEvent, 3)
	short := unix.NsecToTimespec(int64(5 * time.Millisecond))
	fmt.Println(raw(unix.SYS_EPOLL_PWAIT2, poll, unsafe.Pointer(&list[0]), 3, unsafe.Pointer(&short), 0, 8))
	set := uint64(1 << (unix.SIGUSR2 - 1))
	file, e := raw(unix.SYS_SIGNALFD, -1, unsafe.Pointer(&set), 8)
	fmt.Println("signalfd", file > 2, e)
	memory, e := raw(unix.SYS_MEMFD_CREATE, "memory", 0)
	fmt.Println("memfd_create", memory > 2, e)
	fmt.Println(raw(unix.SYS_WRITE, memory, "text", 4))

	processes()
	connections()
}

// waits waits for a file with select and with ppoll.
func waits(fd int) (bool, int, int) {
	var set syscall.FdSet
	set.Bits[fd/64] |= 1 << (fd % 64)
	short := syscall.NsecToTimeval(int64(5 * time.Millisecond))
	selected, _ := raw(unix.SYS_SELECT, fd+1, unsafe.Pointer(&set), 0, 0, unsafe.Pointer(&short))
	p, also := unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}, unix.NsecToTimespec(int64(5*time.Millisecond))
	polled, _ := raw(unix.SYS_PPOLL, unsafe.Pointer(&p), 1, unsafe.Pointer(&also), 0, 8)
	return set.Bits[fd/64] != 0, selected, polled
}

// processes makes system calls that concern processes, CPUs and CPU time, and forks a process.
func processes() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	group, e := raw(unix.SYS_GETPGRP)
	same, _ := raw(unix.SYS_GETPGID, 0)
	fmt.Println("getpgrp", group == same, e)
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	_, e = raw(unix.SYS_TKILL, syscall.Gettid(), int(unix.SIGUSR1))
	fmt.Println("tkill", e, <-c)
	var b [144]byte
	_, e = raw(unix.SYS_TIMES, unsafe.Pointer(&b))
	fmt.Println("times", e)
	_, e = raw(unix.SYS_GETRUSAGE, 0, unsafe.Pointer(&b))
	fmt.Println("getrusage", e)
	_, e = raw(unix.SYS_SCHED_YIELD)
	fmt.Println("sched_yield", e)
	var cpu uint32
	_, e = raw(unix.SYS_GETCPU, unsafe.Pointer(&cpu), 0, 0)
	fmt.Println("getcpu", e)
	n, _ := raw(unix.SYS_SCHED_GETAFFINITY, 0, len(b), unsafe.Pointer(&b))
	_, e = raw(unix.SYS_SCHED_SETAFFINITY, 0, n, unsafe.Pointer(&b))
	fmt.Println("sched_setaffinity", n > 0, e)
	first, second, third, fourth := rdtsc(), rdtsc(), rdtscp(), rdtscp()
	fmt.Println(first < second, second < third, third < fourth)
	pid, _, e := syscall.RawSyscall(unix.SYS_FORK, 0, 0, 0)
	if pid == 0 {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, 7, 0, 0)
	}
	var status syscall.WaitStatus
	ended, err := syscall.Wait4(int(pid), &status, 0, nil)
	fmt.Println("fork", e, ended == int(pid), status.ExitStatus(), err)
}

// connections sends and receives messages in parts, and closes its own half of a connection.
func connections() {
	c := dial()
	f, _ := c.(interface{ File() (*os.File, error) }).File()
	fd := int(f.Fd()) // Fd makes reads and writes block
	one, two := []byte("one "), []byte("two\n")
	parts := []unix.Iovec{{Base: &one[0], Len: 4}, {Base: &two[0], Len: 4}}
	message := unix.Msghdr{Iov: &parts[0], Iovlen: 2}
	fmt.Println(raw(unix.SYS_SENDMSG, fd, unsafe.Pointer(&message), 0))
	b := make([]byte, 100)
	parts = []unix.Iovec{{Base: &b[0], Len: 2}, {Base: &b[2], Len: 98}}
	message.Iov = &parts[0]
	n, e := raw(unix.SYS_RECVMSG, fd, unsafe.Pointer(&message), 0)
	fmt.Printf("recvmsg %d %v %q\n", n, e, b[:max(n, 0)])
	fmt.Println(raw(unix.SYS_SHUTDOWN, fd, 9))
	fmt.Println(raw(unix.SYS_SHUTDOWN, fd, unix.SHUT_WR))
	fmt.Println(syscall.Read(fd, b))
	_, e = raw(unix.SYS_SENDMSG, fd, unsafe.Pointer(&message), unix.MSG_NOSIGNAL)
	fmt.Println("sendmsg", e)
	fmt.Println(raw(unix.SYS_SHUTDOWN, 1, 0))
	fmt.Println(raw(unix.SYS_CLOSE_RANGE, 0, 0, 0))
}

// lacking makes system calls that fail in virtual time as if the kernel lacked or forbade them.
func lacking() {
	fd, _ := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	fmt.Println(syscall.Bind(fd, &syscall.SockaddrInet4{Port: 8000}), syscall.Listen(fd, 1))
	for _, nr := range []uintptr{unix.SYS_IO_URING_SETUP, unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_SEND_SIGNAL,
		unix.SYS_RSEQ} {
		_, e := raw(nr)
		fmt.Println(e)
	}
}
