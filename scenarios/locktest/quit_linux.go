package locktest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// quit has a worker dump its goroutines and end. Of a goroutine that runs on another thread than the one that takes the
// signal Go shows no calls: so the thread that runs takes it.
func quit(worker *os.Process) error {
	thread := busiest(worker.Pid)
	if thread == 0 {
		return worker.Signal(syscall.SIGQUIT)
	}
	return syscall.Tgkill(worker.Pid, thread, syscall.SIGQUIT)
}

// busiest is the thread of a process that runs and has taken the most CPU time; 0 if none runs.
func busiest(pid int) (thread int) {
	most := -1
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		// proc(5): the name stands in parentheses, and what follows it begins with the state; utime and stime are
		// the twelfth and thirteenth of it.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 13 || fields[0] != "R" {
			continue
		}
		user, _ := strconv.Atoi(fields[11])
		system, _ := strconv.Atoi(fields[12])
		if user+system > most {
			most = user + system
			thread, _ = strconv.Atoi(filepath.Base(filepath.Dir(path)))
		}
	}
	return thread
}
