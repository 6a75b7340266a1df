package checker

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// Advice that is used for several causes.
const (
	// leaseOfKubernetes is the rule for choosing a lease duration so that two leaders never overlap.
	leaseOfKubernetes = "Make the lease longer than the sum of the renew deadline, " +
		"the retry period and the request timeout; " +
		"in addition, allow for what the fastest clock gains on the slowest."
	// undoTry and findNode are advice for a client that is waiting for a key set by its own earlier request.
	undoTry = "After a failed acquire, undo what it may have done before you ask again: " +
		"delete its key, or decrement the count that it incremented."
	findNode = "After a connection broke, look for an existing node of the same client before creating another: " +
		"a request that got no answer may have been carried out."
	stopRenewing   = "Stop renewing a lock before you release it: while it is renewed, nobody else can get it."
	renewToTheLast = "Renew a lock until its last release: " +
		"a function that releases a lock that its caller still holds must not end it."
	seenByKubernetes = "Measure another client's lease on your own monotonic clock. " +
		"Start when you see the record change, and use the duration in the record. " +
		"Do not use the time in the record or your own duration."
	ownIdentity = "Give each process its own identity."
	// endedIdentity is advice that makes leaseTransitions usable as a Kubernetes lease's fencing token.
	endedIdentity = "Give each process its own identity, and end the process when it stops leading: " +
		"leaseTransitions counts changes of the holder, not terms."
	namedVersion   = "Include in each update the resource version that it replaces."
	ownValue       = "Give each attempt its own random value."
	valueOfTheCall = "Keep the owner value with the call that acquired the lock, " +
		"and not in a field that several tasks share: the next task to acquire the lock overwrites it."
	renewedPlaces = "Give each place in the queue a timeout on the server's clock " +
		"that does not depend on the places before it, " +
		"and let a waiting client renew its timeout."
	serverClocks  = "Keep the servers' wall clocks from jumping (slew them, never step them)."
	moreAllowance = "Allow for more clock drift than you do now."
	anAllowance   = "Subtract an allowance for clock drift from the validity."
	pxNotPXAT     = "Let the server add the TTL to its own clock (PX); never let the client add it to its clock (PXAT)."
	keptExtension = "Extend a held lock with a compare-and-expire script, never by acquiring it again, " +
		"and stop working once the key is given up."
	withExpiry    = "Give every lock an expiry, in the same command that sets it (SET NX PX)."
	keyNotElement = "Let a client take the lock by setting a key that expires (SET NX PX), " +
		"and not by taking an element out of a list: " +
		"if the client that took it fails or misses the reply, nobody puts it back."
	slowNetwork = "Set the request timeout to much more than a round trip, " +
		"and make the lease far longer than the timeout: these requests are slow even without faults."
)

// tokens lists the advice on how to give each grant a higher fencing token than all grants before it. The advice
// applies only if the given condition is true.
func tokens(when func(*situation) bool) []advice {
	lost := func(s *situation) bool { return len(s.forgot) > 0 }
	kept := func(s *situation) bool {
		return !slices.ContainsFunc(s.forgot, func(f *trace.Fault) bool {
			return f.Does == history.Promotes || f.Does == history.RemovesKeys || f.Loses == history.LosesEverything
		})
	}
	return slices.Concat([]advice{
		{text: "Issue a token with each grant, in the atomic step that grants the lock.", unless: history.GrantToken,
			only: anyRedis, when: all(when, not(lost), not(isSplit))},
		{text: "Store the counter so that a crash cannot set it back (appendfsync always).",
			unless: history.FsyncAlways,
			only:   anyRedis, when: all(when, lost, kept, not(isSplit))},
		{text: "Use the revision of a consensus service as the token: it survives the loss of a server.",
			only: anyRedis, when: all(when, func(s *situation) bool { return isSplit(s) || lost(s) && !kept(s) })},
		{text: "As the token, use a number that belongs to one grant, " +
			"such as the czxid of the znode that the grant creates, " +
			"and not a number that all grants share.", unless: history.GrantToken, only: onZooKeeper, when: when},
		{text: "Use the key's ModifyIndex as the token: " +
			"its LockIndex starts over when the key is deleted or overwritten.",
			unless: history.GrantToken, only: onConsul, when: when},
	}, together(
		advice{text: endedIdentity, unless: history.OwnValue, only: onKubernetes, when: when},
		advice{text: namedVersion, unless: history.OwnerCheck, only: onKubernetes, when: when},
		"Give each process its own identity, "+
			"end the process when it stops leading, and include in each update the resource version that it replaces: "+
			"leaseTransitions counts changes of the holder, not terms."))
}

