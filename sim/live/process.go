package live

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Command is a process to start.
type Command struct {
	Path   string   // of the program; empty: Args[0], looked up as a shell does
	Args   []string // what the program is called, and its arguments
	Env    []string // beside the environment of this process
	Output io.Writer
}

// Process is a process of the host that was started, with all that is in its process group.
type Process interface {
	// Stop stops the group (SIGSTOP), and returns when all of it stands still.
	Stop() error
	// Cont lets the group go on (SIGCONT).
	Cont() error
	// Kill ends the group (SIGKILL). That nothing is left to kill is no error.
	Kill() error
	// Wait returns when the process has ended: nil if with status 0, else an error that says how. It may be called by
	// several goroutines.
	Wait() error
}

// Starter starts processes.
type Starter interface {
	Start(c Command) (Process, error)
}

// Groups starts each process in a process group of its own.
type Groups struct{}

// Start starts a process.
func (Groups) Start(c Command) (Process, error) {
	cmd := exec.Command(cmp.Or(c.Path, c.Args[0]), c.Args[1:]...)
	cmd.Args[0] = c.Args[0]
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Stdout, cmd.Stderr = c.Output, c.Output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second // for those who hold its output open after its end
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	g := &group{id: cmd.Process.Pid, ended: make(chan struct{})}
	go func() {
		err := cmd.Wait()
		if errors.Is(err, exec.ErrWaitDelay) {
			err = nil
		}
		g.mu.Lock()
		g.err, g.over = err, true
		g.mu.Unlock()
		close(g.ended)
	}()
	return g, nil
}

// group is a process group, led by the process that was started.
type group struct {
	id    int
	ended chan struct{}

	mu   sync.Mutex
	over bool
	err  error
}

// stopPatience is how long a group may take to stand still. One whose thread is in the kernel for longer does nothing
// meanwhile that a client of a lock could do.
const stopPatience = 100 * time.Millisecond

// Stop stops the group.
func (g *group) Stop() error {
	if err := g.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return standStill(g.id, time.Now().Add(stopPatience))
}

// Cont lets the group go on.
func (g *group) Cont() error { return g.signal(syscall.SIGCONT) }

// Kill ends the group.
func (g *group) Kill() error { return g.signal(syscall.SIGKILL) }

func (g *group) signal(s syscall.Signal) error {
	if err := syscall.Kill(-g.id, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("%v to process group %d: %w", s, g.id, err)
	}
	return nil
}

// Wait waits for the end of the process.
func (g *group) Wait() error {
	<-g.ended
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// standStill waits until no thread of a process group runs, or the end. What a member has started while it was being
// stopped is found by looking again.
func standStill(id int, end time.Time) error {
	for {
		members, err := membersOf(id)
		if err != nil {
			return err
		}
		ran := false
		for _, m := range members {
			for runs(m) {
				ran = true
				if time.Now().After(end) {
					return nil
				}
				time.Sleep(50 * time.Microsecond) // for the signal to take effect
			}
		}
		if !ran {
			return nil
		}
	}
}

const proc = "/proc"

// membersOf lists the processes of a group.
func membersOf(id int) ([]string, error) {
	all, err := os.ReadDir(proc)
	if err != nil {
		return nil, err
	}
	var members []string
	for _, e := range all {
		if name := e.Name(); name[0] >= '1' && name[0] <= '9' {
			if _, of, known := status(filepath.Join(proc, name)); known && of == id {
				members = append(members, filepath.Join(proc, name))
			}
		}
	}
	return members, nil
}

// runs reports whether some thread of a process does: neither stopped nor ended.
func runs(process string) bool {
	threads, err := os.ReadDir(filepath.Join(process, "task"))
	if err != nil {
		return false // it has ended
	}
	for _, t := range threads {
		state, _, known := status(filepath.Join(process, "task", t.Name()))
		if known && !strings.Contains("TtZX", state) {
			return true
		}
	}
	return false
}

// status reads the state and the process group of a process or thread (proc(5), stat); known is false if it is gone.
func status(dir string) (state string, of int, known bool) {
	text, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return "", 0, false
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 3 {
		return "", 0, false
	}
	of, err = strconv.Atoi(fields[2])
	return fields[0], of, err == nil
}
