package etcdserver

import (
	"errors"
	"os/exec"
	"regexp"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/sim"
)

// Config configures a run's members.
type Config struct {
	Keeper  *process.Keeper
	Members []sim.ProcessID
	// Failed is called when a member has failed on its own. After that, the run cannot be judged. Any goroutine may
	// call it.
	Failed func(error)
}

// Can returns an error that says why a fault cannot be injected into the members. It returns nil if the fault can be
// injected or does not affect the members.
func (c *Config) Can(f nemesis.Fault) error {
	if f.Kind == nemesis.ExpireSession {
		return errors.New("a real etcd ends a lease only when the lease expires or its client revokes it: " +
			"cut the client off instead")
	}
	return fleet.CanMember(f, c.Members, program)
}

// program is the executable that members run.
const program = "etcd"

// errNoServer reports that etcd is not installed on this machine.
var errNoServer = errors.New("there is no etcd on this machine: " +
	"install one of version 3.4 or later (Debian and Ubuntu: apt install etcd-server), or leave the servers simulated")

var says = regexp.MustCompile(`(?m)^etcd Version: (\d+)\.(\d+)`)

// oldest is the oldest supported version of etcd. It supports all calls that this package makes.
var oldest = process.Release{3, 4}

// look returns an error if no supported etcd is installed.
func look() error {
	if _, err := exec.LookPath(program); err != nil {
		return errNoServer
	}
	_, err := process.Says(says, oldest, program, "--version")
	return err
}
