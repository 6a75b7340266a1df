package checker

import (
	"cmp"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// Fairness is the law for locks that promise an order, such as a queue of clients.
const Fairness Law = "fairness"

func init() {
	register(lawRow{law: Fairness, place: 8, gravity: 8, kept: anyLock,
		says:   "clients get a fair lock in the order in which they ask, and abandoned places block nobody",
		broken: "a client is overtaken, or waits for a lock that nobody holds",
		judge:  (*judge).fairness,
		uncertain: func(*trace.Trace, bool, int) string {
			return "The clocks were not exact, so the order in which the clients asked is not certain."
		}})
}

// fairness checks that clients get a lock in the order in which they ask for it. The header's Order gives the promised
// order, the slack, and the turn. The turn is the longest time that a waiting client may be kept from a free lock.
//
// A client is overtaken if another client asks later, by more than the slack, and is granted the lock while the first
// one is still waiting. Each acquire has its own place in the queue: a client that gives up loses its place. Overtaking
// is excused if a fault may have affected the overtaken client while it was waiting, or within a turn before it asked.
// A fault that affects only other clients and the resource is no excuse. An acquire is not overtaken if it gave up
// within the slack after the other client's grant, or if its own grant was decided earlier.
//
// A lock is left free if a client waits for longer than a turn while nobody holds the lock or is granted it, and no
// fault is active. As in deadlock-freedom, a client that gives up and asks again within a TTL is still waiting, and a
// permanent fault counts as the normal state. A client that a permanent fault may affect does not count as waiting,
// since it may be cut off permanently.
//
// The law needs an order and one permit. It is exercised when a client is granted the lock while another client, which
// asked later, is waiting. Locks with shared holds are not judged.
func (t *judge) fairness(f *Finding) {
	order := t.History.Header.Order
	switch {
	case !order.IsPromised():
		f.unchecked("The lock does not promise to serve clients in order.")
		return
	case t.Permits() > 1:
		f.unchecked("The order of clients that share a semaphore is not checked.")
		return
	}
	var breaches []unfair
	kept := 0
	for n := range t.Locks {
		if t.hasShared(&t.Locks[n]) {
			continue
		}
		found, inOrder := t.Overtakings(n)
		kept += inOrder
		for _, o := range found[:min(mostBreaches, len(found))] {
			at := t.Grants[o.Grant].OK
			breaches = append(breaches, unfair{overtaking: o, at: at, when: t.Time(at)})
		}
	}
	for _, idle := range t.LeftFree(order.Turn, mostBreaches) {
		if !t.hasShared(&t.Locks[t.Asks[idle.Ask].Lock]) {
			by := idle.Since + order.Turn
			breaches = append(breaches, unfair{idle: idle, free: true, at: t.lastBy(by), when: by})
		}
	}
	slices.SortStableFunc(breaches, func(a, b unfair) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.when, b.when))
	})
	for i := range breaches {
		if b := &breaches[i]; b.free {
			t.leftFree(f, b)
		} else {
			t.overtaken(f, b)
		}
	}
	switch {
	case len(breaches) > 0:
	case kept == 0:
		f.unchecked("Whenever a client was granted the lock, no client that had asked later was waiting.")
	default:
		f.holds(sentence("%s while others waited, each to the client that had asked first.", count(kept, "grant")))
	}
}

// unfair is a breach of fairness: a grant that overtook a client, or a period in which a lock was left free.
type unfair struct {
	at         int          // the position at which the law was broken
	when       history.Time // the time at which it was broken
	free       bool
	overtaking trace.Overtaking
	idle       trace.Idle
}

// hasShared reports whether any client has asked for a shared hold of a lock.
func (t *judge) hasShared(l *trace.LockTrace) bool {
	return slices.ContainsFunc(l.Asks, func(n int32) bool {
		a := &t.Asks[n]
		return t.History.Events[a.Call].Shared || a.Grant >= 0 && t.Grants[a.Grant].Shared
	})
}

