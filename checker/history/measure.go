package history

import "slices"

// Measure is a safety measure: something that a lock's users can do to make it safer. A header lists the measures that
// all users of the lock already apply, so that the checker does not recommend them.
type Measure string

// Safety measures that a header can list.
const (
	Fencing Measure = "fencing" // the resource compares tokens
	// the resource accepts a write only if the value is still the one that the client read, or accepts each write only
	// once
	ComparedWrites  Measure = "compared-writes"
	FsyncAlways     Measure = "fsync-always"     // the server calls fsync before each answer
	WaitForReplicas Measure = "wait"             // the client calls WAIT and checks the count that it returns
	MinReplicas     Measure = "min-replicas"     // the server has min-replicas-to-write set
	Expiry          Measure = "expiry"           // keys have an expiry, which is set in the same step as the key
	OwnerCheck      Measure = "owner-check"      // a release checks the owner in the same step
	ExtendCheck     Measure = "extend-check"     // an extension checks the owner in the same step
	ObeyedExtension Measure = "obeyed-extension" // an extension counts only if the server has extended the key
	KeptExtension   Measure = "kept-extension"   // an extension neither deletes the key nor sets it again
	OwnValue        Measure = "own-value"        // each attempt uses a different value
	// step 3 in the Redlock document: the lease is timed from when it was requested
	ElapsedCheck   Measure = "elapsed-check"
	RelativeExpiry Measure = "relative-expiry" // the server adds the TTL to its own clock
	CountedEntries Measure = "counted-entries" // if its owner acquired a lock twice, only the last release frees it
	GrantToken     Measure = "grant-token"     // each grant gets its own fencing token in the same step
	// a client assumes that another client's lease runs for its full duration from the moment at which the client first
	// saw it
	SeenLease Measure = "seen-lease"
	// the lease lasts longer than the time for which its holder keeps trying to renew it
	LongLease       Measure = "long-lease"
	MonotonicClock  Measure = "monotonic-clock" // elapsed time is measured on a monotonic clock
	DriftAllowance  Measure = "drift-allowance" // an allowance for clock drift is subtracted from the validity
	ValidityCheck   Measure = "validity-check"  // the client checks its lease before each read and write
	StopWhenLost    Measure = "stop-when-lost"  // the holder stops working when it knows that it has lost the lock
	Renewal         Measure = "renewal"         // a keepalive renews the lock
	CappedExtension Measure = "capped-extension"
	RandomRetry     Measure = "random-retry"
	Parallel        Measure = "parallel"      // the client asks all servers at the same time
	ShortTimeout    Measure = "short-timeout" // a request times out after at most a tenth of the TTL
	Recheck         Measure = "recheck"       // the client checks its own lease again after it has waited
	// if the lock cannot be renewed, the holder stops working before it gives up the lock
	StopFirst Measure = "stop-first"
	// a waiter rechecks the lock on its own, or the service reports every end of a hold, including expiry
	LooksAgain Measure = "looks-again"
	// The safety measures of a fair lock.
	FirstInLine   Measure = "first-in-line"  // a free lock goes only to the client whose place is first in line
	KeptPlaces    Measure = "kept-places"    // a client keeps its place while it waits
	RenewedPlaces Measure = "renewed-places" // a place ends a fixed time after its client has last asked
	LeftPlaces    Measure = "left-places"    // a client that gives up removes its place
)

// Lapse is something unsafe that a lock does. It is known from the lock's settings or, if its code is unknown, from its
// requests.
type Lapse string

// The lapses that a header can list.
const (
	PartOfOwner Lapse = "part-of-owner" // a release compares only part of the owner value
	// the first release ends the renewal, even if the owner has acquired the lock several times and still holds it
	RenewalStops Lapse = "renewal-stops"
)

// Applies reports whether the lock's users are known to apply a measure.
func (h *Header) Applies(m Measure) bool { return slices.Contains(h.Measures, m) }

// MayApply reports whether the lock's users apply a measure or may apply it.
func (h *Header) MayApply(m Measure) bool { return h.Applies(m) || h.Unsure(m) }

// Unsure reports whether the header lists m among the measures that the lock's users may or may not apply.
func (h *Header) Unsure(m Measure) bool { return slices.Contains(h.Unknown, m) }

// StatesMeasures reports whether the header lists any measures. Headers of recorded histories rarely do.
func (h *Header) StatesMeasures() bool { return len(h.Measures)+len(h.Unknown) > 0 }

// Shows reports whether the lock is known to have the given lapse.
func (h *Header) Shows(l Lapse) bool { return slices.Contains(h.Lapses, l) }
