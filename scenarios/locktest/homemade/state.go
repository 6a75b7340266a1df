package homemade

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// Family is a family of faults under which a lock keeps a promise.
type Family struct {
	Name    string
	Faults  locktest.Faults // nil: no faults
	Without []string
}

// Families lists locktest's families of faults, plus one without faults. In the runs for family Restarts, servers do
// not lose data that was synced.
var (
	Quiet    = Family{Name: "quiet"}
	Pauses   = Family{Name: "pauses", Faults: locktest.Pauses}
	Network  = Family{Name: "network", Faults: locktest.Network}
	Restarts = Family{Name: "restarts", Faults: locktest.Restarts, Without: locktest.ServerDataLoss}
	Clocks   = Family{Name: "clocks", Faults: locktest.Clocks}
	Families = []Family{Quiet, Pauses, Network, Restarts, Clocks}
)

// Promise lists the laws that a sound lock upholds under a family of faults.
type Promise struct {
	Family
	Laws []checker.Law
}

// Leased lists the promises of a lock with a lease that is measured on a server's clock, and with owner values that
// cannot be mistaken for another client's. Without faults, clients are not paused, so no critical section lasts longer
// than its lease. If servers' clocks jump or drift, leases may end at any time, but a client never changes another
// client's key.
var Leased = []Promise{{Quiet, checker.Laws}, {Pauses, locktest.LeaseLaws}, {Network, locktest.LeaseLaws},
	{Restarts, locktest.LeaseLaws}, {Clocks, locktest.EfficiencyLaws}}

// Tokened lists the promises of a lock that meets the requirements of Leased and also gets a fencing token, in the same
// step in which it is acquired.
var Tokened = []Promise{{Quiet, checker.Laws}, {Pauses, locktest.FencedLaws}, {Network, locktest.FencedLaws},
	{Restarts, locktest.FencedLaws}, {Clocks, locktest.FencedLaws}}

// Faultless lists the promises of a lock that is safe only in the absence of faults.
var Faultless = []Promise{{Quiet, checker.Laws}}

// SoundLock is a lock that keeps its promises.
type SoundLock struct {
	Recipe
	Why      string // why the lock keeps its promises
	Promises []Promise
	// Late is set if it is unsafe to release the lock after its lease has ended.
	Late bool
}

// BrokenLock is a sound lock with one mistake added.
type BrokenLock struct {
	Recipe
	Of      string // name of the sound lock
	Mistake string
	// Shows describes runs that show the mistake, and what must be reported about each of them.
	Shows []Showing
	// Also lists other violations that the mistake may cause under random faults.
	Also []Way
	// Found lists families of random faults that reveal the mistake within locktest's default number of runs. Other
	// families may reveal it too.
	Found []Family
	// Hold is how long a client holds the lock in the runs for Found. 0 means half the TTL.
	Hold time.Duration
	// Trial is a regular expression that must match the trial run's report. It is empty if the trial run must pass.
	Trial string
}

// Way is a kind of violation: a law, and the cause of its violation.
type Way struct {
	checker.Law
	checker.Cause
}

// Showing describes a run in which a broken lock's mistake leads to a violation.
type Showing struct {
	// Plan, Clients, Cycles and Hold are fields of locktest.Config. An empty plan means no faults.
	Plan            []string
	Clients, Cycles int
	Hold            time.Duration
	// Seeds is the minimum number of runs, at least one of which must show the mistake. 0 means that every run must
	// show it.
	Seeds int
	Way
	// By matches the client that sent the request or held the lock. Of matches the client that owned the key. Both are
	// regular expressions; an empty one accepts any client.
	By, Of string
	Why    string // why this must be reported
	// Never lists text that the explanation must not contain, because it would be untrue. Says lists text that it must
	// contain.
	Never, Says []string
}

const (
	leaseExclusion = checker.LeaseExclusion
	ownership      = checker.Ownership
	deadlock       = checker.DeadlockFreedom
	mutual         = checker.MutualExclusion
	tokenOrder     = checker.TokenOrder
	tolerance      = checker.FaultTolerance
)

var (
	removed       = checker.Cause{Kind: checker.RemovedByNonOwner}
	overwritten   = checker.Cause{Kind: checker.RemovedByNonOwner, Detail: checker.Overwritten}
	prolongedBy   = checker.Cause{Kind: checker.ProlongedByNonOwner}
	lateTry       = checker.Cause{Kind: checker.RemovedByOwner, Detail: checker.LateTry}
	abandoned     = checker.Cause{Kind: checker.StuckBehindAbandoned}
	removedSelf   = checker.Cause{Kind: checker.RemovedByOwner}
	refused       = checker.Cause{Kind: checker.ReleaseRefused}
	crashed       = checker.Cause{Kind: checker.StuckBehindCrashed}
	goneKey       = checker.Cause{Kind: checker.ValidityMiscounted, Detail: checker.GoneKey}
	miscounted    = checker.Cause{Kind: checker.ValidityMiscounted}
	twice         = checker.Cause{Kind: checker.GrantedTwice}
	withoutQuorum = checker.Cause{Kind: checker.CountedWithoutQuorum}
	nobodyHolds   = checker.Cause{Kind: checker.StuckWithoutHolder}
	neverRenewed  = checker.Cause{Kind: "never renewed"}
	wentBack      = checker.Cause{Kind: checker.TokenWentBack}
	withoutEffect = checker.Cause{Kind: checker.ReleaseWithoutEffect}
	notInTime     = checker.Cause{Kind: checker.TooSlow}
)

// SoundLocks returns all sound locks.
func SoundLocks() []SoundLock {
	return slices.Concat(stringLocks(), memberLocks(), readerLocks, severalLocks(), laterLocks())
}

// BrokenLocks returns all broken locks.
func BrokenLocks() []BrokenLock {
	return slices.Concat(brokenStrings, brokenRecords(), brokenMembers(), brokenReaders, brokenSeveral, brokenEnds,
		brokenLater)
}
