//go:build linux && amd64

package traced

import (
	"fmt"
	"maps"
	"strconv"

	"golang.org/x/sys/unix"
)

// calls lists the modeled system calls. A system call that is in neither calls nor untouched ends the run.
var calls = allCalls()

func allCalls() map[uint64]call {
	all := map[uint64]call{}
	for nr, name := range makers {
		all[nr] = call{name, func(*thread) outcome { return passes }}
	}
	for _, some := range []map[uint64]call{timeCalls, processCalls, ioCalls} {
		maps.Copy(all, some)
	}
	for nr, name := range map[uint64]string{unix.SYS_CLOSE: "close", unix.SYS_CLOSE_RANGE: "close_range",
		unix.SYS_DUP2: "dup2", unix.SYS_DUP3: "dup3"} {
		all[nr] = call{name, (*thread).replacesOutput}
	}
	for nr, c := range fileCalls {
		all[nr] = call{c.name, func(t *thread) outcome { return t.changesFile(c) }}
	}
	return all
}

var timeCalls = map[uint64]call{
	unix.SYS_CLOCK_GETTIME:   {"clock_gettime", (*thread).clockGettime},
	unix.SYS_GETTIMEOFDAY:    {"gettimeofday", (*thread).gettimeofday},
	unix.SYS_TIME:            {"time", (*thread).time},
	unix.SYS_CLOCK_GETRES:    {"clock_getres", (*thread).clockGetres},
	unix.SYS_TIMES:           {"times", (*thread).times},
	unix.SYS_GETRUSAGE:       {"getrusage", (*thread).getrusage},
	unix.SYS_SYSINFO:         {"sysinfo", (*thread).sysinfo},
	unix.SYS_NANOSLEEP:       {"nanosleep", (*thread).nanosleep},
	unix.SYS_CLOCK_NANOSLEEP: {"clock_nanosleep", (*thread).clockNanosleep},
	unix.SYS_SCHED_YIELD:     {"sched_yield", (*thread).schedYield},
	unix.SYS_PAUSE:           {"pause", (*thread).pause},
	unix.SYS_ALARM:           {"alarm", (*thread).alarms},
	unix.SYS_SETITIMER:       {"setitimer", (*thread).setitimer},
	unix.SYS_GETITIMER:       {"getitimer", (*thread).getitimer},
	unix.SYS_TIMERFD_CREATE:  {"timerfd_create", (*thread).timerfdCreate},
	unix.SYS_TIMERFD_SETTIME: {"timerfd_settime", (*thread).timerfdSettime},
	unix.SYS_TIMERFD_GETTIME: {"timerfd_gettime", (*thread).timerfdGettime},

	unix.SYS_TIMER_CREATE:     {"timer_create", (*thread).timerCreate},
	unix.SYS_TIMER_SETTIME:    {"timer_settime", (*thread).timerSettime},
	unix.SYS_TIMER_GETTIME:    {"timer_gettime", (*thread).timerGettime},
	unix.SYS_TIMER_GETOVERRUN: {"timer_getoverrun", (*thread).timerGetoverrun},
	unix.SYS_TIMER_DELETE:     {"timer_delete", (*thread).timerDelete},
}

