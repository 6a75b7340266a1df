package checker

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// situation contains everything that advice may depend on: the lock as described by the history's header, the
// violation's cause, and the faults named by its explanation.
type situation struct {
	*history.Header
	facts
	cause     Cause
	faults    []*trace.Fault
	extends   bool           // some client asked to extend a lock
	confused  bool           // a later grant does not always have a higher fencing token
	split     bool           // confused because two masters of one group issue tokens
	stale     bool           // a resource that compares values accepted a write of a superseded holder
	tokenless bool           // no grant had a fencing token, and the service has no number that could serve as one
	offset    bool           // a fault set a clock, or made a clock drift before the lease began
	forgot    []*trace.Fault // if confused: the faults that lost the token counter
}

// facts are what a law has learned about a violation besides its cause.
type facts struct {
	waiting
	// unanswered is set if the client gave up waiting for the server to answer its release.
	unanswered bool

	// far is set if the servers seem to be far away: in the whole history, no request took effect within a sixth of the
	// bound or of the TTL.
	far       bool
	quick     bool         // some request was carried out within a sixth of the TTL
	refused   bool         // the operation was not slow: it failed within its bound
	stood     bool         // a release was refused although its key was still there
	went      bool         // a release was refused because its key was gone
	endless   bool         // the key that was lost had no expiry
	unending  bool         // the holder's lease has no end
	began     history.Time // when the lease in question began; 0 if the violation is not about a lease
	shortened bool         // an extension made the key end sooner than the validity stated before it
	extending bool         // the request in question was made for an attempt that had been asked to extend its lock
	taken     bool         // both clients got the lock by taking elements out of a list
	early     bool         // if taken: the holder had put the second element back before it released the lock
	spent     bool         // clients take an element out of a list to get the lock, and none is left
	oneKey    bool         // both grants depend on the same key
	oneClient bool         // the key was removed or extended by another attempt of the owner's own client
	fixed     bool         // all clients use one name for the key's member, which does not end with a number
	inside    bool         // the owner is stated inside the key, such as by the field of a hash
	looked    bool         // the request that changed the key looked at its value
	watched   bool         // the client that changed the key had watched it, but did so outside of a transaction
	member    bool         // the request set a member that another attempt had set: both use the same member
	asking    bool         // the request that deleted the key was sent by a client that asked for the lock
	givenUp   bool         // a client that had given up still had a place in the queue, so the lock stayed free
	gaveUp    bool         // the holder's own request had deleted the key before the holder stopped working
	letGo     bool         // the holder called release before its write was answered
	keyless   bool         // no server ever had a key of the lock
	elected   bool         // the masters of a Redis Cluster elected the replica that lacked the key
	reborn    bool         // the replica that lacked the key had been restarted since the key was set
	lapsed    bool         // the key was removed because another key, which shows that its holder is alive, had expired
	// the history does not state when the lease ends, and the lease outlasted its key because the holder was not told
	// in time
	untold bool
	told   bool // the holder was told that it had lost the lock before another client entered
}

// situation returns the circumstances of the violation that has just been explained.
func (t *judge) situation(cause Cause) *situation {
	s := &situation{Header: &t.History.Header, facts: t.facts, cause: cause, extends: t.Extended()}
	for i := range t.Faults {
		if f := &t.Faults[i]; slices.Contains(t.Cited, f.Start) {
			s.faults = append(s.faults, f)
			s.offset = s.offset || f.Does == history.SetsClock ||
				f.Does == history.PacesClock && t.Time(f.Start) < t.facts.began
		}
	}
	s.tokenless = !s.Service.Kind().OneLog &&
		!slices.ContainsFunc(t.Grants, func(g trace.Grant) bool { return g.Token != 0 })
	if s.Applies(history.ComparedWrites) && cause.Kind != StaleEffect && cause.Kind != LostUpdate {
		s.stale = t.acceptsStale()
	}
	if !s.Applies(history.Fencing) && cause.Kind != TokenRepeated && cause.Kind != TokenWentBack {
		return s
	}
	for i := range t.Locks {
		for _, c := range t.tokenClashes(&t.Locks[i]) {
			s.confused, s.forgot = true, append(s.forgot, t.forgetting(c.a, c.b.OK)...)
			s.split = s.split || t.deposedGrant(c.a, c.b) != nil
		}
	}
	return s
}

// names reports whether the explanation names a fault that satisfies match.
func (s *situation) names(match func(*trace.Fault) bool) bool {
	return slices.ContainsFunc(s.faults, match)
}

// against returns a condition for advice that helps only against faults that have one of the given effects.
func against(effects ...history.Effect) func(*situation) bool {
	return func(s *situation) bool {
		return s.names(func(f *trace.Fault) bool { return slices.Contains(effects, f.Does) })
	}
}

