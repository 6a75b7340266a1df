package redisserver

// Which release of Redis a program is: it is executed and asked.

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// usual is the program that is executed unless another is named.
const usual = "redis-server"

// release is a version of Redis: 7.0 is {7, 0}.
type release [2]int

// before reports whether it is older than another.
func (v release) before(o release) bool { return v[0] < o[0] || v[0] == o[0] && v[1] < o[1] }

// oldest is the oldest Redis that can be used: it notifies caches of invalidations, and has SET with all options.
var oldest = release{6, 2}

// ErrNoServer reports that there is no redis-server on this machine.
var ErrNoServer = errors.New("there is no redis-server on this machine: install one of version 6.2 or later (Debian " +
	"and Ubuntu: apt install redis-server), or leave the servers simulated")

// ErrOldServer reports a redis-server that is too old.
var ErrOldServer = errors.New("it is too old: 6.2 or later is needed")

var versionIs = regexp.MustCompile(`\bv=(\d+)\.(\d+)`)

// of asks a program for its version. The error may be [ErrNoServer] or [ErrOldServer].
func of(program string) (v release, err error) {
	path, err := exec.LookPath(program)
	if err != nil {
		if program == usual {
			return v, ErrNoServer
		}
		return v, fmt.Errorf("%s is no redis-server that can be executed: %w", program, errors.Unwrap(err))
	}
	text, err := exec.Command(path, "--version").CombinedOutput()
	line, _, _ := strings.Cut(string(text), "\n")
	found := versionIs.FindStringSubmatch(string(text))
	if err != nil || found == nil {
		return v, fmt.Errorf("%s --version does not say the version of a redis-server, but %q", path, line)
	}
	v[0], _ = strconv.Atoi(found[1])
	v[1], _ = strconv.Atoi(found[2])
	if v.before(oldest) {
		return v, fmt.Errorf("%s has version %s.%s: %w", path, found[1], found[2], ErrOldServer)
	}
	return v, nil
}