var processCalls = map[uint64]call{
	unix.SYS_GETRANDOM:         {"getrandom", (*thread).getrandom},
	unix.SYS_GETPID:            {"getpid", (*thread).getpid},
	unix.SYS_GETPGRP:           {"getpgrp", (*thread).getpgrp},
	unix.SYS_GETPGID:           {"getpgid", (*thread).getpgid},
	unix.SYS_GETSID:            {"getsid", (*thread).getsid},
	unix.SYS_GETPPID:           {"getppid", (*thread).getppid},
	unix.SYS_GETTID:            {"gettid", func(t *thread) outcome { return t.gives(int64(t.id)) }},
	unix.SYS_SET_TID_ADDRESS:   {"set_tid_address", (*thread).setTidAddress},
	unix.SYS_UNAME:             {"uname", (*thread).uname},
	unix.SYS_GETCPU:            {"getcpu", (*thread).getcpu},
	unix.SYS_SCHED_GETAFFINITY: {"sched_getaffinity", (*thread).schedGetaffinity},
	unix.SYS_SCHED_SETAFFINITY: {"sched_setaffinity", func(t *thread) outcome { return t.gives(0) }},

	unix.SYS_CLONE:      {"clone", (*thread).clone},
	unix.SYS_CLONE3:     {"clone3", (*thread).clone},
	unix.SYS_FORK:       {"fork", func(t *thread) outcome { return t.startsProcess(uint64(unix.SIGCHLD)) }},
	unix.SYS_VFORK:      {"vfork", (*thread).vfork},
	unix.SYS_WAIT4:      {"wait4", (*thread).wait4},
	unix.SYS_WAITID:     {"waitid", (*thread).waitid},
	unix.SYS_SETSID:     {"setsid", (*thread).setsid},
	unix.SYS_SETPGID:    {"setpgid", (*thread).setpgid},
	unix.SYS_EXECVE:     {"execve", func(*thread) outcome { return passes }},
	unix.SYS_EXIT:       {"exit", (*thread).exits},
	unix.SYS_EXIT_GROUP: {"exit_group", func(*thread) outcome { return passes }},
	unix.SYS_KILL:       {"kill", (*thread).kill},
	unix.SYS_TKILL:      {"tkill", (*thread).tkill},
	unix.SYS_TGKILL:     {"tgkill", (*thread).tkill},

	unix.SYS_RT_SIGTIMEDWAIT: {"rt_sigtimedwait", (*thread).sigtimedwait},
	unix.SYS_RT_SIGSUSPEND:   {"rt_sigsuspend", (*thread).sigsuspend},
	unix.SYS_SIGNALFD:        {"signalfd", (*thread).signalfd},
	unix.SYS_SIGNALFD4:       {"signalfd4", (*thread).signalfd},

	unix.SYS_FUTEX: {"futex", (*thread).futex},

	// On kernels without process file descriptors (pidfd), programs use process IDs instead.
	unix.SYS_PIDFD_OPEN:        {"pidfd_open", (*thread).lacks},
	unix.SYS_PIDFD_SEND_SIGNAL: {"pidfd_send_signal", (*thread).lacks},

	// refused, because it would let a program read its CPU number from memory
	unix.SYS_RSEQ:           {"rseq", (*thread).lacks},
	unix.SYS_IO_URING_SETUP: {"io_uring_setup", (*thread).lacks},
}

var ioCalls = map[uint64]call{
	unix.SYS_GETDENTS:     {"getdents", (*thread).getdents},
	unix.SYS_GETDENTS64:   {"getdents64", (*thread).getdents},
	unix.SYS_READ:         {"read", (*thread).read},
	unix.SYS_READV:        {"readv", (*thread).read},
	unix.SYS_RECVFROM:     {"recvfrom", (*thread).read},
	unix.SYS_RECVMSG:      {"recvmsg", (*thread).read},
	unix.SYS_WRITE:        {"write", (*thread).write},
	unix.SYS_WRITEV:       {"writev", (*thread).write},
	unix.SYS_SENDTO:       {"sendto", (*thread).write},
	unix.SYS_SENDMSG:      {"sendmsg", (*thread).write},
	unix.SYS_POLL:         {"poll", (*thread).poll},
	unix.SYS_PPOLL:        {"ppoll", (*thread).poll},
	unix.SYS_SELECT:       {"select", (*thread).selects},
	unix.SYS_PSELECT6:     {"pselect6", (*thread).selects},
	unix.SYS_EPOLL_WAIT:   {"epoll_wait", (*thread).epoll},
	unix.SYS_EPOLL_PWAIT:  {"epoll_pwait", (*thread).epoll},
	unix.SYS_EPOLL_PWAIT2: {"epoll_pwait2", (*thread).epoll},

	unix.SYS_SOCKET: {"socket", (*thread).socket},

	unix.SYS_CONNECT:     {"connect", (*thread).connect},
	unix.SYS_BIND:        {"bind", (*thread).forbidsListening},
	unix.SYS_LISTEN:      {"listen", (*thread).forbidsListening},
	unix.SYS_SHUTDOWN:    {"shutdown", (*thread).shutdown},
	unix.SYS_SETSOCKOPT:  {"setsockopt", (*thread).setsockopt},
	unix.SYS_GETSOCKOPT:  {"getsockopt", (*thread).getsockopt},
	unix.SYS_GETSOCKNAME: {"getsockname", (*thread).getsockname},
	unix.SYS_GETPEERNAME: {"getpeername", (*thread).getpeername},
}

