package libraries

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// TestEverySingleFault tries every single fault in a run of two clients that acquire a lock twice each. With
// FENCEPOST_FULL=1, it tests the go-redis libraries without a failover, with all faults. By default, it tests only one
// of them, with delayed messages and broken connections. It logs the number of runs, the processor time and the
// findings. In these runs, no lock is extended and no key expires.
func TestEverySingleFault(t *testing.T) {
	if testing.Short() {
		t.Skip("some hundred runs, and their shrinking")
	}
	names, faults, fewest := []string{"setnx"}, locktest.Faults{"delay message", "break"}, 200
	if testkit.Full() {
		names, faults, fewest = []string{"redsync", "redislock", "setnx"}, nil, 2000
	}
	for _, l := range All {
		if !slices.Contains(names, l.Name) {
			continue
		}
		t.Run(l.Name, func(t *testing.T) {
			c := l.config(false)
			c.EachFault, c.Seeds, c.Clients, c.Cycles, c.Hold = true, 0, 2, 2, 300*time.Millisecond
			c.Laws = []checker.Law{checker.Ownership, checker.MutualExclusion}
			c.Precautions, c.Faults = locktest.Precautions{}, faults
			if l.Name == "redsync" {
				c.Servers = locktest.Redis(3)
			}
			r, ok := locktest.Explore(t, c)
			if !ok {
				return
			}
			judgeable(t, r)
			t.Logf("%d runs, %.0f s of processor time", r.Runs, r.CPU.Seconds())
			if r.Runs < fewest {
				t.Errorf("only %d runs", r.Runs)
			}
			for _, b := range r.Breaches {
				small, err := r.Shrink(b)
				if err != nil {
					t.Error(err)
					continue
				}
				plan, err := nemesis.ParsePlan("plan", []byte(small.Plan))
				if err != nil {
					t.Error(err)
				}
				t.Logf("%s: %s, in %d runs: %v", b.Law, b.Cause, b.Runs, plan.Faults)
				if b.Law == checker.Ownership && !strings.Contains(b.Cause.String(), "non-owner") {
					t.Errorf("%s: %s", b.Law, b.Cause)
				}
			}
		})
	}
}
