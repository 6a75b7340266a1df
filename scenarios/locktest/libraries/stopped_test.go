package libraries

import (
	"os"
	"strings"
	"testing"

	"github.com/go-redsync/redsync/v4"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// failFast is redsync with WithFailFast, as its documents show it: a round ends with the first majority, and what it
// has asked of the other servers goes on. Their connections are opened with a lock of go-redis held.
func failFast(open func(*locktest.Client, int) redsyncPool) locktest.Config {
	lock := newRedsync(open, with(redsync.WithFailFast(true)))
	return locktest.Config{Servers: locktest.Redis(3), TTL: TTL, Seeds: 10, Compute: TTL * 5 / 2, Cycles: 2,
		Faults: locktest.Network, Laws: []checker.Law{checker.Ownership},
		Care: locktest.Care{ChecksValidity: true, StopsWhenTold: true, Extends: TTL / 3},
		New:  func(c *locktest.Client) locktest.Lock { return lock(c, false) }}
}

// TestAMutexThatIsHeldOverADialIsNamed: who waits for it, who holds it, what that one waits for, and the setting that
// avoids it. With that setting every run is judged; what is tolerated is counted apart.
func TestAMutexThatIsHeldOverADialIsNamed(t *testing.T) {
	const waiter = "go-redis/v9.(*baseClient).disableMaintNotificationsUpgrades("
	c := failFast(onGoRedis)
	named, ok := locktest.Explore(t, c)
	c.Tolerated = []string{waiter}
	tolerated, _ := locktest.Explore(t, c)
	c = failFast(onQuietGoRedis)
	if os.Getenv("FENCEPOST_FULL") != "" {
		c.Seeds = 300
	}
	avoided, _ := locktest.Explore(t, c)
	if !ok {
		return
	}
	if len(named.Failures) == 0 {
		t.Fatal("every run was judged")
	}
	for _, f := range named.Failures {
		first, rest, _ := strings.Cut(f.Text, "\n")
		for _, want := range []string{"the run did nothing for 3s", "disableMaintNotificationsUpgrades (redis.go:",
			"waits (sync.RWMutex.Lock) for what a goroutine seems to hold that waits for "} {
			if !strings.Contains(first, want) {
				t.Errorf("seed %d: %q is not in the first line:\n%s", f.Seed, want, f.Text)
			}
		}
		for _, want := range []string{"maintnotifications.ModeDisabled", "(*baseClient).initConn"} {
			if !strings.Contains(rest, want) {
				t.Errorf("seed %d: %q is not in\n%s", f.Seed, want, f.Text)
			}
		}
	}
	if tolerated.Tolerated == 0 || len(tolerated.Failures) > 0 {
		t.Errorf("%d tolerated, %v; %d were named", tolerated.Tolerated, tolerated.Failures, len(named.Failures))
	}
	judgeable(t, avoided)
}
