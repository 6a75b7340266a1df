//go:build linux && amd64

package traced

import (
	"encoding/binary"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fileCall is a system call that can change a file. dirs and paths are the indexes of its folder and path arguments. If
// a folder's index is -1, the path is relative to the current folder.
type fileCall struct {
	name  string
	dirs  []int
	paths []int
}

// fileCalls lists the system calls that can change files. Outside the scratch folder they fail, as on a file system
// that is mounted read-only.
var fileCalls = map[uint64]fileCall{
	unix.SYS_OPEN:      {"open", []int{-1}, []int{0}},
	unix.SYS_OPENAT:    {"openat", []int{0}, []int{1}},
	unix.SYS_OPENAT2:   {"openat2", []int{0}, []int{1}},
	unix.SYS_CREAT:     {"creat", []int{-1}, []int{0}},
	unix.SYS_MKDIR:     {"mkdir", []int{-1}, []int{0}},
	unix.SYS_MKDIRAT:   {"mkdirat", []int{0}, []int{1}},
	unix.SYS_RMDIR:     {"rmdir", []int{-1}, []int{0}},
	unix.SYS_UNLINK:    {"unlink", []int{-1}, []int{0}},
	unix.SYS_UNLINKAT:  {"unlinkat", []int{0}, []int{1}},
	unix.SYS_RENAME:    {"rename", []int{-1, -1}, []int{0, 1}},
	unix.SYS_RENAMEAT:  {"renameat", []int{0, 2}, []int{1, 3}},
	unix.SYS_RENAMEAT2: {"renameat2", []int{0, 2}, []int{1, 3}},
	unix.SYS_LINK:      {"link", []int{-1, -1}, []int{0, 1}},
	unix.SYS_LINKAT:    {"linkat", []int{0, 2}, []int{1, 3}},
	unix.SYS_SYMLINK:   {"symlink", []int{-1}, []int{1}},
	unix.SYS_SYMLINKAT: {"symlinkat", []int{1}, []int{2}},
	unix.SYS_CHMOD:     {"chmod", []int{-1}, []int{0}},
	unix.SYS_FCHMODAT:  {"fchmodat", []int{0}, []int{1}},
	unix.SYS_CHOWN:     {"chown", []int{-1}, []int{0}},
	unix.SYS_FCHOWNAT:  {"fchownat", []int{0}, []int{1}},
	unix.SYS_TRUNCATE:  {"truncate", []int{-1}, []int{0}},
	unix.SYS_UTIMENSAT: {"utimensat", []int{0}, []int{1}},
	unix.SYS_FTRUNCATE: {"ftruncate", nil, nil}, // the file was opened before, so it may be changed
	unix.SYS_FCHMOD:    {"fchmod", nil, nil},
	unix.SYS_FSYNC:     {"fsync", nil, nil},
	unix.SYS_FDATASYNC: {"fdatasync", nil, nil},
	unix.SYS_FALLOCATE: {"fallocate", nil, nil},
	unix.SYS_PWRITE64:  {"pwrite64", nil, nil},
	unix.SYS_FLOCK:     {"flock", nil, nil},
}

// devices lists the devices that a process may open for writing.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// changesFile executes a system call that can change a file.
func (t *thread) changesFile(c fileCall) outcome {
	args := [...]uint64{t.regs.Rdi, t.regs.Rsi, t.regs.Rdx, t.regs.R10}
	flags, isOpen := uint64(0), true
	switch c.name {
	case "open":
		flags = t.regs.Rsi
	case "openat":
		flags = t.regs.Rdx
	case "openat2":
		flags = peek64(t.tid, t.regs.Rdx)
	case "creat":
		flags, isOpen = unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC, false
	default:
		isOpen = false
	}
	const changing = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC | unix.O_APPEND |
		unix.O_TMPFILE&^unix.O_DIRECTORY
	reads := isOpen && flags&changing == 0
	var paths []string
	for i, at := range c.paths {
		path, ok := text(t.tid, args[at])
		if !ok {
			return t.errs(unix.EFAULT)
		}
		dir := int64(unix.AT_FDCWD)
		if c.dirs[i] >= 0 {
			dir = int64(int32(args[c.dirs[i]]))
		}
		paths = append(paths, t.p.absolute(dir, path))
	}
	switch {
	case isOpen && strings.HasPrefix(paths[0], foreign):
		return t.errs(unix.ENOENT)
	case isOpen && paths[0] == terminal:
		return t.errs(unix.ENXIO)
	case reads && describesHost(paths[0]):
		return t.opensHostFile(paths[0], flags)
	}
	if o, done := t.changesShared(c.name, paths, flags); done {
		return o
	}
	if reads {
		return passes
	}
	for _, path := range paths {
		if !t.p.mayWrite(path) && !(isOpen && slices.Contains(devices, path)) {
			return t.readOnly(path, flags)
		}
	}
	return passes
}

// foreign is the prefix of the files that the JVMs on a host use to find each other. Which of these files exist differs
// from run to run, so they are hidden from traced processes.
const foreign = "/tmp/hsperfdata_"

// terminal is the terminal of a process. A traced process has none, like a service.
const terminal = "/dev/tty"

// readOnly handles a system call that would change a file outside the scratch folder.
func (t *thread) readOnly(path string, flags uint64) outcome {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	switch {
	case err == nil && flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL:
		return t.errs(unix.EEXIST)
	case err == nil && flags&(unix.O_ACCMODE|unix.O_TRUNC) == 0 && flags&unix.O_CREAT != 0:
		return passes // the file exists and is opened only for reading
	case err != nil && err != unix.ENOENT:
		return t.errs(err.(unix.Errno))
	}
	t.p.refuse("to write " + path)
	return t.errs(unix.EROFS)
}

// absolute returns a file's absolute path. path is relative to the folder with the descriptor dir.
func (p *Process) absolute(dir int64, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	link := "/proc/" + strconv.Itoa(p.pid) + "/cwd"
	if dir != unix.AT_FDCWD {
		link = "/proc/" + strconv.Itoa(p.pid) + "/fd/" + strconv.Itoa(int(dir))
	}
	b := make([]byte, unix.PathMax)
	n, err := unix.Readlink(link, b)
	if err != nil {
		return filepath.Clean("/" + path)
	}
	return filepath.Join(string(b[:n]), path)
}

// mayWrite reports whether the process may write to a path. Only paths in the scratch folder are writable.
func (p *Process) mayWrite(path string) bool {
	s := p.command.Scratch
	return s != "" && strings.HasPrefix(path, filepath.Clean(s)+"/")
}

// read waits until there is something to read, and then lets the kernel execute the read.
func (t *thread) read() outcome {
	own, ok := t.p.dup(t.regs.Rdi)
	if !ok {
		return passes
	}
	mode, device, inode := kindOf(own)
	if x := t.p.timerOf(mode, inode); x != nil {
		return x.read(t, own)
	}
	if x := t.p.signalFileOf(mode, inode); x != nil {
		return x.read(t, own)
	}
	const random, urandom = 0x108, 0x109
	if mode == unix.S_IFCHR && (device == random || device == urandom) && t.name == "read" {
		unix.Close(own)
		b := t.p.random(int(min(t.regs.Rdx, mostRandom)))
		if !poke(t.tid, t.regs.Rsi, b) {
			return t.errs(unix.EFAULT)
		}
		return t.gives(int64(len(b)))
	}
	flags, _ := unix.FcntlInt(uintptr(own), unix.F_GETFL, 0)
	atOnce := flags&unix.O_NONBLOCK != 0 || t.name == "recvfrom" && t.regs.R10&unix.MSG_DONTWAIT != 0 ||
		t.name == "recvmsg" && t.regs.Rdx&unix.MSG_DONTWAIT != 0
	list := []unix.PollFd{{Fd: int32(own), Events: unix.POLLIN}}
	if mode == unix.S_IFREG || mode == unix.S_IFDIR || mode == unix.S_IFCHR || atOnce || pollNow(list) > 0 {
		unix.Close(own)
		t.p.dirty = true // a pipe that was full may have room now
		return passes
	}
	b := block{}
	if c := t.p.m.conns[inode]; c != nil && mode == unix.S_IFSOCK && c.patience > 0 {
		b = t.relative(c.patience)
	}
	b.fds = list
	b.ready = func(timeout bool) bool {
		if timeout {
			t.finish(-int64(unix.EAGAIN))
		}
		return true
	}
	return t.blocks(b)
}

// write handles a write to a file. If the file is a connection, the machine receives the bytes. For any other file,
// write waits until there is room, and then lets the kernel execute the system call.
func (t *thread) write() outcome {
	own, ok := t.p.dup(t.regs.Rdi)
	if !ok {
		return passes
	}
	mode, _, inode := kindOf(own)
	if mode != unix.S_IFSOCK && mode != unix.S_IFIFO && mode != 0 {
		unix.Close(own)
		return passes
	}
	if t.p.timerOf(mode, inode) != nil || t.p.signalFileOf(mode, inode) != nil {
		unix.Close(own)
		return t.errs(unix.EINVAL)
	}
	t.p.dirty = true
	if c := t.p.m.conns[inode]; c != nil && mode == unix.S_IFSOCK && c.state == open {
		unix.Close(own)
		return t.sends(c)
	}
	flags, _ := unix.FcntlInt(uintptr(own), unix.F_GETFL, 0)
	list := []unix.PollFd{{Fd: int32(own), Events: unix.POLLOUT}}
	if flags&unix.O_NONBLOCK != 0 || pollNow(list) > 0 {
		unix.Close(own)
		return passes
	}
	return t.blocks(block{fds: list, ready: func(bool) bool { return true }})
}

// waitsFor makes a thread wait for files. It calls b.ready immediately, whenever one of the files may be ready, and
// when the timeout expires.
func (t *thread) waitsFor(b block) outcome {
	pollNow(b.fds)
	done := b.ready(false)
	if !done && b.timed && b.at <= t.p.clock.advance(t.p.m.now) {
		done = b.ready(true)
	}
	t.blocked = &b
	if done {
		t.unblock()
		return answered
	}
	return blocks
}

// poll waits for files as poll and ppoll do.
func (t *thread) poll() outcome {
	const size = 8 // size of a pollfd
	n := int(t.regs.Rsi)
	if n < 0 || n > mostFiles {
		return t.errs(unix.EINVAL)
	}
	asked := make([]byte, n*size)
	if !peek(t.tid, t.regs.Rdi, asked) {
		return t.errs(unix.EFAULT)
	}
	b, ok := t.patience(t.name == "poll", t.regs.Rdx)
	if !ok {
		return t.errs(unix.EINVAL)
	}
	wrong := make([]bool, n)
	b.fds = make([]unix.PollFd, n)
	for i := range b.fds {
		fd := int32(le.Uint32(asked[i*size:]))
		b.fds[i] = unix.PollFd{Fd: -1, Events: int16(le.Uint16(asked[i*size+4:]))}
		if own, ok := t.p.dup(uint64(uint32(fd))); fd >= 0 && ok {
			b.fds[i].Fd = int32(own)
		} else {
			wrong[i] = fd >= 0
		}
	}
	fds := b.fds
	b.ready = func(timeout bool) bool {
		count := 0
		for i, f := range fds {
			if wrong[i] {
				f.Revents = unix.POLLNVAL
			}
			if f.Revents != 0 {
				count++
			}
			le.PutUint16(asked[i*size+6:], uint16(f.Revents))
		}
		if count == 0 && !timeout {
			return false
		}
		poke(t.tid, t.regs.Rdi, asked)
		t.finish(int64(count))
		return true
	}
	return t.waitsFor(b)
}

// mostFiles is the maximum number of files that a single call can wait for.
const mostFiles = 4096

// patience returns a block (a thread's wait) that ends after the timeout v. If milliseconds is true, v is a number of
// milliseconds; a negative number means no timeout. Otherwise v is the address of a timespec; 0 means no timeout. ok is
// false if the timespec cannot be used.
func (t *thread) patience(milliseconds bool, v uint64) (b block, ok bool) {
	switch {
	case milliseconds && int32(v) < 0, !milliseconds && v == 0:
		return block{}, true
	case milliseconds:
		return t.relative(int64(int32(v)) * 1e6), true
	}
	d, ok := t.timespec(v)
	return t.relative(d), ok
}

// selects waits for files as select and pselect6 do.
func (t *thread) selects() outcome {
	r := &t.regs
	n := int(int32(r.Rdi))
	if n < 0 || n > mostFiles {
		return t.errs(unix.EINVAL)
	}
	b := block{}
	if r.R8 != 0 {
		pair := make([]byte, 16)
		peek(t.tid, r.R8, pair)
		parts := int64(le.Uint64(pair[8:]))
		if t.name == "select" {
			parts *= 1000
		}
		b = t.relative(int64(min(le.Uint64(pair), farthest/1e9))*1e9 + parts)
	}
	sets := &fileSets{at: [3]uint64{r.Rsi, r.Rdx, r.R10}, size: (n + 63) / 64 * 8}
	if bad := t.gather(sets, n, &b); bad {
		for _, f := range b.fds {
			unix.Close(int(f.Fd))
		}
		return t.errs(unix.EBADF)
	}
	fds := b.fds
	b.ready = func(timeout bool) bool {
		count := 0
		var out [3][]byte
		for i := range out {
			out[i] = make([]byte, sets.size)
		}
		for i, f := range fds {
			if f.Revents != 0 {
				w := sets.what[i]
				out[w.set][w.fd/8] |= 1 << (w.fd % 8)
				count++
			}
		}
		if count == 0 && !timeout {
			return false
		}
		for i, at := range sets.at {
			if at != 0 {
				poke(t.tid, at, out[i])
			}
		}
		t.finish(int64(count))
		return true
	}
	return t.waitsFor(b)
}

// fileSets contains the three sets of files that are passed to select.
type fileSets struct {
	at   [3]uint64
	size int
	what []inSet // the sets of each file
}

type inSet struct{ set, fd int }

// gather collects the files that a thread passes to select. It reports whether any of them is not open.
func (t *thread) gather(s *fileSets, n int, b *block) (bad bool) {
	for i, events := range []int16{unix.POLLIN, unix.POLLOUT, unix.POLLPRI} {
		if s.at[i] == 0 {
			continue
		}
		set := make([]byte, s.size)
		peek(t.tid, s.at[i], set)
		for fd := range n {
			if set[fd/8]>>(fd%8)&1 == 0 {
				continue
			}
			own, ok := t.p.dup(uint64(fd))
			if !ok {
				return true
			}
			b.fds = append(b.fds, unix.PollFd{Fd: int32(own), Events: events})
			s.what = append(s.what, inSet{i, fd})
		}
	}
	return false
}

// epoll waits for files as epoll_wait and its variants do.
func (t *thread) epoll() outcome {
	r := &t.regs
	b, ok := t.patience(t.name != "epoll_pwait2", r.R10)
	own, open := t.p.dup(r.Rdi)
	switch {
	case !open:
		return t.errs(unix.EBADF)
	case !ok || int32(r.Rdx) <= 0:
		unix.Close(own)
		return t.errs(unix.EINVAL)
	}
	events := make([]unix.EpollEvent, min(int(r.Rdx), 1024))
	b.fds = []unix.PollFd{{Fd: int32(own), Events: unix.POLLIN}}
	b.ready = func(timeout bool) bool {
		n, err := unix.EpollWait(own, events, 0)
		switch {
		case err == unix.EINVAL:
			t.finish(-int64(unix.EINVAL))
			return true
		case err != nil:
			n = 0
		}
		if n == 0 && !timeout {
			return false
		}
		if n > 0 {
			poke(t.tid, r.Rsi, unsafe.Slice((*byte)(unsafe.Pointer(&events[0])), n*binary.Size(events[0])))
		}
		t.finish(int64(n))
		return true
	}
	return t.waitsFor(b)
}
