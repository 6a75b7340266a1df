package remote

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// quit makes a worker dump its goroutines and end. Go shows the stack of a running goroutine only if it is running on
// the thread that receives the signal. Therefore quit sends the signal to the running thread.
func quit(worker *os.Process) error {
	thread := busiest(worker.Pid)
	if thread == 0 {
		return worker.Signal(syscall.SIGQUIT)
	}
	return syscall.Tgkill(worker.Pid, thread, syscall.SIGQUIT)
}

// memory returns the peak memory use, in bytes, of a process that has ended.
func memory(s *os.ProcessState) int64 { return s.SysUsage().(*syscall.Rusage).Maxrss << 10 }

// usageOf returns the CPU time that a process has used so far.
func usageOf(pid int) usage {
	all := usage{rests: true}
	for _, t := range threadsOf(pid) {
		all.spent += time.Duration(t.ticks) * (time.Second / userHZ)
		all.rests = all.rests && t.state == "S"
		all.known = true
	}
	all.rests = all.rests && all.known
	return all
}

// spentBy returns the CPU time that a process has used, or 0 if it has ended. It is much cheaper than usageOf.
func spentBy(pid int) time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(int32(^pid<<3|2), &t) // clock_getcpuclockid(3): the clock of all threads of the process
	return time.Duration(t.Nano())
}

// userHZ is the number of clock ticks per second in proc(5). This is sysconf(_SC_CLK_TCK), which is fixed on Linux.
const userHZ = 100

// busiest returns the running thread that has used the most CPU time in a process, or 0 if no thread is running.
func busiest(pid int) (thread int) {
	most := -1
	for _, t := range threadsOf(pid) {
		if t.state == "R" && t.ticks > most {
			most, thread = t.ticks, t.id
		}
	}
	return thread
}

type thread struct {
	id    int
	state string // R: running, S: sleeping
	ticks int    // CPU time used, in clock ticks
}

func threadsOf(pid int) (all []thread) {
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		// proc(5): the name is in parentheses, and the fields after it begin with the state. utime and stime are the
		// twelfth and thirteenth of these fields.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 13 {
			continue
		}
		user, _ := strconv.Atoi(fields[11])
		system, _ := strconv.Atoi(fields[12])
		id, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		all = append(all, thread{id, fields[0], user + system})
	}
	return all
}
