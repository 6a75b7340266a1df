package scenarios

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// TestAFailoverIsRecordedAsWhatOrderedIt checks which failovers a history attributes to a fault in the plan. If a fault
// ordered the failover, the event includes the fault's line, even if the fault names a server that is no longer the
// master. If the Sentinel decided by itself, or the fault was not yet due, the event does not include such a line.
func TestAFailoverIsRecordedAsWhatOrderedIt(t *testing.T) {
	const own = "fail over redis-1 to redis-1-replica-1 by the Sentinel"
	for name, test := range map[string]struct {
		faults string
		want   []string
	}{
		"by a fault": {"  - fail over redis-1 to redis-1-replica-1 at 1s\n",
			[]string{"fail over redis-1 to redis-1-replica-1 on redis-1"}},
		"by a fault that names a replica as the master": {
			"  - fail over redis-1-replica-2 to redis-1-replica-1 at 1s\n",
			[]string{"fail over redis-1-replica-2 to redis-1-replica-1 on redis-1"}},
		"by the Sentinel": {"  - crash redis-1 losing unsynced writes at 1s\n", []string{own}},
		"by the Sentinel, and a fault comes later": {"  - crash redis-1 losing unsynced writes at 1s\n" +
			"  - fail over redis-1 to redis-1-replica-1 at 25s\n", []string{own}},
		"by the Sentinel, and a fault names the others later": {"  - crash redis-1 losing unsynced writes at 1s\n" +
			"  - fail over redis-1-replica-2 to redis-1-replica-1 at 25s\n", []string{own}},
		"by one of two faults": {"  - fail over redis-1-replica-2 to redis-1-replica-1 at 1s\n" +
			"  - fail over redis-1 to redis-1-replica-1 at 1s\n",
			[]string{"fail over redis-1 to redis-1-replica-1 on redis-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := parseText(t, "name: x\nservers: {redis: 1, replicas: 2, down-after: 500ms}\nclients: 2\n"+
				"lock: {protocol: set-nx-px, ttl: 2s}\nwork: {cycles: 4, hold: 1s}\nfaults:\n"+test.faults)
			r, err := NewRunner(s).Run(s.Plan(1))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range r.History.Events {
				if e.Process != history.Nemesis || e.F != history.FailOver || e.Type != history.Invoke {
					continue
				}
				if !slices.Equal(e.Fault.To, []sim.ProcessID{"redis-1-replica-1"}) {
					t.Fatalf("%v: the Sentinel has chosen the other replica", e.Fault)
				}
				line := e.Value + " " + string(e.Why)
				if e.Why == "" {
					line += "on " + string(e.Fault.On[0])
				}
				got = append(got, line)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%s, want %s", strings.Join(got, "; "), test.want)
			}
		})
	}
}
