//go:build linux && amd64

package traced

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A forked process shares its open files with the original. Therefore, each copy of a checkpoint replaces the shared
// files with its own, which are in the same state.

// heldFile is a file that was open in a process when its checkpoint was taken.
type heldFile struct {
	fd      int
	kind    string // what the kernel calls the file: its path, or a name like pipe:[7]
	flags   uint64
	at      uint64 // position in a regular file, or count of an eventfd
	each    uint64 // 1 if reading an eventfd takes one from its count
	content []byte // of a pipe
	watched []watchedFile
	twin    int // earlier descriptor of the same open file; -1: none
}

// mostContent is the maximum number of unread bytes in a pipe. A process with a pipe that contains more is not copied.
const mostContent = 64

// watchedFile is a file that an epoll instance is watching.
type watchedFile struct {
	fd     int
	events uint32
	data   uint64
}

const (
	kindEvent = "anon_inode:[eventfd]"
	kindEpoll = "anon_inode:[eventpoll]"
	kindPipe  = "pipe:["
	kindPair  = "socket:["

	kindOutput = "/memfd:output (deleted)"
)

// sharesFile reports whether two processes have the same file open, or ends of the same pipe.
func (m *member) sharesFile(other member) bool {
	for _, f := range m.files {
		for _, o := range other.files {
			if f.kind != o.kind {
				continue
			}
			same, err := sameFile(m.process, f.fd, other.process, o.fd)
			if err != nil || same || strings.HasPrefix(f.kind, kindPipe) {
				return true
			}
		}
	}
	return false
}

// sameFile reports whether descriptor a of process p and descriptor b of process q refer to the same open file.
func sameFile(p *Process, a int, q *Process, b int) (bool, error) {
	const kcmpFile = 0
	order, _, err := unix.Syscall6(unix.SYS_KCMP, uintptr(p.pid), uintptr(q.pid), kcmpFile, uintptr(a), uintptr(b), 0)
	if err != 0 {
		return false, err
	}
	return order == 0, nil
}

// openFiles lists the files that a process has open, except those that every process has open from the start. If one of
// them cannot be copied, openFiles returns an error that names it.
func (p *Process) openFiles() (files []heldFile, err error) {
	dir := "/proc/" + strconv.Itoa(p.pid)
	list, err := os.ReadDir(dir + "/fd")
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		f := heldFile{}
		if f.fd, err = strconv.Atoi(e.Name()); err != nil {
			return nil, err
		}
		if f.kind, err = os.Readlink(dir + "/fd/" + e.Name()); err != nil {
			return nil, err
		}
		if f.kind == os.DevNull || f.fd <= standardError && f.kind == kindOutput {
			continue
		}
		info, err := os.ReadFile(dir + "/fdinfo/" + e.Name())
		if err != nil {
			return nil, err
		}
		f.parse(string(info))
		if !f.copyable(p) {
			return nil, errors.New(f.kind)
		}
		files = append(files, f)
	}
	for i := range files {
		if files[i].twin, err = p.twin(files[:i], &files[i]); err != nil {
			return nil, err
		}
	}
	for _, f := range files {
		for _, w := range f.watched {
			if !slices.ContainsFunc(files, func(o heldFile) bool { return o.fd == w.fd && o.kind != kindEpoll }) {
				return nil, fmt.Errorf("%s waits for %d", f.kind, w.fd)
			}
		}
	}
	return files, nil
}

// twin returns the descriptor of the candidate that refers to the same open file as f, or -1 if there is none. It also
// returns -1 for pipes and devices, because restore handles their descriptors one by one.
func (p *Process) twin(candidates []heldFile, f *heldFile) (int, error) {
	for _, o := range candidates {
		if o.kind != f.kind || strings.HasPrefix(f.kind, kindPipe) || strings.HasPrefix(f.kind, "/dev/") {
			continue
		}
		same, err := sameFile(p, o.fd, p, f.fd)
		if err != nil {
			return 0, fmt.Errorf("%s cannot be compared: %w", f.kind, err)
		}
		if same {
			return o.fd, nil
		}
	}
	return -1, nil
}

// parse reads the kernel's description of an open file (/proc/PID/fdinfo).
func (f *heldFile) parse(info string) {
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch name {
		case "pos":
			f.at, _ = strconv.ParseUint(value, 10, 64)
		case "flags":
			f.flags, _ = strconv.ParseUint(value, 8, 64)
		case "eventfd-count":
			f.at, _ = strconv.ParseUint(value, 16, 64)
		case "eventfd-semaphore":
			f.each, _ = strconv.ParseUint(value, 10, 64)
		case "tfd":
			var w watchedFile
			fmt.Sscanf(value, "%d events: %x data: %x", &w.fd, &w.events, &w.data)
			f.watched = append(f.watched, w)
		}
	}
}

// copyable reports whether a file can be copied. These files can: a file opened only for reading, a device, an eventfd,
// an epoll instance, a pipe with at most mostContent unread bytes, and one end of a socketpair if the other end is
// closed.
func (f *heldFile) copyable(p *Process) bool {
	own, ok := p.dup(uint64(f.fd))
	if !ok {
		return false
	}
	defer unix.Close(own)
	mode, _, _ := kindOf(own)
	switch {
	case f.kind == kindEvent || f.kind == kindEpoll || mode == unix.S_IFCHR:
		return true
	case mode == unix.S_IFIFO:
		return strings.HasPrefix(f.kind, kindPipe) && f.looksInto(own)
	case mode == unix.S_IFSOCK:
		return isDeadEnd(own)
	}
	return (mode == unix.S_IFREG || mode == unix.S_IFDIR) && f.flags&unix.O_ACCMODE == unix.O_RDONLY
}

