package libraries

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

func TestTmp(t *testing.T) {
	for _, l := range All {
		if l.Name != "redsync-redigo" && l.Name != "redsync-v1" && l.Name != "rueidislock" {
			continue
		}
		for _, c := range cells(&l) {
			if c.family.name != "restarts" {
				continue
			}
			if r, ok := locktest.Explore(t, c.config(40)); ok {
				sum := 0
				for _, b := range r.Breaches {
					if b.Law == checker.DeadlockFreedom || b.Law == checker.FaultTolerance {
						sum += b.Runs
					}
				}
				t.Log(l.Name, c.family.name, c.work.name, c.protection.name, sum, waits(r))
			}
		}
	}
}
