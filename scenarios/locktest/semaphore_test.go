package locktest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// takePermitByClient is the example's script, except that it uses the client's clock instead of the server's, as in
// Redisson's RPermitExpirableSemaphore and in "Redis in Action".
var takePermitByClient = strings.NewReplacer(`local t = redis.call("time")
`, "", "t[1] * 1000 + math.floor(t[2] / 1000)", "tonumber(ARGV[4])").Replace(takePermit)

func ofScript(script string) func(*locktest.Client) (locktest.Lock, error) {
	return func(c *locktest.Client) (locktest.Lock, error) {
		m, err := openMutex(c)
		own := script
		if c.Name == "client-4" { // the clock of this client is ahead
			own = strings.Replace(own, "tonumber(ARGV[4])", "tonumber(ARGV[4]) + 10000", 1)
		}
		return semaphore{m, own}, err
	}
}

// TestSemaphoresAreJudgedByTheirPermits checks that a sound semaphore upholds the lease laws with two holders at once.
// The test must report a script that allows one holder too many, one that never checks the number of holders, and one
// that uses the clients' clocks. It must also report the sound semaphore if Config.Permits is one less than the
// semaphore's actual number of permits.
func TestSemaphoresAreJudgedByTheirPermits(t *testing.T) {
	twice := []checker.CauseKind{checker.GrantedTwice}
	for _, test := range []struct {
		name, script string
		permits      int
		faults       locktest.Faults
		causes       []checker.CauseKind // expected causes of breaches of lease-exclusion; none: sound
	}{
		{"sound", takePermit, permits, locktest.Pauses, nil},
		{"sound, network", takePermit, permits, locktest.Network, nil},
		{"one too many", strings.Replace(takePermit, ">=", ">", 1), permits, locktest.Pauses, twice},
		{"never looks", strings.Replace(takePermit, "if", "if false and", 1), permits, locktest.Pauses, twice},
		{"a mutex", takePermit, 1, locktest.Pauses, twice},
		{"by the client's clock", takePermitByClient, permits, locktest.Pauses,
			[]checker.CauseKind{checker.ExpiredEarly}},
	} {
		t.Run(test.name, func(t *testing.T) {
			testkit.OneIn(t, 3)
			c := locktest.Config{New: ofScript(test.script), Permits: test.permits, Clients: 4, TTL: lease,
				Faults: test.faults, Laws: locktest.LeaseLaws, Seeds: testkit.Size(2, 5, 200),
				SkipTrial: test.permits == 1}
			r, ok := locktest.Explore(t, c)
			if !ok {
				return
			}
			var causes []checker.CauseKind
			for _, b := range r.Breaches {
				if b.Law == checker.LeaseExclusion {
					causes = append(causes, b.Cause.Kind)
				}
			}
			if want := test.causes; !slices.Equal(causes, want) || want == nil && len(r.Breaches) > 0 {
				t.Errorf("lease-exclusion is broken by %v, want %v: %+v", causes, want, r.Breaches)
			}
		})
	}
}
