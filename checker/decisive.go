package checker

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// clash is a pair of grants of one lock that contradict each other: spans i < j by index.
type clash struct {
	law   Law
	lock  int32
	first span
	then  span
}

// rounding is how far a key may expire before its nominal deadline without its server's clock being at fault: Redis
// counts in whole milliseconds, once when it sets the deadline and once when it looks.
const rounding = history.Time(2e6)

// record is what one server (or replicated shard) tells about a clash: the key that was set first there is the
// victim, and how it went before the other was granted is the record.
type record struct {
	set       [2]int // positions of the key-sets of the clash's first and then; -1 if there is none
	gone      [2]int // latest key-gone of each after its key-set
	overwrote [2]int // first key-set of another attempt on the same server while the key was there
	due       [2]history.Time
	victim    int // 0 or 1
	at        int // position of the record; -1 if this server shows none
	cause     Cause
}

// decide finds the cause of a clash of leases. The records of all servers that both counted come back in order of
// position; the last is the decisive one. The list is empty if the cause lies elsewhere.
func (t *trace) decide(c *clash) (Cause, []record) {
	counted := [2][]history.Process{t.h.Events[c.first.at].Grant.Counted, t.h.Events[c.then.at].Grant.Counted}
	for i, s := range []span{c.first, c.then} {
		if len(counted[i]) == 0 && s.at == t.grants[s.grant].ok { // an extension may well have counted nobody
			return Cause{Kind: Untold}, nil
		}
	}
	var units []history.Process
	for _, s := range counted[0] {
		u := t.unit(s)
		if shares := slices.ContainsFunc(counted[1], func(o history.Process) bool { return t.unit(o) == u }); shares && !slices.Contains(units, u) {
			units = append(units, u)
		}
	}
	if len(units) == 0 {
		return Cause{Kind: CountedWithoutQuorum}, nil
	}
	var told []record
	for _, u := range units {
		r := t.recordOf(c, u)
		if t.judge(c, &r); r.at >= 0 {
			told = append(told, r)
		}
	}
	if len(told) == 0 {
		return Cause{Kind: Untold}, nil
	}
	slices.SortStableFunc(told, func(a, b record) int { return a.at - b.at })
	return told[len(told)-1].cause, told
}

// unit names the servers that hold one copy of a lock between them: a shard by its first member, or a server alone.
func (t *trace) unit(p history.Process) history.Process {
	for _, shard := range t.h.Header.Shards {
		if slices.Contains(shard, p) {
			return shard[0]
		}
	}
	return p
}

// recordOf gathers what unit u wrote down about the two keys until the later of the two grants.
func (t *trace) recordOf(c *clash, u history.Process) record {
	r := record{set: [2]int{-1, -1}, gone: [2]int{-1, -1}, overwrote: [2]int{-1, -1}, at: -1}
	attempts := [2]history.Attempt{t.grants[c.first.grant].attempt, t.grants[c.then.grant].attempt}
	for i := range t.h.Events[:max(c.first.at, c.then.at)] {
		e := &t.h.Events[i]
		if e.F != history.KeySet && e.F != history.KeyProlonged && e.F != history.KeyGone ||
			e.Lock != t.locks[c.lock].name || t.unit(e.Process) != u {
			continue
		}
		for k, owner := range attempts {
			switch {
			case e.Of == owner && e.F == history.KeyGone:
				if r.set[k] >= 0 {
					r.gone[k] = i
				}
			case e.Of == owner:
				r.due[k] = e.Until
				if e.F == history.KeySet && r.set[k] < 0 {
					r.set[k] = i
				} else if e.F == history.KeySet && r.set[1-k] < 0 {
					r.gone[k], r.overwrote[k] = -1, -1 // it came back, as after a replay
				}
			case e.F == history.KeySet && r.set[k] >= 0 && r.overwrote[k] < 0 && e.Process == t.h.Events[r.set[k]].Process:
				r.overwrote[k] = i
			}
		}
	}
	return r
}

// judge names the victim and the cause that the record shows, if it shows any.
func (t *trace) judge(c *clash, r *record) {
	if r.set[0] < 0 || r.set[1] < 0 {
		return
	}
	if r.set[1] < r.set[0] {
		r.victim = 1
	}
	v := r.victim
	apart := t.h.Events[r.set[0]].Process != t.h.Events[r.set[1]].Process
	switch {
	case apart && (r.gone[v] < 0 || t.deposed(r.set[0]) || t.deposed(r.set[1])):
		r.at, r.cause = max(r.set[0], r.set[1]), Cause{Kind: DeposedMaster}
	case r.gone[v] >= 0:
		r.at, r.cause = r.gone[v], t.causeOfLoss(c, r)
	case r.overwrote[v] >= 0:
		r.at, r.cause = r.overwrote[v], Cause{Kind: RemovedByNonOwner}
	}
}

// deposed reports whether the server of the event at position i had been replaced as its shard's master by then.
func (t *trace) deposed(i int) bool {
	p := t.h.Events[i].Process
	f := t.lastFault(i, func(f *fault) bool { return f.kind == failOverFault && f.strikes(p) })
	return f != nil && f.on[0] == p // senders first: the one that was master
}

// causeOfLoss tells from the victim's key-gone why it went.
func (t *trace) causeOfLoss(c *clash, r *record) Cause {
	gone := &t.h.Events[r.gone[r.victim]]
	switch gone.Why {
	case history.Expired:
		lease := t.h.Events[r.victimSpan(c).at].Grant
		switch due := r.due[r.victim]; {
		case lease.Until <= lease.Granted:
			return Cause{Kind: LeaseNotRechecked}
		case gone.Time < due-rounding:
			return Cause{ExpiredEarly, ServerClock}
		}
		return Cause{Kind: ValidityMiscounted}
	case history.Deleted:
		if gone.By == gone.Of {
			return Cause{Kind: RemovedByOwner}
		}
		return Cause{Kind: RemovedByNonOwner}
	case history.Flushed:
		return Cause{RemovedByNonOwner, ByFlush}
	case history.LostUnsynced:
		return Cause{LostInCrash, Unsynced}
	case history.LostUnpersisted:
		return Cause{LostInCrash, NoPersistence}
	case history.LostInFailover:
		return Cause{Kind: LostInFailover}
	}
	return Cause{Kind: Untold}
}

func (r *record) victimSpan(c *clash) *span {
	if r.victim == 1 {
		return &c.then
	}
	return &c.first
}

// overstayed tells why a holder was still inside after its lease, and by which fault if by one.
func (t *trace) overstayed(n int32, until int) (detail string, by *fault) {
	g := &t.grants[n]
	granted := t.time(g.ok)
	if g.lease != nil {
		granted = g.lease.Granted
	}
	touches := func(link bool) func(*fault) bool {
		return func(f *fault) bool {
			return (f.kind == pauseFault && !link || f.isLink() && link) && f.strikes(g.process) && t.overlaps(f, granted, until)
		}
	}
	if f := t.lastFault(until, touches(false)); f != nil {
		return ByPause, f
	}
	if f := t.lastFault(until, touches(true)); f != nil {
		return ByLatePacket, f
	}
	return BySlowWork, nil
}

// witness gathers the events that show a clash.
func (t *trace) witness(c *clash, told []record) []int {
	w := []int{c.first.at, c.then.at, t.grants[c.first.grant].ok, t.grants[c.then.grant].ok}
	for _, r := range told {
		w = append(w, r.set[0], r.set[1], r.at)
	}
	return w
}
