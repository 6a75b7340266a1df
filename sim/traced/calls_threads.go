//go:build linux && amd64

package traced

import (
	"cmp"
	"slices"

	"golang.org/x/sys/unix"
)

// clone implements the clone system call, which starts a thread or a process.
func (t *thread) clone() outcome {
	flags, parentID, childID := t.regs.Rdi, t.regs.Rdx, t.regs.R10
	if t.name == "clone3" {
		b := make([]byte, 32)
		if !peek(t.tid, t.regs.Rdi, b) {
			return t.errs(unix.EFAULT)
		}
		flags, childID, parentID = le.Uint64(b), le.Uint64(b[16:]), le.Uint64(b[24:])
	}
	switch {
	case flags&unix.CLONE_THREAD != 0:
	case t.name == "clone3":
		return t.lacks() // programs then use clone
	default:
		return t.startsProcess(flags)
	}
	m, p := t.p.m, t.p
	unix.PtraceCont(t.tid, 0)
	st, err := wait(t.tid)
	if err != nil || event(st) != unix.PTRACE_EVENT_CLONE {
		m.fail(t, t.name, "but the kernel refused to create a thread")
		return gone
	}
	tid, err := unix.PtraceGetEventMsg(t.tid)
	if err == nil {
		_, err = wait(int(tid))
	}
	if err != nil {
		m.fail(t, t.name, "but the new thread was lost: "+err.Error())
		return gone
	}
	p.lastID++
	child := &thread{p: p, tid: int(tid), id: p.lastID}
	p.threads = append(p.threads, child)
	unix.PtraceSyscall(t.tid, 0)
	wait(t.tid)
	unix.PtraceGetRegs(t.tid, &t.regs)
	t.regs.Rax = uint64(child.id)
	unix.PtraceSetRegs(t.tid, &t.regs)
	if flags&unix.CLONE_PARENT_SETTID != 0 {
		poke32(t.tid, parentID, uint32(child.id))
	}
	if flags&unix.CLONE_CHILD_SETTID != 0 {
		poke32(t.tid, childID, uint32(child.id))
	}
	if flags&unix.CLONE_CHILD_CLEARTID != 0 {
		child.began = childID
	}
	m.runnable = append(m.runnable, child)
	t.record(int64(child.id))
	return answered
}

// exits ends a thread. When the last thread ends, so does the process.
func (t *thread) exits() outcome {
	p := t.p
	if len(p.threads) == 1 {
		return passes
	}
	if t.tid == p.pid {
		// The kernel keeps the first thread as a zombie until all others have ended. It never runs again.
		return t.blocks(block{firm: true, ready: func(bool) bool { return false }})
	}
	t.record(0)
	unix.PtraceCont(t.tid, 0)
	for {
		st, err := wait(t.tid)
		if err != nil || !st.Stopped() {
			break
		}
		unix.PtraceCont(t.tid, 0)
	}
	t.ended = true
	p.m.ends(t)
	p.remove(t)
	if t.began != 0 {
		p.wakes(futexKey{at: t.began}, 1<<30, ^uint32(0))
	}
	if first := p.threads[0]; len(p.threads) == 1 && first.blocked != nil && first.name == "exit" {
		first.goesOn() // only the first thread is left
	}
	return gone
}

// waiting returns the threads that are waiting on a futex, in the order in which they began to wait.
func (p *Process) waiting(at futexKey, bits uint32) (list []*thread) {
	for _, o := range p.members {
		if o != p && at.file == "" {
			continue
		}
		for _, t := range o.threads {
			if b := t.blocked; b != nil && b.futex == at && b.bits&bits != 0 {
				list = append(list, t)
			}
		}
	}
	slices.SortFunc(list, func(a, b *thread) int { return cmp.Compare(a.blocked.order, b.blocked.order) })
	return list
}

// wakes wakes up to n of the threads waiting on a futex, and returns how many it woke.
func (p *Process) wakes(at futexKey, n int, bits uint32) (woken int) {
	for _, t := range p.waiting(at, bits) {
		if woken >= n {
			break
		}
		t.finish(0)
		t.goesOn()
		woken++
	}
	return woken
}

