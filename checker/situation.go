package checker

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// situation is what advice may depend on: the lock as the header describes it, the cause of the violation, and the
// faults that its story gives as reasons.
type situation struct {
	*history.Header
	facts
	cause    Cause
	faults   []*trace.Fault
	extends  bool           // some client extended a lock
	confused bool           // fencing tokens do not distinguish a later grant from an earlier one
	split    bool           // because two masters of one group issue them
	stale    bool           // a resource that compares values accepted a write of a superseded holder
	offset   bool           // a fault set a clock, or made a clock drift before the lease began
	forgot   []*trace.Fault // if confused: the faults that lost the counter of the tokens
}

// facts are what a law has found out about a violation besides its cause.
type facts struct {
	waiting
	// unanswered is set if a release gave up waiting for its answer.
	unanswered bool

	// far is set if no request in the whole history was carried out within a sixth of the time that it had: of the
	// bound, or of the TTL.
	far       bool
	quick     bool         // some request was carried out within a sixth of the TTL
	refused   bool         // the operation was not slow: it failed in time
	stood     bool         // a release was refused although its key was still there
	went      bool         // a release was refused because its key was gone
	endless   bool         // the key that was lost had no expiry
	unending  bool         // the holder counts on a lease without end
	began     history.Time // when the lease in question began; 0 if the violation is about none
	shortened bool         // an extension ended the key sooner than the validity stated before
	extending bool         // the request in question was made for an attempt that had been asked to extend its lock
	taken     bool         // both grants rest on elements that were taken out of a list
	spent     bool         // clients take an element out of a list to get the lock, and none is left
	oneKey    bool         // both grants rest on one key
	oneClient bool         // the key was removed or extended by another attempt of its owner's own client
	member    bool         // the request found the member that it overwrote: two attempts use one member
	asking    bool         // the request that deleted the key was sent by a client that asked for the lock
	gaveUp    bool         // the holder's own request had deleted the key before it stopped working
	keyless   bool         // no server ever had a key of the lock
	lapsed    bool         // the key was removed because another key, which shows that its holder lives, had expired
	untold    bool         // the lease states no end, and outlived its key: its holder was not told in time
}

