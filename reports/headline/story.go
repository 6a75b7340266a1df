package headline

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// story is a violation of a law, together with the history in which it occurred. A position is the index of an event in
// this history.
type story struct {
	h *history.History
	f *checker.Finding
}

// lock returns the lock's name if there are several locks, and otherwise "the lock".
func (s *story) lock() string {
	if len(s.h.Header.Locks) > 1 && s.f.Lock != "" {
		return strconv.Quote(string(s.f.Lock))
	}
	return "the lock"
}

func name(p history.Process) string {
	if p == history.Probe {
		return "the probe (a last client, sent in after the faults)"
	}
	return string(p)
}

// process returns the name of holder i's process, or the given string if the name is unknown.
func (s *story) process(i int, otherwise string) string {
	if i < len(s.f.Holders) && s.f.Holders[i] != "" {
		return name(s.f.Holders[i])
	}
	return otherwise
}

func (s *story) same() bool { return len(s.f.Holders) > 1 && s.f.Holders[0] == s.f.Holders[1] }

// concerned returns the process whose lease or key is involved in the cause.
func (s *story) concerned() string {
	if s.f.About == "" {
		return "one of them"
	}
	return string(s.f.About)
}

// sameSituation says that two clients were, for example, promised a lock at once, or that one client was promised it
// twice. The arguments singular and plural are forms of the verb, and the argument what contains the rest of the
// sentence. For a semaphore, the sentence says that there were more holders than permits.
func (s *story) sameSituation(singular, plural, what string) string {
	if n := s.h.Header.Permits; n > 1 {
		return fmt.Sprintf("%d holders of %d permits %s %s at once", max(n+1, len(s.f.Holders)), n, plural, what)
	}
	if s.same() {
		return s.process(0, "a client") + " " + singular + " " + what + " twice at once"
	}
	return "two clients " + plural + " " + what + " at once"
}

func (s *story) inside() string {
	what := "inside"
	if len(s.h.Header.Locks) > 1 {
		what += " " + s.lock()
	}
	words := s.sameSituation("was", "were", what)
	if len(s.f.Holders) < 2 || s.f.At < 0 || s.f.At >= len(s.h.Events) {
		return words
	}
	then := s.h.Events[s.f.At].Time
	long, over := s.overlap()
	switch until := s.recorded(); {
	case until < s.h.Header.End && (!over || until-then < long):
		return words + " for at least " + text.Lasting(until-then)
	case !over:
		return words + ", to the end of the recording"
	case long > 0:
		return words + " for " + text.Lasting(long)
	}
	return words + " for a moment"
}

// recorded returns the earliest time at which the recording of any holder ends. It returns history.Never if none of
// their recordings ends.
func (s *story) recorded() history.Time {
	until := history.Never
	for _, p := range s.f.Holders {
		if seen, ends := s.h.Header.Seen[p]; ends {
			until = min(until, seen)
		}
	}
	return until
}

// overlap returns how long the holders were inside the critical section together: from the last entry until the first
// holder left. The result over is false if none of them left.
func (s *story) overlap() (long history.Time, over bool) {
	met := s.f.At
	then := &s.h.Events[met]
	attempts := []history.Attempt{then.Attempt}
	for _, at := range s.f.Witness {
		if at >= 0 && at < met && s.entered(at) {
			attempts = append(attempts, s.h.Events[at].Attempt)
		}
	}
	for i := met + 1; i < len(s.h.Events); i++ {
		if e := &s.h.Events[i]; slices.Contains(s.f.Holders, e.Process) && s.leaves(e, attempts) {
			return e.Time - then.Time, true
		}
	}
	return 0, false
}

// entered reports whether the event at the given index is a successful acquire by any holder but the last.
func (s *story) entered(at int) bool {
	e := &s.h.Events[at]
	return e.F == history.Acquire && e.Type == history.OK && e.Lock == s.f.Lock &&
		slices.Contains(s.f.Holders[:len(s.f.Holders)-1], e.Process)
}

// leaves reports whether a holder's event ends its critical section.
func (s *story) leaves(e *history.Event, attempts []history.Attempt) bool {
	switch e.F {
	case history.Crashed:
		return true
	case history.Release:
		if e.Type != history.Invoke {
			return false
		}
	case history.Lost:
	default:
		return false
	}
	return (e.Lock == "" || e.Lock == s.f.Lock) && (e.Attempt == "" || slices.Contains(attempts, e.Attempt))
}

