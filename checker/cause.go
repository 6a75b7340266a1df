package checker

// CauseKind names a way in which a law is broken.
type CauseKind string

// The kinds of causes, with their variants in parentheses. Those about two grants of one lock come first.
const (
	CountedWithoutQuorum CauseKind = "counted without quorum"      // the two grants share no server
	GrantedByNone        CauseKind = "granted by no server"        // no server had a key of the grant's client
	GrantedTwice         CauseKind = "granted twice by one server" // each of the two clients had a key there at once
	DeposedMaster        CauseKind = "granted by a deposed master" // two masters served one group
	// the key expired on time, but its holder had been told a later end of its validity; or (gone key extended)
	ValidityMiscounted CauseKind = "validity miscounted"
	// the work took longer than the lease, and no client requested an extension
	NeverRenewed      CauseKind = "never renewed"
	ExpiredEarly      CauseKind = "expired early"       // (server clock): the key expired before its time
	LeaseNotRechecked CauseKind = "lease not rechecked" // the stated validity had ended before the grant
	// another attempt deleted the key (overwritten: it set its own key over it; flushed: nobody checked who owned it)
	RemovedByNonOwner   CauseKind = "removed by non-owner"
	ProlongedByNonOwner CauseKind = "prolonged by non-owner" // another attempt prolonged the key
	// the holder deleted its key and continued to work (late try: by a request sent before it had the lock)
	RemovedByOwner CauseKind = "removed by its own holder"
	LostInCrash    CauseKind = "lost in crash"    // (unsynced | no persistence | disk lost)
	LostInFailover CauseKind = "lost in failover" // the promoted replica lacked the key
	Evicted        CauseKind = "evicted"          // the server removed the key to free memory
	// (deleted | flushed): someone other than a client of the lock removed the key
	RemovedByOperator CauseKind = "removed by an operator"
	// (pause | late packet | slow work): the sections overlap, the validity windows do not
	HolderOutlivedLease CauseKind = "holder outlived its lease"
	// a fault ended the session or lease that the lock depended on
	SessionExpired       CauseKind = "session expired"
	WaitedForOther       CauseKind = "waited for another lock"       // while inside, past the end of its lease
	CauseNotRecorded     CauseKind = "cause not recorded"            // the records that would show it are missing
	StaleEffect          CauseKind = "superseded holder took effect" // resource-safety (a)
	LostUpdate           CauseKind = "update lost"                   // resource-safety (b)
	TokenRepeated        CauseKind = "token repeated"
	TokenWentBack        CauseKind = "token went back"
	StuckBehindCrashed   CauseKind = "stuck behind a crashed holder"
	StuckBehindUncapped  CauseKind = "stuck behind an uncapped hold"
	StuckBehindAbandoned CauseKind = "stuck behind an abandoned key" // of an attempt that its client gave up
	StuckBehindItself    CauseKind = "stuck behind its own hold"     // it asked again for a lock that it held
	StuckInCycle         CauseKind = "stuck in a cycle of waiters"
	StuckWithoutHolder   CauseKind = "stuck although nobody holds"
	// fairness: a client that asked later got the lock first
	Overtaken CauseKind = "overtaken by a later client"
	// fairness (abandoned place): nobody held the lock for longer than allowed, and a client waited
	LeftFree     CauseKind = "left free while a client waits"
	NoQuorumLeft CauseKind = "no quorum left" // servers are down or cut off for good
	TooSlow      CauseKind = "not within the bound"
	// the release was called and answered in time, but a server refused it
	ReleaseRefused CauseKind = "release refused"
	// the release was called in time, but the key remained as it was
	ReleaseWithoutEffect CauseKind = "release without effect"
)

// The variants of causes: values of Cause.Detail.
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
	// StuckBehindAbandoned: the key lasts as long as its client's session or lease, and that has not ended
	SessionLives = "session lives on"
	// StuckBehindAbandoned: a client keeps extending the key although nobody uses it. This occurs only where each key
	// has an expiry of its own. In etcd and ZooKeeper, clients extend a session or lease with all its keys: that is
	// SessionLives.
	KeptProlonged = "prolonged"
	// StuckBehindAbandoned: the key is first in line, but its client still waits and does not notice
	TurnNotTaken = "turn not taken"
	// LeftFree: a client that asked earlier has crashed or given up
	AbandonedPlace = "abandoned place"
)

// Causes lists all kinds of causes, each with the details that distinguish its variants.
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
