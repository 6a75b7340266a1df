package scenarios

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// If a server is down or does not execute a request, the client must not conclude that another client owns the lock.
func TestWhyARequestFailed(t *testing.T) {
	const keepalive = ", extension: {every: 1s}"
	for _, c := range []struct {
		name, servers, lock, fault string
		call                       history.F
		want                       history.Why
	}{
		{"the server is down", "{redis: 1}", "set-nx-px", "shut down redis-1 at 2s", history.Release, history.Refused},
		{"it is down when the lease is to be prolonged", "{redis: 1}", "set-nx-px" + keepalive,
			"shut down redis-1 at 2s", history.Extend, history.Refused},
		{"it answers nothing", "{redis: 1}", "set-nx-px", "cut client-1 | redis-1 at 2s", history.Release,
			history.NoReply},
		{"its key is gone", "{redis: 1}", "set-nx-px", "jump redis-1 clock by +30s at 2s", history.Release,
			history.NotOwner},
		{"its replica is gone", "{redis: 1, replicas: 1, min-replicas-to-write: 1}", "set-nx-px",
			"shut down redis-1-replica-1 at 1s", history.Release, history.Refused},
		{"a minority is down", "{redis: 3}", "redlock", "shut down redis-1 at 2s", history.Release, ""},
		{"a majority is down", "{redis: 3}", "redlock", "shut down redis-1 at 2s; shut down redis-2 at 2s",
			history.Release, history.Refused},
		{"a majority is down when the lease is to be prolonged", "{redis: 3}", "redlock" + keepalive,
			"shut down redis-1 at 2s; shut down redis-2 at 2s", history.Extend, history.Refused},
		{"one is down, one is silent", "{redis: 3}", "redlock", "shut down redis-1 at 2s; cut client-1 | redis-2 at 2s",
			history.Release, history.NoReply},
		{"one is down, the keys of the others are gone", "{redis: 3}", "redlock",
			"shut down redis-1 at 2s; jump redis-2 clock by +30s at 2s; jump redis-3 clock by +30s at 2s",
			history.Release, history.NotOwner},
	} {
		result := ranWith(t, "servers: "+c.servers+"\nclients: 1\nlock: {protocol: "+c.lock+
			"}\nwork: {cycles: 1, hold: 3500ms}\nlimit: 60s\n", c.fault)
		first := slices.IndexFunc(result.History.Events, func(e history.Event) bool {
			return e.Process == "client-1" && e.F == c.call && e.Type != history.Invoke &&
				(e.Type != history.OK || c.call == history.Release)
		})
		if first < 0 {
			t.Errorf("%s: no %s ended", c.name, c.call)
		} else if got := result.History.Events[first].Why; got != c.want {
			t.Errorf("%s: the %s ended with %q, want %q", c.name, c.call, got, c.want)
		}
	}
}

// ranWith runs a scenario with the given faults, separated by semicolons.
func ranWith(t *testing.T, text, faults string) Result {
	t.Helper()
	list := `"` + strings.ReplaceAll(faults, "; ", `", "`) + `"`
	s, err := Parse("x.yaml", []byte("name: x\n"+text+"faults: ["+list+"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	result, err := NewRunner(s).Run(s.Plan(1))
	if err != nil {
		t.Fatal(err)
	}
	return result
}
