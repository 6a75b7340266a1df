//go:build linux && amd64

package traced

import (
	"bytes"
	"slices"

	"golang.org/x/sys/unix"
)

// returning is the machine code of a function that returns the process ID without a system call: mov eax, id; nop.
func returning(id int) []byte { return append(le.AppendUint32([]byte{0xb8}, uint32(id)), 0x66, 0x90) }

// asking is the machine code of a function that asks the kernel for the process ID: mov eax, 39; syscall.
var asking = []byte{0xb8, unix.SYS_GETPID, 0, 0, 0, 0x0f, 0x05}

// getpid returns the process ID to the thread. Some libraries ask for the ID before each request. Therefore, if the
// call comes from a function like the C library's getpid, the function's code is replaced with code that returns the ID
// without a system call. If the code cannot be replaced, the function continues to make the system call.
func (t *thread) getpid() outcome {
	code, at := make([]byte, len(asking)), t.regs.Rip-uint64(len(asking))
	shared := slices.ContainsFunc(t.p.members, func(o *Process) bool { return o.lender != nil })
	if !shared && peek(t.tid, at, code) && bytes.Equal(code, asking) &&
		pokeCode(t.tid, at, returning(t.p.id)) == nil {
		t.p.knows = append(t.p.knows, at)
	}
	return t.gives(int64(t.p.id))
}

// forgetsNumber restores the functions that getpid has changed, because another process is about to use the same
// memory. The functions then ask the kernel for the process ID again.
func (p *Process) forgetsNumber() {
	for _, at := range p.knows {
		pokeCode(p.pid, at, asking)
	}
	p.knows = nil
}

func (t *thread) getppid() outcome {
	return t.gives(int64(t.p.parentID()))
}

// parentID returns the ID of the process's parent, or 1 (init) if it has none.
func (p *Process) parentID() int {
	if p.parent == nil {
		return 1
	}
	return p.parent.id
}

// member returns the process with the given ID in the family, or nil if there is none. The ID 0 stands for p itself.
func (p *Process) member(id int) *Process {
	for _, o := range p.members {
		if o.id == id || id == 0 && o == p {
			return o
		}
	}
	return nil
}

// ofKin handles a system call that asks for a process's process group or session.
func (t *thread) ofKin(number func(*Process) int) outcome {
	o := t.p.member(int(int32(t.regs.Rdi)))
	if o == nil {
		return t.errs(unix.ESRCH)
	}
	return t.gives(int64(number(o)))
}

func (t *thread) getpgrp() outcome { return t.gives(int64(t.p.group)) }

func (t *thread) getpgid() outcome { return t.ofKin(func(p *Process) int { return p.group }) }

func (t *thread) getsid() outcome { return t.ofKin(func(p *Process) int { return p.session }) }

func (t *thread) setsid() outcome {
	p := t.p
	if slices.ContainsFunc(p.members, func(o *Process) bool { return o.group == p.id }) {
		return t.errs(unix.EPERM)
	}
	p.group, p.session = p.id, p.id
	return t.gives(int64(p.id))
}

func (t *thread) setpgid() outcome {
	o, group := t.p.member(int(int32(t.regs.Rdi))), int(int32(t.regs.Rsi))
	switch {
	case group < 0:
		return t.errs(unix.EINVAL)
	case o == nil || o != t.p && o.parent != t.p:
		return t.errs(unix.ESRCH)
	case o.session == o.id:
		return t.errs(unix.EPERM)
	case group == 0:
		group = o.id
	}
	if group != o.id && !slices.ContainsFunc(t.p.members, func(q *Process) bool { return q.group == group }) {
		return t.errs(unix.EPERM)
	}
	o.group = group
	return t.gives(0)
}

// cldExited and cldKilled are si_code values that say how a child has ended.
const cldExited, cldKilled = 1, 2

// awaits waits until a matching child has ended, and passes it to resultOf, which computes the system call's result. If
// no such child has ended yet and the call must not wait, the result is resultOf(nil).
func (t *thread) awaits(match func(*Process) bool, options uint64, resultOf func(*Process) int64) outcome {
	try := func() bool {
		living := false
		for _, o := range t.p.members {
			if o.parent != t.p || !match(o) {
				continue
			}
			if !o.ended || options&unix.WEXITED == 0 {
				living = true
				continue
			}
			result := resultOf(o)
			if options&unix.WNOWAIT == 0 {
				o.leaves()
			}
			t.finish(result)
			return true
		}
		switch {
		case !living:
			t.finish(-int64(unix.ECHILD))
		case options&unix.WNOHANG != 0:
			t.finish(resultOf(nil))
		default:
			return false
		}
		return true
	}
	if try() {
		return answered
	}
	return t.blocks(block{child: true, ready: func(bool) bool { return try() }})
}

func (t *thread) wait4() outcome {
	r := t.regs
	id, options := int(int32(r.Rdi)), r.Rdx
	const known = unix.WNOHANG | unix.WUNTRACED | unix.WCONTINUED | unix.WNOTHREAD | unix.WCLONE | unix.WALL
	if options&0xffffffff&^known != 0 {
		return t.errs(unix.EINVAL)
	}
	group := -id
	if id == 0 {
		group = t.p.group
	}
	is := func(o *Process) bool { return id == -1 || o.id == id || id <= 0 && o.group == group }
	return t.awaits(is, options&unix.WNOHANG|unix.WEXITED, func(o *Process) int64 {
		switch {
		case o == nil:
			return 0
		case r.Rsi != 0 && !poke32(t.tid, r.Rsi, o.exit.status()), r.R10 != 0 && !poke(t.tid, r.R10, make([]byte, 144)):
			return -int64(unix.EFAULT)
		}
		return int64(o.id)
	})
}

func (t *thread) waitid() outcome {
	r := t.regs
	kind, id, options := r.Rdi, int(int32(r.Rsi)), r.R10
	const known = unix.WNOHANG | unix.WNOWAIT | unix.WEXITED | unix.WSTOPPED | unix.WCONTINUED | unix.WNOTHREAD |
		unix.WCLONE | unix.WALL
	switch {
	case options&0xffffffff&^known != 0 || options&(unix.WEXITED|unix.WSTOPPED|unix.WCONTINUED) == 0 ||
		kind > unix.P_PIDFD || kind != unix.P_ALL && id < 0:
		return t.errs(unix.EINVAL)
	case kind == unix.P_PIDFD:
		return t.errs(unix.EBADF)
	case kind == unix.P_PGID && id == 0:
		id = t.p.group
	}
	is := func(o *Process) bool {
		return kind == unix.P_ALL || kind == unix.P_PID && o.id == id || kind == unix.P_PGID && o.group == id
	}
	return t.awaits(is, options, func(o *Process) int64 {
		info := make([]byte, sizeOfInfo)
		if o != nil {
			s := sender{code: cldExited, id: o.id, value: uint64(o.exit.reason())}
			if o.exit.Signal != "" {
				s.code = cldKilled
			}
			s.encode(info, unix.SIGCHLD)
		}
		if r.Rdx != 0 && !poke(t.tid, r.Rdx, info) || r.R8 != 0 && !poke(t.tid, r.R8, make([]byte, 144)) {
			return -int64(unix.EFAULT)
		}
		return 0
	})
}
