// Package traced runs unmodified programs of the host, in any language, in virtual time. It knows nothing of locks,
// servers or worlds.
//
// A [Machine] traces the processes that it starts (ptrace, with a seccomp filter). One thread of all processes runs at
// a time, until it blocks. When all threads are blocked, time moves on to the next deadline. Equal seeds give equal
// runs, unless a program takes something from the host that the machine does not control; [Call] is the record by which
// two runs are compared.
//
// # What a process sees
//
//   - Its clocks are virtual: the functions of the vDSO read a page that the machine fills, rdtsc is trapped, and
//     sleeps, time-outs and timer files (timerfd) end in virtual time. Each reading and each modelled call takes a
//     microsecond.
//   - A TCP connection is an end that the machine holds. A [Network] decides what becomes of the bytes, and when.
//   - Random numbers of the kernel, process and thread numbers, and the number of processors are seeded or fixed.
//   - Files can be read. The file system refuses writes with EROFS, except in the scratch folder.
//   - UDP, listening sockets and other kinds of sockets are refused as by a firewall.
//
// A call that has not been considered ends the run with an error that names it. It never reaches the kernel.
//
// # Limits
//
// Linux on x86-64 only, from kernel 5.9 on. The program must not start other processes. A thread that computes without
// a system call or a look at a clock is not interrupted by others; if it does so for long, the run ends with an error.
// The content of files such as those of /proc is the host's.
//
// All methods of a machine, its processes and its connections must be called on the OS thread that made the machine
// (runtime.LockOSThread), because ptrace demands it. If that thread ends, for whatever reason, the kernel kills all
// processes.
package traced