// situation returns the situation of the violation whose story has just been written.
func (t *judge) situation(cause Cause) *situation {
	s := &situation{Header: &t.History.Header, facts: t.facts, cause: cause, extends: t.Extended()}
	for i := range t.Faults {
		if f := &t.Faults[i]; slices.Contains(t.Cited, f.Start) {
			s.faults = append(s.faults, f)
			s.offset = s.offset || f.Does == history.SetsClock ||
				f.Does == history.PacesClock && t.Time(f.Start) < t.facts.began
		}
	}
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

// names reports whether the story names a fault for which is returns true.
func (s *situation) names(is func(*trace.Fault) bool) bool { return slices.ContainsFunc(s.faults, is) }

// against returns the condition of advice that helps only against faults with these effects.
func against(effects ...history.Effect) func(*situation) bool {
	return func(s *situation) bool {
		return s.names(func(f *trace.Fault) bool { return slices.Contains(effects, f.Does) })
	}
}

// unlessAgainst returns the condition of advice that helps unless the story names only faults with these effects.
func unlessAgainst(effects ...history.Effect) func(*situation) bool {
	return func(s *situation) bool {
		return len(s.faults) == 0 || s.names(func(f *trace.Fault) bool { return !slices.Contains(effects, f.Does) })
	}
}

// serverSet is the condition of advice that helps only if a fault set the clock of a server.
func serverSet(s *situation) bool {
	return s.names(func(f *trace.Fault) bool {
		return f.Does == history.SetsClock && slices.ContainsFunc(s.Servers, f.Strikes)
	})
}

// clientsClock is the condition of advice that helps only if a fault changed the clock of a client.
func clientsClock(s *situation) bool {
	return s.names(func(f *trace.Fault) bool {
		return f.Does.IsClock() && slices.ContainsFunc(s.Clients, f.Strikes)
	})
}

func ofDetail(detail string) func(*situation) bool {
	return func(s *situation) bool { return s.cause.Detail == detail }
}

// all joins conditions with "and". A nil condition is always true.
func all(conditions ...func(*situation) bool) func(*situation) bool {
	return func(s *situation) bool {
		return !slices.ContainsFunc(conditions, func(c func(*situation) bool) bool { return c != nil && !c(s) })
	}
}

func not(condition func(*situation) bool) func(*situation) bool {
	return func(s *situation) bool { return !condition(s) }
}

// keepsDisk reports whether no fault that the story names destroyed a disk.
func keepsDisk(s *situation) bool {
	return s.cause.Detail != DiskLost &&
		!s.names(func(f *trace.Fault) bool { return f.Loses == history.LosesEverything })
}

// contended reports whether most attempts found the lock taken by another, or the header does not count attempts.
func contended(s *situation) bool { return s.Attempts == 0 || 2*s.Taken > s.Attempts }

// replicates reports whether servers have replicas.
func replicates(s *situation) bool { return len(s.Groups) > 0 }

func partly(s *situation) bool { return s.Shows(history.PartOfOwner) }

func isExtended(s *situation) bool    { return s.extends }
func isTurnedAway(s *situation) bool  { return s.turnedAway }
func isKeyless(s *situation) bool     { return s.keyless }
func isTaken(s *situation) bool       { return s.taken }
func isOneKey(s *situation) bool      { return s.oneKey }
func isOneClient(s *situation) bool   { return s.oneClient && s.MayApply(history.OwnValue) }
func isEverlasting(s *situation) bool { return s.everlasting }
func isRefused(s *situation) bool     { return s.refused }
func isLapsed(s *situation) bool      { return s.lapsed }
func isEndless(s *situation) bool     { return s.endless }
func isShortened(s *situation) bool   { return s.shortened }
func isConfused(s *situation) bool    { return s.confused }
func isFar(s *situation) bool         { return s.far }
func isQuick(s *situation) bool       { return s.quick }
func isHasty(s *situation) bool       { return s.hasty }
func isSpent(s *situation) bool       { return s.spent }
func isUngranted(s *situation) bool   { return s.ungranted }
func isUnreleased(s *situation) bool  { return s.unreleased }
func isEarlierTry(s *situation) bool  { return s.earlierTry }
func isHeldUp(s *situation) bool      { return s.heldUp }
func isAsking(s *situation) bool      { return s.asking }
func isAway(s *situation) bool        { return s.away }
func isOffset(s *situation) bool      { return s.offset }
func isSplit(s *situation) bool       { return s.split }

// counted reports whether a stated end was miscounted for another reason than a key that had already expired.
func counted(s *situation) bool { return s.cause.Detail == "" && !s.untold }

// serversExpire reports whether the servers remove an expired key.
func serversExpire(s *situation) bool { return !s.Service.Kind().ClientsExpire }

func isUntold(s *situation) bool { return s.untold }

// isUnanswered reports whether a release gave up waiting for its answer, if it is known how long it waits.
func isUnanswered(s *situation) bool {
	return s.unanswered && s.StatesMeasures() && !s.Unsure(history.ShortTimeout)
}

// isUncounted reports whether a validity was miscounted that no clock has prolonged.
func isUncounted(s *situation) bool {
	return counted(s) && !s.shortened && unlessAgainst(history.SetsClock, history.PacesClock)(s)
}

// byExtension reports whether a key was extended by an extension, and not by giving an expiry to a key set without one.
func byExtension(s *situation) bool {
	return s.extending || s.MayApply(history.Expiry) || !s.StatesMeasures()
}

// isSingle reports whether the lock is known to be on one server, replicated or not.
func isSingle(s *situation) bool {
	k := s.Service.Kind()
	return s.Service != "" && !k.OneLog && !k.Majority
}

// sleepsOn reports whether a waiter is known to wait only for a message, and a fault may have lost that message.
func sleepsOn(s *situation) bool {
	return isSingle(s) && s.struck && s.StatesMeasures() && !s.MayApply(history.LooksAgain)
}

// isSlow reports whether requests are known to take too long, or may take too long since nothing else explains why no
// client gets the lock.
func isSlow(s *situation) bool {
	split := s.Service.Kind().Majority && contended(s)
	counting := s.Service.Kind().ClientsExpire && (s.hasty || !s.Applies(history.SeenLease))
	woken := s.Applies(history.LooksAgain) ||
		isSingle(s) && s.ungranted && !s.Unsure(history.LooksAgain) && s.StatesMeasures()
	return s.far || !s.silent && !split && !counting && woken && !s.heldUp && !s.Unsure(history.ShortTimeout) &&
		!s.Applies(history.WaitForReplicas)
}

// isSharedMember reports whether an attempt overwrote the member of another, in a lock whose attempts are known to have
// no values of their own.
func isSharedMember(s *situation) bool { return s.member && !s.MayApply(history.OwnValue) }

// keepsKey reports whether, as far as is known, no extension sets the key anew.
func keepsKey(s *situation) bool {
	return !s.extends || s.MayApply(history.KeptExtension) || !s.StatesMeasures()
}

// isRecorded reports whether the history was recorded elsewhere. For a simulated lock, the header counts all requests.
func isRecorded(s *situation) bool { return s.Asked == nil }
