package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
)

// TestFormerNamesOfRequestsAreAccepted checks that a fault may use a request's name from an earlier version. The fault
// must have the same effect as one with the current name.
func TestFormerNamesOfRequestsAreAccepted(t *testing.T) {
	tried := 0
	for _, b := range backends {
		for former, now := range b.Former {
			if strings.HasSuffix(now, "…") { // in a fault, this name would be ambiguous
				continue
			}
			tried++
			if !slices.ContainsFunc(Names(), func(name string) bool {
				s := named(t, name)
				return s.Servers.Backend == b.Kind && strikesAlike(t, s, former, now)
			}) {
				t.Errorf("%s: client-1 of no scenario sends %s", b.Kind, now)
			}
		}
	}
	if tried < 3 {
		t.Errorf("only %d names were tried", tried)
	}
}

// strikesAlike reports whether client-1 sends a request with the current name. If so, it also checks that a fault has
// the same effect under the request's former and current names.
func strikesAlike(t *testing.T, s *Scenario, former, now string) bool {
	t.Helper()
	const fault = "pause client-1 for 1s after its "
	run := func(name string) (text string, missed []nemesis.Missed) {
		plan := s.Plan(1)
		plan.Faults = parsed(t, []string{fault + name})
		result, err := NewRunner(s).Run(plan)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := history.Encode(&b, result.History); err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(b.String(), fault+former+`"`, fault+now+`"`), result.Missed
	}
	want, missed := run(now)
	if len(missed) > 0 {
		return false
	}
	if got, missed := run(former); got != want || len(missed) > 0 {
		t.Errorf("%s: %s strikes otherwise than %s; missed: %v", s.Name, former, now, missed)
	}
	return true
}

// TestFaultsOfEveryFormAcceptFormerNames checks that every form of fault that names a request of etcd or Kubernetes
// accepts the name from an earlier version. The run must be the same as with the current name.
func TestFaultsOfEveryFormAcceptFormerNames(t *testing.T) {
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
