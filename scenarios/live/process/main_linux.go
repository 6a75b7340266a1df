package process

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fencepost-sim/fencepost/scenarios/temporary"
)

// Main runs the keeper if this process was started as one. In that case, it does not return. Every program that calls
// [Start] must call Main before doing anything else; tests call it in TestMain.
func Main() {
	if os.Getenv(variable) == "" {
		return
	}
	runtime.LockOSThread() // PR_SET_PDEATHSIG refers to the thread that starts a process
	w := &watch{out: json.NewEncoder(os.Stdout), children: map[int]bool{}}
	code := 0
	if err := w.run(); err != nil {
		code = 1
		w.say(report{Error: err.Error()})
	}
	os.Exit(code)
}

// ownGroup makes a process start in a process group of its own.
var ownGroup = &syscall.SysProcAttr{Setpgid: true}

// fifo creates a FIFO, and opens it without waiting for a writer.
func fifo(name string) (*os.File, error) {
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		return nil, err
	}
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// watch is a keeper process's state.
type watch struct {
	mu       sync.Mutex // held from the start of a process until the process is in children
	out      *json.Encoder
	children map[int]bool // processes that were started and have not ended
}

func (w *watch) run() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming the reaper of all descendants: %w", err)
	}
	// Catch the signals instead of ignoring them, because every process started from here would inherit an ignored
	// signal.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGQUIT)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	folder, err := temporary.New()
	if err != nil {
		return fmt.Errorf("creating the run's private folder: %w", err)
	}
	if err := os.Chdir(folder.Path()); err != nil {
		return err
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	w.say(report{Folder: folder.Path()})
	go func() {
		for range ended {
			w.reap()
		}
	}()
	over := make(chan struct{})
	orders := make(chan order)
	go func() {
		defer close(over)
		in := bufio.NewReader(os.Stdin)
		for {
			line, err := in.ReadBytes('\n')
			var o order
			if err != nil || json.Unmarshal(line, &o) != nil {
				return
			}
			orders <- o
		}
	}()
	for {
		select {
		case o := <-orders:
			w.obey(o)
			continue
		case <-over:
		case <-asked:
		}
		break
	}
	w.killAll()
	return folder.Close()
}

func (w *watch) say(r report) {
	_ = w.out.Encode(r) // If nobody reads reports anymore, the orders have ended, too.
}

// reap collects all processes that have ended, and reports those that were started by an order.
func (w *watch) reap() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		var s syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &s, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if w.children[pid] {
			delete(w.children, pid)
			e := exit{Code: s.ExitStatus()}
			if s.Signaled() {
				e.Signal = int(s.Signal())
			}
			w.say(report{PID: pid, Exit: &e})
		}
	}
}

// obey carries out an order and reports its result.
func (w *watch) obey(o order) {
	r := report{ID: o.ID, PID: o.PID}
	w.mu.Lock()
	defer w.mu.Unlock()
	var err error
	switch {
	case o.Do == "start":
		if r.PID, err = start(o.Command); err == nil {
			w.children[r.PID] = true
		}
	case !w.children[o.PID]:
		r.Ended = true
	case o.Do == "stop":
		r.Ended, err = stop(o.PID)
	default:
		err = syscall.Kill(-o.PID, map[string]syscall.Signal{"cont": syscall.SIGCONT, "kill": syscall.SIGKILL,
			"term": syscall.SIGTERM}[o.Do])
	}
	if err != nil {
		r.Error = err.Error()
	}
	w.say(r)
}

func start(c *Command) (pid int, err error) {
	if c.Dir != "" {
		if _, err := os.Stat(c.Dir); err != nil {
			return 0, err
		}
	}
	files := make([]uintptr, 3)
	for i, path := range []string{os.DevNull, c.Log, c.Log} {
		flags := os.O_RDONLY
		if i > 0 {
			flags = os.O_WRONLY | os.O_APPEND | os.O_CREATE
		}
		if path == "" {
			path = os.DevNull
		}
		f, err := os.OpenFile(path, flags, 0o600)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		files[i] = f.Fd()
	}
	attr := &syscall.ProcAttr{Dir: c.Dir, Env: c.Env, Files: files,
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}}
	return syscall.ForkExec(c.Path, c.Args, attr)
}

// patience is the maximum time that the keeper waits for a signal to take effect. A thread may be in an uninterruptible
// system call.
const patience = 10 * time.Second

// stop stops a process group, and waits until all its threads have stopped. ended reports whether all its processes
// have ended.
func stop(group int) (ended bool, err error) {
	if err := syscall.Kill(-group, syscall.SIGSTOP); err != nil {
		return false, err
	}
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Microsecond) {
		if stopped, ended := stopped(group); stopped {
			return ended, nil
		}
		if time.Now().After(end) {
			return false, fmt.Errorf("a thread of process %d has not stopped within %v of SIGSTOP", group, patience)
		}
	}
}

// stopped reports whether every thread of every process in a group has stopped or ended. ended reports whether all of
// them have ended.
func stopped(group int) (stopped, ended bool) {
	ended = true
	for _, p := range processes() {
		if p.group != group {
			continue
		}
		threads, _ := filepath.Glob("/proc/" + strconv.Itoa(p.pid) + "/task/*/stat")
		for _, t := range threads {
			s, ok := readStat(t)
			if ok && !strings.Contains("TtZX", s.state) {
				return false, false
			}
			ended = ended && (!ok || strings.Contains("ZX", s.state))
		}
	}
	return true, ended
}

// killAll keeps killing descendants until none are left. Once may not be enough, because a process may start another
// one before it is killed.
func (w *watch) killAll() {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		left := descendants(os.Getpid())
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL) // the process may have ended by now
		}
		w.reap()
		if len(left) == 0 {
			return
		}
	}
}

// stat is the state of a process or thread, from /proc.
type stat struct {
	pid, parent, group int
	state              string
}

// processes lists all processes on the machine.
func processes() (list []stat) {
	dirs, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, d := range dirs {
		if s, ok := readStat(d); ok {
			list = append(list, s)
		}
	}
	return list
}

// readStat reads the first fields of a file such as /proc/1/stat (proc(5)): "1 (name) S 0 1 …". The name may contain
// any characters, even spaces and parentheses.
func readStat(path string) (s stat, ok bool) {
	b, err := os.ReadFile(path)
	text := string(b)
	end := strings.LastIndexByte(text, ')')
	if err != nil || end < 0 {
		return s, false
	}
	fields := strings.Fields(text[end+1:])
	if len(fields) < 3 {
		return s, false
	}
	s.state = fields[0]
	s.pid, _ = strconv.Atoi(text[:max(strings.IndexByte(text, ' '), 0)])
	s.parent, _ = strconv.Atoi(fields[1])
	s.group, _ = strconv.Atoi(fields[2])
	return s, true
}

// descendants lists the descendants of a process, except zombies.
func descendants(of int) (list []int) {
	known := []int{of}
	all := processes()
	for i := 0; i < len(known); i++ {
		for _, p := range all {
			if p.parent == known[i] && !slices.Contains(known, p.pid) {
				known = append(known, p.pid)
				if p.state != "Z" {
					list = append(list, p.pid)
				}
			}
		}
	}
	return list
}

// Monotonic returns the CLOCK_MONOTONIC time in ns. It is the same for all processes on the machine.
func Monotonic() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // every Linux has this clock
	}
	return t.Nano()
}

// inode returns the inode number, which identifies a file.
func inode(i os.FileInfo) uint64 {
	if s, ok := i.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return 0
}
