package checker

// CauseKind names a way in which a law can be broken.
type CauseKind string

// The kinds of causes. Some kinds have variants, which are listed below. Causes that concern two grants of one lock
// come first.
const (
	CountedWithoutQuorum CauseKind = "counted without quorum" // the two grants share no server
	GrantedByNone        CauseKind = "granted by no server"   // no server had a key of the grant's client
	// on one server, both clients had a key at the same time
	GrantedTwice  CauseKind = "granted twice by one server"
	DeposedMaster CauseKind = "granted by a deposed master" // the group had two masters at once
	// the key expired on time, but its holder believed that it was valid for longer, or counted the extension of a key
	// that had already expired (variant "gone key extended")
	ValidityMiscounted CauseKind = "validity miscounted"
	// the work took longer than the lease, and no client requested an extension
	NeverRenewed CauseKind = "never renewed"
	// the key expired too early, because of a server's clock (variant "server clock") or a client's (variant "client
	// clock")
	ExpiredEarly      CauseKind = "expired early"
	LeaseNotRechecked CauseKind = "lease not rechecked" // the stated validity had ended before the grant
	// another attempt deleted the key, replaced it with its own (variant "overwritten"), or removed all keys without
	// comparing owners (variant "flushed")
	RemovedByNonOwner   CauseKind = "removed by non-owner"
	ProlongedByNonOwner CauseKind = "prolonged by non-owner" // another attempt prolonged the key
	// the holder deleted its own key and kept working; in the variant "late try", the deleting request was sent before
	// the holder had the lock
	RemovedByOwner CauseKind = "removed by its own holder"
	// a server lost the key in a crash (variants "unsynced", "no persistence" and "disk lost")
	LostInCrash    CauseKind = "lost in crash"
	LostInFailover CauseKind = "lost in failover" // the promoted replica lacked the key
	Evicted        CauseKind = "evicted"          // the server removed the key to free memory
	// somebody who was not using the lock removed the key (variants "deleted" and "flushed")
	RemovedByOperator CauseKind = "removed by an operator"
	// the sections overlap, but the validity windows do not (variants "pause", "late packet" and "slow work")
	HolderOutlivedLease CauseKind = "holder outlived its lease"
	// a fault ended the session or lease that the lock depended on
	SessionExpired CauseKind = "session expired"
	// the holder waited inside its critical section, past the end of its lease
	WaitedForOther   CauseKind = "waited for another lock"
	CauseNotRecorded CauseKind = "cause not recorded" // the records that would show it are missing
	// resource-safety (a): a write was accepted after a later holder's read or write
	StaleEffect CauseKind = "superseded holder took effect"
	// resource-safety (b): a write overwrote a value that the writer had not read
	LostUpdate          CauseKind = "update lost"
	TokenRepeated       CauseKind = "token repeated"
	TokenWentBack       CauseKind = "token went back"
	StuckBehindCrashed  CauseKind = "stuck behind a crashed holder"
	StuckBehindUncapped CauseKind = "stuck behind an uncapped hold"
	// the key belongs to an attempt that its client has abandoned
	StuckBehindAbandoned CauseKind = "stuck behind an abandoned key"
	// the client asked again for a lock that it already held
	StuckBehindItself  CauseKind = "stuck behind its own hold"
	StuckInCycle       CauseKind = "stuck in a cycle of waiters"
	StuckWithoutHolder CauseKind = "stuck although nobody holds"
	// fairness: a client that asked later got the lock first
	Overtaken CauseKind = "overtaken by a later client"
	// fairness: the lock was free for too long while a client was waiting; in the variant "abandoned place", the client
	// was waiting behind the place of a client that had crashed or given up
	LeftFree     CauseKind = "left free while a client waits"
	NoQuorumLeft CauseKind = "no quorum left" // servers are permanently down or cut off
	TooSlow      CauseKind = "not within the bound"
	// the release was called and answered on time, but a server refused it
	ReleaseRefused CauseKind = "release refused"
	// the release was called on time, but had no effect on the key
	ReleaseWithoutEffect CauseKind = "release without effect"
)

// Variants of causes, used as values of Cause.Detail.
const (
	GoneKey       = "gone key extended" // ValidityMiscounted: an extension was counted although the key had expired
	ServerClock   = "server clock"      // ExpiredEarly
	ClientClock   = "client clock"      // ExpiredEarly: the next client ended the lease by its own clock
	Unsynced      = "unsynced"          // LostInCrash
	NoPersistence = "no persistence"    // LostInCrash: the server keeps nothing on disk
	DiskLost      = "disk lost"         // LostInCrash: the server came back with an empty disk
	ByFlush       = "flushed"           // RemovedByNonOwner, RemovedByOperator: removed with all other keys
	ByDelete      = "deleted"           // RemovedByOperator: only this key was removed
	Overwritten   = "overwritten"       // RemovedByNonOwner
	LateTry       = "late try"          // RemovedByOwner
	ByPause       = "pause"             // HolderOutlivedLease
	ByLatePacket  = "late packet"       // HolderOutlivedLease
	BySlowWork    = "slow work"         // HolderOutlivedLease
	// detail of StuckBehindAbandoned: the key lives as long as its client's session or lease, which has not ended
	SessionLives = "session lives on"
	// detail of StuckBehindAbandoned: the key was extended although nobody was using it: after its client had finished
	// with it, or by a client that is still waiting for the lock. This is possible only if each key has its own expiry.
	// In etcd and ZooKeeper, where a client extends a session or lease together with all its keys, the variant is
	// SessionLives.
	KeptProlonged = "prolonged"
	// detail of StuckBehindAbandoned: the key is first in the queue, but its client does not notice this and keeps
	// waiting
	TurnNotTaken = "turn not taken"
	// detail of LeftFree: a client that asked earlier has crashed or given up
	AbandonedPlace = "abandoned place"
)

// Causes lists all kinds of causes, each with the details that identify its variants.
var Causes = []struct {
	Kind    CauseKind
	Details []string
}{
	{CountedWithoutQuorum, nil},
	{GrantedByNone, nil},
	{GrantedTwice, nil},
	{DeposedMaster, nil},
	{ValidityMiscounted, []string{GoneKey}},
	{NeverRenewed, nil},
	{ExpiredEarly, []string{ServerClock, ClientClock}},
	{LeaseNotRechecked, nil},
	{RemovedByNonOwner, []string{ByFlush, Overwritten}},
	{ProlongedByNonOwner, nil},
	{RemovedByOwner, []string{LateTry}},
	{LostInCrash, []string{Unsynced, NoPersistence, DiskLost}},
	{LostInFailover, nil},
	{Evicted, nil},
	{RemovedByOperator, []string{ByDelete, ByFlush}},
	{HolderOutlivedLease, []string{ByPause, ByLatePacket, BySlowWork}},
	{StaleEffect, nil},
	{LostUpdate, nil},
	{TokenRepeated, nil},
	{TokenWentBack, nil},
	{StuckBehindCrashed, nil},
	{StuckBehindUncapped, nil},
	{NoQuorumLeft, nil},
	{StuckBehindAbandoned, []string{SessionLives, KeptProlonged, TurnNotTaken}},
	{StuckBehindItself, nil},
	{StuckInCycle, nil},
	{SessionExpired, nil},
	{WaitedForOther, nil},
	{StuckWithoutHolder, nil},
	{Overtaken, nil},
	{LeftFree, []string{AbandonedPlace}},
	{TooSlow, nil},
	{ReleaseRefused, nil},
	{ReleaseWithoutEffect, nil},
	{CauseNotRecorded, nil},
}
