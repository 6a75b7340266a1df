//go:build linux && amd64

package traced

import (
	"slices"

	"golang.org/x/sys/unix"
)

// timespec reads a timespec from a process's memory and returns it in ns. ok is false if it is invalid.
func (t *thread) timespec(at uint64) (ns int64, ok bool) {
	b := make([]byte, 16)
	if !peek(t.tid, at, b) {
		return 0, false
	}
	s, n := int64(le.Uint64(b)), int64(le.Uint64(b[8:]))
	if s < 0 || n < 0 || n >= 1e9 {
		return 0, false
	}
	return min(s, latest/1e9)*1e9 + n, true
}

// latest is the latest time, in ns, that a process can pass to a system call. On a wall clock, this is in the year
// 2116.
const latest = 1 << 62 / 1_000_000_000 * 1_000_000_000

// farthest is the longest wait in ns, about 29 years.
const farthest = 1 << 60 / 1_250_000_000 * 1_000_000_000

// relative returns a block that ends after d ns.
func (t *thread) relative(d int64) block {
	return block{timed: true, at: t.p.clock.advance(t.p.m.now) + min(d, farthest)}
}

// absolute returns a block that ends when a clock shows the given time.
func absolute(wall bool, at int64) block {
	if !wall {
		at -= uptime
	}
	return block{timed: true, wall: wall, at: at}
}

// reading returns the time shown by the clock with the given ID. ok is false if there is no such clock.
func (t *thread) reading(id int32) (ns int64, ok bool) {
	p, m := t.p, t.p.m
	switch {
	case showsWall(id):
		return p.clock.realtime(m.now), true
	case id == unix.CLOCK_MONOTONIC || id == unix.CLOCK_MONOTONIC_RAW || id == unix.CLOCK_MONOTONIC_COARSE ||
		id == unix.CLOCK_BOOTTIME:
		return p.clock.monotonic(m.now), true
	case id == unix.CLOCK_PROCESS_CPUTIME_ID || id == unix.CLOCK_THREAD_CPUTIME_ID || id < 0:
		// CPU-time clocks show how far the process's clock has advanced. Programs use them only to find out how long
		// something took.
		return p.clock.advance(m.now), true
	}
	return 0, false
}

// unwaited lists the clocks that cannot be used for sleeping.
var unwaited = []int32{unix.CLOCK_REALTIME_COARSE, unix.CLOCK_MONOTONIC_COARSE, unix.CLOCK_MONOTONIC_RAW,
	unix.CLOCK_THREAD_CPUTIME_ID}

// showsWall reports whether a clock shows wall-clock time.
func showsWall(id int32) bool {
	return id == unix.CLOCK_REALTIME || id == unix.CLOCK_REALTIME_COARSE || id == unix.CLOCK_TAI
}

// seconds encodes a time as a timespec or, if parts is 1000, as a timeval.
func seconds(ns, parts int64) []byte {
	return le.AppendUint64(le.AppendUint64(nil, uint64(ns/1e9)), uint64(ns%1e9/parts))
}

func (t *thread) clockGettime() outcome {
	ns, ok := t.reading(int32(t.regs.Rdi))
	if !ok {
		return t.errs(unix.EINVAL)
	}
	if !poke(t.tid, t.regs.Rsi, seconds(ns, 1)) {
		return t.errs(unix.EFAULT)
	}
	return t.gives(0)
}

func (t *thread) clockGetres() outcome {
	if _, ok := t.reading(int32(t.regs.Rdi)); !ok {
		return t.errs(unix.EINVAL)
	}
	if t.regs.Rsi != 0 {
		poke(t.tid, t.regs.Rsi, seconds(1, 1))
	}
	return t.gives(0)
}

func (t *thread) gettimeofday() outcome {
	if t.regs.Rdi != 0 {
		poke(t.tid, t.regs.Rdi, seconds(t.p.clock.realtime(t.p.m.now), 1000))
	}
	return t.gives(0)
}

func (t *thread) time() outcome {
	s := t.p.clock.realtime(t.p.m.now) / 1e9
	if t.regs.Rdi != 0 {
		poke64(t.tid, t.regs.Rdi, uint64(s))
	}
	return t.gives(s)
}

// times and getrusage report that no CPU time was used.
func (t *thread) times() outcome {
	if t.regs.Rdi != 0 {
		poke(t.tid, t.regs.Rdi, make([]byte, 32))
	}
	return t.gives(t.p.clock.monotonic(t.p.m.now) / 1e7)
}

func (t *thread) getrusage() outcome {
	if !poke(t.tid, t.regs.Rsi, make([]byte, 144)) {
		return t.errs(unix.EFAULT)
	}
	return t.gives(0)
}

func (t *thread) sysinfo() outcome {
	b := make([]byte, 112)
	le.PutUint64(b, uint64(t.p.clock.monotonic(t.p.m.now)/1e9))
	le.PutUint64(b[32:], totalMemory)
	le.PutUint64(b[40:], freeMemory)
	le.PutUint16(b[80:], 10)
	le.PutUint32(b[104:], 1)
	if !poke(t.tid, t.regs.Rdi, b) {
		return t.errs(unix.EFAULT)
	}
	return t.gives(0)
}

// sleeps makes a thread sleep until the given block ends.
func (t *thread) sleeps(b block) outcome {
	b.ready = func(bool) bool {
		t.finish(0)
		return true
	}
	return t.blocks(b)
}

func (t *thread) nanosleep() outcome {
	d, ok := t.timespec(t.regs.Rdi)
	if !ok {
		return t.errs(unix.EINVAL)
	}
	return t.sleeps(t.relative(d))
}

func (t *thread) clockNanosleep() outcome {
	const absoluteTime = 1
	d, ok := t.timespec(t.regs.Rdx)
	clock := int32(t.regs.Rdi)
	_, known := t.reading(clock)
	switch {
	case known && slices.Contains(unwaited, clock):
		return t.errs(unix.EOPNOTSUPP)
	case !ok || !known:
		return t.errs(unix.EINVAL)
	}
	if t.regs.Rsi&absoluteTime == 0 {
		return t.sleeps(t.relative(d))
	}
	return t.sleeps(absolute(showsWall(clock), d))
}

// yieldTime is how much virtual time passes when a thread yields and no other thread can run. Such a thread is waiting
// for a timer or for the network.
const yieldTime = 20 * tick

func (t *thread) schedYield() outcome {
	if t.p.m.othersCanRun() {
		t.finish(0)
		return yields
	}
	return t.sleeps(t.relative(yieldTime))
}

// pause waits for a signal.
func (t *thread) pause() outcome { return t.blocks(block{ready: func(bool) bool { return false }}) }