// reason says why two of a lock's grants overlapped.
func (s *story) reason() string {
	who := s.concerned()
	switch s.f.Cause.Kind {
	case checker.CountedWithoutQuorum:
		return "no server had granted both, so none could refuse"
	case checker.DeposedMaster:
		if s.h.Header.Service.Kind().OneLog {
			return "the lease of " + who + " was prolonged by a leader that had been replaced"
		}
		return "two masters granted it, each on its own"
	case checker.ValidityMiscounted:
		return s.miscounted(who)
	case checker.GrantedByNone:
		return "no server had granted it to " + who
	case checker.GrantedTwice:
		if s.h.Header.Permits > 1 {
			return "a server granted more permits than there are"
		}
		return "a server that had granted it to " + who + " granted it again"
	case checker.NeverRenewed:
		return "nobody renewed the lease of " + who + ", whose work took longer"
	case checker.ExpiredEarly:
		if s.f.Cause.Detail == checker.ClientClock {
			return "another client considered the lease of " + who + " over too early"
		}
		return "the key of " + who + " expired early because a server's clock was wrong"
	case checker.LeaseNotRechecked:
		return who + " took it although its own lease had ended"
	case checker.RemovedByNonOwner, checker.Evicted, checker.RemovedByOperator:
		return s.removed(who)
	case checker.RemovedByOwner:
		if s.f.Cause.Detail == checker.LateTry {
			return "a late request of an earlier try removed the key of " + who
		}
		return who + " had removed its own key and continued to work"
	case checker.LostInCrash:
		return s.forgotten(who)
	case checker.LostInFailover:
		if s.h.Header.Service.Kind().OneLog {
			return "an election lost the key of " + who + ", whose request had been answered"
		}
		return "a failover lost a change that only the old master had made to the key of " + who
	case checker.HolderOutlivedLease:
		return s.outlived(who)
	case checker.SessionExpired:
		return "the session of " + who + " had expired"
	case checker.WaitedForOther:
		return who + " waited for another lock until its lease had ended"
	case checker.CauseNotRecorded:
		return "the history does not record the cause"
	}
	return ""
}

// removed says who removed a holder's key.
func (s *story) removed(who string) string {
	switch c := s.f.Cause; {
	case c.Kind == checker.Evicted:
		return "the server evicted the key of " + who + " to free memory"
	case c.Kind == checker.RemovedByOperator && c.Detail == checker.ByDelete:
		return "an operator deleted the key of " + who
	case c.Kind == checker.RemovedByOperator:
		return "an operator flushed all keys, including that of " + who
	case c.Detail == checker.ByFlush:
		return "all keys were flushed, including that of " + who
	case c.Detail == checker.Overwritten:
		return "the key of " + who + " was overwritten by a request that did not own it"
	}
	return "the key of " + who + " was removed by a request that did not own it"
}

// miscounted says why a holder relied on its lease after its key had expired.
func (s *story) miscounted(who string) string {
	open := func(e history.Event) bool {
		return e.Process == s.f.About && e.Lock == s.f.Lock && e.Grant != nil && e.Grant.Open
	}
	switch {
	case s.f.Cause.Detail == checker.GoneKey:
		return who + " considered its lease extended although its key was gone"
	case slices.ContainsFunc(s.h.Events[:min(s.f.At+1, len(s.h.Events))], open):
		return who + " was not told in time that its lock was lost"
	}
	return who + " relied on its lease for longer than its key existed"
}

// forgotten says how a server lost a key.
func (s *story) forgotten(who string) string {
	switch s.f.Cause.Detail {
	case checker.NoPersistence:
		return "a server that keeps nothing on disk went down and forgot the key of " + who
	case checker.DiskLost:
		return "a server came back with an empty disk, without the key of " + who
	}
	return "a server went down before the key of " + who + " was safe on its disk"
}

func (s *story) outlived(who string) string {
	switch {
	case s.f.Cause.Detail == checker.ByLatePacket:
		return "a message that was held up made " + who + " outlast its lease"
	case s.f.Cause.Detail == checker.BySlowWork:
		return who + " worked for longer than its lease"
	case s.pausedPast():
		return who + " had paused past its lease"
	}
	return "a pause made " + who + " outlast its lease"
}

// pausedPast reports whether the process named by the cause was paused when its lease ended.
func (s *story) pausedPast() bool {
	var until history.Time
	paused := history.Never
	for i := range s.h.Events[:min(s.f.At+1, len(s.h.Events))] {
		e := &s.h.Events[i]
		switch {
		case e.Process == s.f.About && e.Lock == s.f.Lock && e.Grant != nil:
			until = e.Grant.Until
		case !e.Fault.Strikes(s.f.About) || e.F.Does() != history.Stops:
		case e.Type == history.Invoke:
			paused = e.Time
		case paused <= until && until <= e.Time:
			return true
		default:
			paused = history.Never
		}
	}
	return paused <= until
}

