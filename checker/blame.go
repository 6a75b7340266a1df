package checker

import (
	"cmp"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// A fault is blamed for what a client did too late only if, without it, the client would have been in time: it struck
// before the harm was done, it held the client up, and for long enough. What held it up cannot be seen, only what it did
// next: a pause that ended while the client slept anyway has cost it nothing.

// lateness is that a client still did something at position left, though another had come in at position met.
type lateness struct {
	grant     int32
	met, left int
	deadline  history.Time // by when it would have been in time
	ended     history.Time // end of its lease
}

// blame is why a client was late.
type blame struct {
	cause  Cause
	faults []*fault
	what   history.F // the call that was held up: read, write or extend
	ask    int32     // the wait for another lock
	inTime bool      // the pauses were over before the lease ended
	acted  bool      // the call is the one that took effect too late
}

// blameFor tells why a client was late: it was paused, a call of its was held up, it waited for another lock, or none of
// these would have changed it.
func (t *trace) blameFor(l lateness) blame {
	calls := t.calls(l)
	before, after := t.pauses(l)
	if faults := enoughOf(t.excess(l.upTo(t, calls))-spent(after), before); faults != nil {
		inTime := !slices.ContainsFunc(faults, func(f *fault) bool { return t.time(f.over()) >= l.ended })
		return blame{cause: Cause{HolderOutlivedLease, ByPause}, faults: faults, inTime: inTime}
	}
	if f := t.missedBeat(l, calls); f != nil {
		return blame{cause: Cause{HolderOutlivedLease, ByPause}, faults: []*fault{f}}
	}
	what, acted, faults := t.heldUp(l, calls)
	if ask := t.otherWait(l); ask >= 0 {
		if faults == nil {
			faults = t.slowedAsk(ask, t.excess(l))
		}
		return blame{cause: Cause{Kind: WaitedForOther}, faults: faults, ask: ask}
	}
	if faults != nil {
		return blame{cause: Cause{HolderOutlivedLease, ByLatePacket}, faults: faults, what: what, acted: acted}
	}
	return blame{cause: Cause{HolderOutlivedLease, BySlowWork}}
}

// upTo is the lateness of the client itself, where what it did late was a request: that counts from when it was called.
func (l lateness) upTo(t *trace, calls []pending) lateness {
	for _, c := range calls {
		if c.ret == l.left && c.ret != open {
			l.left = c.call
		}
	}
	return l
}

// excess is how much too late the client was.
func (t *trace) excess(l lateness) history.Time { return t.time(l.left) - l.deadline }

// pauses lists the pauses that held the client up between its grant and the harm: those before it had met the other, and
// those after, which it would not have lived to see in its section without the ones before.
func (t *trace) pauses(l lateness) (before, after []delay) {
	g := &t.grants[l.grant]
	for _, p := range t.stretches(g.process) {
		if !t.wokeLate(l.grant, p.from, p.over) {
			continue
		}
		for _, f := range p.faults {
			d := delay{fault: f, from: max(t.time(f.from), g.grantedAt(t)), to: t.time(min(f.over(), l.left))}
			switch {
			case d.length() == 0:
			case f.from < l.met:
				before = append(before, d)
			default:
				after = append(after, d)
			}
		}
	}
	return before, after
}

// stretch is a time for which a process stood still, by one pause or by several without a gap between them.
type stretch struct {
	from, over int
	faults     []*fault
}

func (t *trace) stretches(p history.Process) (all []stretch) {
	for i := range t.faults { // in the order in which they struck
		f := &t.faults[i]
		if f.does != history.Stops || !f.Strikes(p) {
			continue
		}
		if n := len(all) - 1; n >= 0 && t.time(f.from) <= t.time(all[n].over) {
			all[n].over, all[n].faults = max(all[n].over, f.over()), append(all[n].faults, f)
			continue
		}
		all = append(all, stretch{f.from, f.over(), []*fault{f}})
	}
	return all
}

// grantedAt is when the protocol decided; where the history does not tell, when the acquire returned.
func (g *grant) grantedAt(t *trace) history.Time {
	if g.lease != nil {
		return min(g.lease.Granted, t.time(g.ok))
	}
	return t.time(g.ok)
}

// wokeLate reports whether a holder had something to do when it woke from a stretch: it did something at once, which is within
// a tenth of the stretch's length; or its section lasted longer than anybody declares to work in one.
func (t *trace) wokeLate(n int32, from, over int) bool {
	g := &t.grants[n]
	if over == open || t.time(g.end)-t.time(g.ok) > t.h.Header.Hold {
		return true
	}
	soon := t.time(over) + (t.time(over)-t.time(from))/10
	for i := over; i < len(t.h.Events) && t.h.Events[i].Time <= soon; i++ {
		if t.h.Events[i].Process == g.process {
			return true
		}
	}
	return false
}

// missedBeat finds the pause that kept a holder from renewing: one that was on when the lease of somebody ended who had
// renewed it before, or whose lock service has its clients renew.
func (t *trace) missedBeat(l lateness, calls []pending) *fault {
	if !slices.ContainsFunc(calls, func(c pending) bool { return c.f == history.Extend }) {
		return nil
	}
	return t.lastFault(l.met, func(f *fault) bool {
		return f.does == history.Stops && f.Strikes(t.grants[l.grant].process) && t.time(f.from) < l.ended && t.time(f.over()) >= l.ended
	})
}

// pending is a read, write, extension or release of a grant, from its call to its return.
type pending struct {
	f         history.F
	call, ret int // ret is open if it never returned
	ok        bool
	value     string // of a write
}

// calls lists what a holder asked the resource and the servers for. A service that has its clients renew on their own
// (etcd, ZooKeeper) is asked all the time: what did not come through by the end of the lease was under way then.
func (t *trace) calls(l lateness) []pending {
	g := &t.grants[l.grant]
	var list []pending
	under := map[history.F]int{}
	for i := g.ok; i < len(t.h.Events); i++ {
		e := &t.h.Events[i]
		if e.Process != g.process || !t.isOf(e, l.grant) {
			continue
		}
		switch e.F {
		case history.Read, history.Write, history.Extend, history.Release:
		default:
			continue
		}
		if at, is := under[e.F]; e.Type == history.Invoke {
			under[e.F] = len(list)
			list = append(list, pending{f: e.F, call: i, ret: open, value: e.Value})
		} else if is {
			list[at].ret, list[at].ok = i, e.Type == history.OK
			delete(under, e.F)
		}
	}
	if last := t.lastWindow(g.lock, l.grant); last != nil && oneService(&t.h.Header) {
		list = append(list, pending{f: history.Extend, call: last.at, ret: open})
	}
	for i := range list { // its client may have given it up long before it took effect
		if c := &list[i]; c.made(&t.h.Events[min(l.left, len(t.h.Events)-1)]) {
			c.ret = l.left
		}
	}
	return list
}

// made reports whether an event is the late effect of the call.
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

// isOf reports whether an event of a client belongs to grant n.
func (t *trace) isOf(e *history.Event, n int32) bool {
	g := &t.grants[n]
	return e.Lock == t.locks[g.lock].name && (e.Attempt == "" || e.Attempt == g.attempt)
}

// heldUp finds the read, write or extension that was under way when the lease ended, or the request that took effect late,
// and the faults that kept it or its answer away. An extension that had failed by then counts: with it the lease would not
// have ended.
func (t *trace) heldUp(l lateness, calls []pending) (what history.F, acted bool, faults []*fault) {
	for _, c := range slices.Backward(calls) {
		acts := c.ret == l.left && c.ret != open
		switch {
		case c.call > l.met, c.f == history.Release && !acts, t.time(c.call) > l.ended && !acts:
			continue
		case c.f == history.Extend && !acts && c.ok && t.time(c.ret) <= l.ended:
			return "", false, nil // the lease was as long as it could be
		case c.f == history.Extend && !acts:
			faults := slices.DeleteFunc(t.delaying(l.grant, &c, l.met), func(f *fault) bool { return t.time(t.mended(f)) < l.ended-t.h.Header.TTL/3 })
			if faults = t.parting(l.grant, faults); len(faults) > 0 {
				return c.f, false, faults
			}
		case acts || t.time(c.ret) >= l.ended:
			var delays []delay
			for _, f := range t.delaying(l.grant, &c, l.met) {
				delays = append(delays, t.delayOf(f, &c))
			}
			if faults := enoughOf(t.excess(l), delays); faults != nil {
				return c.f, acts, faults
			}
		}
	}
	return "", false, nil
}

// parting picks, of the faults that can have kept an extension from the servers, those that kept it from enough of them:
// the ones that reach most come first. Where the others would have done without those, they are named with them. All of
// them, if it cannot be told.
func (t *trace) parting(n int32, faults []*fault) []*fault {
	servers := t.h.Header.Servers
	if lease := t.grants[n].lease; lease != nil && len(lease.Counted) > 0 {
		servers = lease.Counted
	}
	need := len(servers)
	if !oneService(&t.h.Header) {
		need = max(1, len(servers)-t.h.Header.Quorum+1)
	}
	reach := func(f *fault) int { return len(reached(servers, f)) }
	rest := slices.Clone(faults)
	slices.SortStableFunc(rest, func(a, b *fault) int { return cmp.Compare(reach(b), reach(a)) })
	var enough []*fault
	for len(enough) < mostBlamed && len(reached(servers, rest...)) >= need {
		n := 1
		for len(reached(servers, rest[:n]...)) < need {
			n++
		}
		enough, rest = append(enough, rest[:n]...), rest[n:]
	}
	if enough == nil {
		return faults
	}
	return enough
}

// reached lists the servers that some faults strike.
func reached(servers []history.Process, faults ...*fault) []history.Process {
	return slices.DeleteFunc(slices.Clone(servers), func(s history.Process) bool {
		return !slices.ContainsFunc(faults, func(f *fault) bool { return f.Strikes(s) })
	})
}

// delayOf is how long a fault kept a call from being answered. A lost message has no length: all of the call's counts.
func (t *trace) delayOf(f *fault, c *pending) delay {
	call, ret := t.time(c.call), t.time(c.ret)
	if f.over() == f.from || t.time(f.over()) == t.time(f.from) {
		return delay{fault: f, from: call, to: ret}
	}
	d := delay{fault: f, from: max(t.time(f.from), call), to: t.time(min(f.over(), c.ret))}
	if f.Shift > 0 { // a request and its answer pass a link once each
		return delay{fault: f, amount: min(d.length(), f.Shift)}
	}
	return d
}

// delaying lists the faults, struck before position met, that can have held up a call: on the link to whom it went, or on
// that one itself.
func (t *trace) delaying(n int32, c *pending, met int) []*fault {
	g := &t.grants[n]
	peer := func(p history.Process) bool { return p == history.Resource }
	if c.f == history.Extend || c.f == history.Release {
		peer = func(p history.Process) bool {
			return g.lease != nil && slices.Contains(g.lease.Counted, p) || (g.lease == nil || len(g.lease.Counted) == 0) && t.isServer(p)
		}
	}
	var list []*fault
	for i := range t.faults {
		f := &t.faults[i]
		struck := f.from < min(met, c.ret) && (f.from > c.call || t.mended(f) == open || t.mended(f) > c.call)
		if struck && !f.does.IsClock() && f.does != history.EndsSession && t.onTheWay(f, g.process, peer) {
			list = append(list, f)
		}
	}
	return list
}

// onTheWay reports whether f lies on the link between a client and a peer of its, or strikes the peer.
func (t *trace) onTheWay(f *fault, client history.Process, peer func(history.Process) bool) bool {
	if !f.does.IsLink() {
		return slices.ContainsFunc(f.On, peer)
	}
	return f.Strikes(client) && (slices.ContainsFunc(f.On, peer) || slices.ContainsFunc(f.To, peer))
}

// otherWait finds the wait for another lock without which the client would have been in time, -1 if there is none.
func (t *trace) otherWait(l lateness) int32 {
	g := &t.grants[l.grant]
	for n := range t.asks {
		a := &t.asks[n]
		if a.process != g.process || a.lock == g.lock || a.call < g.ok || a.call > l.met || a.ret < l.met {
			continue
		}
		if t.time(min(a.ret, l.left))-t.time(a.call) >= t.excess(l) {
			return int32(n)
		}
	}
	return -1
}

// slowedAsk lists the faults that made an acquire longer by at least excess: on the servers, or on the links to them.
func (t *trace) slowedAsk(n int32, excess history.Time) []*fault {
	a := &t.asks[n]
	c := pending{f: history.Acquire, call: a.call, ret: a.ret}
	var list []*fault
	for i := range t.faults {
		f := &t.faults[i]
		if f.from < a.ret && (t.mended(f) == open || t.mended(f) > a.call) && !f.does.IsClock() && f.does != history.Promotes &&
			t.onTheWay(f, a.process, t.isServer) && t.time(min(t.mended(f), c.ret))-max(t.time(f.from), t.time(c.call)) >= excess {
			list = append(list, f)
		}
	}
	return list
}
