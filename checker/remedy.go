package checker

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// advice is one thing to change.
type advice struct {
	text   string
	unless history.Measure         // not given to those who apply this
	given  history.Measure         // given only to those who apply this
	only   []history.Service       // given to the users of these; empty: all
	when   func(s *situation) bool // given if it is true of the violation; nil: always
}

// situation is what advice may depend on: the lock as the header describes it, the cause of the violation, and the
// faults that its story names as reasons.
type situation struct {
	*history.Header
	cause   Cause
	faults  []*trace.Fault
	extends bool // somebody prolonged a lock
	refused bool // the operation was not slow: it was answered in time, and refused
	waiting
}

// situation is that of the violation whose story has been written.
func (t *judge) situation(cause Cause) *situation {
	s := &situation{Header: &t.History.Header, cause: cause, refused: t.refused, waiting: t.waiting,
		extends: t.Extended()}
	for i := range t.Faults {
		if f := &t.Faults[i]; slices.Contains(t.Cited, f.Start) {
			s.faults = append(s.faults, f)
		}
	}
	return s
}

// names reports whether the story names a fault with some property.
func (s *situation) names(is func(*trace.Fault) bool) bool { return slices.ContainsFunc(s.faults, is) }

// against is for advice that helps only against faults of these effects.
func against(effects ...history.Effect) func(*situation) bool {
	return func(s *situation) bool {
		return s.names(func(f *trace.Fault) bool { return slices.Contains(effects, f.Does) })
	}
}

// unlessAgainst is for advice that helps unless the story names only faults of these effects.
func unlessAgainst(effects ...history.Effect) func(*situation) bool {
	return func(s *situation) bool {
		return len(s.faults) == 0 || s.names(func(f *trace.Fault) bool { return !slices.Contains(effects, f.Does) })
	}
}

func ofDetail(detail string) func(*situation) bool {
	return func(s *situation) bool { return s.cause.Detail == detail }
}

func both(a, b func(*situation) bool) func(*situation) bool {
	return func(s *situation) bool { return a(s) && b(s) }
}

// keepsDisk reports whether no fault named by the story took a disk away.
func keepsDisk(s *situation) bool {
	return s.cause.Detail != DiskLost &&
		!s.names(func(f *trace.Fault) bool { return f.Loses == history.LosesEverything })
}

func losesDisk(s *situation) bool { return !keepsDisk(s) }

// contended reports whether most attempts found the lock taken by another, as far as the header counts them.
func contended(s *situation) bool { return s.Attempts == 0 || 2*s.Taken > s.Attempts }

func extends(s *situation) bool { return s.extends }

func partly(s *situation) bool { return s.Shows(history.PartOfOwner) }

// notTurnedAway excludes a waiter whose requests were refused although no server had a key of the lock.
func notTurnedAway(s *situation) bool { return !s.turnedAway }

func isRefused(s *situation) bool { return s.refused }

func isSlow(s *situation) bool { return !s.refused }

// isRecorded reports whether the history was recorded elsewhere: of a simulated lock all requests are read.
func isRecorded(s *situation) bool { return s.Asked == nil }

func leftByEarlierTry(s *situation) bool { return s.earlierTry }

func isEverlasting(s *situation) bool { return s.everlasting }

// anyRedis lists the services with a server whose clock and disk need care.
var anyRedis = []history.Service{history.Redis, history.Redlock}

// leaseOfKubernetes is the rule that a lease duration must obey for two leaders never to meet.
const leaseOfKubernetes = "Let the lease duration be longer than the renew deadline, the retry period and the " +
	"time-out of a request together, by as much as the fastest clock gains on the slowest."

// termsOfKubernetes is what leaseTransitions needs to be a fencing token.
const termsOfKubernetes = "Give each process an identity of its own, and end it when it stops leading: " +
	"leaseTransitions counts changes of the holder, not terms."

func unlessOnKubernetes(s *situation) bool { return s.Service != history.Kubernetes }

// takenByWhat is for locks that a server refuses although it has no key of them.
var takenByWhat = advice{text: "Look for what keeps the lock taken besides its key, which no server had: another " +
	"key, or a subscription. It must end with the lease of its holder, too.",
	when: func(s *situation) bool { return s.turnedAway }}

