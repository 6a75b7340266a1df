//go:build linux && amd64

package traced

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// sharedFolder is the folder for the files that processes map to share memory (sem_open, shm_open). Each family has its
// own files there, which exist only in memory. So runs do not share files, and no files are left behind.
const sharedFolder = "/dev/shm/"

// sharedFiles maps the paths of a family's files in sharedFolder to this process's file descriptors.
type sharedFiles map[string]int

// close removes all files.
func (f sharedFiles) close() {
	for path := range f {
		f.remove(path)
	}
}

// remove removes a path. The file continues to exist as long as a process has it open or another path refers to it.
func (f sharedFiles) remove(path string) {
	unix.Close(f[path])
	delete(f, path)
}

// changesShared executes a system call that opens or changes files in sharedFolder. paths contains the absolute paths
// among the call's arguments. ok is false if the call is about other files.
func (t *thread) changesShared(name string, paths []string, flags uint64) (o outcome, ok bool) {
	of := func(path string) bool {
		return strings.HasPrefix(path, sharedFolder) && !strings.Contains(path[len(sharedFolder):], "/")
	}
	if len(paths) == 0 || !of(paths[len(paths)-1]) {
		return 0, false
	}
	files := t.p.shared
	first, last := paths[0], paths[len(paths)-1]
	_, exists := files[first]
	_, taken := files[last]
	switch {
	case strings.HasPrefix(name, "open") || name == "creat":
		return t.opensShared(first, flags), true
	case !exists:
		return t.errs(unix.ENOENT), true
	case name == "unlink" || name == "unlinkat":
		files.remove(first)
	case strings.HasPrefix(name, "link") && taken:
		return t.errs(unix.EEXIST), true
	case first == last && strings.HasPrefix(name, "rename"): // changes nothing
	case strings.HasPrefix(name, "link"), strings.HasPrefix(name, "rename"):
		own, err := unix.FcntlInt(uintptr(files[first]), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return t.errs(unix.EMFILE), true
		}
		if taken {
			files.remove(last)
		}
		if files[last] = own; strings.HasPrefix(name, "rename") {
			files.remove(first)
		}
	case name != "chmod" && name != "chown" && name != "utimensat":
		return t.errs(unix.EROFS), true
	}
	return t.gives(0), true
}

// opensSharedFile reports whether a thread is about to open a file in sharedFolder.
func (t *thread) opensSharedFile() bool {
	at := t.regs.Rsi
	if t.regs.Orig_rax == unix.SYS_OPEN {
		at = t.regs.Rdi
	} else if t.regs.Orig_rax != unix.SYS_OPENAT {
		return false
	}
	b := make([]byte, len(sharedFolder))
	return peek(t.tid, at, b) && string(b) == sharedFolder
}

// opensShared opens a file in sharedFolder. If the flags contain O_CREAT, it creates the file if necessary.
func (t *thread) opensShared(path string, flags uint64) outcome {
	own, exists := t.p.shared[path]
	var err error
	switch {
	case exists && flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL:
		return t.errs(unix.EEXIST)
	case exists && flags&unix.O_TRUNC != 0:
		err = unix.Ftruncate(own, 0)
	case !exists && flags&unix.O_CREAT == 0:
		return t.errs(unix.ENOENT)
	case !exists:
		if own, err = unix.MemfdCreate("shared", unix.MFD_CLOEXEC); err == nil {
			if t.p.shared == nil {
				t.p.shared = sharedFiles{}
			}
			t.p.shared[path] = own
		}
	}
	if err != nil {
		t.p.m.fail(t, t.name, "to create shared memory, but this failed: "+err.Error())
		return gone
	}
	return t.opensInstead(ownFile(own), flags)
}

// ownFile returns the path by which other processes can open one of this process's files.
func ownFile(fd int) string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd) }

// opensInstead makes a system call that opens a file open another file.
func (t *thread) opensInstead(path string, flags uint64) outcome {
	name := append([]byte(path), 0)
	at := t.regs.Rsp - 256 // below the part of the stack that the thread may use
	before := make([]byte, len(name))
	if !peek(t.tid, at, before) || !poke(t.tid, at, name) {
		return t.errs(unix.EFAULT)
	}
	t.passThrough(func(r *unix.PtraceRegs) {
		r.Orig_rax, r.Rdi, r.Rsi, r.Rdx = unix.SYS_OPEN, at, flags&^(unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW), 0
	})
	poke(t.tid, at, before)
	return answered
}

// futexKey identifies a futex within a family.
type futexKey struct {
	file string // the file or the shared memory that contains the futex; empty: memory of one process
	at   uint64 // offset in the file, or address
}

// futexAt returns the key of the futex at an address. private means that only threads of a single process use the
// futex.
func (p *Process) futexAt(at uint64, private bool) futexKey {
	if !private {
		for _, m := range p.mappings() {
			if m.from <= at && at < m.to && m.shared {
				return futexKey{m.file, m.offset + at - m.from}
			}
		}
	}
	return futexKey{at: at}
}

// mapping is part of a process's address space.
type mapping struct {
	from, to uint64
	shared   bool // writes are visible to other processes that map the same file or memory
	writable bool
	offset   uint64
	file     string // device and inode of the mapped file
}

// mappings lists a process's mappings.
func (p *Process) mappings() (list []mapping) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.pid))
	for line := range strings.Lines(string(text)) {
		var m mapping
		var mode, device, inode string
		n, _ := fmt.Sscanf(line, "%x-%x %s %x %s %s", &m.from, &m.to, &mode, &m.offset, &device, &inode)
		if n == 6 {
			m.shared, m.writable, m.file = mode[3] == 's', mode[1] == 'w', device+" "+inode
			list = append(list, m)
		}
	}
	return list
}

// sharesMemory reports whether the process has writable memory that it would share with a copy of itself, not counting
// the page that holds the process's clocks.
func (p *Process) sharesMemory() bool {
	return slices.ContainsFunc(p.mappings(), func(m mapping) bool { return m.shared && m.writable && m.from != pageAt })
}
