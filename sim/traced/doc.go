// Package traced runs unmodified host programs, written in any language, in virtual time. It knows nothing about
// locks, servers or simulated worlds.
//
// A [Machine] traces the processes that it starts (ptrace, with a seccomp filter). Only one of their threads runs at a
// time, until it blocks. When all threads are blocked, time advances to the next deadline. Runs with the same seed are
// identical, unless a program depends on something in the host that the machine does not control. Two runs are compared
// by their sequences of [Call].
//
// # What a process sees
//
//   - Its clocks are virtual: the functions of the vDSO read a page that the machine fills, rdtsc is trapped, and
//     sleeps, timeouts and timers (setitimer, timer_create, timerfd) end in virtual time. Each reading of a clock and
//     each modeled system call takes a microsecond. If a program makes more than 50,000 calls within ten seconds, each
//     further call takes 100 microseconds. After 200,000 calls in all, only 5,000 calls within ten seconds take a
//     microsecond, and each further call takes two milliseconds.
//   - The machine holds the other end of each TCP connection. A [Network] decides what happens to the bytes, and when.
//   - The kernel's random numbers, the process and thread IDs, and the number of CPUs are seeded or fixed.
//   - Files can be read. Writes fail with EROFS, except in the scratch folder. Files in /dev/shm are kept in memory,
//     and only the program and its processes see them. There is no terminal (/dev/tty). The entries of a folder are
//     sorted by name.
//   - The files that a program opens in /proc and /sys describe the machine: one CPU, 8 GiB of memory, no control
//     groups, and only the program's own processes. What would differ from run to run is fixed or does not exist.
//     The host has the program's name (Command.Name), and resolves it and localhost (/etc/hosts).
//   - UDP, listening sockets and other kinds of sockets are rejected, as if by a firewall.
//
// A system call that is neither modeled nor known to be harmless never reaches the kernel. It ends the run with an
// error that names it.
//
// # Limits
//
// Only Linux 5.9 or later on x86-64 is supported. A thread that computes without making a system call or reading a
// clock is not interrupted. If it does so for too long, the run ends with an error. The content of other files, and
// what calls such as stat and readlink tell about any file, are those of the host.
//
// A program can start other processes. When the first process ends, the others are killed.
//
// All methods of a machine, its processes and its connections must be called on the OS thread that created the machine
// (runtime.LockOSThread), because ptrace requires this. If that thread ends for any reason, the kernel kills all
// processes.
package traced
