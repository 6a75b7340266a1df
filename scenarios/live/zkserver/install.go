package zkserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Where Debian has ZooKeeper, and the program that runs it.
const (
	usualJava = "java"
	usualJar  = "/usr/share/java/zookeeper.jar"
)

// beside are jars in ZooKeeper's folder that it does not name itself: one prints its errors, and its TLS needs the
// others.
var beside = []string{"slf4j-simple.jar", "netty-codec.jar", "netty-resolver.jar"}

// ErrNoServer reports that there is no ZooKeeper on this machine.
var ErrNoServer = errors.New("there is no ZooKeeper on this machine: install one of version 3.6 or later and a Java " +
	"to run it (Debian and Ubuntu: apt install libzookeeper-java default-jre-headless), or leave the servers simulated")

// ErrOldServer reports a ZooKeeper that is too old.
var ErrOldServer = errors.New("it is too old: 3.6 or later is needed")

// oldest is the oldest ZooKeeper that can be used: it has persistent recursive watches.
var oldest = [2]int{3, 6}

var said = regexp.MustCompile(`version (\d+)\.(\d+)`)

// install finds what runs ZooKeeper, and checks its version.
func (c *Config) install() error {
	if c.Java == "" {
		c.Java = usualJava
	}
	if c.Jar == "" {
		c.Jar = usualJar
	}
	java, err := exec.LookPath(c.Java)
	if _, missing := os.Stat(c.Jar); err != nil || missing != nil {
		if c.Java == usualJava && c.Jar == usualJar {
			return ErrNoServer
		}
		return fmt.Errorf("ZooKeeper cannot be run: %w", errors.Join(err, missing))
	}
	text, err := exec.Command(java, append(flags, "-cp", c.Jar,
		"org.apache.zookeeper.version.VersionInfoMain")...).CombinedOutput()
	line, _, _ := strings.Cut(string(text), "\n")
	found := said.FindStringSubmatch(string(text)) // Java may print something of its own first
	if err != nil || found == nil {
		return fmt.Errorf("%s with %s does not say the version of a ZooKeeper, but %q", java, c.Jar, line)
	}
	major, _ := strconv.Atoi(found[1])
	minor, _ := strconv.Atoi(found[2])
	if major < oldest[0] || major == oldest[0] && minor < oldest[1] {
		return fmt.Errorf("%s has version %s.%s: %w", c.Jar, found[1], found[2], ErrOldServer)
	}
	return nil
}

// flags make Java start fast and stay small.
var flags = []string{"-Xmx64m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-XX:-UsePerfData"}

// classpath is where ZooKeeper's classes are.
func (c *Config) classpath() string {
	path := c.Jar
	for _, jar := range beside {
		path += ":" + filepath.Join(filepath.Dir(c.Jar), jar)
	}
	return path
}
