package homemade

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// Family is a family of faults that a lock promises something under.
type Family struct {
	Name    string
	Faults  locktest.Faults // nil: no fault strikes
	Without []string
}

// Families are those of package locktest, and the one without any fault. Restarts lose nothing that was synced.
var (
	Quiet    = Family{Name: "quiet"}
	Pauses   = Family{Name: "pauses", Faults: locktest.Pauses}
	Network  = Family{Name: "network", Faults: locktest.Network}
	Restarts = Family{Name: "restarts", Faults: locktest.Restarts, Without: locktest.ServerLosses}
	Clocks   = Family{Name: "clocks", Faults: locktest.Clocks}
	Families = []Family{Quiet, Pauses, Network, Restarts, Clocks}
)

// Promise is what a sound lock keeps.
type Promise struct {
	Family
	Laws []checker.Law
}

// Leased is what a lock keeps whose lease ends by a server's clock, if each request has an owner's value that no other
// request can be mistaken for. Without faults nobody is paused, so that a section ends with its lease at the latest.
// Where servers' clocks jump or drift, leases end at any time, but nobody touches another's key.
var Leased = []Promise{{Quiet, checker.Laws}, {Pauses, locktest.LeaseLaws}, {Network, locktest.LeaseLaws},
	{Restarts, locktest.LeaseLaws}, {Clocks, locktest.EfficiencyLaws}}

// Tokened is what such a lock keeps if it draws its token in the step in which it is taken.
var Tokened = []Promise{{Quiet, checker.Laws}, {Pauses, locktest.FencedLaws}, {Network, locktest.FencedLaws},
	{Restarts, locktest.FencedLaws}, {Clocks, locktest.FencedLaws}}

// Faultless is what a lock keeps that no fault may strike.
var Faultless = []Promise{{Quiet, checker.Laws}}

// SoundLock is a lock that keeps what it promises.
type SoundLock struct {
	Recipe
	Why      string // it does
	Promises []Promise
	// Late is set if its release must not come after its lease.
	Late bool
}

// BrokenLock is a sound lock with one mistake.
type BrokenLock struct {
	Recipe
	Of      string // the sound lock
	Mistake string
	// Shows are runs that show the mistake, with what must be reported of them.
	Shows []Showing
	// Also are other ways in which the mistake breaks a law under random faults.
	Also []Way
	// Found are families of random faults that show the mistake in the runs that locktest makes by
	// default. Others may as well.
	Found []Family
	// Trial is what the trial run reports, a regular expression; empty if it passes.
	Trial string
}

// Way is a way in which a law is broken.
type Way struct {
	checker.Law
	checker.Cause
}

// Showing is a run that shows a mistake.
type Showing struct {
	// Plan, Clients, Cycles and Hold are those of locktest.Config. Without a plan no fault strikes.
	Plan            []string
	Clients, Cycles int
	Hold            time.Duration
	// Seeds is how many seeds it takes until chance has shown the mistake once; 0: each seed shows it.
	Seeds int
	Way
	// By is the client whose request or whose hold it was, and Of the one whose key it was: regular expressions; empty
	// if that is left to chance.
	By, Of string
	Why    string // this must be reported
	// Never are words that would be untrue.
	Never []string
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
	crashed       = checker.Cause{Kind: checker.StuckBehindCrashed}
	goneKey       = checker.Cause{Kind: checker.ValidityMiscounted, Detail: checker.GoneKey}
	miscounted    = checker.Cause{Kind: checker.ValidityMiscounted}
	twice         = checker.Cause{Kind: checker.GrantedTwice}
	withoutQuorum = checker.Cause{Kind: checker.CountedWithoutQuorum}
	nobodyHolds   = checker.Cause{Kind: checker.StuckWithoutHolder}
	neverRenewed  = checker.Cause{Kind: "never renewed"}
	wentBack      = checker.Cause{Kind: checker.TokenWentBack}
	withoutEffect = checker.Cause{Kind: checker.ReleaseWithoutEffect}
)

// SoundLocks are all sound locks.
func SoundLocks() []SoundLock { return slices.Concat(stringLocks(), memberLocks(), severalLocks()) }

// BrokenLocks are all broken ones.
func BrokenLocks() []BrokenLock {
	return slices.Concat(brokenStrings, brokenRecords(), brokenMembers(), brokenSeveral, brokenEnds)
}
