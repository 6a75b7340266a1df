package redisserver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/sim"
)

// patience is the maximum time for a process to start or to end. It is a few hundred times the usual time.
const patience = 30 * time.Second

// server returns a server whose process has not been started yet. If there are several servers, it has a port at which
// the others reach it. Otherwise it listens on a Unix socket in its folder.
func (f *servers) server(name sim.ProcessID, oneOfSeveral bool) (s *Server, err error) {
	var talks fleet.Opener
	if oneOfSeveral {
		talks = (*fleet.Relay).Listen
	}
	s = &Server{name: name, cfg: f}
	if s.Lives, err = f.NewLives(name, talks); err != nil {
		return nil, err
	}
	f.all[name] = s
	f.Add(name, s)
	return s, nil
}

// launch starts the process for the first time, with the given lines in its configuration file and with the given
// additional arguments. Later processes use the same configuration file, because that is where the server stores which
// master it follows.
func (s *Server) launch(lines []string, args ...string) error {
	own := []string{"protected-mode no", "daemonize no", fmt.Sprintf("dir %q", s.Daemon.Folder)}
	if s.Port == nil {
		s.at = endpoint{network: "unix", address: filepath.Join(s.Daemon.Folder, "s")}
		own = append(own, "port 0", fmt.Sprintf("unixsocket %q", s.at.address))
	} else {
		at, err := s.Port.Free()
		if err != nil {
			return err
		}
		s.at = endpoint{network: "tcp", address: at.String(), password: s.cfg.secret}
		own = append(own, fmt.Sprint("port ", at.Port()), "bind "+s.Port.Own(),
			fmt.Sprintf("requirepass %q", s.cfg.secret))
	}
	file := filepath.Join(s.Daemon.Folder, "redis.conf")
	if err := os.WriteFile(file, []byte(strings.Join(append(own, lines...), "\n")+"\n"), 0o600); err != nil {
		return err
	}
	s.Daemon.Args = append([]string{usualName, file}, args...)
	if err := s.start(nil); err != nil {
		return fmt.Errorf("starting %s: %w", s.name, err)
	}
	if s.Port != nil {
		s.Port.Open(s.at.address)
	}
	return nil
}

// start starts the process and waits until it accepts commands.
func (s *Server) start(stop <-chan struct{}) error {
	s.disk.Begin(s.Daemon.Folder)
	if err := s.Daemon.Start(); err != nil {
		return err
	}
	return s.Daemon.Await(s.ready, "takes no commands", patience, 200*time.Microsecond, stop)
}

// ready reports whether the process accepts commands, that is, whether it is listening and has loaded its data.
func (s *Server) ready() bool {
	w, err := s.at.dial()
	if err != nil {
		return false
	}
	defer w.close()
	_ = w.conn.SetDeadline(time.Now().Add(time.Second)) // the process may be paused
	v, err := w.ask("PING")
	return err == nil && !strings.HasPrefix(v.Text, "LOADING")
}

// end ends the process, and brings the server's files into the state in which this kind of stop leaves them.
func (s *Server) end(how sim.Stop) error {
	if how == sim.ShutDown {
		s.Daemon.ShutDown(patience, askAgain)
	}
	s.Daemon.Kill()
	switch {
	case how == sim.LoseAllState:
		return s.loseFiles()
	case how == sim.PowerLoss && s.cuts:
		return s.disk.Cut(s.Daemon.Folder, s.Daemon.Shim)
	}
	return nil
}

// askAgain is the interval at which the shutdown request is repeated. A process refuses to shut down while it is
// writing its first append-only file (finishShutdown in server.c). That happens, for example, when a replica has just
// received all data.
const askAgain = 100 * time.Millisecond

// loseFiles deletes all data. The servers keep their roles, as simulated nodes do.
func (s *Server) loseFiles() error {
	entries, err := os.ReadDir(s.Daemon.Folder)
	for _, e := range entries {
		if name := e.Name(); name != "redis.conf" && name != "s" && name != "shim" {
			err = errors.Join(err, os.RemoveAll(filepath.Join(s.Daemon.Folder, name)))
		}
	}
	return err
}