// data says what happened to the data that the lock protects.
func (s *story) data() string {
	writer := s.process(0, "somebody")
	switch s.f.Cause.Kind {
	case checker.StaleEffect:
		if s.same() {
			return "a write of " + writer + " was accepted although the same client had already used a later grant"
		}
		return "a write of " + writer + " was accepted although " + s.process(1, "another") + " had taken over"
	case checker.LostUpdate:
		return "an update was lost: " + writer + " wrote over a value that it had not read"
	}
	return ""
}

// owner says who changed a lock without owning it.
func (s *story) owner() string {
	by, whose := s.process(0, "somebody"), s.process(1, "another")+"'s lock"
	if s.same() {
		whose = "a lock of another attempt of its own"
	}
	switch {
	case s.f.Cause.Kind == checker.ProlongedByNonOwner:
		return by + " prolonged " + whose + " without owning it"
	case s.f.Cause.Kind == checker.RemovedByNonOwner && s.f.Cause.Detail == checker.ByFlush:
		return by + " flushed all keys, and with them " + whose
	case s.f.Cause.Kind == checker.RemovedByNonOwner && s.f.Cause.Detail == checker.Overwritten:
		return by + " overwrote " + whose + " without owning it"
	case s.f.Cause.Kind == checker.RemovedByNonOwner:
		return by + " removed " + whose + " without owning it"
	}
	return ""
}

func (s *story) token() string {
	first, then := s.process(0, "somebody"), s.process(1, "somebody")
	if s.same() {
		first = "before"
	}
	switch s.f.Cause.Kind {
	case checker.TokenRepeated:
		return fmt.Sprintf("%s was given the same fencing token as %s", then, first)
	case checker.TokenWentBack:
		return fmt.Sprintf("%s was given a lower fencing token than %s", then, first)
	}
	return ""
}

// blocked says why nobody acquired the lock.
func (s *story) blocked() string {
	who := s.concerned()
	if s.f.About == "" {
		who = "its holder"
	}
	switch s.f.Cause.Kind {
	case checker.StuckBehindCrashed:
		return who + " had crashed and left its lock behind"
	case checker.StuckBehindUncapped:
		return who + " kept it, and nothing limits how long it may do so"
	case checker.StuckBehindAbandoned:
		switch s.f.Cause.Detail {
		case checker.SessionLives:
			return "a key that " + who + " left behind stays as long as its session does"
		case checker.KeptProlonged:
			return "a key that " + who + " left behind was prolonged again and again"
		case checker.TurnNotTaken:
			return who + " did not take its turn"
		}
		return "a key that " + who + " left behind stood in the way"
	case checker.StuckBehindItself:
		return who + " asked again for a lock that it still held"
	case checker.StuckInCycle:
		return "each holder waited for a lock that the next one held"
	case checker.StuckWithoutHolder:
		return "nobody held it, and yet nobody got it"
	case checker.NoQuorumLeft:
		if len(s.h.Header.Servers) == 1 {
			return "the only server was gone for good"
		}
		return "too many servers were gone for good"
	}
	return ""
}

// order says which client did not get its turn.
func (s *story) order() string {
	first := s.process(0, "a client")
	switch s.f.Cause.Kind {
	case checker.Overtaken:
		then := s.process(1, "another client")
		return fmt.Sprintf("%s got %s before %s, which had asked earlier and still waited", then, s.lock(), first)
	case checker.LeftFree:
		free := fmt.Sprintf("%s stayed free for too long although %s waited for it", s.lock(), first)
		if s.f.Cause.Detail == checker.AbandonedPlace {
			return free + ": the place of a client that no longer waits was ahead of its own"
		}
		return free
	}
	return ""
}

func (s *story) slow() string {
	switch s.f.Cause.Kind {
	case checker.ReleaseWithoutEffect:
		return "a release of " + s.process(0, "a client") + " had no effect: its key stayed as it was"
	case checker.ReleaseRefused:
		return "the release of " + s.process(0, "a client") + " was refused although enough servers were up"
	case checker.TooSlow:
	default:
		return ""
	}
	op, became := "request", "took too long"
	var call *history.Event
	for _, at := range s.f.Witness {
		if at < 0 || at >= len(s.h.Events) || !slices.Contains(s.f.Holders, s.h.Events[at].Process) {
			continue
		}
		e := &s.h.Events[at]
		if call == nil && e.Type == history.Invoke {
			call, op = e, string(e.F)
		} else if call != nil && e.F == call.F && e.Type == history.Fail && e.Time-call.Time <= s.h.Header.Bound {
			became = "failed"
		}
	}
	return fmt.Sprintf("the %s of %s %s although enough servers were up", op, s.process(0, "a client"), became)
}
