package checker

// CauseKind is a way in which a law gets broken.
type CauseKind string

// Kinds of causes, with LAWS-level meaning in the comment.
const (
	CountedWithoutQuorum CauseKind = "counted without quorum"        // the two grants share no server
	DeposedMaster        CauseKind = "granted by a deposed master"   // two masters served one shard
	ValidityMiscounted   CauseKind = "validity miscounted"           // the key expired on time but the stated validity lies after it
	ExpiredEarly         CauseKind = "expired early"                 // (server clock): the key expired before its time
	LeaseNotRechecked    CauseKind = "lease not rechecked"           // the stated validity had ended before the grant
	RemovedByNonOwner    CauseKind = "removed by non-owner"          // the key was deleted by another attempt
	ProlongedByNonOwner  CauseKind = "prolonged by non-owner"        // the key was prolonged by another attempt
	RemovedByOwner       CauseKind = "removed by its own holder"     // the holder deleted its key and worked on
	LostInCrash          CauseKind = "lost in crash"                 // (unsynced | no persistence)
	LostInFailover       CauseKind = "lost in failover"              // the promoted replica lacked the key
	HolderOutlivedLease  CauseKind = "holder outlived its lease"     // (pause | late packet | slow work): sections overlap, windows do not
	StaleEffect          CauseKind = "superseded holder took effect" // resource-safety (a)
	LostUpdate           CauseKind = "update lost"                   // resource-safety (b)
	TokenRepeated        CauseKind = "token repeated"
	TokenWentBack        CauseKind = "token went back"
	StuckBehindCrashed   CauseKind = "stuck behind a crashed holder"
	StuckBehindUncapped  CauseKind = "stuck behind an uncapped hold"
	StuckInCycle         CauseKind = "stuck in a cycle of waiters"
	StuckWithoutHolder   CauseKind = "stuck although nobody holds"
	TooSlow              CauseKind = "not within the bound"
)
