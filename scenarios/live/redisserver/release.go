package redisserver

import (
	"errors"
	"os/exec"
	"regexp"

	"github.com/fencepost-sim/fencepost/scenarios/live/process"
)

// usualName is the server program's usual name.
const usualName = "redis-server"

// oldest is the oldest supported Redis version. It has client-side caching with invalidation messages, and SET with all
// options.
var oldest = process.Release{6, 2}

// ErrNoServer reports that redis-server is not installed on this machine.
var ErrNoServer = errors.New("there is no redis-server on this machine: " +
	"install one of version 6.2 or later (Debian and Ubuntu: apt install redis-server), or leave the servers simulated")

var says = regexp.MustCompile(`\bv=(\d+)\.(\d+)`)

// installed returns redis-server's version. The error may be [ErrNoServer] or [process.ErrOld].
func installed() (process.Release, error) {
	if _, err := exec.LookPath(usualName); err != nil {
		return process.Release{}, ErrNoServer
	}
	return process.Says(says, oldest, usualName, "--version")
}