// guards is the advice that comes last for every cause that can damage the data.
var guards = []advice{
	{text: "Stop working as soon as the client learns that the lock is lost.", unless: history.StopWhenLost,
		when: isTold},
	{text: "Guard the data with a fencing token.", unless: history.Fencing, when: not(guarded)},
	growingTokens,
}

// inTransaction is the advice for clients that watch a key and change it without a transaction.
var inTransaction = []advice{{text: "Change the watched key between MULTI and EXEC, " +
	"and count the request as done only if EXEC returns replies: without EXEC, WATCH has no effect."}}

// growingTokens is the advice for locks whose resource compares tokens that do not increase with each grant.
var growingTokens = advice{text: "Guard the data with fencing tokens that increase with each grant: " +
	"the tokens that the resource compares in this history do not increase (see token-order).",
	given: history.Fencing, when: isConfused}

// guarded reports whether the resource keeps the data safe even if several clients believe that they hold the lock.
func guarded(s *situation) bool {
	return s.Applies(history.ComparedWrites) && !s.stale || s.Applies(history.Fencing) && !s.confused
}

// remedies contains the recommendations for each cause of a violation. They come from antirez (Redis: distributed
// locks), Kleppmann (How to do distributed locking), and comparisons of Redis, ZooKeeper and etcd locks.
var remedies = map[CauseKind][]advice{
	CountedWithoutQuorum: {{text: "Consider a lock acquired or extended only " +
		"after a majority of all servers has agreed: " +
		"any two majorities share a server."}},
	GrantedByNone: {
		{text: "Consider the lock acquired only if the servers said so: " +
			"after an error or a missing reply, the lock is not acquired.",
			when: not(isKeyless)},
		{text: "Let each acquire set its own key, and only if there is none: " +
			"without a key, no server can refuse the lock to another client.", when: isKeyless},
	},
	GrantedTwice: slices.Concat([]advice{
		{text: "Check for the keys of other clients and set the client's own key in one step, such as one script, " +
			"and take the lock only if there was none.",
			when: all(not(isTaken), not(isOneKey), not(isSemaphore))},
		{text: "Give each attempt its own random value, and take the lock only if there is no key, " +
			"not even one of the same client's earlier attempts.", only: anyRedis, when: isOneKey},
		{text: "Put an element back into the list only once for each time it was taken out, " +
			"and only from the client that took it.", when: all(isTaken, not(isEarly))},
		{text: "Put an element back into the list only with the last release of the lock, when the work has ended.",
			when: isEarly},
	}, guards),
	DeposedMaster: slices.Concat([]advice{
		{text: "Send WAIT after setting the lock, " +
			"and give up the lock if it reports too few replicas.", unless: history.WaitForReplicas, only: anyRedis},
		{text: "Let an isolated master refuse writes (min-replicas-to-write); " +
			"it still accepts writes for the permitted lag.", unless: history.MinReplicas, only: anyRedis},
		{text: "Keep the lock in a consensus service.", only: anyRedis},
	}, guards),
	ValidityMiscounted: slices.Concat(
		together(
			advice{text: ownValue, unless: history.OwnValue, only: anyRedis, when: ofDetail(GoneKey)},
			advice{text: "Consider a lease extended only if the server says that the key exists " +
				"and belongs to the client.",
				unless: history.ObeyedExtension, only: anyRedis, when: ofDetail(GoneKey)},
			"Give each attempt its own random value, "+
				"and consider a lease extended only if the server says that the key exists and has that value."),
		[]advice{
			{text: "Set a deadline before each request that renews the lock, " +
				"and when the deadline has passed, tell the holder that the lock is lost, " +
				"whether or not the servers have answered.", when: all(isUntold, serversExpire)},
			{text: "Start measuring the validity before the first request, and refuse the lock if none of it is left.",
				unless: history.ElapsedCheck, only: anyRedis, when: all(isUncounted, not(isExtended), not(isLapsed))},
			{text: "Start measuring the validity before the first request, for an extension too, " +
				"and refuse the lock if nothing is left of it.",
				unless: history.ElapsedCheck, only: anyRedis, when: all(isUncounted, isExtended, not(isLapsed))},
			{text: "Make each client's liveness key last as long as its lease: " +
				"extend the key while the lock is held.", when: isLapsed},
			{text: "Never extend a lock by less time than it has left: " +
				"if such an extension fails on some servers, it shortens the lock on the others.", only: byMajority,
				when: all(counted, isShortened, unlessAgainst(history.PacesClock))},
			{text: "Never extend a lock by less time than it has left: " +
				"another holder of the same key, or one that does not get the answer, relies on the longer lease.",
				only: oneRedis, when: all(counted, isShortened, unlessAgainst(history.PacesClock))},
			{text: pxNotPXAT, unless: history.RelativeExpiry, only: anyRedis,
				when: all(counted, isOffset, unlessAgainst(history.PacesClock))},
			{text: "Measure the validity on a monotonic clock.", unless: history.MonotonicClock,
				when: all(counted, clientSet)},
			{text: "Measure the lease from when the request that extended it was sent, not from when it was answered.",
				unless: history.ElapsedCheck, only: onEtcd, when: counted},
			{text: "Give the leader a renew deadline, after which it stops, " +
				"and a lease longer than the sum of the deadline, the retry period and the timeout of a request: " +
				"without a deadline, the leader does not notice that its lease is over.",
				only: onKubernetes, when: func(s *situation) bool { return s.unending }},
			{text: leaseOfKubernetes, unless: history.LongLease, only: onKubernetes,
				when: func(s *situation) bool { return !s.unending }},
			{text: anAllowance, unless: history.DriftAllowance, only: anyRedis,
				when: all(counted, against(history.PacesClock), not(isOffset))},
			{text: moreAllowance, given: history.DriftAllowance,
				only: anyRedis, when: all(counted, against(history.PacesClock), not(isShortened))},
		},
		// The longer a clock drifts, the larger the errors in deadlines and measured durations become.
		together(
			advice{text: pxNotPXAT, unless: history.RelativeExpiry, only: anyRedis, when: driftingDeadline},
			advice{text: anAllowance, unless: history.DriftAllowance, only: anyRedis, when: driftingDeadline},
			"Let the server add the TTL to its own clock (PX), never the client (PXAT), "+
				"and subtract an allowance for clock drift from the validity."), guards),
	NeverRenewed: append([]advice{
		{text: renewToTheLast, when: stopsRenewing},
		{text: "Renew the lock while the work is going on, several times within each lease, " +
			"and stop the work when a renewal fails."},
		{text: "Or limit the work to the time that is left of the lease."},
	}, guards...),
	ExpiredEarly: slices.Concat([]advice{
		{text: seenByKubernetes, unless: history.SeenLease, only: onKubernetes, when: ofDetail(ClientClock)},
		{text: leaseOfKubernetes, only: onKubernetes, given: history.SeenLease,
			when: all(ofDetail(ClientClock), against(history.PacesClock))},
		earlyByTaker,
		{text: serverClocks, only: anyRedis, when: all(ofDetail(ServerClock), unlessAgainst(history.PacesClock))},
		{text: anAllowance, unless: history.DriftAllowance, only: anyRedis,
			when: all(ofDetail(ServerClock), against(history.PacesClock))},
		{text: moreAllowance, given: history.DriftAllowance, only: anyRedis,
			when: all(ofDetail(ServerClock), against(history.PacesClock))},
		{text: "Or use a service whose leases run on a monotonic clock.", only: anyRedis,
			when: ofDetail(ServerClock)},
	}, guards),
	LeaseNotRechecked: append([]advice{
		{text: "After waiting, check that the client's lease is still valid before returning the lock.",
			unless: history.Recheck}}, guards...),
	RemovedByNonOwner: slices.Concat(
		[]advice{
			{text: valueOfTheCall, given: history.OwnerCheck, only: anyRedis, when: all(ofDetail(""), isOneClient)},
			{text: "Delete the key only if it has the value that this acquisition of the lock has set, in one step: " +
				"a value that was read from the key, or that other clients use too, always matches.",
				only: anyRedis, when: all(ofDetail(""), hasLooked)},
			{text: "Compare the whole owner value when deleting the key: the script compares only a part of it.",
				when: all(ofDetail(""), partly)},
			{text: ownValue, unless: history.OwnValue, only: anyRedis, when: all(ofDetail(""), partly)},
		},
		together(
			advice{text: ownValue, unless: history.OwnValue, only: anyRedis,
				when: all(ofDetail(""), not(partly), not(isInside))},
			advice{text: "Delete only after checking the owner, in one step: a script, CAD, or DELEX IFEQ.",
				unless: history.OwnerCheck, only: anyRedis, when: all(ofDetail(""), not(partly), not(isInside))},
			"Give each attempt its own random value, and delete only after comparing it, in one step: "+
				"a script, CAD, or DELEX IFEQ."),
		together(
			advice{text: ownValue, unless: history.OwnValue, only: anyRedis,
				when: all(ofDetail(""), not(partly), isInside)},
			advice{text: "Delete the key (or the owner's member of a set) only after checking the owner, " +
				"in one script.",
				unless: history.OwnerCheck, only: anyRedis, when: all(ofDetail(""), not(partly), isInside)},
			"Give each attempt its own random value, "+
				"and delete the key (or the owner's member of a set) only after comparing it, in one script."),
		[]advice{
			{text: "Delete the key only if its create revision is still that of the same attempt, in one transaction.",
				unless: history.OwnerCheck, only: onEtcd, when: ofDetail("")},
			{text: "Put a unique mark into the name of each znode, as Curator's protection does: " +
				"sequence numbers by themselves may start over.", unless: history.OwnValue, only: onZooKeeper,
				when: all(ofDetail(""), not(isFixed))},
			{text: "Delete the znode only in the session that created it: once that session has ended, " +
				"the znode with this name belongs to another client.", unless: history.OwnerCheck, only: onZooKeeper,
				when: all(ofDetail(""), isFixed)},
			{text: "If the lock could not be renewed, stop the work and end the process before giving up the lock: " +
				"client-go's ReleaseOnCancel clears the record of whoever leads by then.",
				unless: history.StopFirst, only: onKubernetes, when: ofDetail("")},
			{text: "Release the key with ?release and the session that holds it: " +
				"DELETE removes the key, " +
				"whoever holds it.", unless: history.OwnerCheck, only: onConsul, when: ofDetail("")},
		},
		together(
			advice{text: ownIdentity, unless: history.OwnValue, only: onKubernetes, when: ofDetail(Overwritten)},
			advice{text: namedVersion, unless: history.OwnerCheck, only: onKubernetes, when: ofDetail(Overwritten)},
			"Give each process its own identity, and include in each update the resource version that it replaces."),
		[]advice{
			{text: ownValue, unless: history.OwnValue, only: anyRedis,
				when: all(ofDetail(Overwritten), isSharedMember)},
			{text: "Set the key only if there is none (NX), or after checking the owner, in one step.",
				only: anyRedis, when: all(ofDetail(Overwritten), not(isSharedMember))},
			{text: "Delete only the key of the lock.", when: ofDetail(ByFlush)},
		}, guards),
	ProlongedByNonOwner: slices.Concat(
		[]advice{{text: withExpiry, unless: history.Expiry, only: anyRedis, when: not(byExtension)}},
		together(
			advice{text: ownValue, unless: history.OwnValue, only: anyRedis, when: byExtension},
			advice{text: "Extend a lock only after checking the owner, in one step: a script, or CAS.",
				unless: history.ExtendCheck, only: anyRedis, when: byExtension},
			"Give each attempt its own random value, and extend only after comparing it, in one step: "+
				"a script, or CAS."),
		guards),
	RemovedByOwner: slices.Concat([]advice{
		{text: "Give each attempt its own random value: " +
			"then a late request of an earlier attempt finds no key that it owns.", when: ofDetail(LateTry)},
		{text: keptExtension, unless: history.KeptExtension, only: anyRedis,
			when: all(ofDetail(""), isExtended)},
		{text: "Delete the key only when the work that it guards has ended: " +
			"no timer and no other task may release it sooner.",
			given: history.CountedEntries, when: all(ofDetail(""), not(isExtended))},
		{text: "Count how often the holder has acquired the lock, and delete the key only with the last release.",
			unless: history.CountedEntries, when: all(ofDetail(""), func(s *situation) bool {
				return !s.extends || s.Applies(history.KeptExtension)
			})},
	}, guards),
	LostInCrash: slices.Concat([]advice{
		{text: "Restart a crashed server only after the longest TTL has passed.", when: not(isEndless)},
		{text: "Give every lock an expiry, and restart a crashed server only after the longest TTL has passed.",
			when: isEndless},
		{text: "Or persist with appendfsync always.", unless: history.FsyncAlways, only: anyRedis, when: keepsDisk},
		{text: "Or, from Redis 7.2 on, " +
			"send WAITAOF after setting the lock, and consider it held only if the reply counts the server's own disk.",
			only: anyRedis, when: all(ofDetail(Unsynced), keepsDisk, not(isExtended))},
	}, guards),
	Evicted: slices.Concat([]advice{
		{text: "Set maxmemory-policy to noeviction on the lock's servers: " +
			"then a server without free memory refuses new keys and removes no keys. " +
			"Or give the lock its own servers with enough memory."},
	}, guards),
	RemovedByOperator: slices.Concat([]advice{
		{text: "Do not let any person or program delete the keys of locks, or run FLUSHALL or FLUSHDB: " +
			"forbid this with an ACL, and let a stuck lock expire."},
		{text: "Before deleting the key of a lock, stop its holder.", when: ofDetail(ByDelete)},
	}, guards),
	LostInFailover: slices.Concat([]advice{
		{text: "Send WAIT after setting the lock, and consider it held only if enough replicas acknowledged.",
			unless: history.WaitForReplicas, only: anyRedis, when: not(isForgetful)},
		{text: "Wait for all replicas, or promote only a replica that has acknowledged.",
			given: history.WaitForReplicas,
			only:  anyRedis, when: all(not(isElected), not(isForgetful))},
		{text: "Let WAIT require all replicas of the master: a Redis Cluster may elect one that has not acknowledged.",
			given: history.WaitForReplicas, only: anyRedis, when: all(isElected, not(isForgetful))},
		{text: "Or acquire the lock on a majority of independent masters without replicas (Redlock): " +
			"no replica can take their place.", only: anyRedis, when: all(isElected, not(isForgetful))},
		{text: "Restart a crashed server only after the longest TTL has passed.", given: history.WaitForReplicas,
			when: isForgetful},
		{text: "Send WAIT after setting the lock, consider it held only if all replicas acknowledged, " +
			"and persist with appendfsync always: a replica that restarts may have lost what it acknowledged.",
			unless: history.WaitForReplicas, only: anyRedis, when: all(isForgetful, keepsDisk)},
		{text: "Let WAIT require all replicas, and persist with appendfsync always: " +
			"a replica that restarts may have lost what it acknowledged.",
			given: history.WaitForReplicas, only: anyRedis, when: all(isForgetful, keepsDisk)},
		{text: "A service that loses a write after acknowledging it has a bug: " +
			"run a version in which it is fixed (ZOOKEEPER-4643, 4646 and 4785 report such bugs).", only: onZooKeeper},
		{text: "After a failover, acquire the lock again.", when: not(isElected)},
	}, guards),
	HolderOutlivedLease: {
		{text: renewToTheLast, when: all(ofDetail(BySlowWork), stopsRenewing)},
		{text: "If the lock could not be renewed, stop the work before giving up the lock: " +
			"with ReleaseOnCancel, client-go's leader continues to lead while it tries to release.",
			unless: history.StopFirst, only: onKubernetes, when: func(s *situation) bool { return s.gaveUp }},
		{text: "Send a fencing token with every read and write, " +
			"and let the resource refuse tokens lower than the highest one seen; " +
			"checking the remaining validity before a write only narrows the gap.",
			unless: history.Fencing, when: not(guarded)},
		{text: "The resource already guards the data. " +
			"No lock with a lease prevents a holder from believing that it still has the lock: " +
			"while holding it, do nothing that the resource does not check.",
			when: guarded},
		growingTokens,
	},
	CauseNotRecorded: {
		{text: "Record the servers' key-set and key-gone events, and which servers each grant counted. " +
			"Then check again.",
			only: anyRedis, when: isRecorded},
		{text: "Simulate the same plan, which shows the cause: real members do not report why a key disappears.",
			only: consensus, when: isRecorded},
	},
	SessionExpired: {
		{text: "Stop working as soon as the client learns that the session is lost. " +
			"This narrows the gap but does not close it: the service may end a session at any time.",
			unless: history.StopWhenLost},
		{text: "Send a fencing token with every read and write.", unless: history.Fencing},
		growingTokens,
	},
	WaitedForOther: slices.Concat([]advice{
		{text: "Take locks in one fixed order, " +
			"and limit the wait for the next one to the time that is left of the first lease."},
		{text: "Keep renewing a lock while waiting for another.", unless: history.Renewal,
			when: unlessAgainst(history.Kills, history.ShutsDown, history.Stops, history.Parts)},
	}, guards),
	StaleEffect: append([]advice{
		{text: "Commit before you release: release the lock only when the last write has been answered.",
			when: isLetGo},
		{text: "Let the resource compare fencing tokens on reads and writes and refuse lower ones.",
			unless: history.Fencing, when: not(isTokenless)},
		{text: "Use a lock that gives a fencing token with each grant, " +
			"and let the resource compare the tokens on reads and writes and refuse lower ones.",
			unless: history.Fencing, when: isTokenless}}, tokens(fences)...),
	LostUpdate: slices.Concat([]advice{{text: "Let the resource check before it writes: " +
		"with a fencing token, or with compare-and-set on the value that was read.", unless: history.Fencing}},
		tokens(fences),
		[]advice{{text: "Or let the resource accept a write only if the writer has read the current value " +
			"(compare-and-set).",
			given: history.Fencing}}),
	TokenRepeated: tokens(nil),
	TokenWentBack: tokens(nil),
	StuckBehindCrashed: {
		{text: withExpiry, unless: history.Expiry},
		{text: serverClocks, given: history.Expiry, when: serverSet},
		{text: "The lock expires by itself: " +
			"let clients wait for longer than a key takes to expire.", given: history.Expiry,
			when: all(not(isFar), not(serverSet))},
		{text: slowNetwork, given: history.Expiry, when: all(isFar, not(serverSet))},
	},
	StuckBehindAbandoned: {
		{text: "Give every lock an expiry, in the same command that sets it (SET NX PX): " +
			"then a key left behind by a lost request expires by itself.",
			unless: history.Expiry, when: all(ofDetail(""), isEverlasting)},
		{text: "After an acquire or a release that failed, end the session or revoke the lease, " +
			"or make sure that the key of the attempt is deleted: until then everybody waits behind that key.",
			only: notZooKeeper, when: ofDetail(SessionLives)},
		{text: "After an acquire or a release that failed, end the session, " +
			"or make sure that the node of the attempt is deleted: until then everybody waits behind that node.",
			only: onZooKeeper, when: all(ofDetail(SessionLives), not(isEarlierTry))},
		{text: findNode, only: onZooKeeper, when: all(ofDetail(SessionLives), isEarlierTry)},
		{text: "When an attempt times out, delete its key and stop extending it: " +
			"the server may still have set the key.",
			when: all(ofDetail(KeptProlonged), not(hasLeftSection))},
		{text: stopRenewing, when: all(ofDetail(KeptProlonged), hasLeftSection)},
		{text: "Let a key expire after the TTL that its users expect, and no later.",
			when: all(ofDetail(""), not(isEverlasting))},
		{text: "List the keys again when the watched key is already gone, " +
			"and when a watch may have been lost with its connection: " +
			"nothing else tells the client that it is first in line.",
			when: ofDetail(TurnNotTaken)},
		{text: "Release on every server, even after an attempt that did not succeed.",
			only: byMajority, when: func(s *situation) bool { return !s.leftSection }},
	},
	StuckBehindUncapped: {
		{text: withExpiry, unless: history.Expiry, only: anyRedis,
			when: func(s *situation) bool { return !s.Uncapped }},
		{text: "Limit how often one hold may be extended.", unless: history.CappedExtension, only: anyRedis},
		{text: "Limit the work in the critical section with a timeout, and then release the lock: " +
			"it is renewed for as long as its client lives.", only: consensus},
	},
	StuckBehindItself: {{text: "Before asking for a lock again, release any earlier hold on it: " +
		"delete the client's key, or stop working and let the session end."}},
	StuckInCycle: {{text: "Take locks in one fixed order, parents before children, or give up after a timeout, " +
		"release, and retry after a random delay."}},
	StuckWithoutHolder: {
		{text: "Set a timeout far below the TTL for each connection attempt, " +
			"each request (including the one for a session) and each wait for a message, and ask again after it.",
			when: func(s *situation) bool { return s.silent && s.Unsure(history.ShortTimeout) }},
		takenByWhat,
		{text: seenByKubernetes, unless: history.SeenLease, only: onKubernetes, when: not(isFar)},
		{text: "Let an acquire keep asking for longer than a lease lasts: " +
			"it measures another client's lease from the time when it began to ask.",
			given: history.SeenLease, only: onKubernetes,
			when: all(isHasty, not(isFar))},
		{text: "Retry after a random delay.", unless: history.RandomRetry,
			only: byMajority, when: all(not(isFar), not(isTurnedAway), not(isUnreleased),
				func(s *situation) bool { return !s.silent || !s.Unsure(history.RandomRetry) })},
		{text: "Ask again when the holder's lease must be over: " +
			"a message that is never sent, or that gets lost, wakes nobody.",
			unless: history.LooksAgain, only: oneRedis,
			when: all(not(isFar), not(isTurnedAway), not(isUngranted), not(isSpent))},
		{text: "Give each server a timeout far below the TTL, and continue with the majority that answers.",
			unless: history.ShortTimeout, only: byMajority, when: func(s *situation) bool {
				return s.heldUp && !s.far || against(history.Kills, history.ShutsDown, history.Parts, history.Stops)(s)
			}},
		{text: "Let WAIT require no more replicas than are left when one is lost: if it requires all of them, " +
			"nobody gets the lock after such a loss.", given: history.WaitForReplicas, only: anyRedis, when: isAway},
		{text: "Release partial locks on every server immediately.", unless: history.Parallel,
			given: history.RandomRetry,
			only:  byMajority, when: all(not(isFar), contended, not(isUnreleased))},
		{text: "Release on every server, even after an attempt that did not succeed.",
			only: byMajority, when: all(isQuick, not(isHeldUp), contended, isUnreleased)},
		{text: keyNotElement, unless: history.Expiry, when: isSpent},
		{text: slowNetwork, when: all(isSlow, not(sleepsOn), not(isSpent))},
		{text: "Set the request timeout to much more than a round trip, " +
			"because these requests are slow even without faults. " +
			"Ask again when the holder's lease must be over, because a lost message wakes nobody.",
			when: all(isSlow, sleepsOn)},
	},
	Overtaken: together(
		advice{text: "Give a free lock only to the client that is first in line, " +
			"and check this in the same step.", unless: history.FirstInLine},
		advice{text: "Keep a client's place in line for as long as it waits.", unless: history.KeptPlaces},
		"Give a free lock only to the client that is first in line, and check this in the same step. "+
			"Keep a client's place in line for as long as it waits."),
	LeftFree: slices.Concat([]advice{
		{text: stopRenewing, when: hasLeftSection},
		{text: slowNetwork, when: all(isUngranted, not(hasLeftSection))},
		{text: serverClocks, when: all(not(isUngranted), serverSet)},
		{text: renewedPlaces, unless: history.RenewedPlaces, when: all(oldPlaces, not(isGivenUp), not(hasLeftSection))},
	}, together(
		advice{text: renewedPlaces, unless: history.RenewedPlaces, when: all(oldPlaces, isGivenUp)},
		advice{text: "Remove a client's place in line when it gives up.", unless: history.LeftPlaces,
			when: all(oldPlaces, isGivenUp)},
		"Give each place in the queue a timeout on the server's clock that does not depend on the places before it, "+
			"let a waiting client renew its timeout, and remove the place of a client that gives up."), []advice{
		{text: slowNetwork, when: func(s *situation) bool {
			return oldPlaces(s) && !s.leftSection && s.Applies(history.RenewedPlaces) && s.Applies(history.LeftPlaces)
		}},
	}),
	NoQuorumLeft: {{text: "No lock service survives the loss of its quorum: " +
		"bring servers back, or spread them so that no single failure affects a majority."}},
	TooSlow: {
		{text: "Remove a client's place in line when it gives up.", when: all(leavesPlaces, not(isFar))},
		{text: keyNotElement, unless: history.Expiry, when: isSpent},
		{text: findNode, only: onZooKeeper, when: isEarlierTry},
		{text: undoTry, when: isEarlierTry},
		{text: "Give each server a timeout far below the TTL, and continue with the majority that answers.",
			unless: history.ShortTimeout, only: byMajority,
			when: all(not(isFar), not(isRefused), not(isEarlierTry))},
		{text: "Give each request a timeout far below the TTL, and try again.", unless: history.ShortTimeout,
			only: asOne,
			when: all(not(isFar), not(isRefused), not(isTurnedAway), not(isSpent), not(isEarlierTry))},
		takenByWhat,
		{text: slowNetwork, when: func(s *situation) bool {
			return !s.spent && !s.earlierTry && (s.far || !s.refused && !leavesPlaces(s) &&
				s.Applies(history.ShortTimeout) && len(s.faults) == 0)
		}},
		{text: "Let an acquire keep asking for longer before it gives up.",
			when: all(isRefused, not(isFar), not(isTurnedAway), not(leavesPlaces), not(isEarlierTry))},
		{text: "Release on every server, even if one of them does not answer.",
			only: byMajority,
			when: all(isUnanswered, strikesServer)},
	},
	ReleaseRefused: {
		{text: serverClocks, only: anyRedis, when: serverSet},
		{text: pxNotPXAT, unless: history.RelativeExpiry, only: anyRedis, when: clientsClock},
		{text: "After a conflict, read the record again, and release it if it still names this client: " +
			"a renewal that was under way may have changed it.", only: onKubernetes,
			when: func(s *situation) bool { return !s.went }},
		{text: "Let the release name the key that the acquire set.",
			only: removing,
			when: func(s *situation) bool { return s.stood }},
		{text: "Find out what happened to the key: it was gone before its lease had ended.",
			when: func(s *situation) bool { return s.went }},
		{text: "Record the servers' key-set and key-gone events: they show whether the key was still there.",
			when: all(isRecorded, func(s *situation) bool { return !s.stood && !s.went })},
	},
	ReleaseWithoutEffect: {
		{text: keptExtension, unless: history.KeptExtension, only: anyRedis, when: all(isExtended, not(isUnanswered))},
		{text: undoTry, when: all(not(isUnanswered), keepsKey, isEarlierTry)},
		{text: "Let the release delete the key that the acquire set, and report an error if nothing was deleted.",
			when: all(not(isUnanswered), keepsKey, not(isEarlierTry))},
		{text: slowNetwork, when: isUnanswered},
		{text: "Check the owner on the master, not on a replica, whose data may be out of date.",
			only: anyRedis, when: replicates},
	},
}

// onlyMember is the advice for a cluster whose only member has lost its disk. The cluster's tokens start over, so they
// do not guard the data.
var onlyMember = []advice{
	{text: "Run three members: the others still have what one of them loses."},
	{text: "Restart a crashed server only after the longest TTL has passed.",
		when: func(s *situation) bool { return s.cause.Kind == LostInCrash }},
}

// takenByWhat is the advice for locks that a server refuses to grant even though it has no key for them.
var takenByWhat = advice{text: "No server had the lock's key, so find out what else keeps the lock taken: " +
	"another key, or a subscription. This must end with the holder's lease, too.", when: isTurnedAway}
