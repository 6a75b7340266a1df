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
)

// quit makes a worker dump its goroutines and end. Go shows no calls of a goroutine that runs on another thread than
// the one that receives the signal, so the running thread receives it.
func quit(worker *os.Process) error {
	thread := busiest(worker.Pid)
	if thread == 0 {
		return worker.Signal(syscall.SIGQUIT)
	}
	return syscall.Tgkill(worker.Pid, thread, syscall.SIGQUIT)
}

// memory is the most memory that an ended process had, in bytes.
func memory(s *os.ProcessState) int64 { return s.SysUsage().(*syscall.Rusage).Maxrss << 10 }

// usageOf is what a process has used so far.
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

// userHZ is the number of clock ticks of proc(5) in a second: sysconf(_SC_CLK_TCK), which Linux fixes.
const userHZ = 100

// busiest is the running thread of a process that has used the most CPU time; 0 if none runs.
func busiest(pid int) (thread int) {
	most := -1
	for _, t := range threadsOf(pid) {
		if t.state == "R" && t.ticks > most {
			most, thread = t.ticks, t.id
		}
	}
	return thread
}

// thread is a thread of a process.
type thread struct {
	id    int
	state string // R: it runs, S: it sleeps
	ticks int    // of CPU time used
}

func threadsOf(pid int) (all []thread) {
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		// proc(5): the name is in parentheses, and the fields after it start with the state; utime and stime are the
		// twelfth and thirteenth.
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
