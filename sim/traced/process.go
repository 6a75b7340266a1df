//go:build linux && amd64

package traced

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a process that the machine runs. It was started by [Machine.Start] or by another such process.
type Process struct {
	*family
	pid      int // process ID on the host
	handle   int // pidfd
	id       int // process ID that the process itself sees
	threads  []*thread
	ended    bool
	exit     Exit
	left     int64    // how far the clocks were allowed to advance when the process was last resumed
	output   int      // file that contains the family's output, if this is its first process; else -1
	copied   bool     // the process is a copy of a checkpoint, to which the output file belongs
	replaced bool     // the process may have replaced its output with another file
	knows    []uint64 // addresses of functions that were changed to return the process ID
	sent     []sent   // signals not yet delivered
	alarm    alarm
	created  []*posixTimer // its timers, in number order
	made     int           // number of timers that it has created so far
	kin
}

type thread struct {
	p       *Process
	tid     int // thread ID on the host
	id      int // thread ID that the process itself sees
	regs    unix.PtraceRegs
	began   uint64 // address at which the kernel's CLONE_CHILD_CLEARTID is emulated; 0: none
	signal  unix.Signal
	broken  bool // a signal has ended the thread's latest call (see call) and is not delivered yet
	call    uint64
	fresh   bool // the thread's first stop has not happened yet
	ended   bool
	blocked *block // nil if the thread can run
	name    string // name of the thread's latest call
}

// firstID is the ID of the first process that a machine starts. The IDs of those that it starts later are multiples of
// it.
const firstID = 1000

// Name returns the process's name.
func (p *Process) Name() string { return p.command.Name }

// Exited returns how the process ended. ok is false if the process is still alive.
func (p *Process) Exited() (how Exit, ok bool) { return p.exit, p.ended }

// Start starts a program and stops it before its first instruction. The program continues when Run is called. The error
// is a *StartError or, if the program computes forever before it reaches its checkpoint, a *ProgramError.
//
// If the command already has a checkpoint, Start copies the checkpoint instead. If virtual time is earlier than the
// checkpoint's time, it then advances to the checkpoint's time.
func (m *Machine) Start(c Command) (*Process, error) {
	p, err := m.startOrCopy(c)
	if err != nil {
		if p != nil {
			p.Kill()
		}
		if program := (*ProgramError)(nil); errors.As(err, &program) {
			return nil, err
		}
		return nil, &StartError{c.Name, err}
	}
	return p, nil
}

// tryTracing starts a traced program and kills it before its first instruction.
func tryTracing() error {
	t, err := NewTracer(0, 0)
	if err != nil {
		return err
	}
	defer t.Close()
	m := t.New(Options{})
	defer m.Close()
	const name = "a program"
	if _, err = m.start(Command{Name: name, Args: []string{"/proc/self/exe"}}); err != nil {
		return &StartError{name, err}
	}
	return nil
}

