//go:build linux

package zkserver

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
)

// TestWhatCannotBeRunIsRefused before anything starts.
func TestWhatCannotBeRunIsRefused(t *testing.T) {
	java := func(line string) string { return testkit.Script(t, "java", "echo '"+line+"'") }
	jar := filepath.Join(t.TempDir(), "zookeeper.jar")
	if err := os.WriteFile(jar, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{Java: "/nowhere/java", Jar: jar}, "ZooKeeper cannot be run: exec: \"/nowhere/java\""},
		{Config{Java: java(""), Jar: "/nowhere/zookeeper.jar"}, "/nowhere/zookeeper.jar: no such file"},
		{Config{Java: java("hello"), Jar: jar}, "does not say the version of a ZooKeeper, but \"hello\""},
		{Config{Java: java("Apache ZooKeeper, version 3.5.9 2021"), Jar: jar}, "has version 3.5: it is too old"},
	} {
		_, err := Launch(c.config, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	newer := Config{Java: java("Picked up JAVA_TOOL_OPTIONS: -ea\nApache ZooKeeper, version 3.10.0 2027"), Jar: jar}
	if err := newer.install(); err != nil {
		t.Error(err)
	}
	t.Setenv("PATH", t.TempDir())
	if err := (&Config{}).install(); !errors.Is(err, ErrNoServer) {
		t.Errorf("without a Java: %v", err)
	}
}

// TestFaultsThatMembersCannotSuffer are refused, with the reason; those of others are none of their business.
func TestFaultsThatMembersCannotSuffer(t *testing.T) {
	c := Config{Members: names(3)}
	for _, x := range []struct {
		fault nemesis.Fault
		want  string
	}{
		{nemesis.Fault{Kind: nemesis.Drift, Target: "zookeeper-1"}, "cannot be made to run at another rate"},
		{nemesis.Fault{Kind: nemesis.Drift, Target: "client-1"}, ""},
		{nemesis.Fault{Kind: nemesis.DelayMessage, Target: "zookeeper-1", Peer: "zookeeper-2", Number: 7},
			"there is no message 7"},
		{nemesis.Fault{Kind: nemesis.DelayMessage, Target: "client-1", Peer: "zookeeper-2", Number: 7}, ""},
		{nemesis.Fault{Kind: nemesis.Pause, Target: "zookeeper-3", For: time.Second}, ""},
		{nemesis.Fault{Kind: nemesis.ExpireSession, Target: "client-1"}, ""},
	} {
		err := c.Can(x.fault)
		if x.want == "" && err != nil || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
			t.Errorf("%s: got %v, want %s", x.fault, err, x.want)
		}
	}
	jump := nemesis.Fault{Kind: nemesis.Jump, Target: "zookeeper-1", By: time.Second}
	if _, err := exec.LookPath("gcc"); err == nil && c.Can(jump) != nil {
		t.Error(c.Can(jump))
	}
	t.Setenv("PATH", t.TempDir())
	if err := c.Can(jump); !errors.Is(err, process.ErrNoCompiler) {
		t.Errorf("without gcc: %v", err)
	}
}
