package redisserver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/live/keeper"
	"github.com/fencepost-sim/fencepost/sim/live/redisserver/machine"
	"github.com/fencepost-sim/fencepost/sim/live/relay"
)

// program is a process of redis-server or of its Sentinel, in its folder.
type program struct {
	cfg    *settings
	name   sim.ProcessID
	folder string
	config []string // lines of its configuration, save where it listens
	args   []string // that follow the file's name
	at     endpoint
	gate   *relay.Port // where other servers reach it; nil: it talks to none, and listens on a socket in its folder
	port   int         // where it listens itself
	cuts   bool        // a loss of power takes what was not fsynced
	shim   *machine.Shim
	disk   machine.Disk

	mu      sync.Mutex
	process *keeper.Process
	held    bool
}

// patience is how long a process may take to start or to end: some hundred times what it takes.
const patience = 30 * time.Second

// tries is how many ports are tried if one is taken.
const tries = 20

// errDied reports that a process has ended by itself.
var errDied = errors.New("ended by itself")

// inUse is how redis-server says that a port is taken.
const inUse = "Address already in use"

// launch starts the process for the first time, on another port if the one that was chosen is in use.
func (p *program) launch(library string, o *machine.Origin) (err error) {
	if err := os.MkdirAll(p.folder, 0o700); err != nil {
		return err
	}
	if library != "" {
		if p.shim, err = machine.NewShim(library, p.folder, o); err != nil {
			return err
		}
	}
	for range tries {
		if p.gate != nil && (p.port == 0 || err != nil) {
			if p.port, err = relay.FreePort(p.gate.Own()); err != nil {
				return fmt.Errorf("finding a port for %s: %w", p.name, err)
			}
		}
		p.at = endpoint{network: "unix", address: filepath.Join(p.folder, "s")}
		if p.gate != nil {
			p.at = endpoint{network: "tcp", address: fmt.Sprintf("%s:%d", p.gate.Own(), p.port)}
		}
		if err = p.configure(); err != nil {
			return err
		}
		if err = p.start(nil); err == nil && p.gate != nil {
			p.gate.Open(p.at.address)
		}
		if err == nil || !strings.Contains(err.Error(), inUse) {
			return err
		}
	}
	return err
}

// configure writes the configuration, which outlives the process: whom a server follows stands there.
func (p *program) configure() error {
	lines := []string{"protected-mode no", "daemonize no", fmt.Sprintf("port %d", p.port),
		fmt.Sprintf("dir %q", p.folder)}
	if p.gate == nil {
		lines = append(lines, fmt.Sprintf("unixsocket %q", p.at.address))
	} else {
		lines = append(lines, "bind "+p.gate.Own())
		if p.cfg.seven { // before, it calls from where it listens
			lines = append(lines, "bind-source-addr "+p.gate.Own())
		}
	}
	lines = append(lines, p.config...)
	text := strings.Join(lines, "\n") + "\n"
	return os.WriteFile(filepath.Join(p.folder, "redis.conf"), []byte(text), 0o600)
}

// start starts the process and waits until it takes commands.
func (p *program) start(stop <-chan struct{}) error {
	if err := p.spawn(); err != nil {
		return err
	}
	process := p.running()
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Microsecond) {
		select {
		case <-process.Done():
			return p.diedError()
		case <-stop:
			return errLifeOver
		default:
		}
		if p.ready() {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s: %s takes no commands within %v of its start%s", p.name, p.cfg.Program, patience,
				p.lastWords())
		}
	}
}

// ready reports whether the process takes commands: it listens, and has loaded its data.
func (p *program) ready() bool {
	w, err := p.at.dial()
	if err != nil {
		return false
	}
	defer w.close()
	_ = w.conn.SetDeadline(time.Now().Add(time.Second)) // it may be paused
	v, err := w.ask("PING")
	return err == nil && !strings.HasPrefix(v.Text, "LOADING")
}

// spawn starts the process, stopped if it is to be.
func (p *program) spawn() (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	log := p.log()
	p.disk.Begin(p.folder)
	if err := p.shim.Begin(); err != nil {
		return err
	}
	p.process, err = p.cfg.Keeper.Start(keeper.Command{
		Args: append([]string{p.cfg.Program, filepath.Join(p.folder, "redis.conf")}, p.args...),
		Env:  append(os.Environ(), p.shim.Environment()...), Dir: p.folder, Stdout: log, Stderr: log})
	if err == nil && p.held {
		err = p.process.Stop()
	}
	return err
}

// running is the process that was started last.
func (p *program) running() *keeper.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.process
}

// ended is closed once the process that was started last has ended; nil if it could not be started.
func (p *program) ended() <-chan struct{} {
	if p == nil {
		return nil // it is not ours
	}
	if process := p.running(); process != nil {
		return process.Done()
	}
	return nil
}

// hold stops the process, or lets it go on; one that is started later too.
func (p *program) hold(on bool) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = on
	switch {
	case p.process == nil:
	case on:
		err = p.process.Stop()
	default:
		err = p.process.Cont()
	}
	if errors.Is(err, keeper.ErrEnded) {
		return nil // nothing is down longer than that
	}
	return err
}

// kill kills the process, and returns once it has ended.
func (p *program) kill() {
	if process := p.running(); process != nil {
		_ = process.Kill() // whether or not it had ended; without the keeper it is gone as well
	}
}

// end ends the process and does to its files what the end has done to the machine.
func (p *program) end(how sim.Stop) error {
	if process := p.running(); process != nil && how == sim.ShutDown {
		p.shutDown(process)
	}
	p.kill()
	switch {
	case how == sim.LoseAllState:
		return p.loseFiles()
	case how == sim.PowerLoss && p.cuts:
		return p.disk.Cut(p.folder, p.shim)
	}
	return nil
}

// askAgain is after which a process is asked again to shut down: it refuses while it writes its first append-only file
// (finishShutdown in server.c), as a replica does that has just got all data.
const askAgain = 100 * time.Millisecond

// shutDown asks a process to shut down, and returns once it has or will not.
func (p *program) shutDown(process *keeper.Process) {
	if process.Cont() != nil {
		return
	}
	for end := time.Now().Add(patience); time.Now().Before(end) && process.Terminate() == nil; {
		select {
		case <-process.Done():
			return
		case <-time.After(askAgain):
		}
	}
}

// loseFiles deletes all data. Who is whose replica stays, as it does with the simulated node.
func (p *program) loseFiles() error {
	entries, err := os.ReadDir(p.folder)
	for _, e := range entries {
		if name := e.Name(); name != "redis.conf" && name != "s" && name != "shim" {
			err = errors.Join(err, os.RemoveAll(filepath.Join(p.folder, name)))
		}
	}
	return err
}

// log is the file that the process writes its log to, beside its folder.
func (p *program) log() string { return p.folder + ".log" }

// diedError says how the process ended by itself, and its last words.
func (p *program) diedError() error {
	return fmt.Errorf("%s: %s %w: it %v%s", p.name, p.cfg.Program, errDied, p.running().Status(), p.lastWords())
}

// lastWords are the last lines of the log.
func (p *program) lastWords() string {
	const most = 5
	b, err := os.ReadFile(p.log())
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if err != nil || len(b) == 0 {
		return ", and said nothing"
	}
	return "; it said\n  " + strings.Join(lines[max(len(lines)-most, 0):], "\n  ")
}
