package scenarios

import (
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// TestAClientStopsWhenItsLeaseEnds checks that a client which cannot renew its lease stops its work at the instant at
// which the lease ends by its clock, and not after one more retry delay.
func TestAClientStopsWhenItsLeaseEnds(t *testing.T) {
	for _, server := range []string{"etcd", "consul"} {
		s, err := Parse("s.yaml", []byte(strings.ReplaceAll(`
name: cut-off
servers: {SERVER: 3}
clients: 1
lock: {protocol: SERVER}
work: {hold: 60s, stop-when-lost: on}
faults:
  - cut client-1 | SERVER-1 SERVER-2 SERVER-3 at 4s
`, "SERVER", server)))
		if err != nil {
			t.Fatal(err)
		}
		result, err := NewRunner(s).Run(s.Plan(1))
		if err != nil {
			t.Fatal(err)
		}
		var until, lost history.Time
		for _, e := range result.History.Events {
			switch {
			case e.Process != "client-1":
			case e.Grant != nil:
				until = max(until, e.Grant.Until)
			case e.F == history.Lost:
				lost = e.Time
			}
		}
		if until == 0 || lost != until {
			t.Errorf("%s: the client stops at %v, and its lease ends at %v", server, lost, until)
		}
	}
}
