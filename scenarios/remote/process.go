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

// hung is the processor time that a process may use before its next message. A process that exceeds it is killed. If
// the host does not report processor time, real time is used instead. Normal runs take milliseconds.
const hung = time.Minute

// idle is the maximum real time that a process may run without using any processor time. It applies if the host reports
// processor time. A run waits only for virtual time, which advances immediately, so a process that is not using any
// processor time hangs. overdue is the maximum real time that a process may take in any case.
const (
	idle    = 3 * time.Second
	overdue = 10 * hung
)

// mark begins a message from the process on standard output, so that it cannot be confused with lines printed by the
// code under test. At the same time, a line that consists of mark is written to standard error. It shows which part of
// the text there was printed before the message was sent, because the other process may read the two streams at
// different times.
const mark = "\x16fencepost "

// Say sends a one-line message to the process that called Start, which gets it from Process.Next.
func Say(out, problems io.Writer, line []byte) error {
	_, err := fmt.Fprintf(problems, "\n%s\n", mark)
	_, failed := fmt.Fprintf(out, "\n%s%s\n", mark, line)
	return errors.Join(err, failed)
}

// Process is a running test binary that performs runs.
type Process struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Reader
	printed  tail // text on standard output other than messages
	said     tail // text on standard error
	patience time.Duration
	started  bool // the process has sent a message
	asked    int  // number of requests that were sent to the process
	ended    sync.Once
	why      error
}

// Start executes a test binary in a folder, with one additional environment variable. patience is the maximum processor
// time that the process may use before its next message; 0 means a minute. A process takes time to start, so before its
// first message it may use at least a minute.
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

// environ returns the environment of a process that performs runs, with one additional variable. Such a process runs on
// one thread, and its random numbers can be seeded. A data race ends the process during the run that causes it.
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

// Next waits for the process's next message. If the process has ended without another message, the error says why.
func (p *Process) Next() ([]byte, error) {
	done := make(chan struct{})
	defer close(done)
	go p.guard(p.started, done)
	for {
		line, err := p.out.ReadString('\n')
		if rest, ok := strings.CutPrefix(line, mark); ok && err == nil {
			p.started = true
			p.printed.forget() // text after this belongs to the next message
			return []byte(strings.TrimSuffix(rest, "\n")), nil
		}
		p.printed.Write([]byte(line))
		if err != nil {
			return nil, p.end()
		}
	}
}

// guard waits until done is closed. If this takes too long, it kills the process. If started is set, it also kills a
// process that does nothing for too long.
func (p *Process) guard(started bool, done <-chan struct{}) {
	const often = idle / 6
	patience := p.patience
	if !started {
		patience = max(patience, hung)
	}
	look := time.NewTicker(often)
	defer look.Stop()
	begun, first := time.Now(), spentBy(p.cmd.Process.Pid)
	for last, quiet := (usage{}), time.Duration(0); ; {
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
			p.kill(fmt.Sprintf("the run made no progress for %v of real time and did not end", idle), done)
		case now.known && now.spent-first >= patience:
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

// usage is the processor time used by a process, and whether all its threads are sleeping. known is false if the host
// does not report this.
type usage struct {
	spent        time.Duration
	rests, known bool
}

// kill makes the process dump its goroutines, and then ends it.
func (p *Process) kill(why string, done <-chan struct{}) {
	p.said.kill(why)
	_ = quit(p.cmd.Process) // if this fails, the process is killed anyway after a while
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		p.cmd.Process.Kill()
	}
}

// end waits for the process to end, and returns an error that says why it ended.
func (p *Process) end() error {
	p.ended.Do(func() {
		p.in.Close()
		p.why = p.said.ending(p.cmd.Wait(), p.printed.text)
	})
	return p.why
}

// Kill ends the process immediately. Next then reports that it has ended.
func (p *Process) Kill() { p.cmd.Process.Kill() }

// Close ends the process.
func (p *Process) Close() {
	p.cmd.Process.Kill()
	_, _ = io.Copy(io.Discard, p.out)
	p.end()
}

// CPU returns the processor time used by an ended process, according to the host.
func (p *Process) CPU() time.Duration {
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// Succeeded reports whether a process has ended on its own, with exit code 0.
func (p *Process) Succeeded() bool { return p.cmd.ProcessState != nil && p.cmd.ProcessState.Success() }

// Memory returns the peak memory use of an ended process, in bytes, or 0 if the host does not report it.
func (p *Process) Memory() int64 {
	return memory(p.cmd.ProcessState)
}