// futex operations, and flags that can be added to them.
const (
	futexWait      = 0
	futexWake      = 1
	futexRequeue   = 3
	futexCmpQueue  = 4
	futexWakeOp    = 5
	futexWaitBits  = 9
	futexWakeBits  = 10
	futexOperation = 0x7f
	futexPrivate   = 0x80
	futexRealtime  = 0x100
)

// futex implements the futex system call.
func (t *thread) futex() outcome {
	r, p := &t.regs, t.p
	all := ^uint32(0)
	n := int(int32(r.Rdx))
	key := func(at uint64) futexKey { return p.futexAt(at, r.Rsi&futexPrivate != 0) }
	switch r.Rsi & futexOperation {
	case futexWait:
		return t.waits(all)
	case futexWaitBits:
		return t.waits(uint32(r.R9))
	case futexWake:
		return t.gives(int64(p.wakes(key(r.Rdi), n, all)))
	case futexWakeBits:
		return t.gives(int64(p.wakes(key(r.Rdi), n, uint32(r.R9))))
	case futexCmpQueue:
		if peek32(t.tid, r.Rdi) != uint32(r.R9) {
			return t.errs(unix.EAGAIN)
		}
		fallthrough
	case futexRequeue:
		woken := p.wakes(key(r.Rdi), n, all)
		moved := p.waiting(key(r.Rdi), all)
		moved = moved[:min(len(moved), max(int(int32(r.R10)), 0))]
		for _, o := range moved {
			o.blocked.futex = key(r.R8)
		}
		return t.gives(int64(woken + len(moved)))
	case futexWakeOp:
		return t.wakeOp()
	}
	p.m.fail(t, "futex", "with an operation that is not modeled")
	return gone
}

func (t *thread) waits(bits uint32) outcome {
	r := &t.regs
	if peek32(t.tid, r.Rdi) != uint32(r.Rdx) {
		return t.errs(unix.EAGAIN)
	}
	b := block{}
	if r.R10 != 0 {
		d, ok := t.timespec(r.R10)
		switch {
		case !ok:
			return t.errs(unix.EINVAL)
		case r.Rsi&futexOperation == futexWait:
			b = t.relative(d)
		default:
			b = absolute(r.Rsi&futexRealtime != 0, d)
		}
	}
	t.p.m.waits++
	b.futex, b.bits, b.order = t.p.futexAt(r.Rdi, r.Rsi&futexPrivate != 0), bits, t.p.m.waits
	b.ready = func(bool) bool {
		t.finish(-int64(unix.ETIMEDOUT))
		return true
	}
	return t.blocks(b)
}

// wakeOp changes a word and wakes threads that are waiting on one futex. If the word's old value meets the condition,
// it also wakes threads that are waiting on another futex.
func (t *thread) wakeOp() outcome {
	r, p := &t.regs, t.p
	code := uint32(r.R9)
	argument, compared := uint32(int32(code<<8)>>20), int32(code<<20)>>20
	if code>>31 == 1 {
		argument = 1 << (argument & 31)
	}
	old := peek32(t.tid, r.R8)
	next := [8]uint32{argument, old + argument, old | argument, old &^ argument, old ^ argument, old, old, old}
	poke32(t.tid, r.R8, next[code>>28&7])
	key := func(at uint64) futexKey { return p.futexAt(at, r.Rsi&futexPrivate != 0) }
	n := p.wakes(key(r.Rdi), int(int32(r.Rdx)), ^uint32(0))
	o := int32(old)
	holds := [...]bool{o == compared, o != compared, o < compared, o <= compared, o > compared, o >= compared}
	if test := code >> 24 & 0xf; int(test) < len(holds) && holds[test] {
		n += p.wakes(key(r.R8), int(int32(r.R10)), ^uint32(0))
	}
	return t.gives(int64(n))
}
