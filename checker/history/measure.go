package history

import "slices"

// Service is the kind of lock service in a history. It is empty if unknown.
type Service string

// The services for which the checker gives advice.
const (
	Redis     Service = "redis"   // one Redis, replicated or not
	Redlock   Service = "redlock" // a majority of Redis masters
	Etcd      Service = "etcd"
	ZooKeeper Service = "zookeeper"
	// the leader election of Kubernetes: an API server before etcd
	Kubernetes Service = "kubernetes"
)

// OneLog reports whether the service is a cluster whose members keep one log.
func (s Service) OneLog() bool { return s == Etcd || s == ZooKeeper || s == Kubernetes }

// KeepsSessions reports whether a lock lives as long as its client's session or lease does.
func (s Service) KeepsSessions() bool { return s == Etcd || s == ZooKeeper }

// RecordsRenewals reports whether each renewal of a session or a key is a record. The pings of ZooKeeper's sessions are
// none: a znode stands until its session is seen to expire, whatever its record says.
func (s Service) RecordsRenewals() bool { return s != ZooKeeper }

// Measure is something that the users of a lock can do for its safety. A header lists those that all of them apply, so
// that nobody is advised to do what is already done.
type Measure string

// The measures.
const (
	Fencing         Measure = "fencing"          // the resource compares tokens
	ComparedWrites  Measure = "compared-writes"  // the resource sets only onto the value read, or once
	FsyncAlways     Measure = "fsync-always"     // before each answer
	WaitForReplicas Measure = "wait"             // WAIT, and its count obeyed
	MinReplicas     Measure = "min-replicas"     // min-replicas-to-write
	Expiry          Measure = "expiry"           // keys have one, set in one step
	OwnerCheck      Measure = "owner-check"      // on release, in one step
	ExtendCheck     Measure = "extend-check"     // of the owner when a lock is prolonged, in one step
	ObeyedExtension Measure = "obeyed-extension" // an extension counts only if the server has prolonged the key
	KeptExtension   Measure = "kept-extension"   // an extension neither deletes the key nor sets it anew
	OwnValue        Measure = "own-value"        // one for each attempt
	ElapsedCheck    Measure = "elapsed-check"    // step 3 of the Redlock document; the lease counts from its request
	RelativeExpiry  Measure = "relative-expiry"  // the server adds the TTL to its own clock
	CountedEntries  Measure = "counted-entries"  // of a lock taken twice: the last release gives it back
	GrantToken      Measure = "grant-token"      // each grant draws a fencing token of its own, in the same step
	SeenLease       Measure = "seen-lease"       // another's lease counts from when one saw it, on a monotonic clock
	LongLease       Measure = "long-lease"       // lasts longer than its holder tries to renew it
	MonotonicClock  Measure = "monotonic-clock"  // measures elapsed time
	DriftAllowance  Measure = "drift-allowance"  // taken off the validity
	ValidityCheck   Measure = "validity-check"   // before each read and write
	StopWhenLost    Measure = "stop-when-lost"   // work stops when the lock is known to be lost
	Renewal         Measure = "renewal"          // by a keepalive
	CappedExtension Measure = "capped-extension"
	RandomRetry     Measure = "random-retry"
	Parallel        Measure = "parallel"      // all servers are asked at once
	ShortTimeout    Measure = "short-timeout" // for a request: a tenth of the TTL at most
	Recheck         Measure = "recheck"       // of the own lease, after waiting
	StopFirst       Measure = "stop-first"    // the work ends before the lock is given up that could not be renewed
	// by itself, or because the service reports every end of a lock, expiry included
	LooksAgain Measure = "looks-again"
)

// Lapse is something unsafe that the requests of a lock show it to do, where its code is not known.
type Lapse string

// The lapses.
const (
	PartOfOwner Lapse = "part-of-owner" // its release compares a part of the owner value
)

// Applies reports whether a measure is known to be applied.
func (h *Header) Applies(m Measure) bool { return slices.Contains(h.Measures, m) }

// MayApply reports whether a measure is applied or may be.
func (h *Header) MayApply(m Measure) bool { return h.Applies(m) || h.Unsure(m) }

// Unsure reports whether it is stated that nobody knows whether a measure is applied.
func (h *Header) Unsure(m Measure) bool { return slices.Contains(h.Unknown, m) }

// StatesMeasures reports whether anything is stated about measures. Somebody who records a history of a lock seldom
// does.
func (h *Header) StatesMeasures() bool { return len(h.Measures)+len(h.Unknown) > 0 }

// Shows reports whether requests show a lapse.
func (h *Header) Shows(l Lapse) bool { return slices.Contains(h.Lapses, l) }