// unknown contains the names of some system calls that programs may use but that are not modeled.
var unknown = map[uint64]string{unix.SYS_RT_SIGQUEUEINFO: "rt_sigqueueinfo",
	unix.SYS_RT_TGSIGQUEUEINFO: "rt_tgsigqueueinfo", unix.SYS_ACCEPT: "accept", unix.SYS_ACCEPT4: "accept4",
	unix.SYS_SENDFILE: "sendfile", unix.SYS_SENDMMSG: "sendmmsg", unix.SYS_RECVMMSG: "recvmmsg",
	unix.SYS_INOTIFY_INIT1: "inotify_init1", unix.SYS_SHMGET: "shmget", unix.SYS_PTRACE: "ptrace",
	unix.SYS_SPLICE: "splice", unix.SYS_EXECVEAT: "execveat",
	unix.SYS_SECCOMP: "seccomp", unix.SYS_UNSHARE: "unshare", unix.SYS_INOTIFY_INIT: "inotify_init",
	unix.SYS_SEMGET: "semget", unix.SYS_MSGGET: "msgget", unix.SYS_MQ_OPEN: "mq_open",
	unix.SYS_FANOTIFY_INIT: "fanotify_init", unix.SYS_USERFAULTFD: "userfaultfd",
	unix.SYS_PERF_EVENT_OPEN: "perf_event_open", unix.SYS_BPF: "bpf",
	unix.SYS_COPY_FILE_RANGE: "copy_file_range",
	unix.SYS_PWRITEV:         "pwritev", unix.SYS_PREADV2: "preadv2", unix.SYS_PWRITEV2: "pwritev2",
	unix.SYS_PIDFD_GETFD:      "pidfd_getfd",
	unix.SYS_PROCESS_VM_READV: "process_vm_readv", unix.SYS_PROCESS_VM_WRITEV: "process_vm_writev",
	unix.SYS_FUTEX_WAITV: "futex_waitv", unix.SYS_MOUNT: "mount", unix.SYS_TEE: "tee", unix.SYS_VMSPLICE: "vmsplice"}

// nameOf returns the name of a system call that is not modeled.
func nameOf(nr uint64) string {
	if name := unknown[nr]; name != "" {
		return name
	}
	return "system call " + strconv.FormatUint(nr, 10)
}

// lacks makes the system call fail, as it would on a kernel that does not have it.
func (t *thread) lacks() outcome { return t.errs(unix.ENOSYS) }

// forbidsListening makes the system call fail, as if a firewall were blocking incoming connections.
func (t *thread) forbidsListening() outcome {
	t.p.refuse(fmt.Sprintf("to %s a socket to accept connections", t.name))
	return t.errs(unix.EACCES)
}

func (t *thread) setTidAddress() outcome {
	t.began = t.regs.Rdi
	return t.gives(int64(t.id))
}

// getcpu reports that the thread is running on CPU 0, the only one.
func (t *thread) getcpu() outcome {
	for _, at := range []uint64{t.regs.Rdi, t.regs.Rsi} {
		if at != 0 {
			poke32(t.tid, at, 0)
		}
	}
	return t.gives(0)
}

// schedGetaffinity reports that there is a single CPU.
func (t *thread) schedGetaffinity() outcome {
	if t.regs.Rsi < 8 {
		return t.errs(unix.EINVAL)
	}
	if !poke64(t.tid, t.regs.Rdx, 1) {
		return t.errs(unix.EFAULT)
	}
	return t.gives(8)
}

// mostRandom is the maximum number of random bytes that a single getrandom call returns.
const mostRandom = 1 << 20

func (t *thread) getrandom() outcome {
	b := t.p.random(int(min(t.regs.Rsi, mostRandom)))
	if !poke(t.tid, t.regs.Rdi, b) {
		return t.errs(unix.EFAULT)
	}
	return t.gives(int64(len(b)))
}
