//go:build linux

package zkserver

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet/fleettest"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
)

// TestWhatCannotBeRunIsRefused checks that an unsuitable installation is refused before anything starts.
func TestWhatCannotBeRunIsRefused(t *testing.T) {
	needsZooKeeper(t)
	for line, want := range map[string]string{
		"hello":                                "does not print its version: it prints \"hello",
		"Apache ZooKeeper, version 3.5.9 2021": "has version 3.5: its version is too old",
		"Picked up JAVA_TOOL_OPTIONS: -ea\nApache ZooKeeper, version 3.10.0 2027": "",
	} {
		t.Setenv("PATH", filepath.Dir(testkit.Script(t, java, "printf '"+line+"'")))
		if err := installed(); err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(),
			want)) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Launch(Config{}, nil); !errors.Is(err, ErrNoServer) {
		t.Errorf("without a Java: %v", err)
	}
}

// TestFaultsThatMembersCannotSuffer checks that a fault that cannot be injected into members is refused, and that the
// error says why. Faults in other processes are accepted.
func TestFaultsThatMembersCannotSuffer(t *testing.T) {
	c := Config{Members: fleettest.Names("zookeeper", 3)}
	for _, x := range []struct {
		fault nemesis.Fault
		want  string
	}{
		{nemesis.Fault{Kind: nemesis.Drift, Target: "zookeeper-1"},
			"the clocks of a real ZooKeeper cannot be made to drift"},
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
