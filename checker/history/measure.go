package history

import "slices"

// Measure is something that the users of a lock can do for its safety. A header lists the measures that all of them
// apply, so that the checker does not advise what is already done.
type Measure string

// The measures.
const (
	Fencing         Measure = "fencing"          // the resource compares tokens
	ComparedWrites  Measure = "compared-writes"  // the resource writes only onto the value read, or each write once
	FsyncAlways     Measure = "fsync-always"     // the server calls fsync before each answer
	WaitForReplicas Measure = "wait"             // the client calls WAIT and obeys the count that it returns
	MinReplicas     Measure = "min-replicas"     // the server has min-replicas-to-write set
	Expiry          Measure = "expiry"           // keys have an expiry, set in the same step as the key
	OwnerCheck      Measure = "owner-check"      // a release checks the owner, in one step
	ExtendCheck     Measure = "extend-check"     // an extension checks the owner, in one step
	ObeyedExtension Measure = "obeyed-extension" // an extension counts only if the server has extended the key
	KeptExtension   Measure = "kept-extension"   // an extension neither deletes the key nor sets it anew
	OwnValue        Measure = "own-value"        // each attempt has a value of its own
	ElapsedCheck    Measure = "elapsed-check"    // step 3 of the Redlock document: the lease counts from its request
	RelativeExpiry  Measure = "relative-expiry"  // the server adds the TTL to its own clock
	CountedEntries  Measure = "counted-entries"  // a lock that its owner acquired twice is freed by the last release
	GrantToken      Measure = "grant-token"      // each grant draws a fencing token of its own, in the same step
	SeenLease       Measure = "seen-lease"       // another's lease counts from when it was seen, for its own duration
	LongLease       Measure = "long-lease"       // the lease lasts longer than its holder tries to renew it
	MonotonicClock  Measure = "monotonic-clock"  // elapsed time is measured on a monotonic clock
	DriftAllowance  Measure = "drift-allowance"  // an allowance for clock drift is subtracted from the validity
	ValidityCheck   Measure = "validity-check"   // the client checks its lease before each read and write
	StopWhenLost    Measure = "stop-when-lost"   // work stops when the lock is known to be lost
	Renewal         Measure = "renewal"          // a keepalive renews the lock
	CappedExtension Measure = "capped-extension"
	RandomRetry     Measure = "random-retry"
	Parallel        Measure = "parallel"      // all servers are asked at the same time
	ShortTimeout    Measure = "short-timeout" // a request times out after at most a tenth of the TTL
	Recheck         Measure = "recheck"       // the client checks its own lease again after it waited
	StopFirst       Measure = "stop-first"    // the work ends before a lock that cannot be renewed is given up
	// a waiter checks the lock again by itself, or the service reports every end of a lock, including expiry
	LooksAgain Measure = "looks-again"
)

// Lapse is something unsafe that the requests of a lock show, where the lock's code is not known.
type Lapse string

// The lapses.
const (
	PartOfOwner Lapse = "part-of-owner" // a release compares only a part of the owner value
)

// Applies reports whether a measure is known to be applied.
func (h *Header) Applies(m Measure) bool { return slices.Contains(h.Measures, m) }

// MayApply reports whether a measure is applied, or may be.
func (h *Header) MayApply(m Measure) bool { return h.Applies(m) || h.Unsure(m) }

// Unsure reports whether the header states that it is unknown whether a measure is applied.
func (h *Header) Unsure(m Measure) bool { return slices.Contains(h.Unknown, m) }

// StatesMeasures reports whether the header states any measures. Recorded histories seldom do.
func (h *Header) StatesMeasures() bool { return len(h.Measures)+len(h.Unknown) > 0 }

// Shows reports whether the requests of the lock show a lapse.
func (h *Header) Shows(l Lapse) bool { return slices.Contains(h.Lapses, l) }
