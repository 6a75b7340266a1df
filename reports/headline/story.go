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
		return "the probe (one more client, which starts after the faults)"
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
		return fmt.Sprintf("%s, until the end of the recording", words)
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
		return "no server was part of both grants, so none could refuse"
	case checker.DeposedMaster:
		if s.h.Header.Service.Kind().OneLog {
			return fmt.Sprintf("a leader that had been replaced extended the lease of %s", who)
		}
		return "two masters granted it, independently of each other"
	case checker.ValidityMiscounted:
		return s.miscounted(who)
	case checker.GrantedByNone:
		return fmt.Sprintf("no server had granted the lock to %s", who)
	case checker.GrantedTwice:
		if s.h.Header.Permits > 1 {
			return "a server granted more permits than the lock has"
		}
		return fmt.Sprintf("a server that had granted the lock to %s granted it again", who)
	case checker.NeverRenewed:
		return fmt.Sprintf("nobody renewed the lease of %s, whose work took longer than the lease", who)
	case checker.ExpiredEarly:
		if s.f.Cause.Detail == checker.ClientClock {
			return fmt.Sprintf("another client considered the lease of %s expired too early", who)
		}
		return fmt.Sprintf("the key of %s expired early because a server's clock was wrong", who)
	case checker.LeaseNotRechecked:
		return fmt.Sprintf("%s took the lock although its own lease had ended", who)
	case checker.RemovedByNonOwner, checker.Evicted, checker.RemovedByOperator:
		return s.removed(who)
	case checker.RemovedByOwner:
		if s.f.Cause.Detail == checker.LateTry {
			return fmt.Sprintf("a late request of an earlier attempt removed the key of %s", who)
		}
		return fmt.Sprintf("%s had removed its own key but continued to work", who)
	case checker.LostInCrash:
		return s.forgotten(who)
	case checker.LostInFailover:
		if s.h.Header.Service.Kind().OneLog {
			return fmt.Sprintf("an election lost the key of %s, although a server had confirmed it", who)
		}
		return fmt.Sprintf("a failover lost a change that only the old master had made to the key of %s", who)
	case checker.HolderOutlivedLease:
		return s.outlived(who)
	case checker.SessionExpired:
		return "the session of " + who + " had expired"
	case checker.WaitedForOther:
		return fmt.Sprintf("%s waited for another lock until its lease had ended", who)
	case checker.CauseNotRecorded:
		return "the history does not record the cause"
	}
	return ""
}

// removed says who removed a holder's key.
func (s *story) removed(who string) string {
	switch c := s.f.Cause; {
	case c.Kind == checker.Evicted:
		return fmt.Sprintf("the server evicted the key of %s to free memory", who)
	case c.Kind == checker.RemovedByOperator && c.Detail == checker.ByDelete:
		return fmt.Sprintf("an operator deleted the key of %s", who)
	case c.Kind == checker.RemovedByOperator:
		return fmt.Sprintf("an operator flushed all keys, including that of %s", who)
	case c.Detail == checker.ByFlush:
		return fmt.Sprintf("all keys were flushed, including that of %s", who)
	case c.Detail == checker.Overwritten:
		return fmt.Sprintf("the key of %s was overwritten by a request that did not own it", who)
	}
	return fmt.Sprintf("the key of %s was removed by a request that did not own it", who)
}

// miscounted says why a holder relied on its lease after its key had expired.
func (s *story) miscounted(who string) string {
	open := func(e history.Event) bool {
		return e.Process == s.f.About && e.Lock == s.f.Lock && e.Grant != nil && e.Grant.Open
	}
	switch {
	case s.f.Cause.Detail == checker.GoneKey:
		return fmt.Sprintf("%s considered its lease extended although its key was gone", who)
	case slices.ContainsFunc(s.h.Events[:min(s.f.At+1, len(s.h.Events))], open):
		return fmt.Sprintf("%s was not told in time that its lock was lost", who)
	}
	return fmt.Sprintf("%s relied on its lease for longer than its key existed", who)
}