// guard closes every list whose violation can reach the data.
var guard = advice{text: "Guard the data by a fencing token.", unless: history.Fencing}

// remedies holds what the documents recommend against each cause: antirez (Redis: distributed locks), Kleppmann (How to
// do distributed locking), and the comparisons of Redis, ZooKeeper and etcd locks.
var remedies = map[CauseKind][]advice{
	CountedWithoutQuorum: {{text: "Count a lock, or its extension, only after a majority of all servers said yes: " +
		"two majorities always share a server."}},
	GrantedByNone: {{text: "Take the lock for acquired only when the servers have said so: an error, or no answer, " +
		"is no."}},
	DeposedMaster: {
		{text: "Send WAIT after setting the lock and obey its count.", unless: history.WaitForReplicas, only: anyRedis},
		{text: "Let an isolated master refuse writes (min-replicas-to-write); it still accepts them for the " +
			"permitted lag.", unless: history.MinReplicas, only: anyRedis},
		{text: "Take the lock from a consensus service.", only: anyRedis},
		guard,
	},
	ValidityMiscounted: {
		{text: "Take a lease for extended only if the server says that the key stands and is one's own.",
			when: ofDetail(GoneKey)},
		{text: "Count the validity from before the first request and refuse the lock if nothing is left of it.",
			unless: history.ElapsedCheck, only: anyRedis,
			when: both(ofDetail(""), unlessAgainst(history.SetsClock, history.PacesClock))},
		{text: "Let the server add the TTL to its own clock (PX), never the client to its (PXAT).",
			unless: history.RelativeExpiry, when: both(ofDetail(""), against(history.SetsClock, history.PacesClock))},
		{text: "Measure it on a monotonic clock.", unless: history.MonotonicClock,
			when: both(ofDetail(""), against(history.SetsClock))},
		{text: "Count the lease from when the request left that prolonged it, not from its answer.",
			unless: history.ElapsedCheck, only: []history.Service{history.Etcd}},
		{text: leaseOfKubernetes, only: []history.Service{history.Kubernetes}},
		{text: "Subtract an allowance for as much as clocks may drift.", unless: history.DriftAllowance, only: anyRedis,
			when: both(ofDetail(""), against(history.PacesClock))},
		{text: "Allow for clocks that drift more than is allowed for now.", given: history.DriftAllowance,
			only: anyRedis, when: both(ofDetail(""), against(history.PacesClock))},
		guard,
	},
	NeverRenewed: {
		{text: "Renew the lock while the work goes on, several times within each lease, and stop the work when that " +
			"fails."},
		{text: "Or bound the work by what is left of the lease."},
		guard,
	},
	ExpiredEarly: {
		{text: "Count a lease from when one saw the record change, on one's monotonic clock, and not from the time " +
			"in the record.", when: both(ofDetail(ClientClock), unlessAgainst(history.PacesClock))},
		{text: leaseOfKubernetes, when: both(ofDetail(ClientClock), against(history.PacesClock))},
		{text: "Keep the servers' wall clocks from jumping (slew, never step).", only: anyRedis,
			when: unlessAgainst(history.PacesClock)},
		{text: "Subtract an allowance for as much as clocks may drift.", unless: history.DriftAllowance,
			when: both(ofDetail(ServerClock), against(history.PacesClock))},
		{text: "Allow for clocks that drift more than is allowed for now.", given: history.DriftAllowance,
			when: against(history.PacesClock)},
		{text: "Or use a service whose leases run on a monotonic clock.", only: anyRedis},
		guard,
	},
	LeaseNotRechecked: {{text: "After waiting, check that the own lease still lives before returning the lock.",
		unless: history.Recheck}, guard},
	RemovedByNonOwner: {
		{text: "Compare the whole owner value when the key is deleted: the script takes no more than a part of it.",
			when: both(ofDetail(""), partly)},
		{text: "Delete only after comparing the owner, in one step: a script, CAD, or DELEX IFEQ.",
			unless: history.OwnerCheck, when: func(s *situation) bool {
				return s.cause.Detail == "" && !partly(s) && s.MayApply(history.OwnValue)
			}},
		{text: "Give each attempt its own random value.", unless: history.OwnValue, when: func(s *situation) bool {
			return s.cause.Detail == "" && (partly(s) || s.MayApply(history.OwnerCheck))
		}},
		{text: "Give each attempt its own random value, and delete only after comparing it, in one step: a script, " +
			"CAD, or DELEX IFEQ.", unless: history.OwnValue, when: func(s *situation) bool {
			return s.cause.Detail == "" && !partly(s) && !s.MayApply(history.OwnerCheck)
		}},
		{text: "Stop the work, and end the process, before the lock is given up that could not be renewed: " +
			"client-go's ReleaseOnCancel clears the record of whoever leads by then.", unless: history.StopFirst,
			only: []history.Service{history.Kubernetes}, when: ofDetail("")},
		{text: "Give each process an identity of its own.", unless: history.OwnValue,
			only: []history.Service{history.Kubernetes}, when: ofDetail(Overwritten)},
		{text: "Name in each update the resource version that it replaces.", unless: history.OwnerCheck,
			only: []history.Service{history.Kubernetes}, when: ofDetail(Overwritten)},
		{text: "Set the key only where there is none (NX), or after comparing the owner, in one step.",
			when: both(ofDetail(Overwritten), unlessOnKubernetes)},
		{text: "Delete the lock's own key and no other.", when: ofDetail(ByFlush)},
		guard,
	},
	ProlongedByNonOwner: {{text: "Prolong only after comparing the owner, in one step: a script, or CAS."}, guard},
	RemovedByOwner: {
		{text: "Give each try a random value of its own: what an earlier one asks for late then finds nothing that " +
			"it owns.", when: ofDetail(LateTry)},
		{text: "Prolong a held lock by a compare-and-expire script, never by acquiring it again, and stop working " +
			"once the key is given up.", when: both(ofDetail(""), extends)},
		{text: "Delete the key only when the work that it guards has ended: no timer and no other task may give it " +
			"up sooner.", given: history.CountedEntries, when: func(s *situation) bool {
			return s.cause.Detail == "" && !extends(s)
		}},
		{text: "Count how often its holder has taken the lock, and delete the key only with the last release.",
			unless: history.CountedEntries, when: func(s *situation) bool {
				return s.cause.Detail == "" && !extends(s)
			}},
		guard,
	},
	LostInCrash: {
		{text: "Restart a crashed server only after the longest TTL has passed."},
		{text: "Or persist with appendfsync always.", unless: history.FsyncAlways, when: keepsDisk},
		guard,
	},
	LostInFailover: {
		{text: "Send WAIT after setting the lock and hold it only if enough replicas acknowledged.",
			unless: history.WaitForReplicas, only: anyRedis},
		{text: "Wait for all replicas, or promote only one that has acknowledged.", given: history.WaitForReplicas,
			only: anyRedis},
		{text: "A service that loses what it has answered is at fault itself: run a version in which that is mended " +
			"(ZOOKEEPER-4643, 4646 and 4785 report such faults).", only: []history.Service{history.ZooKeeper}},
		{text: "After a failover acquire anew."},
		guard,
	},
	HolderOutlivedLease: {
		{text: "Stop the work before the lock is given up that could not be renewed: with ReleaseOnCancel " +
			"client-go's leader leads on while its release is tried.", unless: history.StopFirst,
			only: []history.Service{history.Kubernetes}},
		{text: "Send a fencing token with every read and write, and let the resource refuse tokens lower than it has " +
			"seen; checking the remaining validity before a write only narrows the gap.",
			unless: history.Fencing},
		{text: "The resource guards the data already. No lock with a lease keeps a holder from believing that it is " +
			"inside: do nothing there that the resource does not check.",
			given: history.Fencing},
	},
	CauseNotRecorded: {
		{text: "Record the servers' key-set and key-gone and the servers that each grant counted, then check again.",
			only: append([]history.Service{""}, anyRedis...), when: isRecorded},
		{text: "Run the same plan simulated, where the cause is shown: real members do not report why a key goes.",
			only: []history.Service{history.Etcd, history.ZooKeeper, history.Kubernetes}, when: isRecorded},
		{text: "Let each acquire set a key of its own, and only if there is none: the servers have no key that this " +
			"grant rests on.", when: func(s *situation) bool { return !isRecorded(s) }},
	},
	SessionExpired: {
		{text: "Stop working as soon as the client learns that the session is lost: that narrows the gap, since the " +
			"service may end a session at any time.", unless: history.StopWhenLost},
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
			given: history.Fencing, when: unlessOnKubernetes},
		{text: termsOfKubernetes, given: history.Fencing, only: []history.Service{history.Kubernetes}}},
	LostUpdate: {{text: "Let the resource compare before it sets (a fencing token, or compare-and-set on the value " +
		"read)."}},
	TokenRepeated: append([]advice{{text: termsOfKubernetes, only: []history.Service{history.Kubernetes}}},
		tokenRemedies("Draw one token for each grant.")...),
	TokenWentBack: tokenRemedies("Draw the token in the same atomic step as the lock."),
	StuckBehindCrashed: {
		{text: "Give every lock an expiry, in the same command that sets it (SET NX PX).", unless: history.Expiry},
		{text: "The lock has an expiry: whoever waits must wait for longer than it.", given: history.Expiry},
	},
	StuckBehindAbandoned: {
		{text: "Give every lock an expiry, in the same command that sets it (SET NX PX): then what a lost request " +
			"leaves behind goes by itself.", unless: history.Expiry, when: both(ofDetail(""), isEverlasting)},
		{text: "After an acquire or a release that failed, end the session or revoke the lease, or make sure that " +
			"the key of the attempt is deleted: until then everybody waits behind it.", when: ofDetail(SessionLives)},
		{text: "After a connection broke, look for a node of one's own before making another: the request that was " +
			"not answered may have been carried out.", only: []history.Service{history.ZooKeeper},
			when: both(ofDetail(SessionLives), leftByEarlierTry)},
		{text: "Delete the key of a try that was given up, and do not prolong it: its answer may come later.",
			when: ofDetail(KeptProlonged)},
		{text: "Let a key expire after the TTL that its users count on, and no later.",
			when: func(s *situation) bool { return s.cause.Detail == "" && !s.everlasting }},
		{text: "When what is watched is gone already, and when a watch may be lost with its connection, list the " +
			"keys again: nothing else says that one's turn has come.", when: ofDetail(TurnNotTaken)},
		{text: "Release on every server also after an attempt that was given up.",
			only: []history.Service{history.Redlock}},
	},
	StuckBehindUncapped: {
		{text: "Give every lock an expiry, in the same command that sets it (SET NX PX).", unless: history.Expiry},
		{text: "Cap the number of extensions of one hold.", unless: history.CappedExtension},
	},
	StuckBehindItself: {{text: "Before asking again for a lock, give up what may be left of it: delete the own key, " +
		"or stop working and let the session end."}},
	StuckInCycle: {{text: "Take locks in one fixed order, parents before children, or give up after a timeout, " +
		"release, and retry after a random delay."}},
	StuckWithoutHolder: {
		{text: "Bound each dial, each request and each wait for a message by a time far below the TTL, and ask again.",
			when: func(s *situation) bool { return s.silent && s.Unsure(history.ShortTimeout) }},
		takenByWhat,
		{text: "Retry after a random delay.", unless: history.RandomRetry, when: both(notTurnedAway,
			func(s *situation) bool { return !s.silent || !s.Unsure(history.RandomRetry) })},
		{text: "Look again when the other's lease must be over: a message that is never sent, or that gets lost, " +
			"wakes nobody.",
			unless: history.LooksAgain, only: []history.Service{history.Redis}, when: notTurnedAway},
		{text: "Give each server a timeout far below the TTL, and go on with the majority that answers.",
			unless: history.ShortTimeout, only: []history.Service{history.Redlock},
			when: against(history.Kills, history.ShutsDown, history.Parts, history.Stops)},
		{text: "Release partial locks on every server at once.", unless: history.Parallel, given: history.RandomRetry,
			only: []history.Service{history.Redlock}, when: contended},
		{text: "Let each server take longer to answer than a round trip takes, and let the TTL be far longer than " +
			"that.",
			only: []history.Service{history.Redlock}, when: func(s *situation) bool {
				return !contended(s) && !s.Unsure(history.ShortTimeout)
			}},
	},
	NoQuorumLeft: {{text: "No lock service survives the loss of its quorum: bring servers back, or spread them so " +
		"that no one failure takes a majority."}},
	TooSlow: {
		{text: "Give each server a timeout far below the TTL, and go on with the majority that answers.",
			unless: history.ShortTimeout, only: []history.Service{history.Redlock}, when: isSlow},
		{text: "Give each request a timeout far below the TTL, and try again.", unless: history.ShortTimeout,
			only: []history.Service{history.Redis, history.Etcd, history.ZooKeeper, history.Kubernetes},
			when: both(isSlow, notTurnedAway)},
		takenByWhat,
		{text: "Keep the servers' wall clocks from jumping (slew, never step).", only: anyRedis,
			when: both(isRefused, against(history.SetsClock))},
		{text: "See what became of the key: it was gone before its lease had ended.", when: isRefused},
	},
}

