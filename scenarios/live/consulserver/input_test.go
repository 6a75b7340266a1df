//go:build linux

package consulserver

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet/fleettest"
	"github.com/fencepost-sim/fencepost/sim"
)

func TestProgramsThatAreNoConsul(t *testing.T) {
	path := os.Getenv("PATH")
	for script, want := range map[string]string{
		`echo "Consul v1.10.12"; echo "Revision 1"`: "consul has version 1.10: its version is too old: 1.14 or later is " +
			"needed",
		`echo "usage: something else"; exit 1`: `consul version does not print its version: it prints ` +
			`"usage: something else\n"`,
		`case "$1" in version) echo "Consul v1.14.4";; *) echo "no such thing"; exit 1;; esac`: "starting " +
			"consul-1: consul-1: consul ended by itself: it ended with exit status 1; it printed\n  no such thing",
	} {
		t.Setenv("PATH", filepath.Dir(testkit.Script(t, program, script))+":"+path)
		_, err := Launch(Config{Keeper: fleettest.Keeper(t), Members: members(1)})
		if err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", script, err, want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Launch(Config{Members: members(1)}); !errors.Is(err, ErrNoServer) {
		t.Errorf("without a consul: %v", err)
	}
}

// TestAMemberThatDies checks that the run fails if a server dies, and that the error says how it ended.
func TestAMemberThatDies(t *testing.T) {
	testkit.ThoroughOnly(t)
	r, c := start(t, 3)
	r.Fails = true
	r.Run(func(env sim.Env) {
		if err := syscall.Kill(c.members[1].Daemon.PID(), syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		env.Sleep(time.Hour)
	})
	const want = "consul-2: consul ended by itself: it was ended by signal 9 (killed); it printed"
	if err := r.Err(); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("reported: %v", err)
	}
}

// TestWhatMembersCannotSuffer checks that a fault is refused, with a reason, if it cannot be injected into real
// servers. Other faults, and faults in other processes, are accepted.
func TestWhatMembersCannotSuffer(t *testing.T) {
	names := nemesis.Names{Clients: []sim.ProcessID{"client-1"}, Consensus: members(3), Sessions: true}
	c := Config{Members: members(3)}
	for line, want := range map[string]string{
		"jump consul-2 clock by +1s at 1s": "the clocks of consul-2 cannot be changed: " +
			"consul is a Go program, which reads the time directly from the kernel",
		"drift consul-2 clock by +100ppm from 0s":                       "the clocks of consul-2 cannot be changed",
		"crash consul-1 losing everything at 1s, restart after 1s":      "a real member that has lost its data cannot",
		"crash consul-1 losing unsynced writes at 1s, restart after 1s": "",
		"expire session of client-1 at 1s":                              "",
		"pause consul-1 for 1s at 1s":                                   "",
		"cut consul-1 | consul-2 consul-3 at 1s for 5s":                 "",
		"jump client-1 clock by +1s at 1s":                              "",
		"delay consul-1 -> client-1 by 900ms at 1500ms for 400ms":       "",
		"shut down consul-1 at 1s, restart after 1s":                    "",
	} {
		f, err := nemesis.ParseFor(line, names)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		switch err := c.Can(f); {
		case want == "" && err != nil:
			t.Errorf("%s: refused: %v", line, err)
		case want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)):
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}
