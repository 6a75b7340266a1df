package checker

import (
	"cmp"
	"slices"
	"sort"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// In this file, a client is late if it was still active when it should have stopped. A fault is blamed only if the
// client would have been on time without it. The fault must have begun before the client was late, must have delayed
// the client, and must have lasted long enough. A history shows what the client did next, but not what delayed it. A
// pause that ended while the client was sleeping anyway did not delay it.

// lateness describes a client that was still active after its deadline, at position left. met is the position at which
// another client entered the critical section.
type lateness struct {
	grant     int32
	met, left int
	deadline  history.Time // time by which it should have stopped
	ended     history.Time // end of its lease
}

// blame says why a client was late.
type blame struct {
	cause  Cause
	faults []*trace.Fault
	held   pending // the request that was delayed: read, write, extend or release
	ask    int32   // index in Asks of the acquire of another lock for which the client waited
	inTime bool    // the pauses ended before the lease ended
	before bool    // the faults delayed the grant, and were over by then
	acted  bool    // held is the request that took effect too late
}

// blameFor finds out why a client was late, that is, active for too long. It returns the first of these reasons that
// applies:
//   - The client was paused.
//   - It waited for another lock.
//   - One of its requests was delayed.
//   - Its session ended, which renewals cannot prevent.
//   - It never renewed its lease.
//   - The grant was delayed, so less than the TTL was left when it arrived.
//   - The client's work took longer than what was left of the lease.
func (t *judge) blameFor(l lateness) blame {
	calls := t.calls(l)
	before, after := t.pauses(l)
	if faults := enoughOf(t.excess(l.upTo(calls))-spent(after), before); faults != nil {
		inTime := !slices.ContainsFunc(faults, func(f *trace.Fault) bool { return t.Time(f.Over()) >= l.ended })
		granted := t.Grants[l.grant].GrantedAt(&t.Trace)
		late := slices.ContainsFunc(faults, func(f *trace.Fault) bool { return t.Time(f.Over()) > granted })
		return blame{cause: Cause{HolderOutlivedLease, ByPause}, faults: faults, inTime: inTime, before: !late}
	}
	ended := t.cutShort(l)
	if ended != nil {
		calls = slices.DeleteFunc(calls, func(c pending) bool { return c.f == history.Extend })
	}
	if f := t.missedBeat(l, calls); f != nil {
		return blame{cause: Cause{HolderOutlivedLease, ByPause}, faults: []*trace.Fault{f}}
	}
	held, acted, faults := t.heldUp(l, calls)
	if ask := t.otherWait(l); ask >= 0 {
		if faults == nil {
			faults = t.slowedAsk(ask, l)
		}
		return blame{cause: Cause{Kind: WaitedForOther}, faults: faults, ask: ask}
	}
	if faults != nil {
		return blame{cause: Cause{HolderOutlivedLease, ByLatePacket}, faults: faults, held: held, acted: acted}
	}
	if ended != nil {
		return blame{cause: Cause{Kind: SessionExpired}, faults: ended}
	}
	if t.neverRenewed(l) {
		return blame{cause: Cause{Kind: NeverRenewed}}
	}
	if faults := t.delayedGrant(l); faults != nil {
		return blame{cause: Cause{HolderOutlivedLease, ByLatePacket}, faults: faults, before: true}
	}
	return blame{cause: Cause{HolderOutlivedLease, BySlowWork}}
}

// stayedFor finds out why a client was still inside after its lease had ended. Usually, this is the reason that
// blameFor returns. If the lease had already ended when the lock was granted, what kept the client inside does not
// matter, because it should not have entered at all. If, in addition, the client learned only later that the lock was
// lost, its library miscounted the lease.
func (t *judge) stayedFor(l lateness) blame {
	g := &t.Grants[l.grant]
	if g.Lease == nil || l.ended > g.Lease.Granted {
		return t.blameFor(l)
	}
	cause := Cause{Kind: LeaseNotRechecked}
	if g.Lease.Open && g.Lease.Until > g.Lease.Granted {
		cause.Kind = ValidityMiscounted
	}
	return blame{cause: cause, faults: t.madeEmpty(l.grant)}
}

// madeEmpty finds the pause or link fault that made a grant arrive only after its lease had ended. The fault must have
// been active when the key expired or, if the key did not expire, when the lock was granted.
func (t *judge) madeEmpty(n int32) []*trace.Fault {
	g := &t.Grants[n]
	gone := g.OK
	for _, at := range t.Keys {
		e := &t.History.Events[at]
		if int(at) < g.OK && e.F == history.KeyGone && e.Why == history.Expired && e.Of == g.Attempt &&
			e.Lock == t.Locks[g.Lock].Name {
			gone = int(at)
		}
	}
	if f := t.unrenewed(n, gone); f != nil {
		return []*trace.Fault{f}
	}
	return nil
}

// upTo returns a copy of l that ends when the client sent its late request, and not when that request took effect. If
// the late action was not a request, upTo returns l unchanged.
func (l lateness) upTo(calls []pending) lateness {
	for _, c := range calls {
		if c.ret == l.left && c.ret != trace.Open {
			l.left = c.call
		}
	}
	return l
}

// excess returns how late the client was.
func (t *judge) excess(l lateness) history.Time { return t.Time(l.left) - l.deadline }

// leaseBegan returns the time at which a late client's lease began. This is when the attempt that got the lock sent its
// first request. If the lease was extended later, or if its times are not recorded, leaseBegan returns the time at
// which the lock was granted instead.
func (t *judge) leaseBegan(l lateness) history.Time {
	g := &t.Grants[l.grant]
	if g.Lease != nil && l.ended == g.Lease.Until {
		return min(g.Lease.Since, g.GrantedAt(&t.Trace))
	}
	return g.GrantedAt(&t.Trace)
}

// pauses lists the pauses that delayed a late client between the beginning of its lease and the position l.left. It
// omits pauses after which the client presumably had nothing to do (see wokeLate). before contains the pauses that
// began before the other client entered, and after contains the rest. Without those in before, the client would have
// left its section before those in after began.
func (t *judge) pauses(l lateness) (before, after []delay) {
	began := t.leaseBegan(l)
	for _, p := range t.stretches(t.Grants[l.grant].Process) {
		if !t.wokeLate(l.grant, p.from, p.over) {
			continue
		}
		for _, f := range p.faults {
			d := delay{fault: f, from: max(t.Time(f.Start), began), to: t.Time(min(f.Over(), l.left))}
			switch {
			case d.length() == 0:
			case f.Start < l.met:
				before = append(before, d)
			default:
				after = append(after, d)
			}
		}
	}
	return before, after
}

// stretch is a period in which a process was paused. It consists of one pause or of several back-to-back pauses.
type stretch struct {
	from, over int
	faults     []*trace.Fault
}

func (t *judge) stretches(p history.Process) (all []stretch) {
	for f := range t.suspects() {
		if f.Does != history.Stops || !f.Strikes(p) {
			continue
		}
		if n := len(all) - 1; n >= 0 && t.Time(f.Start) <= t.Time(all[n].over) {
			all[n].over, all[n].faults = max(all[n].over, f.Over()), append(all[n].faults, f)
			continue
		}
		all = append(all, stretch{f.Start, f.Over(), []*trace.Fault{f}})
	}
	return all
}

// wokeLate reports whether a holder presumably had work to do when a series of pauses ended. This is assumed if the
// series never ended, if the holder acted soon afterward (within a tenth of the length of the series), or if its
// section lasted longer than the declared hold time.
func (t *judge) wokeLate(n int32, from, over int) bool {
	g := &t.Grants[n]
	if over == trace.Open || t.Time(g.End)-t.Time(g.OK) > t.History.Header.Hold {
		return true
	}
	soon := t.Time(over) + (t.Time(over)-t.Time(from))/10
	for i := over; i < len(t.History.Events) && t.History.Events[i].Time <= soon; i++ {
		if t.History.Events[i].Process == g.Process {
			return true
		}
	}
	return false
}

// missedBeat finds the pause that was active when the lease ended and so kept the holder from renewing it. missedBeat
// returns nil if the holder never asked for an extension and the lock service's clients do not renew in the background.
func (t *judge) missedBeat(l lateness, calls []pending) *trace.Fault {
	if !slices.ContainsFunc(calls, func(c pending) bool { return c.f == history.Extend }) {
		return nil
	}
	return t.lastSuspect(l.met, func(f *trace.Fault) bool {
		return f.Does == history.Stops && f.Strikes(t.Grants[l.grant].Process) && t.Time(f.Start) < l.ended &&
			t.Time(f.Over()) >= l.ended
	})
}

// pending is a request that a holder makes under a grant: a read, a write, an extension or the release.
type pending struct {
	f         history.F
	call, ret int // positions of its call and return; ret is Open if it never returned
	ok        bool
	value     string // the value, if the request is a write
	// true if the request was not recorded but is assumed: a client that renews in the background always has a renewal
	// in progress
	implied bool
}

// isData reports whether the request reads or writes the protected data.
func (c *pending) isData() bool { return c.f == history.Read || c.f == history.Write }

// calls lists a holder's requests to the resource and the lock servers. If the lock service's clients renew in the
// background, as with etcd and ZooKeeper, these renewals are not recorded. The list contains at most one of them: the
// one that was still in progress when the lease ended. It omits even this one if the request that took effect late is
// the holder's release.
func (t *judge) calls(l lateness) []pending {
	g := &t.Grants[l.grant]
	var list []pending
	under := map[history.F]int{}
	for i := g.OK; i < len(t.History.Events); i++ {
		e := &t.History.Events[i]
		if e.Process != g.Process || !t.isOf(e, l.grant) {
			continue
		}
		switch e.F {
		case history.Read, history.Write, history.Extend, history.Release:
		default:
			continue
		}
		if at, is := under[e.F]; e.Type == history.Invoke {
			under[e.F] = len(list)
			list = append(list, pending{f: e.F, call: i, ret: trace.Open, value: e.Value})
		} else if is {
			list[at].ret, list[at].ok = i, e.Type == history.OK
			delete(under, e.F)
		}
	}
	h := &t.History.Header
	effect := &t.History.Events[min(l.left, len(t.History.Events)-1)]
	released := slices.ContainsFunc(list, func(c pending) bool {
		return c.f == history.Release && t.Time(c.call) <= l.ended && c.made(effect)
	})
	if last := t.LastWindow(g.Lock, l.grant); last != nil && !released && (h.OneService() || h.OnlyMember()) {
		since := last.At
		if since == g.OK { // no renewal has arrived since the grant: the lease was last renewed while the client waited
			since = t.Asks[g.Ask].Call
		}
		list = append(list, pending{f: history.Extend, call: since, ret: trace.Open, implied: true})
	}
	for i := range list { // the client may have stopped waiting for the request long before the request took effect
		if c := &list[i]; c.made(effect) {
			c.ret = l.left
		}
	}
	return list
}

// made reports whether the call caused an event.
func (c *pending) made(e *history.Event) bool {
	switch e.F {
	case history.Apply:
		return c.f == e.Op && c.value == e.Value
	case history.KeyGone:
		return c.f == history.Release
	case history.KeyProlonged:
		return c.f == history.Extend
	}
	return false
}

// isOf reports whether an event of grant n's client belongs to grant n and not to one of the client's other grants.
func (t *judge) isOf(e *history.Event, n int32) bool {
	g := &t.Grants[n]
	return e.Lock == t.Locks[g.Lock].Name && (e.Attempt == "" || e.Attempt == g.Attempt)
}

// heldUp finds out what kept a holder inside too long. It returns the delayed request (held), and the faults that
// delayed the request or its answer. If it finds nothing, faults is nil. acted is true if held is the late action
// itself, that is, the request that took effect too late. Otherwise, held is a read or write whose answer the holder
// was waiting for, or an extension that did not succeed before the lease ended. If the delays of several reads and
// writes add up, held is the first of these. A request sent after the lease had ended counts only if the same fault had
// also delayed an earlier one.
func (t *judge) heldUp(l lateness, calls []pending) (held pending, acted bool, faults []*trace.Fault) {
	var delays, later []delay
	extended := false // the last extension arrived, so it cannot be the reason why the lease ended
	for _, c := range slices.Backward(calls) {
		acts, late := c.ret == l.left && c.ret != trace.Open, c.call > l.met || t.Time(c.call) > l.ended
		switch {
		case acts:
			var alone []delay
			for _, f := range t.delaying(l.grant, &c, l.met) {
				alone = append(alone, t.delayOf(f, &c))
			}
			if faults := enoughOf(t.excess(l), alone); faults != nil {
				return c, true, faults
			}
			if !c.isData() {
				continue
			}
			fallthrough
		case c.isData():
			for _, f := range t.delaying(l.grant, &c, l.met) {
				switch d := t.delayOf(f, &c); {
				case d.length() == 0:
				case late:
					later = append(later, d)
				default:
					held, delays = c, append(delays, d)
				}
			}
		case late, c.f == history.Release, extended:
		case c.ok && t.Time(c.ret) <= l.ended:
			extended = true
		default:
			if faults := t.parting(l.grant, t.hanging(l, &c)); len(faults) > 0 {
				return c, false, faults
			}
		}
	}
	for _, d := range later {
		if slices.ContainsFunc(delays, func(other delay) bool { return other.fault == d.fault }) {
			delays = append(delays, d)
		}
	}
	if faults = enoughOf(t.excess(l), delays); faults == nil {
		return pending{}, false, nil
	}
	return held, false, faults
}

// hanging lists the faults because of which an extension was not successful before the lease ended. If the extension
// returned in the last third of the TTL or later, these are all the faults that delayed it. If it returned before that,
// or never, they are only the faults that were still active in the last third.
func (t *judge) hanging(l lateness, c *pending) []*trace.Fault {
	soon := l.ended - t.History.Header.TTL/3
	return slices.DeleteFunc(t.delaying(l.grant, c, l.met),
		func(f *trace.Fault) bool {
			return t.Time(t.Mended(f)) < soon && (c.ret == trace.Open || t.Time(c.ret) < soon)
		})
}

// parting returns those of the given faults that together kept an extension from reaching a quorum of servers. It takes
// the faults in order, those that affect the most servers first, until no quorum is left. If the remaining faults would
// also have had this effect without those already taken, it goes on in the same way with the remaining ones, until it
// has taken mostBlamed faults. If all faults together leave a quorum, it returns all of them.
func (t *judge) parting(n int32, faults []*trace.Fault) []*trace.Fault {
	servers := t.History.Header.Servers
	if lease := t.Grants[n].Lease; lease != nil && len(lease.Counted) > 0 {
		servers = lease.Counted
	}
	h := &t.History.Header
	parted := func(faults ...*trace.Fault) bool {
		rest := spared(servers, faults...)
		return len(rest) < len(servers) && !h.IsQuorum(rest) && (len(rest) == 0 || !h.OneService())
	}
	rest := slices.Clone(faults)
	slices.SortStableFunc(rest, func(a, b *trace.Fault) int {
		return cmp.Compare(len(spared(servers, a)), len(spared(servers, b)))
	})
	var enough []*trace.Fault
	for len(enough) < mostBlamed && parted(rest...) {
		n := 1
		for !parted(rest[:n]...) {
			n++
		}
		enough, rest = append(enough, rest[:n]...), rest[n:]
	}
	if enough == nil {
		return faults
	}
	return enough
}

// spared lists the servers that none of the faults affects.
func spared(servers []history.Process, faults ...*trace.Fault) []history.Process {
	return slices.DeleteFunc(slices.Clone(servers), func(s history.Process) bool {
		return slices.ContainsFunc(faults, func(f *trace.Fault) bool { return f.Strikes(s) })
	})
}

// delayOf returns how long a fault delayed the answer to a request. If the fault has no duration (as with a lost
// message), the whole time that the request took counts.
func (t *judge) delayOf(f *trace.Fault, c *pending) delay {
	call, ret := t.Time(c.call), t.Time(c.ret)
	if f.Over() == f.Start || t.Time(f.Over()) == t.Time(f.Start) {
		return delay{fault: f, from: call, to: ret}
	}
	d := delay{fault: f, from: max(t.Time(f.Start), call), to: t.Time(min(f.Over(), c.ret))}
	if f.Shift > 0 { // only one of the request and its answer is delayed: links have a direction, a disk is slow once
		return delay{fault: f, amount: min(d.length(), f.Shift)}
	}
	return d
}

// delaying lists the faults that struck before the given position and may have delayed a request: faults on the server
// that received the request, or on the link to that server.
func (t *judge) delaying(n int32, c *pending, met int) []*trace.Fault {
	g := &t.Grants[n]
	peer := func(p history.Process) bool { return p == history.Resource }
	if c.f == history.Extend || c.f == history.Release {
		peer = func(p history.Process) bool {
			return g.Lease != nil && slices.Contains(g.Lease.Counted, p) ||
				(g.Lease == nil || len(g.Lease.Counted) == 0) && t.IsServer(p)
		}
	}
	var list []*trace.Fault
	for f := range t.suspects() {
		struck := f.Start < min(met, c.ret) && (f.Start > c.call || t.Mended(f) == trace.Open || t.Mended(f) > c.call)
		if struck && f.Does.Delays() && t.onTheWay(f, g.Process, peer) {
			list = append(list, f)
		}
	}
	return list
}

// onTheWay reports whether f strikes one of a client's peers, or the link between the client and one of them.
func (t *judge) onTheWay(f *trace.Fault, client history.Process, peer func(history.Process) bool) bool {
	if !f.Does.IsLink() {
		return slices.ContainsFunc(f.On, peer)
	}
	return f.Strikes(client) && (slices.ContainsFunc(f.On, peer) || slices.ContainsFunc(f.To, peer))
}

// otherWait finds the wait for another lock that made the client late, and returns its index in Asks, or -1 if there is
// none. Without the wait, the client would have been on time. There are two cases. Either the client was still waiting
// when the other client entered, or it was waiting when its own lease ended, and renewed the lease only afterward.
func (t *judge) otherWait(l lateness) int32 {
	g := &t.Grants[l.grant]
	for n := range t.Asks {
		a := &t.Asks[n]
		if !a.SameTask(&t.Asks[g.Ask]) || a.Lock == g.Lock || a.Call < g.OK || a.Call > l.met {
			continue
		}
		met, ended := a.Ret >= l.met, a.Ret != trace.Open && t.Time(a.Ret) >= l.ended
		long := t.Time(min(a.Ret, l.left))-t.Time(a.Call) >= t.excess(l)
		if met && long || (met || ended) && t.renewsLater(a, l) {
			return int32(n)
		}
	}
	return -1
}

// renewsLater reports whether a holder renewed its lease only after waiting for another lock, in the call a, and would
// have been in time without this wait.
func (t *judge) renewsLater(a *trace.Ask, l lateness) bool {
	if l.left >= len(t.History.Events) {
		return false
	}
	waited := t.Time(a.Ret) - t.Time(a.Call)
	end, before, extended := l.ended, l.ended, false
	for i := a.Ret; i < l.left; i++ {
		e := &t.History.Events[i]
		switch {
		case e.F != history.Extend || e.Process != t.Grants[l.grant].Process || !t.isOf(e, l.grant):
		case e.Type == history.OK:
			extended = true
		case e.Type == history.Fail && extended: // no more extensions were permitted
			return t.Time(l.left)-waited <= before
		case e.Type == history.Invoke && e.Time-waited >= end:
			return false
		case e.Type == history.Invoke:
			before, end = end, e.Time-waited+t.History.Header.TTL
		}
	}
	return end > l.ended && t.Time(l.left)-waited <= end
}

// delayedGrant finds the faults on servers, or on the links to them, that delayed a grant after its lease had begun.
// Together, they must have delayed it for at least as long as the client was late.
func (t *judge) delayedGrant(l lateness) []*trace.Fault {
	g, began := &t.Grants[l.grant], t.leaseBegan(l)
	call := sort.Search(g.OK, func(i int) bool { return t.Time(i) >= began })
	c := pending{f: history.Acquire, call: call, ret: g.OK}
	var delays []delay
	for _, f := range t.slowing(g.Process, &c, g.OK) {
		delays = append(delays, t.delayOf(f, &c))
	}
	return enoughOf(t.excess(l), delays)
}

// slowing lists the faults that struck the servers, or the links to them, before the given position and may have
// delayed an acquire.
func (t *judge) slowing(client history.Process, c *pending, before int) (list []*trace.Fault) {
	for f := range t.suspects() {
		if f.Start < before && (t.Mended(f) == trace.Open || t.Mended(f) > c.call) && f.Does.Delays() &&
			f.Does != history.Promotes && t.onTheWay(f, client, t.IsServer) {
			list = append(list, f)
		}
	}
	return list
}

// slowedAsk lists the faults on servers, or on the links to them, that delayed an acquire for at least as long as the
// client was late.
func (t *judge) slowedAsk(n int32, l lateness) []*trace.Fault {
	a := &t.Asks[n]
	c := pending{f: history.Acquire, call: a.Call, ret: a.Ret}
	return slices.DeleteFunc(t.slowing(a.Process, &c, min(a.Ret, l.met)), func(f *trace.Fault) bool {
		return t.delayOf(f, &c).length() < t.excess(l)
	})
}
