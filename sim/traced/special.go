//go:build linux && amd64

package traced

import (
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// special is a process's timerfd or signalfd. It is actually an AF_UNIX socket that is connected to the machine, as TCP
// sockets are. When there is something to read, the machine writes a byte to the socket, so that the kernel handles
// poll and epoll correctly. Reads are handled by the machine itself. After a read, it removes the bytes that it has
// written.
type special struct {
	inode uint64
	end   int // file descriptor of the machine's end of the socket
}

// makes creates a timerfd or signalfd and makes the system call return its descriptor. If this fails, s.end is -1.
func (t *thread) makes(flags uint64) (s special, o outcome) {
	s.end = -1
	fd := t.passThrough(func(r *unix.PtraceRegs) {
		r.Orig_rax, r.Rdi, r.Rsi, r.Rdx = unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM|flags, 0
	})
	own, ok := t.p.dup(uint64(fd))
	if fd < 0 || !ok {
		return s, answered
	}
	defer unix.Close(own)
	_, _, s.inode = kindOf(own)
	var err error
	if s.end, err = t.p.m.attached(own); err != nil {
		s.end = -1
		t.p.m.fail(t, t.name, "for a file that could not be created: "+err.Error())
		return s, gone
	}
	return s, answered
}

// matches reports whether s is the open file with the given mode and inode.
func (s *special) matches(mode uint32, inode uint64) bool {
	return mode == unix.S_IFSOCK && s.inode == inode
}

// rings makes the descriptor readable.
func (s *special) rings() {
	unix.Write(s.end, []byte{0}) // ignore errors: if the buffer is full, the file is readable already
}

// drain removes the bytes that the machine has written to a timerfd or signalfd.
func drain(own int) {
	b := make([]byte, 4096)
	for {
		if n, _, err := unix.Recvfrom(own, b, unix.MSG_DONTWAIT); err != nil || n <= 0 {
			return
		}
	}
}

// buffer returns the address and size of the buffer into which a system call reads. ok is false if the call can read
// only from sockets.
func (t *thread) buffer() (to, size uint64, ok bool) {
	to, size = t.regs.Rsi, t.regs.Rdx
	switch t.name {
	case "recvfrom", "recvmsg":
		return 0, 0, false
	case "readv":
		to, size = peek64(t.tid, to), peek64(t.tid, to+8)
	}
	return to, size, true
}

// lookAtSpecial forgets each timerfd and signalfd that the process has closed.
func (p *Process) lookAtSpecial() {
	p.timers = slices.DeleteFunc(p.timers, func(x *timer) bool { return x.closed() })
	p.signalFiles = slices.DeleteFunc(p.signalFiles, func(x *signalFile) bool { return x.closed() })
}

// closed reports whether the process has closed its end. If so, closed also closes the machine's end.
func (s *special) closed() bool {
	gone := pollNow([]unix.PollFd{{Fd: int32(s.end), Events: unix.POLLRDHUP}}) > 0
	if gone {
		unix.Close(s.end)
	}
	return gone
}

// opened returns a duplicate of the process's descriptor for s. ok is false if the process does not have one.
func (s *special) opened(p *Process) (own int, ok bool) {
	dir := fmt.Sprintf("/proc/%d/fd", p.pid)
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		if link, _ := os.Readlink(dir + "/" + e.Name()); link == fmt.Sprintf("socket:[%d]", s.inode) {
			var fd uint64
			fmt.Sscan(e.Name(), &fd)
			return p.dup(fd)
		}
	}
	return -1, false
}