// onlyMember helps if the only member of a cluster has lost its disk. Its tokens begin anew: they guard nothing.
var onlyMember = []advice{
	{text: "Run three members: what one of them loses, the others still have."},
	{text: "Restart a crashed server only after the longest TTL has passed.",
		when: func(s *situation) bool { return s.cause.Kind == LostInCrash }},
}

// tokenRemedies help if fencing tokens do not grow: if a counter was lost, keep it where it cannot be lost; otherwise,
// draw tokens as plain says.
func tokenRemedies(plain string) []advice {
	lost := against(history.Kills, history.ShutsDown, history.Promotes)
	return []advice{
		{text: plain, when: func(s *situation) bool { return !lost(s) && unlessOnKubernetes(s) }},
		{text: "Keep the counter where a crash cannot take it back: appendfsync always.", unless: history.FsyncAlways,
			only: anyRedis, when: both(keepsDisk, against(history.Kills, history.ShutsDown))},
		{text: "Take the revision of a consensus service for a token: it survives the loss of a server.",
			only: anyRedis, when: func(s *situation) bool {
				return lost(s) && (losesDisk(s) || against(history.Promotes)(s))
			}},
	}
}

// nothingLeft is what remains to say to those who have done everything.
const nothingLeft = "All that the documents give against it is in place. What is left is the limit of a lock with a " +
	"lease: it cannot stop a holder that does not know."

