package locktest_test

import (
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// TestTheLocksOfTheExamplesAreSound checks that the tests in the examples pass. Other tests check the examples'
// semaphore, read-write lock, fair lock and lock for tasks.
func TestTheLocksOfTheExamplesAreSound(t *testing.T) {
	pauses := locktest.Config{TTL: lease, Faults: locktest.Pauses, Laws: locktest.LeaseLaws,
		Seeds: testkit.Size(3, 6, 20)}
	for name, change := range map[string]func(c *locktest.Config){
		"mutex":    func(c *locktest.Config) { c.New = newMutex },
		"expiring": func(c *locktest.Config) { c.New, c.Precautions.ChecksValidity = newExpiring, true },
		"notifies": func(c *locktest.Config) { c.New, c.Precautions.StopsWhenLost = newNotifying, true },
		"fenced": func(c *locktest.Config) {
			c.New, c.Precautions.Fences, c.Laws = newFenced, true, locktest.FencedLaws
		},
		"reentrant": func(c *locktest.Config) { c.New = newReentrant },
		"pool": func(c *locktest.Config) {
			c.New, c.Locks = newPooled, []string{"account", "order"}
		},
		"try-lock": func(c *locktest.Config) {
			c.New, c.Faults, c.Patience = newTryLock, locktest.Network, 3*time.Second
		},
		"cluster": func(c *locktest.Config) {
			c.New, c.Faults, c.Laws = newClusterMutex, locktest.Failovers, locktest.EfficiencyLaws
			c.Servers = locktest.Redis(3).Replicated(1).Clustered(time.Second)
		},
		"evicted and deleted": func(c *locktest.Config) {
			c.New, c.Faults = newFenced, locktest.Faults{"evict key", "delete key"}
			c.Precautions.Fences, c.Laws = true, locktest.FencedLaws
		},
		"each fault": func(c *locktest.Config) {
			c.New, c.EachFault, c.Seeds, c.Clients, c.Cycles, c.Hold = newMutex, true, 0, 2, 1, 300*time.Millisecond
		},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.OneIn(t, 5)
			c := pauses
			change(&c)
			locktest.Run(t, c)
		})
	}
}

// TestTheMutexOfTheExamplesIsNoExclusion checks that the examples' mutex violates mutual-exclusion, but not
// lease-exclusion. That is why the examples require only the laws that a lease can uphold.
func TestTheMutexOfTheExamplesIsNoExclusion(t *testing.T) {
	r, ok := locktest.Explore(t, locktest.Config{New: newMutex, TTL: lease, Faults: locktest.Pauses, Seeds: 8})
	if ok && (r.Violated(checker.MutualExclusion) == 0 || r.Violated(checker.LeaseExclusion) > 0) {
		t.Errorf("%+v", r.Breaches)
	}
}

// TestWhatTheLocksOfTheExamplesCannotKeep checks that the locks in some examples break lease-exclusion. These examples
// require fewer laws because, as their comments say, no lease survives their faults. The test also checks that a
// reentrant lock breaks lease-exclusion if its inner release deletes the key.
func TestWhatTheLocksOfTheExamplesCannotKeep(t *testing.T) {
	uncounted := func(c *locktest.Client) (locktest.Lock, error) {
		l, err := newReentrant(c)
		if err != nil {
			return nil, err
		}
		r := l.(reentrant)
		r.leave = `local holds = redis.call("hget", KEYS[1], ARGV[1]) or "0"
redis.call("del", KEYS[1])
return tonumber(holds)`
		return r, nil
	}
	for name, c := range map[string]locktest.Config{
		"cluster": {New: newClusterMutex, Servers: locktest.Redis(3).Replicated(1).Clustered(time.Second),
			Plan: []string{"cut redis-2 -> redis-2-replica-1 at 0s for 3s",
				"crash redis-2 losing unsynced writes at 500ms, restart after 5s"}, Hold: 7 * time.Second, Seeds: 3},
		"evicted and deleted": {New: newFenced, Faults: locktest.Faults{"evict key", "delete key"}, Seeds: 20},
		"uncounted":           {New: uncounted, Plan: []string{}, Seeds: 3, SkipTrial: true},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.OneIn(t, 3)
			c.TTL, c.Laws = lease, []checker.Law{checker.LeaseExclusion}
			if r, ok := locktest.Explore(t, c); ok && r.Violated(checker.LeaseExclusion) == 0 {
				t.Errorf("lease-exclusion held in all of %d runs", r.Runs)
			}
		})
	}
}
