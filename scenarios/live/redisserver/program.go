package redisserver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/scenarios/live/relay"
	"github.com/fencepost-sim/fencepost/sim"
)

// program is a process of redis-server or of its Sentinel, in its folder.
type program struct {
	cfg    *settings
	name   sim.ProcessID
	folder string
	config []string // lines of its configuration, except where it listens
	args   []string // that follow the file's name
	at     endpoint
	gate   *relay.Port // where other servers reach it; nil: it talks to none, and listens on a socket in its folder
	port   int         // where it listens itself
	cuts   bool        // a loss of power loses what was not fsynced
	shim   *process.Shim
	disk   process.Disk
	daemon process.Daemon
}

// patience is how long a process may take to start or to end: some hundred times what it needs.
const patience = 30 * time.Second

// tries is how many ports are tried if one is in use.
const tries = 20

// inUse is redis-server's error for a port that is in use.
const inUse = "Address already in use"

// launch starts the process for the first time, on another port if the chosen one is in use.
func (p *program) launch(library string, o *process.Origin) (err error) {
	if err := os.MkdirAll(p.folder, 0o700); err != nil {
		return err
	}
	if library != "" {
		if p.shim, err = process.NewShim(library, p.folder, o); err != nil {
			return err
		}
	}
	p.daemon.Keeper, p.daemon.Name, p.daemon.Folder = p.cfg.Keeper, p.name, p.folder
	p.daemon.Args = append([]string{p.cfg.Program, filepath.Join(p.folder, "redis.conf")}, p.args...)
	p.daemon.Env = append(os.Environ(), p.shim.Environment()...)
	for range tries {
		if p.gate != nil && (p.port == 0 || err != nil) {
			if p.port, err = relay.FreePort(p.gate.Own()); err != nil {
				return fmt.Errorf("finding a port for %s: %w", p.name, err)
			}
		}
		p.at = endpoint{network: "unix", address: filepath.Join(p.folder, "s")}
		if p.gate != nil {
			p.at = endpoint{network: "tcp", address: fmt.Sprintf("%s:%d", p.gate.Own(), p.port), password: p.cfg.secret}
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

// lives are those of the server whose process it is.
func (p *program) lives() *relay.Lives {
	return &relay.Lives{Daemon: &p.daemon, Port: p.gate, Gate: &p.cfg.loop, Failed: p.cfg.Failed}
}

// configure writes the configuration, which outlives the process: it says whom a server follows.
func (p *program) configure() error {
	lines := []string{"protected-mode no", "daemonize no", fmt.Sprintf("port %d", p.port),
		fmt.Sprintf("dir %q", p.folder)}
	if p.gate == nil {
		lines = append(lines, fmt.Sprintf("unixsocket %q", p.at.address))
	} else {
		lines = append(lines, "bind "+p.gate.Own(), fmt.Sprintf("requirepass %q", p.cfg.secret))
	}
	lines = append(lines, p.config...)
	text := strings.Join(lines, "\n") + "\n"
	return os.WriteFile(filepath.Join(p.folder, "redis.conf"), []byte(text), 0o600)
}

// start starts the process and waits until it accepts commands.
func (p *program) start(stop <-chan struct{}) error {
	if err := p.spawn(); err != nil {
		return err
	}
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Microsecond) {
		select {
		case <-p.daemon.Ended():
			return p.daemon.Died()
		case <-stop:
			return relay.ErrOver
		default:
		}
		if p.ready() {
			return nil
		}
		if time.Now().After(end) {
			return p.daemon.Late("takes no commands", patience)
		}
	}
}

// ready reports whether the process accepts commands: it listens, and has loaded its data.
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

// spawn starts the process, stopped during a pause.
func (p *program) spawn() error {
	p.disk.Begin(p.folder)
	if err := p.shim.Begin(); err != nil {
		return err
	}
	return p.daemon.Start()
}

// end ends the process and applies to its files what the stop has done to the machine.
func (p *program) end(how sim.Stop) error {
	if how == sim.ShutDown {
		p.daemon.ShutDown(patience, askAgain)
	}
	p.daemon.Kill()
	switch {
	case how == sim.LoseAllState:
		return p.loseFiles()
	case how == sim.PowerLoss && p.cuts:
		return p.disk.Cut(p.folder, p.shim)
	}
	return nil
}

// askAgain is the time after which a process is asked again to shut down: it refuses while it writes its first
// append-only file (finishShutdown in server.c), as a replica does that has just received all data.
const askAgain = 100 * time.Millisecond

// loseFiles deletes all data. The roles of servers stay, as with the simulated node.
func (p *program) loseFiles() error {
	entries, err := os.ReadDir(p.folder)
	for _, e := range entries {
		if name := e.Name(); name != "redis.conf" && name != "s" && name != "shim" {
			err = errors.Join(err, os.RemoveAll(filepath.Join(p.folder, name)))
		}
	}
	return err
}