// remedy returns the advice that fits: none that is already applied, none for another kind of lock, none against
// another fault. Advice that may already be followed is marked as such. An unknown service is assumed to have several
// servers.
func remedy(s *situation) string {
	service := s.Service
	if service == "" {
		service = history.Redlock
	}
	list := remedies[s.cause.Kind]
	if s.OnlyMember() && losesDisk(s) && s.cause.Kind != NoQuorumLeft {
		list = onlyMember
	}
	var fit, unsure []string
	hidden := false
	for _, a := range list {
		switch {
		case s.Applies(a.unless), len(a.only) > 0 && !slices.Contains(a.only, service), a.when != nil && !a.when(s):
		case a.given != "" && !s.Applies(a.given):
			hidden = hidden || s.Unsure(a.given)
		case s.Unsure(a.unless):
			unsure = append(unsure, a.text)
		default:
			fit = append(fit, a.text)
		}
	}
	switch {
	case len(unsure) > 0:
		fit = append(fit, unlessDone+strings.Join(unsure, " "))
	case len(fit) == 0 && hidden:
		return notShown
	case len(fit) == 0:
		return nothingLeft
	}
	return strings.Join(fit, " ")
}

// Notes for locks whose code is not known: before advice that may already be followed, and where there is none.
const (
	unlessDone = "Unless it is done already: "
	notShown   = "What would help depends on what the requests of this lock do not show."
)
