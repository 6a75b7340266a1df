package libraries

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
	"github.com/fencepost-sim/fencepost/scenarios/locktest/matrixtest"
)

// onCluster returns the configuration for redislock on a Redis Cluster.
func onCluster(t *testing.T) locktest.Config {
	for _, l := range All {
		if l.Name == "redislock-cluster" {
			return l.config(false)
		}
	}
	t.Fatal("no library redislock-cluster")
	return locktest.Config{}
}

// TestAClusterLosesALockInAFailover checks that a replica elected by the Cluster can grant a lock that the old master
// has already granted. With FENCEPOST_FULL=1, the default faults must show this. Otherwise, the test uses a fixed plan.
func TestAClusterLosesALockInAFailover(t *testing.T) {
	c := onCluster(t)
	c.Laws = []checker.Law{checker.LeaseExclusion}
	if !testkit.Full() {
		c.Seeds, c.Hold = 5, 7*time.Second
		c.Plan = []string{"cut redis-2 -> redis-2-replica-1 at 0s for 500ms",
			"crash redis-2 losing unsynced writes at 300ms, restart after 5s"}
	}
	r, ok := locktest.Explore(t, c)
	if !ok {
		return
	}
	judgeable(t, r)
	for _, b := range r.Breaches {
		t.Logf("%s: %s from seed %d", b.Law, b.Cause.Kind, b.Seed)
		if b.Law == checker.LeaseExclusion && b.Cause.Kind == checker.LostInFailover {
			return
		}
	}
	t.Errorf("no lock was lost in a failover: %+v", r.Breaches)
}

// TestALockOnAClusterIsEfficient checks that a lock on a Cluster upholds EfficiencyLaws under all faults. These are the
// laws that matter for a lock that only avoids duplicate work.
func TestALockOnAClusterIsEfficient(t *testing.T) {
	c := onCluster(t)
	c.Laws, c.Seeds = locktest.EfficiencyLaws, testkit.Size(50, 200, 5000)
	locktest.Run(t, c)
}

// impatient returns a Redis Cluster client that quickly tries another member if one does not answer. By default, such a
// client dials a member that is down five times, for five seconds each.
func impatient(c *locktest.Client) redis.UniversalClient {
	return redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs, Dialer: c.DialContext,
		DialTimeout: 500 * time.Millisecond, DialerRetries: 1, ReadTimeout: 500 * time.Millisecond})
}

// TestEqualSeedsOnAClusterGiveEqualRuns checks that redirections, elections and slot reloads are the same in runs with
// the same seed. The runs are short, because one minute after reading the slots, a ClusterClient sorts its members in
// the random order of a map.
func TestEqualSeedsOnAClusterGiveEqualRuns(t *testing.T) {
	c := onCluster(t)
	c.New = func(c *locktest.Client) (locktest.Lock, error) { return newRedislock(impatient)(c, false) }
	c.Cycles, c.Hold = 2, time.Second
	matrixtest.EqualSeedsGiveEqualRuns(t, c, testkit.Size(50, 200, 2000))
}
