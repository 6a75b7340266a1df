package process

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Keeper controls a keeper process. Its methods can be called from any goroutine.
type Keeper struct {
	folder string
	cmd    *exec.Cmd
	orders io.WriteCloser
	gone   chan struct{} // closed once the keeper process has ended

	writing sync.Mutex // protects the writing of orders
	mu      sync.Mutex
	last    uint64
	answers map[uint64]chan answer
	running map[int]*Process
	failed  error // why the keeper could not clean up; read it once gone is closed
}

// answer is the keeper's report on an order. process is the process that the order was about, or nil if it is not
// running.
type answer struct {
	report
	process *Process
}

// Process is a command that the keeper has started.
type Process struct {
	k      *Keeper
	pid    int
	done   chan struct{}
	status status // valid once done is closed
	out    *output
}

// Start starts a keeper process. The calling program must call [Main] before anything else.
func Start() (*Keeper, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("a live run can start programs only on Linux")
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the path of this program, to start the supervisor of the run's processes: %w",
			err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(environment(), variable+"=1")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = ownGroup // Ctrl-C must reach only this process
	orders, err1 := cmd.StdinPipe()
	reports, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("starting the supervisor of the run's processes: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the supervisor of the run's processes: %w", err)
	}
	k := &Keeper{cmd: cmd, orders: orders, gone: make(chan struct{}), answers: map[uint64]chan answer{},
		running: map[int]*Process{}}
	in := bufio.NewReader(reports)
	first, err := readReport(in)
	if err == nil && first.Error != "" {
		err = errors.New(first.Error)
	}
	if err == nil && first.Folder == "" {
		err = errors.New("the program does not call process.Main")
	}
	if err != nil {
		_ = orders.Close()
		_ = cmd.Wait()
		return nil, fmt.Errorf("starting the supervisor of the run's processes: %s: %w", self, err)
	}
	k.folder = first.Folder
	go k.listen(in)
	return k, nil
}

func readReport(in *bufio.Reader) (r report, err error) {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(line, &r)
}

// Folder returns the run's private folder, which the keeper deletes when it ends.
func (k *Keeper) Folder() string { return k.folder }

// listen handles the keeper's reports until the keeper has ended.
func (k *Keeper) listen(in *bufio.Reader) {
	for {
		r, err := readReport(in)
		if err != nil {
			break
		}
		k.mu.Lock()
		p := k.running[r.PID]
		switch {
		case r.ID == 0 && r.Exit == nil: // the keeper could not clean up
			k.failed = errors.New(r.Error)
		case r.ID == 0:
			k.end(p, r.Exit.status())
		default:
			if p == nil && r.Error == "" && !r.Ended { // the report is about a new process
				p = &Process{k: k, pid: r.PID, done: make(chan struct{})}
				k.running[r.PID] = p
			}
			k.answers[r.ID] <- answer{r, p}
			delete(k.answers, r.ID)
		}
		k.mu.Unlock()
	}
	_ = k.cmd.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.gone)
	for _, p := range k.running {
		k.end(p, status{Code: -1, Err: ErrGone})
	}
}

func (e *exit) status() status { return status{Code: e.Code, Signal: syscall.Signal(e.Signal)} }

// end records that a process has ended. The caller must hold mu.
func (k *Keeper) end(p *Process, s status) {
	p.status = s
	delete(k.running, p.pid)
	close(p.done)
}

// ask sends an order and waits until the keeper has carried it out.
func (k *Keeper) ask(o order) (*Process, error) {
	answered := make(chan answer, 1)
	k.mu.Lock()
	k.last++
	o.ID = k.last
	k.answers[o.ID] = answered
	k.mu.Unlock()
	if k.write(o) != nil {
		return nil, ErrGone
	}
	select {
	case a := <-answered:
		switch {
		case a.Ended:
			return nil, ErrEnded
		case a.Error != "":
			return nil, errors.New(a.Error)
		}
		return a.process, nil
	case <-k.gone:
		return nil, ErrGone
	}
}

func (k *Keeper) write(o order) error {
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	k.writing.Lock()
	defer k.writing.Unlock()
	_, err = k.orders.Write(append(line, '\n'))
	return err
}

// Start starts a command. If a program cannot be found or executed, the error names it. A command that ends immediately
// counts as started; [Process.Wait] reports how it ended.
func (k *Keeper) Start(c Command) (*Process, error) {
	if len(c.Args) == 0 || c.Args[0] == "" {
		return nil, errors.New("the command to start is empty")
	}
	path, err := exec.LookPath(cmp.Or(c.Path, c.Args[0]))
	if err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", cmp.Or(c.Path, c.Args[0]), reason(err))
	}
	c.Path = path
	out, err := k.listenTo(&c)
	if err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", path, err)
	}
	p, err := k.ask(order{Do: "start", Command: &c})
	go out.copy() // Start copying only now: a FIFO without a writer looks as if it had ended.
	if err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", path, err)
	}
	p.out = out
	return p, nil
}

// reason returns the reason contained in an error from package exec, without the program's name, which the caller adds
// itself.
func reason(err error) error {
	var e *exec.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// Close kills everything that the keeper has started, including all descendants, and deletes the folder. It returns
// once this is done, with an error if the folder could not be deleted.
func (k *Keeper) Close() error {
	err := k.orders.Close()
	<-k.gone
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	return errors.Join(err, k.failed)
}

// ended waits until the process has ended, and returns how it ended.
func (p *Process) ended() status {
	<-p.done
	return p.status
}

// held is how long Wait waits for a process's output after the process has ended, because another process may still
// have the output open.
const held = time.Second

// Wait waits until the process has ended and its output has been copied. It returns nil if the process ended with
// status 0. Otherwise it returns an error that says how the process ended.
func (p *Process) Wait() error {
	s := p.ended()
	select {
	case <-p.out.copied:
	case <-time.After(held):
	}
	p.out.end()
	switch {
	case s == (status{}):
		return nil
	case s.Err != nil:
		return s.Err
	}
	return errors.New(s.String())
}

// Stop stops the process group with SIGSTOP, and returns once every thread has stopped. The error is [ErrEnded] if the
// process has already ended.
func (p *Process) Stop() error { return p.order("stop") }

// Cont continues a stopped process group.
func (p *Process) Cont() error { return p.order("cont") }

// Kill kills the process group with SIGKILL, even if it is stopped, and returns once the process has ended. It is not
// an error if it had already ended.
func (p *Process) Kill() error {
	if err := p.order("kill"); err != nil && !errors.Is(err, ErrEnded) {
		return err
	}
	<-p.done
	return nil
}

// terminate asks the process to end, with SIGTERM.
func (p *Process) terminate() error { return p.order("term") }

func (p *Process) order(what string) error {
	_, err := p.k.ask(order{Do: what, PID: p.pid})
	return err
}

// environment returns this process's environment without the variable that makes it a keeper.
func environment() []string {
	var list []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, variable+"=") {
			list = append(list, v)
		}
	}
	return list
}
