package consulserver

import (
	"errors"
	"os/exec"
	"regexp"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/sim"
)

// Config configures a run's servers.
type Config struct {
	Keeper  *process.Keeper
	Members []sim.ProcessID
	// Multiplier means the same as for the simulated servers.
	Multiplier int
	// Failed is called when a server has failed on its own. After that, the run cannot be judged. Any goroutine may
	// call it.
	Failed func(error)
}

// Can returns an error that says why a fault cannot be injected into the servers. It returns nil if the fault can be
// injected or does not affect the servers.
func (c *Config) Can(f nemesis.Fault) error { return fleet.CanMember(f, c.Members, program) }

// program is the executable that servers run.
const program = "consul"

// ErrNoServer reports that Consul is not installed on this machine.
var ErrNoServer = errors.New("there is no consul on the PATH: put one of version 1.14 or later there, " +
	"or leave the servers simulated. Debian and Ubuntu do not package it, but Go builds it, in an empty folder: " +
	"go mod init m && go get -tool github.com/hashicorp/consul@v1.14.4 && go build github.com/hashicorp/consul")

var says = regexp.MustCompile(`(?m)^Consul v(\d+)\.(\d+)`)

// oldest is the oldest supported version of Consul, which knows all settings that this package makes.
var oldest = process.Release{1, 14}

// look returns an error if no supported Consul is installed.
func look() error {
	if _, err := exec.LookPath(program); err != nil {
		return ErrNoServer
	}
	_, err := process.Says(says, oldest, program, "version")
	return err
}
