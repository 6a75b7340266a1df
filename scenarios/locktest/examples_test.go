package locktest_test

import (
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// TestTheLocksOfTheExamplesAreSound: the tests in the examples pass.
func TestTheLocksOfTheExamplesAreSound(t *testing.T) {
	pauses := locktest.Config{TTL: lease, Faults: locktest.Pauses, Laws: locktest.LeaseLaws, Seeds: 20}
	for name, change := range map[string]func(c *locktest.Config){
		"mutex":    func(c *locktest.Config) { c.New = newMutex },
		"expiring": func(c *locktest.Config) { c.New, c.Precautions.ChecksValidity = newExpiring, true },
		"notifies": func(c *locktest.Config) { c.New, c.Precautions.StopsWhenLost = newNotifying, true },
		"fenced": func(c *locktest.Config) {
			c.New, c.Precautions.Fences, c.Laws = newFenced, true, locktest.FencedLaws
		},
		"each fault": func(c *locktest.Config) {
			c.New, c.EachFault, c.Seeds, c.Clients, c.Cycles, c.Hold = newMutex, true, 0, 2, 1, 300*time.Millisecond
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := pauses
			change(&c)
			locktest.Run(t, c)
		})
	}
}

// TestTheMutexOfTheExamplesIsNoExclusion: the mutex of the examples violates mutual-exclusion, but not lease-exclusion;
// so the examples require only what a lease can keep.
func TestTheMutexOfTheExamplesIsNoExclusion(t *testing.T) {
	r, ok := locktest.Explore(t, locktest.Config{New: newMutex, TTL: lease, Faults: locktest.Pauses, Seeds: 20})
	if ok && (r.Violated(checker.MutualExclusion) == 0 || r.Violated(checker.LeaseExclusion) > 0) {
		t.Errorf("%+v", r.Breaches)
	}
}