// isDeadEnd reports whether a socket can neither be read nor written because its other end is closed. The Java virtual
// machine keeps such a socket open.
func isDeadEnd(own int) bool {
	is := []unix.PollFd{{Fd: int32(own)}}
	n, err := unix.IoctlGetInt(own, unix.TIOCINQ)
	return pollNow(is) == 1 && is[0].Revents&unix.POLLHUP != 0 && err == nil && n == 0
}

// looksInto saves a pipe's unread bytes without removing them. It returns false if there are too many.
func (f *heldFile) looksInto(own int) bool {
	n, err := unix.IoctlGetInt(own, unix.TIOCINQ)
	if err != nil || n > mostContent {
		return false
	}
	if n == 0 || f.flags&unix.O_ACCMODE != unix.O_RDONLY {
		return true
	}
	var ends [2]int
	if unix.Pipe2(ends[:], unix.O_CLOEXEC) != nil {
		return false
	}
	defer unix.Close(ends[0])
	defer unix.Close(ends[1])
	if _, err := unix.Tee(own, ends[1], mostContent, unix.SPLICE_F_NONBLOCK); err != nil {
		return false
	}
	f.content = make([]byte, n)
	got, err := unix.Read(ends[0], f.content)
	return err == nil && got == n
}

// filesOf gives a copied process its own files. While it does so, the process must be stopped outside any system call.
type filesOf struct {
	pid   int
	spare uint64 // address of memory that the copy does not use
	err   error
}

// call makes the copied process execute a system call.
func (c *filesOf) call(nr uint64, args ...uint64) (result uint64) {
	if c.err == nil {
		if result, c.err = inject(c.pid, nr, args...); c.err != nil {
			c.err = fmt.Errorf("call %d of a copy: %w", nr, c.err)
		}
	}
	return result
}

// moves replaces the file at f's descriptor with the new file, whose descriptor is fd, and sets f's flags on it.
func (c *filesOf) moves(fd uint64, f *heldFile) {
	c.call(unix.SYS_DUP3, fd, uint64(f.fd), f.flags&unix.O_CLOEXEC)
	if f.flags&unix.O_NONBLOCK != 0 {
		c.call(unix.SYS_FCNTL, uint64(f.fd), unix.F_SETFL, f.flags&^unix.O_CLOEXEC)
	}
}

// restore opens new files in the copied process. They replace the given files, which the process shares with the
// original.
func (c *filesOf) restore(files []heldFile) error {
	pipes := map[string]bool{}
	for i := range files {
		f := &files[i]
		var fd uint64
		switch {
		case f.twin >= 0:
			c.moves(uint64(f.twin), f)
			continue
		case strings.HasPrefix(f.kind, kindPipe):
			if !pipes[f.kind] {
				c.pipe(files, f.kind)
			}
			pipes[f.kind] = true
			continue
		case f.kind == kindEvent:
			fd = c.call(unix.SYS_EVENTFD2, f.at, f.each*unix.EFD_SEMAPHORE)
		case f.kind == kindEpoll:
			fd = c.call(unix.SYS_EPOLL_CREATE1, 0)
		case strings.HasPrefix(f.kind, "/dev/"):
			continue // a device has no position that matters
		case strings.HasPrefix(f.kind, kindPair):
			continue // a dead end has no state
		default:
			if path := fmt.Appendf(nil, "/proc/self/fd/%d\x00", f.fd); !poke(c.pid, c.spare, path) {
				return errors.New("cannot write to the stack of a copy")
			}
			fd = c.call(unix.SYS_OPEN, c.spare, f.flags&^(unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW), 0)
			if f.at != 0 {
				c.call(unix.SYS_LSEEK, fd, f.at, 0)
			}
		}
		c.moves(fd, f)
		c.call(unix.SYS_CLOSE, fd)
	}
	for _, f := range files {
		if f.twin >= 0 {
			continue // its watches are added with the earlier descriptor
		}
		for _, w := range f.watched {
			event := le.AppendUint64(le.AppendUint32(nil, w.events), w.data)
			if !poke(c.pid, c.spare, event) {
				return errors.New("cannot write to the stack of a copy")
			}
			c.call(unix.SYS_EPOLL_CTL, uint64(f.fd), unix.EPOLL_CTL_ADD, uint64(w.fd), c.spare)
		}
	}
	return c.err
}

// pipe replaces both ends of a pipe.
func (c *filesOf) pipe(files []heldFile, kind string) {
	c.call(unix.SYS_PIPE2, c.spare, 0)
	ends := [2]uint64{uint64(peek32(c.pid, c.spare)), uint64(peek32(c.pid, c.spare+4))}
	filled := false
	for i := range files {
		if f := &files[i]; f.kind == kind {
			if len(f.content) > 0 && !filled && poke(c.pid, c.spare, f.content) {
				filled = true // several descriptors may refer to the same end
				c.call(unix.SYS_WRITE, ends[1], c.spare, uint64(len(f.content)))
			}
			c.moves(ends[f.flags&unix.O_ACCMODE&1], f)
		}
	}
	c.call(unix.SYS_CLOSE, ends[0])
	c.call(unix.SYS_CLOSE, ends[1])
}
