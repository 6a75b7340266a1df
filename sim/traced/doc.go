// Package traced runs unmodified programs of the host, in any language, in virtual time. It knows nothing of locks,
// servers or worlds.
//
// A [Machine] traces the processes that it starts (ptrace, with a seccomp filter). Only one thread of all processes
// runs at a time, until it blocks. When all threads are blocked, time advances to the next deadline. Runs with equal
// seeds are equal, unless a program uses something of the host that the machine does not control. Two runs are compared
// by their sequences of [Call].
//
// # What a process sees
//
//   - Its clocks are virtual: the functions of the vDSO read a page that the machine fills, rdtsc is trapped, and
//     sleeps, timeouts and timers (setitimer, timer_create, timerfd) end in virtual time. Each reading and each modeled
//     call takes a microsecond.
//   - The machine holds the other end of each TCP connection. A [Network] decides what happens to the bytes, and when.
//   - Random numbers of the kernel, process and thread numbers, and the number of processors are seeded or fixed.
//   - Files can be read. The file system refuses writes with EROFS, except in the scratch folder. Files in /dev/shm
//     are kept in memory, and only the program and its processes see them.
//   - UDP, listening sockets and other kinds of sockets are refused as by a firewall.
//
// A call that is neither modeled nor known to be harmless ends the run with an error that names it. It never reaches
// the kernel.
//
// # Limits
//
// Only Linux on x86-64 is supported, from kernel 5.9 on. A thread that computes without a system call or a reading of a
// clock is not interrupted by others. If it does so for long, the run ends with an error. The content of files such as
// those in /proc is that of the host.
//
// A program can start other processes. When the first process ends, the others are killed.
//
// All methods of a machine, its processes and its connections must be called on the OS thread that created the machine
// (runtime.LockOSThread), because ptrace requires this. If that thread ends, for whatever reason, the kernel kills all
// processes.
package traced
