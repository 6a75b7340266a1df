package zkserver

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"github.com/fencepost-sim/fencepost/scenarios/live/process"
)

// java is the program that runs the members.
const java = "java"

// jar is the path of ZooKeeper's jar as installed by Debian. Its manifest names the other jars it needs.
const jar = "/usr/share/java/zookeeper.jar"

// extraJars lists jars in ZooKeeper's folder that are needed, but that its manifest does not name. slf4j-simple prints
// ZooKeeper's errors; the others are needed for TLS.
var extraJars = []string{"slf4j-simple.jar", "netty-codec.jar", "netty-resolver.jar"}

// ErrNoServer reports that there is no ZooKeeper on this machine.
var ErrNoServer = errors.New("there is no ZooKeeper on this machine: " +
	"install one of version 3.6 or later and a Java to run it (Debian and Ubuntu: " +
	"apt install libzookeeper-java default-jre-headless), or leave the servers simulated")

// oldest is the oldest ZooKeeper release that works: the first one with persistent recursive watches.
var oldest = process.Release{3, 6}

var says = regexp.MustCompile(`version (\d+)\.(\d+)`) // Java may print other text first

// installed returns nil if a suitable ZooKeeper is installed. Otherwise it returns an error, which may be [ErrNoServer]
// or [process.ErrOld].
func installed() error {
	_, err := exec.LookPath(java)
	if _, missing := os.Stat(jar); err != nil || missing != nil {
		return ErrNoServer
	}
	command := append([]string{java}, flags...)
	_, err = process.Says(says, oldest, append(command, "-cp", jar, "org.apache.zookeeper.version.VersionInfoMain")...)
	return err
}

// flags make Java start quickly and use little memory.
var flags = []string{"-Xmx64m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-XX:-UsePerfData"}

// classpath returns the class path with ZooKeeper's classes.
func classpath() string {
	path := jar
	for _, other := range extraJars {
		path += ":" + filepath.Join(filepath.Dir(jar), other)
	}
	return path
}
