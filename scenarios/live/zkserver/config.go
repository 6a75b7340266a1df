package zkserver

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/scenarios/live/relay"
	"github.com/fencepost-sim/fencepost/sim"
)

// Config is what a run may choose about its ensemble.
type Config struct {
	Keeper *process.Keeper
	// Java is the program that runs the members; empty: java.
	Java string
	// Jar is ZooKeeper's, which names the others that it needs; empty: that of Debian's packages.
	Jar string
	// Members are the servers; the first is the leader when the run begins.
	Members []sim.ProcessID
	// Failed is called, on any goroutine, when a server has failed by itself, so that the run decides nothing.
	Failed func(error)
}

// settings are a configuration, and what else all members have in common.
type settings struct {
	Config
	secret   string // of the superuser, as whom all connections of the run authenticate
	identity process.Identity
	loop     relay.Gate
	relay    *relay.Relay
	members  []*member
	records  records
	sessions sessions
}

func (c *Config) isMember(p sim.ProcessID) bool { return slices.Contains(c.Members, p) }

// Can says why the members cannot suffer a fault; nil if they can, or if it does not strike them. It checks what is
// installed here, and starts nothing.
func (c *Config) Can(f nemesis.Fault) error {
	if f.Kind == nemesis.DelayMessage && c.isMember(f.Target) && c.isMember(f.Peer) {
		return fmt.Errorf("%s and %s are real servers, and what they send each other is a stream of bytes: there is "+
			"no message %d; delay what is sent at a time instead", f.Target, f.Peer, f.Number)
	}
	if !c.isMember(f.Target) {
		return nil
	}
	if f.Kind == nemesis.Drift {
		return errors.New("a real ZooKeeper is a Java program, which waits by the clocks of the kernel: they cannot " +
			"be made to run at another rate for it alone. A wall clock can jump")
	}
	if _, err := exec.LookPath("gcc"); err != nil && c.needsShim(f) {
		return process.ErrNoCompiler
	}
	return nil
}

// needsShim reports whether a fault requires the library that is loaded into a process.
func (c *Config) needsShim(f nemesis.Fault) bool {
	return c.isMember(f.Target) && f.Kind == nemesis.Jump
}

// session is what is needed to resume one.
type session struct {
	client   history.Process
	password string
	timeout  time.Duration
}

// sessions are those that clients have opened.
type sessions struct {
	mu  sync.Mutex
	all map[int64]session
}

func (s *sessions) set(id int64, of session) {
	s.mu.Lock()
	s.all[id] = of
	s.mu.Unlock()
}

// get returns a session; a zero one if it is no client's.
func (s *sessions) get(id int64) session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[id]
}

// of lists the sessions of a client.
func (s *sessions) of(client history.Process) (list []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, x := range s.all {
		if x.client == client {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}
