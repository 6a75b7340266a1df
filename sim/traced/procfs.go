//go:build linux && amd64

package traced

import (
	"crypto/sha256"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The kernel makes the content of a file in /proc or /sys when the file is read. What it says often differs from run
// to run. So a process sees its machine's files there: those in hostFiles and processFiles are made by the machine,
// those in unchanging are the kernel's, and no others exist. The host's name is that of the program, because each
// program stands for a client on a host of its own.

// unchanging lists the files, and with a slash at the end the folders, whose content depends only on the host's
// configuration.
var unchanging = []string{"/proc/version", "/proc/filesystems", "/proc/sys/", "/sys/kernel/mm/hugepages",
	"/sys/kernel/mm/hugepages/", "/sys/kernel/mm/transparent_hugepage/"}

// changing lists exceptions: files and folders in those of unchanging whose content does change.
var changing = []string{"/proc/sys/fs/aio-nr", "/proc/sys/fs/binfmt_misc/", "/proc/sys/fs/dentry-state",
	"/proc/sys/fs/file-nr", "/proc/sys/fs/inode-nr", "/proc/sys/fs/inode-state", "/proc/sys/kernel/ns_last_pid",
	"/proc/sys/kernel/pty/nr", "/proc/sys/kernel/random/", "/proc/sys/net/netfilter/"}

// unchangingOfProcess lists the files in /proc/self that depend only on the process.
var unchangingOfProcess = []string{"auxv", "cmdline", "comm", "coredump_filter", "cwd", "environ", "exe", "fd",
	"limits", "maps", "mem", "root"}

// hostFiles are the files that describe the host. Each function returns a file's content, as process p sees it.
var hostFiles = map[string]func(p *Process) string{
	"/etc/hostname": hostName,
	"/etc/hosts":    func(p *Process) string { return "127.0.0.1\tlocalhost\n127.0.1.1\t" + hostName(p) },
	"/proc/cgroups": func(*Process) string { return "#subsys_name\thierarchy\tnum_cgroups\tenabled\n" },
	"/proc/cpuinfo": func(*Process) string { return onlyCPU() },
	"/proc/loadavg": func(p *Process) string { return fmt.Sprintf("0.00 0.00 0.00 1/1 %d\n", p.lastID) },
	"/proc/meminfo": func(*Process) string {
		return fmt.Sprintf("MemTotal: %14d kB\nMemFree: %15d kB\nMemAvailable: %10d kB\nBuffers: %15d kB\n"+
			"Cached: %16d kB\nSwapTotal: %13d kB\nSwapFree: %14d kB\n",
			totalMemory>>10, freeMemory>>10, freeMemory>>10, 0, 0, 0, 0)
	},
	"/proc/mounts": mounts,
	"/proc/stat": func(p *Process) string {
		times := fmt.Sprintf("%d 0 0 %d 0 0 0 0 0 0", p.usedTicks(), int64(uptime/clockTick))
		return fmt.Sprintf("cpu  %s\ncpu0 %s\nintr 0\nctxt 0\nbtime %d\nprocesses 1\nprocs_running 1\n"+
			"procs_blocked 0\n", times, times, (p.clock.realtime(p.m.now)-p.clock.monotonic(p.m.now))/1e9)
	},
	"/proc/uptime": func(p *Process) string {
		hundredths := p.clock.monotonic(p.m.now) / 1e7
		return fmt.Sprintf("%d.%02d %d.00\n", hundredths/100, hundredths%100, int64(uptime/1e9))
	},
	"/proc/sys/kernel/hostname": hostName,
	"/proc/sys/kernel/random/boot_id": func(p *Process) string {
		b := sha256.Sum256([]byte(p.command.Name))
		return uuid(b[:16])
	},
	"/proc/sys/kernel/random/uuid":        func(p *Process) string { return uuid(p.random(16)) },
	"/sys/devices/system/cpu/kernel_max":  func(*Process) string { return "0\n" },
	"/sys/devices/system/cpu/online":      func(*Process) string { return "0\n" },
	"/sys/devices/system/cpu/possible":    func(*Process) string { return "0\n" },
	"/sys/devices/system/cpu/present":     func(*Process) string { return "0\n" },
	"/sys/devices/system/cpu/cpu0/online": func(*Process) string { return "1\n" },
}

// processFiles are the files in /proc/PID that describe a process.
var processFiles = map[string]func(p *Process) string{
	"cgroup":    func(*Process) string { return "0::/\n" },
	"mountinfo": func(*Process) string { return "1 0 0:1 / / ro - rootfs rootfs ro\n" },
	"mounts":    mounts,
	"stat":      (*Process).stat,
	"statm": func(*Process) string {
		const whole, used = virtualMemory / pageSize, usedMemory / pageSize
		return fmt.Sprintf("%d %d 0 0 0 %d 0\n", whole, used, used)
	},
	"status": (*Process).statusFile,
}

// A machine has totalMemory bytes of memory, of which freeMemory bytes are free. Each process has an address space of
// virtualMemory bytes, of which usedMemory bytes are in memory.
const (
	totalMemory, freeMemory   = 8 << 30, 4 << 30
	virtualMemory, usedMemory = 1 << 30, 64 << 20
)

// clockTick is the unit of the times in /proc/stat and /proc/PID/stat, in ns.
const clockTick = 10_000_000

// usedTicks returns the processor time that the process is said to have used, in units of clockTick. As in CPU-time
// clocks, it is how far the process's clock has advanced.
func (p *Process) usedTicks() int64 { return p.clock.advance(p.m.now) / clockTick }

func hostName(p *Process) string { return p.command.Name + "\n" }

func mounts(*Process) string { return "rootfs / rootfs ro 0 0\n" }

// uuid returns a line with a random UUID (version 4) that consists of 16 random bytes.
func uuid(b []byte) string {
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x\n", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// cpuSpeed and cpuCounts match lines of /proc/cpuinfo. The speed changes from one reading to the next.
var (
	cpuSpeed  = regexp.MustCompile(`(?m)^(cpu MHz\s*: ).*$`)
	cpuCounts = regexp.MustCompile(`(?m)^((?:siblings|cpu cores)\s*: ).*$`)
)

// onlyCPU describes the only CPU of a machine, which has the features of the host's first CPU.
func onlyCPU() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "processor\t: 0\n\n"
	}
	first, _, _ := strings.Cut(string(text), "\n\n")
	return cpuCounts.ReplaceAllString(cpuSpeed.ReplaceAllString(first, "${1}2000.000"), "${1}1") + "\n\n"
}