// strikesServer reports whether the explanation names a fault that kills, stops or cuts off a server.
func strikesServer(s *situation) bool {
	return s.names(func(f *trace.Fault) bool {
		silences := f.Does == history.Kills || f.Does == history.ShutsDown || f.Does == history.Parts ||
			f.Does == history.Stops
		return silences && slices.ContainsFunc(s.Servers, f.Strikes)
	})
}

// unlessAgainst returns a condition for advice that is useless if all faults named by the explanation have one of the
// given effects.
func unlessAgainst(effects ...history.Effect) func(*situation) bool {
	return func(s *situation) bool {
		return len(s.faults) == 0 || s.names(func(f *trace.Fault) bool { return !slices.Contains(effects, f.Does) })
	}
}

// serverSet is a condition for advice that helps only if a fault set a server's clock.
func serverSet(s *situation) bool {
	return s.names(func(f *trace.Fault) bool {
		return f.Does == history.SetsClock && slices.ContainsFunc(s.Servers, f.Strikes)
	})
}

// oldPlaces is a condition for advice that helps if clients keep their places in a queue for too long. There are two
// cases in which the advice does not help: the client's grant did not arrive, or a fault set back a server's clock,
// which prolongs every place.
func oldPlaces(s *situation) bool { return !s.ungranted && !serverSet(s) }

// leavesPlaces reports whether the lock is known to keep its waiters in a queue where a client that gives up leaves its
// place behind.
func leavesPlaces(s *situation) bool {
	return s.Order != (history.Order{}) && s.StatesMeasures() && !s.MayApply(history.LeftPlaces)
}

// clientsClock is a condition for advice that helps only if a fault changed a client's clock.
func clientsClock(s *situation) bool {
	return s.names(func(f *trace.Fault) bool {
		return f.Does.IsClock() && slices.ContainsFunc(s.Clients, f.Strikes)
	})
}

// clientSet is a condition for advice that helps only if a fault set a client's clock.
func clientSet(s *situation) bool {
	return s.names(func(f *trace.Fault) bool {
		return f.Does == history.SetsClock && !slices.ContainsFunc(s.Servers, f.Strikes)
	})
}

func ofDetail(detail string) func(*situation) bool {
	return func(s *situation) bool { return s.cause.Detail == detail }
}

// all returns a condition that is true if all the given conditions are. A nil condition is always true.
func all(conditions ...func(*situation) bool) func(*situation) bool {
	return func(s *situation) bool {
		return !slices.ContainsFunc(conditions, func(c func(*situation) bool) bool { return c != nil && !c(s) })
	}
}

func not(condition func(*situation) bool) func(*situation) bool {
	return func(s *situation) bool { return !condition(s) }
}

// keepsDisk reports whether none of the faults named by the explanation destroyed a disk.
func keepsDisk(s *situation) bool {
	return s.cause.Detail != DiskLost &&
		!s.names(func(f *trace.Fault) bool { return f.Loses == history.LosesEverything })
}

// contended reports whether most attempts found the lock taken by another client. It also returns true if the header
// does not count attempts.
func contended(s *situation) bool { return s.Attempts == 0 || 2*s.Taken > s.Attempts }

// replicates reports whether servers have replicas.
func replicates(s *situation) bool { return len(s.Groups) > 0 }

// hasLooked reports whether a request examined the value of another client's key and still removed the key. It returns
// false if the request mistook the key for its own, because the two clients share a value or because it compared only
// part of the value.
func hasLooked(s *situation) bool {
	return s.looked && !s.oneClient && !partly(s) && s.MayApply(history.OwnerCheck) && s.MayApply(history.OwnValue)
}

func partly(s *situation) bool { return s.Shows(history.PartOfOwner) }

// stopsRenewing reports whether the first release ends the renewal, although the owner has acquired the lock several
// times and is still holding it.
func stopsRenewing(s *situation) bool { return s.Shows(history.RenewalStops) }

