package checker

// CauseKind is a way in which a law gets broken.
type CauseKind string

// Kinds of causes. Those of two grants of one lock come first, in the order of LAWS.
const (
	CountedWithoutQuorum CauseKind = "counted without quorum"        // the two grants share no server
	DeposedMaster        CauseKind = "granted by a deposed master"   // two masters served one shard
	ValidityMiscounted   CauseKind = "validity miscounted"           // the key expired on time but the stated validity lies after it
	ExpiredEarly         CauseKind = "expired early"                 // (server clock): the key expired before its time
	LeaseNotRechecked    CauseKind = "lease not rechecked"           // the stated validity had ended before the grant
	RemovedByNonOwner    CauseKind = "removed by non-owner"          // another attempt deleted or overwrote the key (flushed: nobody asked whose it was)
	ProlongedByNonOwner  CauseKind = "prolonged by non-owner"        // another attempt prolonged the key
	RemovedByOwner       CauseKind = "removed by its own holder"     // the holder deleted its key and worked on
	LostInCrash          CauseKind = "lost in crash"                 // (unsynced | no persistence)
	LostInFailover       CauseKind = "lost in failover"              // the promoted replica lacked the key
	HolderOutlivedLease  CauseKind = "holder outlived its lease"     // (pause | late packet | slow work): sections overlap, windows do not
	SessionExpired       CauseKind = "session expired"               // a fault ended the session or lease that the lock hung on
	WaitedForOther       CauseKind = "waited for another lock"       // while inside, past the end of its lease
	Untold               CauseKind = "not told by the history"       // the records that would show it are missing
	StaleEffect          CauseKind = "superseded holder took effect" // resource-safety (a)
	LostUpdate           CauseKind = "update lost"                   // resource-safety (b)
	TokenRepeated        CauseKind = "token repeated"
	TokenWentBack        CauseKind = "token went back"
	StuckBehindCrashed   CauseKind = "stuck behind a crashed holder"
	StuckBehindUncapped  CauseKind = "stuck behind an uncapped hold"
	StuckInCycle         CauseKind = "stuck in a cycle of waiters"
	StuckWithoutHolder   CauseKind = "stuck although nobody holds"
	NoQuorumLeft         CauseKind = "no quorum left" // servers are down or cut off for good
	TooSlow              CauseKind = "not within the bound"
)

// Variants of causes: the Detail of a Cause.
const (
	ServerClock   = "server clock"   // ExpiredEarly
	Unsynced      = "unsynced"       // LostInCrash
	NoPersistence = "no persistence" // LostInCrash
	ByFlush       = "flushed"        // RemovedByNonOwner
	ByPause       = "pause"          // HolderOutlivedLease
	ByLatePacket  = "late packet"    // HolderOutlivedLease
	BySlowWork    = "slow work"      // HolderOutlivedLease
)

// remedies holds what the documents give against each cause: antirez (Redis: distributed locks), Kleppmann (How to do
// distributed locking), and the comparisons of Redis, ZooKeeper and etcd locks.
var remedies = map[CauseKind]string{
	CountedWithoutQuorum: "Count a lock, or its extension, only after a majority of all servers said yes: two majorities always share a server.",
	DeposedMaster:        "Send WAIT after setting the lock, obey its count, and let an isolated master refuse writes (min-replicas-to-write); or take the lock from a consensus service. Guard the data by a fencing token.",
	ValidityMiscounted:   "Count the validity from before the first request, on a monotonic clock, and subtract what the acquisition took and an allowance for drift; refuse the lock if nothing is left.",
	ExpiredEarly:         "Keep wall clocks from jumping (slew, never step), allow for drift in the validity, or use a service whose leases run on a monotonic clock. Guard the data by a fencing token.",
	LeaseNotRechecked:    "After waiting, check that the own lease still lives before returning the lock.",
	RemovedByNonOwner:    "Delete only after comparing the owner, in one step: a script, CAD, or DELEX IFEQ; give each attempt its own random value.",
	ProlongedByNonOwner:  "Prolong only after comparing the owner, in one step: a script, or CAS.",
	RemovedByOwner:       "Prolong a held lock by a compare-and-expire script, never by acquiring it again, and stop working once the key is given up.",
	LostInCrash:          "Restart a crashed server only after the longest TTL has passed, or persist with appendfsync always. Guard the data by a fencing token.",
	LostInFailover:       "Send WAIT after setting the lock and hold it only if enough replicas acknowledged; after a failover acquire anew. Guard the data by a fencing token.",
	HolderOutlivedLease:  "Send a fencing token with every read and write, and let the resource refuse tokens lower than it has seen; checking the remaining validity before a write only narrows the gap.",
	Untold:               "Record the servers' key-set and key-gone and the servers that each grant counted, then check again.",
	SessionExpired:       "Stop working when told that the session is lost, and send a fencing token with every read and write: the service may end a session at any time.",
	WaitedForOther:       "Take locks in one fixed order, bound the wait for the next one by what is left of the first lease, and renew a lock while waiting. Guard the data by a fencing token.",
	StaleEffect:          "Let the resource compare fencing tokens on reads and writes and refuse lower ones.",
	LostUpdate:           "Let the resource compare before it sets (a fencing token, or compare-and-set on the value read).",
	TokenRepeated:        "Draw the token from a counter that survives what the lock survives (fsync always, or a consensus service's revision), and one per grant.",
	TokenWentBack:        "Draw the token in the same atomic step as the lock, from a counter that survives crashes.",
	StuckBehindCrashed:   "Give every lock an expiry, in the same command that sets it (SET NX PX).",
	StuckBehindUncapped:  "Give every lock an expiry, and cap the number of extensions of one hold.",
	StuckInCycle:         "Take locks in one fixed order, parents before children, or give up after a timeout, release, and retry after a random delay.",
	StuckWithoutHolder:   "Retry after a random delay, and release partial locks on every server at once.",
	NoQuorumLeft:         "No lock service survives the loss of its quorum: bring servers back, or spread them so that no one failure takes a majority.",
	TooSlow:              "Ask all servers at once, with a timeout per server far below the TTL, and go on with the majority that answers.",
}
