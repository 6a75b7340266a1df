package checker

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// advice is one thing to change.
type advice struct {
	text   string
	unless history.Measure   // not told to those who apply this
	given  history.Measure   // told to nobody else than those who apply this
	only   []history.Service // told to the users of these; empty: all
}

// anyRedis lists the services with a server's clock and disk to look after.
var anyRedis = []history.Service{history.Redis, history.Redlock}

// guard closes every list whose violation can reach the data.
var guard = advice{text: "Guard the data by a fencing token.", unless: history.Fencing}

// remedies holds what the documents give against each cause: antirez (Redis: distributed locks), Kleppmann (How to do
// distributed locking), and the comparisons of Redis, ZooKeeper and etcd locks.
var remedies = map[CauseKind][]advice{
	CountedWithoutQuorum: {{text: "Count a lock, or its extension, only after a majority of all servers said yes: " +
		"two majorities always share a server."}},
	DeposedMaster: {
		{text: "Send WAIT after setting the lock and obey its count.", unless: history.WaitForReplicas, only: anyRedis},
		{text: "Let an isolated master refuse writes (min-replicas-to-write); it still accepts them for the " +
			"permitted lag.", unless: history.MinReplicas, only: anyRedis},
		{text: "Take the lock from a consensus service.", only: anyRedis},
		guard,
	},
	ValidityMiscounted: {
		{text: "Count the validity from before the first request and refuse the lock if nothing is left of it.",
			unless: history.ElapsedCheck},
		{text: "Measure it on a monotonic clock.", unless: history.MonotonicClock},
		{text: "Count the lease from when the request left that prolonged it, not from its answer.",
			only: []history.Service{history.Etcd}},
		{text: "Against clocks that drift, subtract an allowance.", unless: history.DriftAllowance, only: anyRedis},
		{text: "Against clocks that drift, allow for more than now.", given: history.DriftAllowance, only: anyRedis},
		{text: "Stop working when the validity is over.", unless: history.ValidityCheck},
		guard,
	},
	ExpiredEarly: {
		{text: "Keep the servers' wall clocks from jumping (slew, never step).", only: anyRedis},
		{text: "Against clocks that drift, subtract an allowance.", unless: history.DriftAllowance},
		{text: "Against clocks that drift, allow for more than now.", given: history.DriftAllowance},
		{text: "Or use a service whose leases run on a monotonic clock.", only: anyRedis},
		guard,
	},
	LeaseNotRechecked: {{text: "After waiting, check that the own lease still lives before returning the lock.",
		unless: history.Recheck}, guard},
	RemovedByNonOwner: {
		{text: "Delete only after comparing the owner, in one step: a script, CAD, or DELEX IFEQ.",
			unless: history.OwnerCheck},
		{text: "Give each attempt its own random value.", unless: history.OwnValue},
		guard,
	},
	ProlongedByNonOwner: {{text: "Prolong only after comparing the owner, in one step: a script, or CAS."}, guard},
	RemovedByOwner: {{text: "Prolong a held lock by a compare-and-expire script, never by acquiring it again, " +
		"and stop working once the key is given up."}},
	LostInCrash: {
		{text: "Restart a crashed server only after the longest TTL has passed."},
		{text: "Or persist with appendfsync always.", unless: history.FsyncAlways},
		guard,
	},
	LostInFailover: {
		{text: "Send WAIT after setting the lock and hold it only if enough replicas acknowledged.",
			unless: history.WaitForReplicas, only: anyRedis},
		{text: "Wait for all replicas, or promote only one that has acknowledged.", given: history.WaitForReplicas,
			only: anyRedis},
		{text: "A service that loses what it has answered is at fault itself: run a version in which that is mended " +
			"(ZOOKEEPER-4643, 4646 and 4785 tell of such faults).", only: []history.Service{history.ZooKeeper}},
		{text: "After a failover acquire anew."},
		guard,
	},
	HolderOutlivedLease: {
		{text: "Send a fencing token with every read and write, and let the resource refuse tokens lower than it has " +
			"seen; checking the remaining validity before a write only narrows the gap.",
			unless: history.Fencing},
		{text: "The resource guards the data already. No lock with a lease keeps a holder from believing that it is " +
			"inside: do nothing there that the resource does not check.",
			given: history.Fencing},
	},
	Untold: {{text: "Record the servers' key-set and key-gone and the servers that each grant counted, then check " +
		"again."}},
	SessionExpired: {
		{text: "Stop working when told that the session is lost: the service may end one at any time.",
			unless: history.StopWhenLost},
		{text: "Send a fencing token with every read and write.", unless: history.Fencing},
	},
	WaitedForOther: {
		{text: "Take locks in one fixed order, and bound the wait for the next one by what is left of the first " +
			"lease."},
		{text: "Renew a lock while waiting.", unless: history.Renewal},
		guard,
	},
	StaleEffect: {{text: "Let the resource compare fencing tokens on reads and writes and refuse lower ones.",
		unless: history.Fencing},
		{text: "The resource compares tokens already: draw them from a counter that survives what the lock survives " +
			"(fsync always, or a consensus service's revision).",
			given: history.Fencing}},
	LostUpdate: {{text: "Let the resource compare before it sets (a fencing token, or compare-and-set on the value " +
		"read)."}},
	TokenRepeated: {
		{text: "Draw one token for each grant, from a counter that survives what the lock survives."},
		{text: "On Redis that takes appendfsync always; a consensus service's revision does.",
			unless: history.FsyncAlways, only: anyRedis},
	},
	TokenWentBack: {
		{text: "Draw the token in the same atomic step as the lock."},
		{text: "Keep its counter where crashes cannot take it back (appendfsync always, or a consensus service's " +
			"revision).", unless: history.FsyncAlways},
	},
	StuckBehindCrashed: {
		{text: "Give every lock an expiry, in the same command that sets it (SET NX PX).", unless: history.Expiry},
		{text: "The lock has an expiry: whoever waits must wait for longer than it.", given: history.Expiry},
	},
	StuckBehindAbandoned: {
		{text: "Give every lock an expiry, in the same command that sets it (SET NX PX): then what a lost request " +
			"leaves behind goes by itself.", unless: history.Expiry},
		{text: "Release on every server also after an attempt that was given up."},
	},
	StuckBehindUncapped: {
		{text: "Give every lock an expiry, in the same command that sets it (SET NX PX).", unless: history.Expiry},
		{text: "Cap the number of extensions of one hold.", unless: history.CappedExtension},
	},
	StuckInCycle: {{text: "Take locks in one fixed order, parents before children, or give up after a timeout, " +
		"release, and retry after a random delay."}},
	StuckWithoutHolder: {
		{text: "Retry after a random delay.", unless: history.RandomRetry},
		{text: "Look again when the other's lease must be over: a message that is never sent, or that gets lost, " +
			"wakes nobody.",
			unless: history.LooksAgain, only: []history.Service{history.Redis}},
		{text: "Release partial locks on every server at once.", only: []history.Service{history.Redlock}},
	},
	NoQuorumLeft: {{text: "No lock service survives the loss of its quorum: bring servers back, or spread them so " +
		"that no one failure takes a majority."}},
	TooSlow: {
		{text: "Give each server a timeout far below the TTL, and go on with the majority that answers.",
			only: []history.Service{history.Redlock}},
		{text: "Give each request a timeout far below the TTL, and try again.",
			only: []history.Service{history.Redis, history.Etcd, history.ZooKeeper}},
	},
}

// nothingLeft is what remains to say to those who have done it all.
const nothingLeft = "All that the documents give against it is in place. What is left is the limit of a lock with a " +
	"lease: it cannot stop a holder that does not know."

// remedy gives the advice that the history's header leaves: none that is applied already, none for another kind of
// lock. Of a service that is not known it is taken that it has several servers.
func remedy(kind CauseKind, h *history.Header) string {
	service := h.Service
	if service == "" {
		service = history.Redlock
	}
	var fit []string
	for _, a := range remedies[kind] {
		if h.Applies(a.unless) || a.given != "" && !h.Applies(a.given) ||
			len(a.only) > 0 && !slices.Contains(a.only, service) {
			continue
		}
		fit = append(fit, a.text)
	}
	if len(fit) == 0 {
		return nothingLeft
	}
	return strings.Join(fit, " ")
}