func isExtended(s *situation) bool     { return s.extends }
func isTurnedAway(s *situation) bool   { return s.turnedAway }
func isInside(s *situation) bool       { return s.inside }
func isKeyless(s *situation) bool      { return s.keyless }
func isTaken(s *situation) bool        { return s.taken }
func isEarly(s *situation) bool        { return s.early }
func isOneKey(s *situation) bool       { return s.oneKey }
func isOneClient(s *situation) bool    { return s.oneClient && s.MayApply(history.OwnValue) }
func isEverlasting(s *situation) bool  { return s.everlasting }
func isRefused(s *situation) bool      { return s.refused }
func isFixed(s *situation) bool        { return s.fixed }
func isTokenless(s *situation) bool    { return s.tokenless }
func isElected(s *situation) bool      { return s.elected }
func isLapsed(s *situation) bool       { return s.lapsed }
func isEndless(s *situation) bool      { return s.endless }
func isShortened(s *situation) bool    { return s.shortened }
func isConfused(s *situation) bool     { return s.confused }
func isFar(s *situation) bool          { return s.far }
func isQuick(s *situation) bool        { return s.quick }
func isHasty(s *situation) bool        { return s.hasty }
func isSpent(s *situation) bool        { return s.spent }
func isUngranted(s *situation) bool    { return s.ungranted }
func isGivenUp(s *situation) bool      { return s.givenUp }
func hasLeftSection(s *situation) bool { return s.leftSection }
func isLetGo(s *situation) bool        { return s.letGo }
func isUnreleased(s *situation) bool   { return s.unreleased }
func isEarlierTry(s *situation) bool   { return s.earlierTry }
func isHeldUp(s *situation) bool       { return s.heldUp }
func isAsking(s *situation) bool       { return s.asking }
func isAway(s *situation) bool         { return s.away }
func isOffset(s *situation) bool       { return s.offset }
func isSplit(s *situation) bool        { return s.split }

// fences reports whether the resource compares tokens.
func fences(s *situation) bool { return s.Applies(history.Fencing) }

// counted reports whether the holder was wrong about when its lease ends. It returns false if the holder extended a key
// that had already expired, or if the history does not state when the lease ends.
func counted(s *situation) bool { return s.cause.Detail == "" && !s.untold }

// driftingDeadline reports whether the validity was wrong because a clock was already drifting when the lease began.
func driftingDeadline(s *situation) bool {
	return counted(s) && s.offset && against(history.PacesClock)(s)
}

// isForgetful reports whether the replica that took over may have lost acknowledged data in a restart.
func isForgetful(s *situation) bool { return s.reborn && !s.Applies(history.FsyncAlways) }

// serversExpire reports whether the servers remove an expired key.
func serversExpire(s *situation) bool { return !s.Service.Kind().ClientsExpire }

func isUntold(s *situation) bool { return s.untold }
func isTold(s *situation) bool   { return s.told }

// isUnanswered reports whether the client gave up waiting for the server to answer its release. It returns false if it
// is unknown how long a client waits.
func isUnanswered(s *situation) bool {
	return s.unanswered && s.StatesMeasures() && !s.Unsure(history.ShortTimeout)
}

// isUncounted reports whether the holder was wrong about the end of its lease, and the reason was not a clock.
func isUncounted(s *situation) bool {
	return counted(s) && !s.shortened && unlessAgainst(history.SetsClock, history.PacesClock)(s)
}

// byExtension reports whether the key was extended by an extension request. A request that adds an expiry to a key that
// was set without one does not count.
func byExtension(s *situation) bool {
	return s.extending || s.MayApply(history.Expiry) || !s.StatesMeasures()
}

// isSingle reports whether the lock is known to be on a single server, with or without replicas.
func isSingle(s *situation) bool {
	k := s.Service.Kind()
	return s.Service != "" && !k.OneLog && !k.Majority
}

// sleepsOn reports whether a waiter is known to do nothing until it gets a message, and a fault may have lost that
// message.
func sleepsOn(s *situation) bool {
	return isSingle(s) && s.struck && s.StatesMeasures() && !s.MayApply(history.LooksAgain)
}

// isSlow reports whether requests take too long. It returns true if they are known to be slow, or if they may be slow
// and nothing else explains why no client gets the lock.
func isSlow(s *situation) bool {
	split := s.Service.Kind().Majority && contended(s)
	counting := s.Service.Kind().ClientsExpire && (s.hasty || !s.Applies(history.SeenLease))
	woken := s.Applies(history.LooksAgain) ||
		isSingle(s) && s.ungranted && !s.Unsure(history.LooksAgain) && s.StatesMeasures()
	return s.far || !s.silent && !split && !counting && woken && !s.heldUp && !s.Unsure(history.ShortTimeout) &&
		!s.Applies(history.WaitForReplicas)
}

// isSharedMember reports whether an attempt overwrote another attempt's member because the attempts are known to use
// the same value.
func isSharedMember(s *situation) bool {
	return s.member && s.StatesMeasures() && !s.MayApply(history.OwnValue)
}

// keepsKey reports whether, as far as is known, extensions leave the key in place instead of setting it again.
func keepsKey(s *situation) bool {
	return !s.extends || s.MayApply(history.KeptExtension) || !s.StatesMeasures()
}

// isRecorded reports whether the history was recorded by another system. For a simulated lock, the header counts all
// requests.
func isRecorded(s *situation) bool { return s.Asked == nil }
