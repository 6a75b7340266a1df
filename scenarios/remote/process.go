package remote

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// hung is the processor time that a process may use before its next message; after that it is killed. If the host does
// not report the processor time of processes, it is real time. Normal runs take milliseconds.
const hung = time.Minute

// idle is how long a process may do nothing at all, as far as the host can see: a run waits only for virtual time,
// which advances at once. overdue is how long it may take in any case.
const (
	idle    = 3 * time.Second
	overdue = 10 * hung
)

// mark begins a line on standard output that is a message of the process. It distinguishes the message from lines that
// the code under test prints. On standard error, the mark is on a line of its own: the text after it was printed after
// the message was sent, no matter when the two streams are read.
const mark = "\x16fencepost "

// Say sends a message from the process in which it is called. It is one line, which Process.Next returns in the other
// process.
func Say(out, problems io.Writer, line []byte) error {
	_, err := fmt.Fprintf(problems, "\n%s\n", mark)
	_, failed := fmt.Fprintf(out, "\n%s%s\n", mark, line)
	return errors.Join(err, failed)
}

// Process executes a test binary that performs runs.
type Process struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Reader
	printed  tail // from standard output, apart from its messages
	said     tail // from standard error
	patience time.Duration
	started  bool // it has sent a message
	asked    int  // how many requests were sent to it
	ended    sync.Once
	why      error
}

// Start executes a test binary in a folder, with one additional environment variable. patience is the processor time
// that it may use before its next message; 0 means a minute. Before its first message it may use at least a minute,
// because a process takes time to start.
func Start(binary, folder, variable string, patience time.Duration, args ...string) (*Process, error) {
	p := &Process{cmd: exec.Command(binary, args...), patience: cmp.Or(patience, hung)}
	p.cmd.Dir = folder
	p.cmd.Env = environ(variable)
	p.cmd.Stderr = &p.said
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out = in, bufio.NewReader(out)
	return p, p.cmd.Start()
}

// environ returns the environment of a process that performs runs, with one additional variable. The process runs on
// one thread, with randomness that can be seeded. A data race ends it during the run that causes the race.
func environ(more string) []string {
	return append(os.Environ(), more, "GOMAXPROCS=1", "GOTRACEBACK=all", "GODEBUG=asyncpreemptoff=1,randseednop=0",
		"GORACE=halt_on_error=1 "+os.Getenv("GORACE"))
}

// send sends a line to the process.
func (p *Process) send(line []byte) error {
	p.asked++
	_, err := p.in.Write(append(line, '\n'))
	return err
}

// Next waits for the next message of the process. If there is none, the process has ended, and the error says why.
func (p *Process) Next() ([]byte, error) {
	done := make(chan struct{})
	defer close(done)
	go p.guard(p.started, done)
	for {
		line, err := p.out.ReadString('\n')
		if rest, ok := strings.CutPrefix(line, mark); ok && err == nil {
			p.started = true
			p.printed.forget() // the text that follows belongs to the next message
			return []byte(strings.TrimSuffix(rest, "\n")), nil
		}
		p.printed.Write([]byte(line))
		if err != nil {
			return nil, p.end()
		}
	}
}

// guard kills the process if, before done is closed, it takes too long, or does nothing after it has started.
func (p *Process) guard(started bool, done <-chan struct{}) {
	const often = idle / 6
	patience := p.patience
	if !started {
		patience = max(patience, hung)
	}
	look := time.NewTicker(often)
	defer look.Stop()
	begun, first := time.Now(), usageOf(p.cmd.Process.Pid)
	for last, quiet := first, time.Duration(0); ; {
		select {
		case <-done:
			return
		case <-look.C:
		}
		now := usageOf(p.cmd.Process.Pid)
		if quiet += often; !now.rests || now.spent != last.spent || !started {
			quiet = 0
		}
		last = now
		switch {
		case quiet >= idle:
			p.kill(fmt.Sprintf("the run did nothing for %v of real time, and did not end", idle), done)
		case now.known && now.spent-first.spent >= patience:
			p.kill(fmt.Sprintf("the run did not end within %v of processor time", patience), done)
		case !now.known && time.Since(begun) >= patience || time.Since(begun) >= overdue:
			p.kill(fmt.Sprintf("the run did not end within %v of real time",
				time.Since(begun).Truncate(time.Second)), done)
		default:
			continue
		}
		return
	}
}

// usage is the processor time that a process has used, and whether all its threads sleep. known is false if the host
// does not report this.
type usage struct {
	spent        time.Duration
	rests, known bool
}

// kill makes the process dump its goroutines and ends it.
func (p *Process) kill(why string, done <-chan struct{}) {
	p.said.kill(why)
	_ = quit(p.cmd.Process) // if this fails, the process is killed below
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		p.cmd.Process.Kill()
	}
}

// end waits for the end of the process, and returns why it ended.
func (p *Process) end() error {
	p.ended.Do(func() {
		p.in.Close()
		p.why = p.said.ending(p.cmd.Wait(), p.printed.text)
	})
	return p.why
}

// Kill ends the process at once. Next then reports that it has ended.
func (p *Process) Kill() { p.cmd.Process.Kill() }

// Close ends the process.
func (p *Process) Close() {
	p.cmd.Process.Kill()
	_, _ = io.Copy(io.Discard, p.out)
	p.end()
}

// CPU returns the processor time that an ended process used, according to the host.
func (p *Process) CPU() time.Duration {
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// Succeeded reports whether a process has ended by itself, with exit code 0.
func (p *Process) Succeeded() bool { return p.cmd.ProcessState != nil && p.cmd.ProcessState.Success() }

// Memory returns the peak memory use of an ended process, in bytes; 0 if the host does not report it.
func (p *Process) Memory() int64 {
	return memory(p.cmd.ProcessState)
}
