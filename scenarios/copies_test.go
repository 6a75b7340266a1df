package scenarios

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
)

// TestMembersRecordTheSameKeysInTheSameOrder checks the records of all etcd and ZooKeeper members, which receive the
// same key changes in the same order. Each member's records must match the service's changes from the beginning,
// without gaps or repetitions, even if members crash, restart or lose their disks.
func TestMembersRecordTheSameKeysInTheSameOrder(t *testing.T) {
	type change struct {
		gone   bool
		lock   history.Lock
		member string
		of     history.Attempt
	}
	runs, copies, behind := 0, 0, 0
	for i, name := range Names() {
		s := named(t, name)
		if !s.Servers.consensus() || i%testkit.Size(15, 1, 1) > 0 {
			continue
		}
		for _, extra := range [][]string{nil, {"crash %s-2 losing everything at 300ms, restart after 1s"},
			{"crash %s-3 at 200ms, restart after 2s"}} {
			plan := s.Plan(1)
			for _, line := range extra {
				f, err := nemesis.Parse(fmt.Sprintf(line, serviceOf(s)))
				if err != nil {
					t.Fatal(err)
				}
				plan.Faults = append(slices.Clone(plan.Faults), f)
			}
			result, err := NewRunner(s).Run(plan)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			runs++
			var all []change
			received := map[history.Process][]change{}
			for _, e := range result.History.Events {
				c := change{e.F == history.KeyGone || e.F == history.CopyGone, e.Lock, e.Member, e.Of}
				switch {
				case e.F == history.KeySet, e.F == history.KeyGone:
					all = append(all, c)
				case e.F.IsCopy():
					copies++
				default:
					continue
				}
				received[e.Process] = append(received[e.Process], c)
			}
			for p, own := range received {
				if len(own) > len(all) || !slices.Equal(own, all[:len(own)]) {
					t.Errorf("%s, with %v: %s has recorded\n%v\nof\n%v", name, extra, p, own, all)
				}
			}
			for _, p := range result.History.Header.Servers {
				if len(received[p]) < len(all) {
					behind++
				}
			}
		}
	}
	if runs < testkit.Size(4, 60, 60) || copies == 0 || behind == 0 {
		t.Errorf("%d runs, %d copies, %d members that lacked something: too little to show anything", runs, copies,
			behind)
	}
}

// serviceOf returns the common prefix of a scenario's server names.
func serviceOf(s *Scenario) string {
	return string(s.Servers.Backend)
}
