package etcdserver

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/scenarios/live/relay"
	"github.com/fencepost-sim/fencepost/sim"
)

// Config is what a run may choose about its members.
type Config struct {
	Keeper *process.Keeper
	// Program is etcd, or a replacement for it; empty: etcd.
	Program string
	Members []sim.ProcessID
	// Heartbeat and ElectionTimeout are those of the members; 0: 100 ms, 1 s. They are whole ms.
	Heartbeat, ElectionTimeout time.Duration
	// Failed is called, on any goroutine, when a member has failed by itself, so that the run decides nothing.
	Failed func(error)

	port func(host string) (int, error) // finds a free one; nil: relay.FreePort
}

func (c Config) withDefaults() Config {
	if c.Program == "" {
		c.Program = usual
	}
	if c.Heartbeat == 0 {
		c.Heartbeat = 100 * time.Millisecond
	}
	if c.ElectionTimeout == 0 {
		c.ElectionTimeout = time.Second
	}
	if c.port == nil {
		c.port = relay.FreePort
	}
	return c
}

// Can says why the members cannot suffer a fault; nil if they can, or if it does not strike them.
func (c *Config) Can(f nemesis.Fault) error {
	if a, b, is := c.betweenMembers(f); is && f.Kind == nemesis.DelayMessage {
		return fmt.Errorf("%s and %s are real members, and what they send each other is a stream of bytes: there is "+
			"no message %d; delay what is sent at a time instead", a, b, f.Number)
	}
	if f.Kind == nemesis.ExpireSession {
		return errors.New("a real etcd ends a lease by its time, or when its client asks for that: cut the client off")
	}
	switch at := f.Target; {
	case !slices.Contains(c.Members, at):
	case f.Kind.Does().IsClock():
		return fmt.Errorf("%s is a program in Go, which asks the kernel for the time: nothing can come between", at)
	case f.Kind.Has(nemesis.FieldLoss) && f.Loss == nemesis.LosesEverything:
		return fmt.Errorf("a real member without its data does not come back: let %s lose its unsynced writes", at)
	}
	return nil
}

// betweenMembers finds a link between two members that a fault strikes.
func (c *Config) betweenMembers(f nemesis.Fault) (a, b sim.ProcessID, is bool) {
	left, right := f.Left, f.Right
	if f.Kind.Has(nemesis.FieldPeer) && f.Kind.Does() != history.FailOver.Does() {
		left, right = []sim.ProcessID{f.Target}, []sim.ProcessID{f.Peer}
	}
	for _, a := range left {
		for _, b := range right {
			if a != b && slices.Contains(c.Members, a) && slices.Contains(c.Members, b) {
				return a, b, true
			}
		}
	}
	return "", "", false
}

// usual is the program that is executed unless another is named.
const usual = "etcd"

// Errors that a user can fix.
var (
	errNoServer = errors.New("there is no etcd on this machine: install one of version 3.4 or later (Debian and " +
		"Ubuntu: apt install etcd-server), or leave the servers simulated")
	errOldServer = errors.New("it is too old: 3.4 or later is needed")
)

var said = regexp.MustCompile(`(?m)^etcd Version: (\d+)\.(\d+)`)

// look checks whether a program is an etcd that can be used: since 3.4 the gateway is at /v3 and supports all requests
// made here.
func look(program string) error {
	path, err := exec.LookPath(program)
	if err != nil {
		if program == usual {
			return errNoServer
		}
		return fmt.Errorf("%s is no etcd that can be executed: %w", program, errors.Unwrap(err))
	}
	text, err := exec.Command(path, "--version").CombinedOutput()
	found := said.FindStringSubmatch(string(text))
	if err != nil || found == nil {
		return fmt.Errorf("%s --version does not say the version of an etcd, but %.60q", path, text)
	}
	major, _ := strconv.Atoi(found[1])
	minor, _ := strconv.Atoi(found[2])
	if major < 3 || major == 3 && minor < 4 {
		return fmt.Errorf("%s has version %d.%d: %w", path, major, minor, errOldServer)
	}
	return nil
}