// overtaken reports a grant that overtook another client.
func (t *judge) overtaken(f *Finding, b *unfair) {
	g, a := &t.Grants[b.overtaking.Grant], &t.Asks[b.overtaking.Waiting]
	asked := t.Asks[g.Ask].Call
	found := t.breach(f, Cause{Kind: Overtaken}, g.OK, t.Locks[g.Lock].Name, a.Process, g.Process)
	if found == nil {
		return
	}
	story := sentence("%s asked for %s at %v and was granted it at %v, "+
		"although %s had asked at %v and was still waiting. "+
		"No fault affected %s, and the lock promises to serve clients in order if they ask more than %v apart.",
		capital(string(g.Process)), quoted(t.Locks[g.Lock].Name), t.Time(asked), t.Time(g.OK), a.Process,
		t.Time(a.Call), a.Process, t.History.Header.Order.Slack)
	found.violated(t, Cause{Kind: Overtaken}, story, []int{a.Call, asked, g.OK})
}

// leftFree reports a lock that was free for too long.
func (t *judge) leftFree(f *Finding, b *unfair) {
	a, turn := &t.Asks[b.idle.Ask], t.History.Header.Order.Turn
	name, cause, witness, why := t.Locks[a.Lock].Name, Cause{Kind: LeftFree}, []int{a.Call}, ""
	var about history.Process
	x := t.abandonedPlace(a, b.at, b.when)
	if x != nil {
		cause.Detail, about, witness = AbandonedPlace, x.Process, append(witness, x.Call, t.Waited(x))
		did := "gave up"
		if x.Outcome == 0 {
			did = "crashed"
		}
		why = sentence(" %s had asked at %v and %s at %v. Since then, nobody who had asked later than %s got the lock.",
			capital(string(x.Process)), t.Time(x.Call), did, t.Time(t.Waited(x)), x.Process)
	}
	var kept *abandonedKey
	if now := (moment{b.at + 1, b.when}); x == nil {
		kept = t.keptByItsHolder(a.Lock, now)
		if kept != nil {
			about, witness = kept.client, append(witness, kept.set, kept.prolonged, kept.left)
			why = " " + t.abandonedStory(a.Lock, kept, now)
		}
	}
	found := t.breach(f, cause, b.at, name, a.Process)
	if found == nil {
		return
	}
	t.facts.leftSection = kept != nil
	t.facts.givenUp = x != nil && x.Outcome != 0
	t.facts.waiting.ungranted = t.grantedBy(b.at) == 0
	calm := t.calm(&trace.Stuck{At: b.at + 1, Since: b.idle.Since, Until: b.idle.Until})
	found.violated(t, cause, sentence("%s asked for %s at %v. "+
		"From %v on, nobody held the lock and %s, but nobody was granted the lock for %v. The limit is %v.%s",
		capital(string(a.Process)), quoted(name), t.Time(a.Call),
		b.idle.Since, calm, b.idle.Until-b.idle.Since, turn, why), witness)
	found.About = about
}

// keptByItsHolder returns the key of a lock if the holder has left the section but is still extending the key, or nil
// otherwise.
func (t *judge) keptByItsHolder(lock int32, now moment) *abandonedKey {
	x := t.abandoned(lock, t.standing(lock, now.at), now)
	if x == nil || x.detail != KeptProlonged || x.left == trace.Open {
		return nil
	}
	if _, granted := t.Owner[trace.Title{Lock: t.Locks[lock].Name, Attempt: x.of}]; !granted {
		return nil
	}
	return x
}

// abandonedPlace looks for a client that has left its place in the queue ahead of a waiter, so that the place still
// blocks the queue. It returns the first such client's acquire, or nil. Three conditions must be met:
//   - The client called this acquire before the waiter's latest acquire, and gave up or crashed by position at.
//   - Since then, nobody who asked later has been granted the lock.
//   - If waiting clients must renew their places, a place expires Order.Turn after it was abandoned. It must not have
//     expired by the given time.
func (t *judge) abandonedPlace(waiter *trace.Ask, at int, when history.Time) *trace.Ask {
	l, h := &t.Locks[waiter.Lock], &t.History.Header
	current := waiter
	for _, n := range l.Asks {
		if a := &t.Asks[n]; a.Process == waiter.Process && a.Call <= at {
			current = a
		}
	}
	for _, n := range l.Asks {
		x := &t.Asks[n]
		gone := t.Waited(x)
		if x.Call >= current.Call || x.Grant >= 0 || gone > at ||
			h.Applies(history.RenewedPlaces) && t.Time(gone)+h.Order.Turn < when {
			continue
		}
		passed := slices.ContainsFunc(l.Grants, func(n int32) bool {
			g := &t.Grants[n]
			return gone < g.OK && g.OK <= at && x.Call < t.Asks[g.Ask].Call
		})
		if !passed {
			return x
		}
	}
	return nil
}