// commonName returns the name of the program that the process executes, of at most 15 bytes.
func (p *Process) commonName() string {
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", p.pid))
	return strings.TrimSuffix(string(name), "\n")
}

// stat returns the content of /proc/PID/stat (see proc(5)).
func (p *Process) stat() string {
	const last27 = " 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0" // fields
	return fmt.Sprintf("%d (%s) R %d %d %d 0 -1 0 0 0 0 0 %d 0 0 0 20 0 %d 0 %d %d %d 18446744073709551615%s\n",
		p.id, p.commonName(), p.parentID(), p.group, p.session, p.usedTicks(), len(p.threads),
		int64(uptime/clockTick), virtualMemory, usedMemory/pageSize, last27)
}

// statusFile returns the content of /proc/PID/status (see proc(5)).
func (p *Process) statusFile() string {
	u, g := unix.Getuid(), unix.Getgid()
	return fmt.Sprintf("Name:\t%s\nUmask:\t0022\nState:\tR (running)\nTgid:\t%d\nNgid:\t0\nPid:\t%d\nPPid:\t%d\n"+
		"TracerPid:\t0\nUid:\t%d\t%d\t%d\t%d\nGid:\t%d\t%d\t%d\t%d\nVmPeak:\t%8d kB\nVmSize:\t%8d kB\nVmHWM:\t%8d kB\n"+
		"VmRSS:\t%8d kB\nThreads:\t%d\nCpus_allowed:\t1\nCpus_allowed_list:\t0\nvoluntary_ctxt_switches:\t0\n"+
		"nonvoluntary_ctxt_switches:\t0\n", p.commonName(), p.id, p.id, p.parentID(), u, u, u, u, g, g, g, g,
		virtualMemory>>10, virtualMemory>>10, usedMemory>>10, usedMemory>>10, len(p.threads))
}

// uname describes the operating system as the kernel does, except for the host's name.
func (t *thread) uname() outcome {
	const size = 65 // of each of the strings; the host's name is the second one
	to := t.regs.Rdi
	if t.passThrough(func(*unix.PtraceRegs) {}) == 0 {
		name := make([]byte, size)
		copy(name[:size-1], t.p.command.Name)
		poke(t.tid, to+size, name)
	}
	return answered
}

// describesHost reports whether a file describes the host. It is either in hostFiles, or one that the kernel makes.
func describesHost(path string) bool {
	return hostFiles[path] != nil || path == "/proc" || path == "/sys" ||
		strings.HasPrefix(path, "/proc/") || strings.HasPrefix(path, "/sys/")
}

// isIn reports whether a list contains a path, or a folder that contains it. In the list, folders end with a slash.
func isIn(list []string, path string) bool {
	return slices.ContainsFunc(list, func(s string) bool {
		return path == strings.TrimSuffix(s, "/") || strings.HasSuffix(s, "/") && strings.HasPrefix(path, s)
	})
}

// seen returns what a process sees at the path of a file that describes the host: the content of a made file, or the
// path of a file of the kernel. exists is false if there is no such file.
func (t *thread) seen(path string) (content, real string, exists bool) {
	if is := hostFiles[path]; is != nil {
		return is(t.p), "", true
	}
	of, name := t.p.inProc(path)
	switch {
	case of == nil:
		return "", path, isIn(unchanging, path) && !isIn(changing, path)
	case processFiles[name] != nil:
		return processFiles[name](of), "", true
	}
	first, _, _ := strings.Cut(name, "/")
	exists = slices.Contains(unchangingOfProcess, first)
	if strings.HasPrefix(path, "/proc/self/") {
		return "", path, exists
	}
	return "", fmt.Sprintf("/proc/%d/%s", of.pid, name), exists
}

// inProc returns the process that a path in /proc is about, and the part of the path after its folder. of is nil if
// the path is not about a process of the family.
func (p *Process) inProc(path string) (of *Process, name string) {
	who, name, _ := strings.Cut(strings.TrimPrefix(path, "/proc/"), "/")
	switch number, err := strconv.Atoi(who); {
	case who == "self":
		of = p
	case err == nil && number > 0:
		of = p.member(number)
	}
	return of, name
}

// opensHostFile opens, for reading, a file that describes the host.
func (t *thread) opensHostFile(path string, flags uint64) outcome {
	content, real, exists := t.seen(path)
	switch {
	case !exists:
		return t.errs(unix.ENOENT)
	case real == path:
		return passes
	case real != "":
		return t.opensInstead(real, flags)
	}
	own, err := unix.MemfdCreate("made", unix.MFD_CLOEXEC)
	if err == nil {
		defer unix.Close(own)
		_, err = unix.Write(own, []byte(content))
	}
	if err != nil {
		t.p.m.fail(t, t.name, "to read "+path+", but this failed: "+err.Error())
		return gone
	}
	return t.opensInstead(ownFile(own), flags)
}
