package zkserver

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"github.com/fencepost-sim/fencepost/scenarios/live/process"
)

// java runs the members.
const java = "java"

// jar is ZooKeeper, where Debian has it. It names others that it needs.
const jar = "/usr/share/java/zookeeper.jar"

// beside are jars in ZooKeeper's folder that it does not name itself: one prints its errors, and its TLS needs the
// others.
var beside = []string{"slf4j-simple.jar", "netty-codec.jar", "netty-resolver.jar"}

// ErrNoServer reports that there is no ZooKeeper on this machine.
var ErrNoServer = errors.New("there is no ZooKeeper on this machine: install one of version 3.6 or later and a Java " +
	"to run it (Debian and Ubuntu: apt install libzookeeper-java default-jre-headless), or leave the servers simulated")

// oldest is the oldest ZooKeeper that can be used: it has persistent recursive watches.
var oldest = process.Release{3, 6}

var says = regexp.MustCompile(`version (\d+)\.(\d+)`) // Java may print something of its own first

// installed checks whether there is a ZooKeeper that can be used. The error may be [ErrNoServer] or [process.ErrOld].
func installed() error {
	_, err := exec.LookPath(java)
	if _, missing := os.Stat(jar); err != nil || missing != nil {
		return ErrNoServer
	}
	command := append([]string{java}, flags...)
	_, err = process.Says(says, oldest, append(command, "-cp", jar, "org.apache.zookeeper.version.VersionInfoMain")...)
	return err
}

// flags make Java start fast and stay small.
var flags = []string{"-Xmx64m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-XX:-UsePerfData"}

// classpath is where ZooKeeper's classes are.
func classpath() string {
	path := jar
	for _, other := range beside {
		path += ":" + filepath.Join(filepath.Dir(jar), other)
	}
	return path
}
