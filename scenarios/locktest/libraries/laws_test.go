package libraries

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// kept lists the laws that a sound lock upholds under one family of faults.
type kept struct {
	family  string
	faults  locktest.Faults
	fenced  bool // if not set, the clients check the validity
	laws    []checker.Law
	without []string
}

// keeping lists the laws that a lock upholds on servers without replicas. With replicas, a lock upholds only
// EfficiencyLaws, because a Sentinel may replace a master that is paused, cut off or down.
var keeping = []kept{
	{"pauses", locktest.Pauses, false, locktest.LeaseLaws, nil},
	{"network", locktest.Network, false, locktest.LeaseLaws, nil},
	{"restarts", locktest.Restarts, false, locktest.LeaseLaws, locktest.ServerDataLoss},
	{"failovers", locktest.Failovers, false, locktest.EfficiencyLaws, nil},
	{"clocks", locktest.Clocks, false, locktest.EfficiencyLaws, nil},
	{"pauses", locktest.Pauses, true, locktest.FencedLaws, nil},
	{"network", locktest.Network, true, locktest.FencedLaws, nil},
	{"restarts", locktest.Restarts, true, locktest.FencedLaws, locktest.ServerDataLoss},
	{"clocks", locktest.Clocks, true, locktest.FencedLaws, nil},
}

// defect is a case in which a library violates a law that a sound lock upholds, together with the cause.
type defect struct {
	library string
	law     checker.Law
	cause   checker.CauseKind
}

// defects maps the libraries' known defects to their explanations.
var defects = map[defect]string{
	{"redsync-redigo", checker.DeadlockFreedom, checker.StuckWithoutHolder}:    noDialLimit,
	{"redsync-redigo", checker.FaultTolerance, checker.TooSlow}:                noDialLimit,
	{"redsync-v1", checker.DeadlockFreedom, checker.StuckWithoutHolder}:        noLimit,
	{"redsync-v1", checker.FaultTolerance, checker.TooSlow}:                    noLimit,
	{"redsync-set-nx", checker.Ownership, checker.ProlongedByNonOwner}:         lateExtension,
	{"redsync-own-value", checker.Ownership, checker.ProlongedByNonOwner}:      sameValue,
	{"redsync-own-value", checker.Ownership, checker.RemovedByNonOwner}:        sameValue,
	{"redislock", checker.LeaseExclusion, checker.LeaseNotRechecked}:           lateObtain,
	{"redislock-own-token", checker.LeaseExclusion, checker.LeaseNotRechecked}: lateObtain,
	{"redislock-own-token", checker.Ownership, checker.RemovedByNonOwner}:      sameToken,
	{"redislock-own-token", checker.LeaseExclusion, checker.RemovedByNonOwner}: sameToken,
	{"rueidislock", checker.LeaseExclusion, checker.ValidityMiscounted}:        longExtension,
	{"rueidislock", checker.DeadlockFreedom, checker.StuckWithoutHolder}:       nothingWakes,
	{"valkeylock", checker.LeaseExclusion, checker.ValidityMiscounted}:         longExtension,
	{"valkeylock", checker.DeadlockFreedom, checker.StuckWithoutHolder}:        nothingWakes,
}

// known explains a known defect, in which a library violates a law with the given cause. It returns "" if the violation
// is not a known defect.
func known(library string, law checker.Law, cause checker.CauseKind) string {
	if why := defects[defect{library, law, cause}]; why != "" || !strings.HasPrefix(library, "redsync") {
		return why
	}
	switch (defect{law: law, cause: cause}) {
	case defect{law: checker.LeaseExclusion, cause: checker.RemovedByOwner}:
		return lateTry
	case defect{law: checker.FaultTolerance, cause: checker.TooSlow}:
		return ofLibrary[library][cause]
	case defect{law: checker.DeadlockFreedom, cause: checker.StuckWithoutHolder}:
		return downCounter
	}
	return ""
}

// TestLibrariesKeepWhatSoundLocksKeep checks that a library does not break any law that a sound lock upholds, except
// for its known defects. By default, only redislock is tested. FENCEPOST_SOUND is the number of seeds for each library,
// family of faults and protection. With 1000 seeds, the test takes about half an hour on one core.
func TestLibrariesKeepWhatSoundLocksKeep(t *testing.T) {
	seeds, _ := strconv.Atoi(os.Getenv("FENCEPOST_SOUND"))
	for _, l := range All {
		if seeds == 0 && l.Name != "redislock" && !testkit.Full() {
			continue
		}
		for _, k := range keeping {
			switch {
			case k.family == "failovers" && !l.replicated(), k.fenced && l.replicated():
				continue
			case l.replicated():
				k.laws = locktest.EfficiencyLaws
			}
			t.Run(fmt.Sprintf("%s/%s/fenced=%t", l.Name, k.family, k.fenced), func(t *testing.T) {
				c := l.config(k.fenced)
				c.Faults, c.Without, c.Laws, c.Seeds, c.Cycles = k.faults, k.without, k.laws, max(seeds, 10), 2
				c.Compute = TTL / 2
				c.Precautions.ChecksValidity, c.Precautions.StopsWhenLost = !k.fenced, !k.fenced
				r, ok := locktest.Explore(t, c)
				if !ok {
					return
				}
				r.DifferingSeeds = nil // already reported by TestEqualSeedsGiveEqualDigests
				judgeable(t, r)
				for _, b := range r.Breaches {
					why := known(l.Name, b.Law, b.Cause.Kind)
					line := fmt.Sprintf("%s: %s, in %d of %d runs, the first is seed %d", b.Law, b.Cause, b.Runs,
						r.Runs, b.Seed)
					if why == "" {
						t.Errorf("%s\n%s", line, b.Story)
						continue
					}
					t.Log(line)
				}
			})
		}
	}
}