// forgotten says how a server lost a key.
func (s *story) forgotten(who string) string {
	switch s.f.Cause.Detail {
	case checker.NoPersistence:
		return fmt.Sprintf("a server that keeps nothing on disk went down and forgot the key of %s", who)
	case checker.DiskLost:
		return fmt.Sprintf("a server came back with an empty disk, without the key of %s", who)
	}
	return fmt.Sprintf("a server went down before the key of %s was safe on its disk", who)
}

func (s *story) outlived(who string) string {
	switch {
	case s.f.Cause.Detail == checker.ByLatePacket:
		return fmt.Sprintf("a message that was held up made %s outlast its lease", who)
	case s.f.Cause.Detail == checker.BySlowWork:
		return fmt.Sprintf("%s worked for longer than its lease", who)
	case s.pausedPast():
		return fmt.Sprintf("%s had paused past its lease", who)
	}
	return fmt.Sprintf("a pause made %s outlast its lease", who)
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
			return fmt.Sprintf("the resource accepted a write of %s, "+
				"although the same client had already used a later grant", writer)
		}
		return fmt.Sprintf("the resource accepted a write of %s, although %s had taken over", writer,
			s.process(1, "another"))
	case checker.LostUpdate:
		return fmt.Sprintf("an update was lost: %s overwrote a value that it had not read", writer)
	}
	return ""
}

// owner says who changed a lock without owning it.
func (s *story) owner() string {
	by, whose := s.process(0, "somebody"), s.process(1, "another")+"'s lock"
	if s.same() {
		whose = "the lock of another attempt by the same client"
	}
	switch {
	case s.f.Cause.Kind == checker.ProlongedByNonOwner:
		return fmt.Sprintf("%s extended %s without owning it", by, whose)
	case s.f.Cause.Kind == checker.RemovedByNonOwner && s.f.Cause.Detail == checker.ByFlush:
		return fmt.Sprintf("%s flushed all keys, including %s", by, whose)
	case s.f.Cause.Kind == checker.RemovedByNonOwner && s.f.Cause.Detail == checker.Overwritten:
		return fmt.Sprintf("%s overwrote %s without owning it", by, whose)
	case s.f.Cause.Kind == checker.RemovedByNonOwner:
		return fmt.Sprintf("%s removed %s without owning it", by, whose)
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
		return fmt.Sprintf("%s had crashed and left its lock behind", who)
	case checker.StuckBehindUncapped:
		return fmt.Sprintf("%s kept the lock, and nothing limits how long it may do so", who)
	case checker.StuckBehindAbandoned:
		switch s.f.Cause.Detail {
		case checker.SessionLives:
			return fmt.Sprintf("a key that %s left behind stays until its session ends", who)
		case checker.KeptProlonged:
			return fmt.Sprintf("a key that %s left behind was extended", who)
		case checker.TurnNotTaken:
			return fmt.Sprintf("%s did not take its turn", who)
		}
		return fmt.Sprintf("a key that %s left behind blocked the others", who)
	case checker.StuckBehindItself:
		return fmt.Sprintf("%s asked again for a lock that it still held", who)
	case checker.StuckInCycle:
		return "each holder waited for a lock that the next one held"
	case checker.StuckWithoutHolder:
		return "nobody held the lock, and yet nobody got it"
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
		return fmt.Sprintf("%s got %s before %s, which had asked earlier and was still waiting", then, s.lock(), first)
	case checker.LeftFree:
		free := fmt.Sprintf("%s stayed free for too long although %s waited for it", s.lock(), first)
		if s.f.Cause.Detail == checker.AbandonedPlace {
			return fmt.Sprintf("%s, behind a client that had stopped waiting", free)
		}
		return free
	}
	return ""
}

func (s *story) slow() string {
	switch s.f.Cause.Kind {
	case checker.ReleaseWithoutEffect:
		return fmt.Sprintf("a release by %s had no effect: its key did not change", s.process(0, "a client"))
	case checker.ReleaseRefused:
		return fmt.Sprintf("the release of %s was refused, although enough servers were up", s.process(0, "a client"))
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
	return fmt.Sprintf("the %s of %s %s, although enough servers were up", op, s.process(0, "a client"), became)
}
