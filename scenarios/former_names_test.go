package scenarios

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// TestFormerNamesOfRequests checks that a plan may refer to a modeled client's request by its name from an earlier
// version. The fault must strike the same message as with the current name.
func TestFormerNamesOfRequests(t *testing.T) {
	const etcd, kubernetes = "servers: {etcd: 3}\nlock: {protocol: etcd, compare-revision: off}",
		"servers: {kubernetes: 3}\nlock: {protocol: lease-object}"
	for _, c := range []struct{ file, former, today string }{
		{etcd, "delay the TXN of client-1 to etcd-1 by 70ms", "delay the Txn of client-1 to etcd-1 by 70ms"},
		{etcd, "delay the answer to the LEASE of client-1 to etcd-1 by 70ms",
			"delay the answer to the LeaseGrant of client-1 to etcd-1 by 70ms"},
		{etcd, "delay the 2nd LEASE of client-1 to etcd-1 by 70ms",
			"delay the LeaseKeepAlive of client-1 to etcd-1 by 70ms"},
		{etcd, "delay the DELETE of client-1 to etcd-1 by 70ms", "delay the DeleteRange of client-1 to etcd-1 by 70ms"},
		{etcd, "pause client-2 for 70ms at its RANGE", "pause client-2 for 70ms at its Range"},
		{etcd, "pause client-2 for 70ms at its WATCH", "pause client-2 for 70ms at its Watch"},
		{etcd, "pause client-2 for 70ms at its STATUS", "pause client-2 for 70ms at its Status"},
		{kubernetes, "break client-1 | kubernetes-1 before the answer to the TXN",
			"break client-1 | kubernetes-1 before the answer to the Txn"},
		{kubernetes, "pause client-2 for 70ms at its 2nd RANGE", "pause client-2 for 70ms at its 2nd Range"},
	} {
		run := func(fault string) string {
			text := "name: f\n" + c.file + "\nclients: 2\nwork: {hold: 5s, cycles: 1}\nlimit: 40s\n" +
				"faults:\n  - " + fault
			s, err := Parse("f.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			r, err := NewRunner(s).Run(s.Plan(1))
			if err != nil || len(r.Missed) > 0 {
				t.Errorf("%s: %v %v", fault, err, r.Missed)
			}
			var b strings.Builder
			for i := range r.History.Events {
				if e := &r.History.Events[i]; e.Process != history.Nemesis { // the nemesis's events quote the fault
					fmt.Fprintln(&b, e.Time, e.Process, e.Type, e.F)
				}
			}
			return b.String()
		}
		none, former, today := run("pause client-2 for 70ms at 39s"), run(c.former), run(c.today)
		if former != today || former == none {
			t.Errorf("%s: the run is not that of %s, or that without a fault", c.former, c.today)
		}
	}
}
