package scenarios

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// In some ZooKeeper and etcd locks, each client watches the client before it in the queue. Then each event wakes only
// the next client in line. If all clients watch the first client in the queue, each event wakes them all (a herd).
func TestOnlyTheEndOfItsPredecessorWakesAClient(t *testing.T) {
	for name, keeps := range map[string]bool{"zookeeper-predecessor": true, "etcd-predecessor": true,
		"zookeeper-herd": false} {
		s := named(t, name)
		r := NewRunner(s)
		for seed := range uint64(testkit.Size(4, 20, 20)) {
			result, err := r.Run(s.Plan(seed + 1))
			if err != nil {
				t.Fatal(err)
			}
			woken, why := inLine(result.History.Events)
			if (why == "") != keeps {
				t.Errorf("%s, seed %d: keeps the order of the line: %t; %s", name, seed+1, !keeps, why)
			}
			if keeps && woken < 15 {
				t.Errorf("%s, seed %d: only %d were woken", name, seed+1, woken)
			}
		}
	}
}

// inLine returns how many times a client was woken. reason describes the first event that broke the order of the queue:
// a key vanished before its turn, or a client was woken although its key was not at the front. It is "" if there is no
// such event.
func inLine(events []history.Event) (woken int, reason string) {
	var line []history.Attempt // attempts in the order of their keys in the queue
	gone := 0                  // number of these keys that are gone, from the first on
	for _, e := range events {
		switch {
		case e.F == history.KeySet:
			line = append(line, e.Of)
		case e.F == history.KeyGone && e.Of != line[gone]:
			return woken, fmt.Sprintf("%s went before its turn", e.Of)
		case e.F == history.KeyGone:
			gone++
		case e.F == history.Woken:
			if woken++; slices.Index(line, e.Attempt) != gone {
				return woken, fmt.Sprintf("%s was woken when %d had gone of %v", e.Attempt, gone, line)
			}
		}
	}
	return woken, ""
}
