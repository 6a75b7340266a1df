package checker

import (
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// A semaphore is a lock with several permits. It obeys the laws of a mutex, except that it can have more holders: there
// must never be more validity windows (lease-exclusion) or critical sections (mutual-exclusion) at once than permits. A
// breach of a semaphore with n permits is a crowd: n+1 spans of different grants that all contain a common instant.

// fewAsked is the reason why exclusion is unchecked. It means that no semaphore in the history received more requests
// than it has permits.
const fewAsked = "No lock received more requests than it has permits."

// neverTogether says that there were never too many sections or windows at once. It is part of the explanation for a
// law that holds.
func (t *judge) neverTogether() string {
	if n := t.Permits(); n > 1 {
		return fmt.Sprintf("never more than %d of the same lock at once", n)
	}
	return "no two of the same lock overlapped"
}

// crowdOf returns the clash that consists of the spans at the given indexes, which must be in ascending order.
func crowdOf(law Law, lock int32, spans []trace.Span, group []int) clash {
	last := len(group) - 1
	c := clash{law: law, lock: lock, first: spans[group[0]], then: spans[group[last]]}
	for _, i := range group[1:last] {
		c.rest = append(c.rest, spans[i])
	}
	return c
}

// members returns the spans of all grants in a clash, in the order in which the history records them.
func (c *clash) members() []trace.Span {
	all := make([]trace.Span, 0, 2+len(c.rest))
	return append(append(append(all, c.first), c.rest...), c.then)
}

// decisivePair finds, among the grants in a clash of leases, the two that show its cause. It returns them with the
// cause and the records that show it. It chooses the first pair in which one key was already gone when the other was
// set. It is not enough that the keys of two holders existed at once: with several permits, this is normal. If there is
// no such pair, the cause is that the servers granted more permits than there are, or that the cause was not recorded.
func (t *judge) decisivePair(c *clash) (pair clash, cause Cause, records []record) {
	pair = clash{law: c.law, lock: c.lock, first: c.first, then: c.then}
	cause, records = t.decideOne(&pair)
	members := c.members()
	for j, then := range members {
		for _, first := range members[:j] {
			if cause.Kind != GrantedTwice && cause.Kind != CauseNotRecorded {
				return pair, cause, records
			}
			other := clash{law: c.law, lock: c.lock, first: first, then: then}
			why, shown := t.decideOne(&other)
			if why.Kind != CauseNotRecorded && (why.Kind != GrantedTwice || cause.Kind == CauseNotRecorded) {
				pair, cause, records = other, why, shown
			}
		}
	}
	return pair, cause, records
}

// decideOne is like decide, but for only two of the grants in a clash. With several permits, a key's disappearance
// explains nothing if the other key had already been set: both keys existed when the permit was granted, even if the
// holder received the grant later. In this case, decideOne returns GrantedTwice.
func (t *judge) decideOne(c *clash) (Cause, []record) {
	cause, records := t.decide(c)
	if n := len(records); n > 0 && t.Permits() > 1 {
		r := &records[n-1]
		if other := r.set[1-r.victim]; r.gone > max(r.set[0], r.set[1]) && t.coexists(r) {
			r.gone, r.at, r.cause = -1, other, Cause{Kind: GrantedTwice}
			return r.cause, records
		}
	}
	return cause, records
}

// byTaker reports whether a key that disappeared at position gone was removed because a client, rather than the server,
// decided that it had expired. The key must be a member of a set, since servers never remove members on their own. No
// fault may have changed the server's clock. The client's clock must be to blame: either the record says so, or a fault
// had changed a client's clock.
func (t *judge) byTaker(gone int) bool {
	e := &t.History.Events[gone]
	if e.Member == "" || t.clockStruck(gone) {
		return false
	}
	return e.Checked == history.CheckedEarlyScore || t.LastFault(gone, func(f *trace.Fault) bool {
		return f.Does.IsClock() && slices.ContainsFunc(t.History.Header.Clients, f.Strikes)
	}) != nil
}

// clockStruck reports whether a fault had changed the clock of the server that made the record at the given position.
func (t *judge) clockStruck(at int) bool {
	server := t.History.Events[at].Process
	return t.LastFault(at, func(f *trace.Fault) bool { return f.Does.IsClock() && f.Strikes(server) }) != nil
}

// witnessOfCrowd returns the positions at which the grants in a clash were made, and the positions at which their spans
// are recorded.
func (t *judge) witnessOfCrowd(c *clash) (w []int) {
	for _, s := range c.members() {
		w = append(w, s.At, t.Grants[s.Grant].OK)
	}
	return w
}

// tooMany says how many holders there were at once, and how many permits there are. It returns "" if the lock has one
// permit.
func (t *judge) tooMany(c *clash) string {
	if len(c.rest) == 0 {
		return ""
	}
	return sentence(" %d clients were inside, but there are only %d permits.", len(c.rest)+2, t.Permits())
}

// leasesAtOnce returns a clause that says how many leases were valid at once. It is used for violations of laws about
// leases.
func (t *judge) leasesAtOnce() string {
	if n := t.Permits(); n > 1 {
		return sentence("%d leases were valid at once, but there are only %d permits", n+1, n)
	}
	return "two leases were valid at once"
}

// crowdedLeases names the holders of a semaphore's overlapping leases. It returns "" if the lock has one permit.
func (t *judge) crowdedLeases(c *clash) string {
	if len(c.rest) == 0 {
		return ""
	}
	return sentence(" The holders were %s.", list(t.holdersOf(c)))
}

// advice returns recommendations for preventing the cause of the violation.
func (s *situation) advice() []advice {
	list := remedies[s.cause.Kind]
	if s.watched && (s.cause.Kind == RemovedByNonOwner || s.cause.Kind == ProlongedByNonOwner) {
		list = slices.Concat(inTransaction, guards)
	}
	if s.cause.Kind == StuckWithoutHolder && s.Order.IsPromised() {
		return remedies[LeftFree]
	}
	if !isSemaphore(s) {
		return list
	}
	purged := s.cause == Cause{Kind: RemovedByNonOwner} && s.asking && !s.Applies(history.RelativeExpiry)
	if purged || s.cause == (Cause{ExpiredEarly, ClientClock}) && !s.Service.Kind().ClientsExpire {
		return semaphores[s.cause.Kind]
	}
	guard := func(a advice) bool { return a.unless == history.Fencing || a.given == history.Fencing }
	return append(slices.Clone(semaphores[s.cause.Kind]), slices.DeleteFunc(slices.Clone(list), guard)...)
}

// semaphores contains the advice that applies only to locks with several permits. It does not recommend fencing tokens:
// they cannot guard a semaphore's data, since a later holder does not supersede an earlier one.
var semaphores = map[CauseKind][]advice{
	GrantedTwice: {
		// the server counts all permits with the same owner value as one
		{text: ownValue, when: all(not(isTaken), sharesValues)},
		{text: "Remove expired permits, " +
			"count the others and take one, all in a single step (such as a script) that uses the server's clock.",
			when: all(not(isTaken), not(sharesValues))},
	},
	RemovedByNonOwner:   {{text: byServersClock, unless: history.RelativeExpiry, when: all(ofDetail(""), isAsking)}},
	ExpiredEarly:        {earlyByTaker},
	HolderOutlivedLease: {limitedResource},
	SessionExpired:      {limitedResource},
}

// sharesValues reports whether several attempts are known to use the same owner value.
func sharesValues(s *situation) bool { return s.StatesMeasures() && !s.MayApply(history.OwnValue) }

var limitedResource = advice{text: "Let the protected resource itself limit how many clients it serves at once: " +
	"a permit with a lease does not stop a holder that does not know that its lease has ended."}

const byServersClock = "Use the server's clock, which a script can read, to decide whether a permit has expired, " +
	"and not the clock of the client that asks."

// earlyByTaker is the advice for locks whose keys are members of a set. It applies if a client removed a member too
// early because its clock was wrong.
var earlyByTaker = advice{text: byServersClock, unless: history.RelativeExpiry, only: anyRedis,
	when: ofDetail(ClientClock)}

// isSemaphore is the condition for advice that applies only to locks with several permits.
func isSemaphore(s *situation) bool { return s.Permits > 1 }