func (m *Machine) start(c Command) (*Process, error) {
	path := c.Path
	if path == "" {
		var err error
		if path, err = lookPath(c.Args[0], c.Env); err != nil {
			return nil, err
		}
	}
	if err := runnable(path, c.Dir); err != nil {
		return nil, err
	}
	output, err := unix.MemfdCreate("output", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	pid, err := fork(path, c, output)
	if err != nil {
		unix.Close(output)
		return nil, err
	}
	// O_APPEND is needed because a process and its copies share the file position.
	unix.FcntlInt(uintptr(output), unix.F_SETFL, unix.O_APPEND)
	p := m.process(c, pid)
	p.output = output
	t := &thread{p: p, tid: pid, id: p.id}
	p.threads = []*thread{t}
	m.processes = append(m.processes, p)
	if _, err := wait(pid); err != nil {
		return p, err
	}
	if err := p.prepare(); err != nil {
		return p, err
	}
	m.runnable = append(m.runnable, t)
	return p, nil
}

// process returns a new process of the machine. It does not have any threads yet.
func (m *Machine) process(c Command, pid int) *Process {
	number := m.first + len(m.processes)
	h := fnv.New64a()
	h.Write([]byte(c.Name))
	id := firstID * (number + 1)
	f := &family{m: m, command: c, lastID: id, rand: rand.New(rand.NewPCG(m.options.Seed, h.Sum64())),
		clock: clock{wall: m.options.Wall}}
	p := &Process{family: f, pid: pid, handle: -1, id: id, output: -1, kin: kin{group: id, session: id}}
	f.first, f.members = p, []*Process{p}
	return p
}

// fork starts the program under tracing and leaves it stopped.
func fork(path string, c Command, output int) (int, error) {
	null, err := os.Open("/dev/null")
	if err != nil {
		return 0, err
	}
	defer null.Close()
	const noRandomAddresses = 0x40000
	before, _, _ := unix.RawSyscall(unix.SYS_PERSONALITY, 0xffffffff, 0, 0)
	// If this call is not allowed, addresses stay random.
	unix.RawSyscall(unix.SYS_PERSONALITY, before|noRandomAddresses, 0, 0)
	defer unix.RawSyscall(unix.SYS_PERSONALITY, before, 0, 0)
	pid, err := syscall.ForkExec(path, c.Args, &syscall.ProcAttr{Dir: c.Dir, Env: c.Env,
		Files: []uintptr{null.Fd(), uintptr(output), uintptr(output)},
		Sys:   &syscall.SysProcAttr{Ptrace: true, Setpgid: true, Pdeathsig: syscall.SIGKILL}})
	if errors.Is(err, unix.EPERM) {
		return 0, forbidden(err)
	}
	return pid, err
}

// forbidden returns an error that explains why a process cannot be traced.
func forbidden(err error) error {
	return fmt.Errorf("this machine does not allow tracing it, which virtual time needs (%w): "+
		"in Docker, add --cap-add SYS_PTRACE; "+
		"with Yama, kernel.yama.ptrace_scope must be 0 or 1, or 2 for root; the kernel must be 5.9 or later", err)
}

// traceOptions are the ptrace options for each thread.
const traceOptions = unix.PTRACE_O_TRACESECCOMP | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK |
	unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_EXITKILL

// prepare adds a process to the machine. The process has just called execve.
func (p *Process) prepare() (err error) {
	var r unix.PtraceRegs
	if err := errors.Join(unix.PtraceSetOptions(p.pid, traceOptions), unix.PtraceGetRegs(p.pid, &r)); err != nil {
		return forbidden(err)
	}
	if p.handle, err = unix.PidfdOpen(p.pid, 0); err != nil {
		return err
	}
	// A container may allow ptrace, but forbid the system calls that access a process's files and memory.
	own, err := unix.PidfdGetfd(p.handle, 1, 0)
	if err != nil {
		return forbidden(err)
	}
	unix.Close(own)
	var word [8]byte
	local := []unix.Iovec{{Base: &word[0], Len: 8}}
	remote := []unix.RemoteIovec{{Base: uintptr(r.Rsp), Len: 8}}
	if _, err := unix.ProcessVMReadv(p.pid, local, remote, 0); err != nil {
		return forbidden(err)
	}
	if err := p.adopt(); err != nil {
		return err
	}
	const firstInherited, last = 3, 1<<32 - 1
	if _, err := inject(p.pid, unix.SYS_CLOSE_RANGE, firstInherited, last, 0); err != nil {
		return err
	}
	sp := r.Rsp - 2*pageSize
	program := filter()
	head := le.AppendUint64(le.AppendUint64(nil, uint64(len(program)/8)), sp)
	if !poke(p.pid, sp, program) || !poke(p.pid, sp-64, head) {
		return errors.New("its stack cannot be written to")
	}
	if _, err := inject(p.pid, unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, err = inject(p.pid, unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, sp-64)
	return err
}

// adopt is called after the process has executed a program (execve). The program would otherwise get its clocks and
// random bytes from the host, so adopt replaces them.
func (p *Process) adopt() error {
	var r unix.PtraceRegs
	if err := unix.PtraceGetRegs(p.pid, &r); err != nil {
		return err
	}
	at := r.Rsp + 8*(peek64(p.pid, r.Rsp)+2) // argc, argv, 0
	for peek64(p.pid, at) != 0 {             // envp
		at += 8
	}
	const atRandom, atVDSO = 25, 33
	var vdso uint64
	for at += 8; peek64(p.pid, at) != 0; at += 16 {
		value := peek64(p.pid, at+8)
		switch peek64(p.pid, at) {
		case atVDSO:
			vdso = value
		case atRandom:
			poke(p.pid, value, p.random(16))
		}
	}
	if vdso == 0 {
		return errors.New("the kernel does not provide a vDSO for it")
	}
	if err := p.m.mapPages(p, r.Rsp-2*pageSize); err != nil {
		return fmt.Errorf("cannot map the pages of its clocks: %w", err)
	}
	if err := p.patchVDSO(vdso); err != nil {
		return err
	}
	_, err := inject(p.pid, unix.SYS_PRCTL, unix.PR_SET_TSC, unix.PR_TSC_SIGSEGV, 0, 0, 0)
	return err
}

// random returns n random bytes, which depend on the seed.
func (p *Process) random(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(p.rand.Uint32())
	}
	return b
}

// lookPath finds a program by means of the PATH variable in an environment.
func lookPath(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	at := slices.IndexFunc(env, func(v string) bool { return strings.HasPrefix(v, "PATH=") })
	if at < 0 {
		return "", fmt.Errorf("%s: %w: the environment has no PATH", name, fs.ErrNotExist)
	}
	for _, dir := range filepath.SplitList(strings.TrimPrefix(env[at], "PATH=")) {
		path := filepath.Join(cmp.Or(dir, "."), name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no program %s in %s", name, env[at])
}

// Waits returns the names of the system calls in which threads of the process, and of the processes that it has
// started, are blocked.
func (p *Process) Waits() (calls []string) {
	for _, o := range p.members {
		for _, t := range o.threads {
			if t.blocked != nil && !slices.Contains(calls, t.name) {
				calls = append(calls, t.name)
			}
		}
	}
	slices.Sort(calls)
	return calls
}

// Refused lists what the process has tried to use although it is not available in virtual time.
func (p *Process) Refused() []string { return p.refused }

// refuse records that a process has tried to use something that is not available.
func (p *Process) refuse(what string) {
	const most = 20
	if len(p.refused) < most && !slices.Contains(p.refused, what) {
		p.refused = append(p.refused, what)
	}
}

// Pause stops the process, and all processes that it has started, until Resume is called. Pauses can be nested.
func (p *Process) Pause() { p.paused++ }

// Resume ends one pause.
func (p *Process) Resume() { p.paused-- }

// Jump moves the process's wall clock by d.
func (p *Process) Jump(d time.Duration) {
	p.clock.wall += int64(d)
	for _, x := range p.timers {
		x.jumped()
	}
}

// Drift increases the rate of both of the process's clocks by ppm parts per million.
func (p *Process) Drift(ppm int64) { p.clock.drift(p.m.now, ppm) }

// Kill kills the process and all processes that it has started, as if with SIGKILL. It reports whether the process was
// alive.
func (p *Process) Kill() (lived bool) {
	if p.ended {
		return false
	}
	p.reap(Exit{Code: 128 + int(unix.SIGKILL), Signal: "SIGKILL"})
	return true
}

// Printed returns the last 256 KiB of the process's output, or all of it if there is less.
func (p *Process) Printed() []byte {
	const most = 256 << 10
	var st unix.Stat_t
	if p.output < 0 || unix.Fstat(p.output, &st) != nil {
		return nil
	}
	b := make([]byte, min(st.Size, most))
	n, _ := unix.Pread(p.output, b, max(st.Size-most, 0))
	return b[:max(n, 0)]
}

// reap kills a process and cleans up after it. It is also called when one of the process's threads has ended. If the
// process is the first in its family, reap kills the rest of the family as well.
func (p *Process) reap(how Exit) {
	if p == p.first {
		for _, o := range slices.Clone(p.members[1:]) {
			if !o.ended {
				o.reap(Exit{Code: 128 + int(unix.SIGKILL), Signal: "SIGKILL"})
			}
		}
	}
	p.ended, p.exit = true, how
	unix.Kill(p.pid, unix.SIGKILL)
	// The kernel reports the end of the first thread only after all others have been waited for.
	for _, t := range slices.Backward(p.threads) {
		t.unblock()
		for !t.ended {
			st, err := wait(t.tid)
			if t.ended = err != nil || st.Exited() || st.Signaled(); !t.ended {
				unix.PtraceCont(t.tid, 0)
			}
		}
	}
	m := p.m
	m.runnable = slices.DeleteFunc(m.runnable, func(t *thread) bool { return t.p == p })
	if m.current != nil && m.current.p == p {
		m.current = nil
	}
	if p.handle >= 0 {
		unix.Close(p.handle)
		p.handle = -1
	}
	if p != p.first {
		return
	}
	for _, c := range slices.Clone(p.conns) {
		c.closed()
	}
	for _, x := range p.timers {
		unix.Close(x.end)
	}
	for _, x := range p.signalFiles {
		unix.Close(x.end)
	}
	p.timers, p.signalFiles = nil, nil
	p.shared.close()
}
