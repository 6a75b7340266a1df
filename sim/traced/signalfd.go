//go:build linux && amd64

package traced

import (
	"golang.org/x/sys/unix"
)

// signalFile is a process's signalfd: a file descriptor from which the process reads signals that it blocks.
type signalFile struct {
	special
	waits  signalSet
	marked bool // the file is readable
}

// unblockable holds the signals that a process cannot block.
const unblockable signalSet = 1<<(unix.SIGKILL-1) | 1<<(unix.SIGSTOP-1)

// signalfd creates a signalfd, or changes the signal set of an existing one.
func (t *thread) signalfd() outcome {
	r := &t.regs
	var flags uint64
	if t.name == "signalfd4" {
		flags = r.R10
	}
	var set [8]byte
	switch {
	case r.Rdx != 8:
		return t.errs(unix.EINVAL)
	case !peek(t.tid, r.Rsi, set[:]):
		return t.errs(unix.EFAULT)
	case flags&^(unix.SFD_CLOEXEC|unix.SFD_NONBLOCK) != 0:
		return t.errs(unix.EINVAL)
	}
	waits := signalSet(le.Uint64(set[:])) &^ unblockable
	if int32(r.Rdi) == -1 {
		s, o := t.makes(flags)
		if s.end >= 0 {
			t.p.signalFiles = append(t.p.signalFiles, &signalFile{special: s, waits: waits})
			t.marksFiles()
		}
		return o
	}
	own, ok := t.p.dup(r.Rdi)
	if !ok {
		return t.errs(unix.EBADF)
	}
	mode, _, inode := kindOf(own)
	unix.Close(own)
	x := t.p.signalFileOf(mode, inode)
	if x == nil {
		return t.errs(unix.EINVAL)
	}
	x.waits = waits
	t.marksFiles()
	return t.gives(int64(int32(r.Rdi)))
}

// signalFileOf returns the signalfd behind a socket, or nil if there is none.
func (p *Process) signalFileOf(mode uint32, inode uint64) *signalFile {
	for _, x := range p.signalFiles {
		if x.matches(mode, inode) {
			return x
		}
	}
	return nil
}

// marksFiles makes each signalfd readable if the thread has a pending signal for it, and unreadable otherwise.
func (t *thread) marksFiles() {
	if len(t.p.signalFiles) == 0 || t.p.ended {
		return
	}
	pending := t.p.signals(t.tid).pending
	for _, x := range t.p.signalFiles {
		switch has := pending&x.waits != 0; {
		case has == x.marked:
			continue
		case has:
			x.rings()
		default:
			if own, ok := x.opened(t.p); ok {
				drain(own)
				unix.Close(own)
			}
		}
		x.marked = !x.marked
	}
	t.p.recheck()
}

// sizeOfSignal is the size of a signalfd_siginfo in bytes.
const sizeOfSignal = 128

// read handles a read from a signalfd, or makes the thread wait. fd is a duplicate of the descriptor, which read
// closes.
func (x *signalFile) read(t *thread, fd int) outcome {
	flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	unix.Close(fd)
	to, size, ok := t.buffer()
	switch {
	case !ok:
		return t.errs(unix.ENOTSOCK)
	case size < sizeOfSignal:
		return t.errs(unix.EINVAL)
	}
	give := func(bool) bool {
		var list []byte
		for uint64(len(list)) <= size-sizeOfSignal {
			one := t.dequeues(x.waits)
			if one == nil {
				break
			}
			list = append(list, one...)
		}
		if len(list) == 0 {
			return false
		}
		t.marksFiles()
		result := int64(len(list))
		if !poke(t.tid, to, list) {
			result = -int64(unix.EFAULT)
		}
		t.finish(result)
		return true
	}
	switch {
	case give(false):
		return answered
	case flags&unix.O_NONBLOCK != 0:
		return t.errs(unix.EAGAIN)
	}
	return t.blocks(block{takes: x.waits, ready: give})
}

// dequeues removes one of the thread's pending signals that are in the set, and returns it as a signalfd_siginfo. If
// there is no such signal, it returns nil.
func (t *thread) dequeues(set signalSet) []byte {
	if t.p.signals(t.tid).pending&set == 0 {
		return nil
	}
	at := t.regs.Rsp - 512 // below the part of the stack that the thread may use
	const used = 24 + sizeOfInfo
	before, arguments := make([]byte, used), le.AppendUint64(nil, uint64(set))
	arguments = append(arguments, make([]byte, 16)...) // the time to wait
	if !peek(t.tid, at, before) || !poke(t.tid, at, arguments) {
		t.p.m.fail(t, t.name, "but its stack cannot be written to")
		return nil
	}
	result, err := t.asks(unix.SYS_RT_SIGTIMEDWAIT, at, at+24, at+8, 8)
	info := make([]byte, sizeOfInfo)
	peek(t.tid, at+24, info)
	poke(t.tid, at, before)
	if err != nil || result <= 0 {
		return nil
	}
	sig := unix.Signal(result)
	if from, known := t.receives(sig); known {
		from.encode(info, sig)
	}
	return ofFile(info)
}

// ofFile converts a siginfo_t to a signalfd_siginfo.
func ofFile(info []byte) []byte {
	b := make([]byte, sizeOfSignal)
	copy(b, info[:12]) // number, error and code
	code := int32(le.Uint32(info[8:]))
	first, second, value := info[16:20], info[20:24], info[24:32]
	switch {
	case code == sentByTimer:
		copy(b[24:], first)  // ID of the timer
		copy(b[32:], second) // number of further expirations of the timer
		copy(b[44:], value[:4])
		copy(b[48:], value)
	case unix.Signal(le.Uint32(info)) == unix.SIGCHLD && code > 0:
		copy(b[12:], info[16:24]) // IDs of the process and of its user
		copy(b[40:], value[:4])
	default:
		copy(b[12:], info[16:24])
		if code < 0 {
			copy(b[44:], value[:4])
			copy(b[48:], value)
		}
	}
	return b
}
