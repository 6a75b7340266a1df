package search

import (
	"cmp"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/margin"
	"github.com/fencepost-sim/fencepost/sim"
)

// strikes maps each way in which a law can be violated (margin.Way) to functions that return faults. The faults should
// turn a close call of this kind into a violation. A function that is listed twice is chosen twice as often.
var strikes = [margin.Ways][]func(*variation) []nemesis.Fault{
	margin.Expires:  {(*variation).fastServer, (*variation).fastServer, (*variation).fewerKeys},
	margin.Crashes:  {(*variation).forgetful, (*variation).forgetful, (*variation).fewerKeys},
	margin.Failover: {(*variation).failOver, (*variation).failOver, (*variation).fewerKeys},
	margin.Removed: {(*variation).lateRequest, (*variation).lateRequest, (*variation).lateTry,
		(*variation).pauseClient, (*variation).fewerKeys},
	margin.Overstated: {(*variation).overstate},
	margin.Deposed:    {(*variation).isolate, (*variation).replace, (*variation).replace},
	margin.Outlives: {(*variation).pauseClient, (*variation).pauseClient, (*variation).cutOff,
		(*variation).lateWrite},
	margin.Writes:   {(*variation).pauseClient, (*variation).lateWrite},
	margin.Requests: {(*variation).lateRequest, (*variation).pauseClient},
}

// strike calls one of the functions listed for the close call, chosen at random, and returns its faults. If the
// function does not find a target, it does not return any faults.
func (v *variation) strike() []nemesis.Fault {
	w := v.call.Way
	if w == margin.Mixed {
		w = margin.Way(v.below(int(margin.Mixed)))
	}
	of := strikes[w]
	return of[v.below(len(of))](v)
}

// standing picks a server that has the holder's key. It returns "" if there is none.
func (v *variation) standing() sim.ProcessID {
	if n := len(v.call.Standing); n > 0 {
		return v.call.Standing[v.below(n)]
	}
	return ""
}

// pickDuration halves the given maximum a random number of times, at most nine. The result is at least 1 ms.
func (v *variation) pickDuration(most time.Duration) time.Duration {
	return max(most>>v.below(10), time.Millisecond).Truncate(time.Millisecond)
}

// beyond picks the duration of a fault that begins at the given time and lasts beyond the given end. How far beyond is
// a random fraction of the given maximum or of 1 s, whichever is longer.
func (v *variation) beyond(at, end, most time.Duration) time.Duration {
	return (max(end-at, 0) + max(most, time.Second)>>v.below(4)).Truncate(time.Millisecond)
}

// fastServer returns a fault that makes one server's clock run fast or jump ahead, so that keys on that server expire
// early.
func (v *variation) fastServer() []nemesis.Fault {
	from, to := v.window()
	server, at := v.standing(), v.when(from, to)
	if v.below(4) == 0 {
		return []nemesis.Fault{{Kind: nemesis.Drift, Target: server, PPM: v.plans.scenario.Mix.PPM,
			Trigger: nemesis.Trigger{Time: max(from-v.pickDuration(from), 0)}}}
	}
	by := max(to-at, time.Millisecond).Truncate(time.Millisecond) + v.pickDuration(to-from)
	return []nemesis.Fault{{Kind: nemesis.Jump, Target: server, By: by, Trigger: nemesis.Trigger{Time: at}}}
}

// fewerKeys returns a cut between the holder and as many servers as the holder can do without. The cut lasts until
// after the lock is granted.
func (v *variation) fewerKeys() []nemesis.Fault {
	c := v.call
	if c.Spare < 1 || c.Spare > len(c.Standing) {
		return nil
	}
	var servers []sim.ProcessID
	first := v.below(len(c.Standing))
	for i := range c.Spare {
		servers = append(servers, c.Standing[(first+i)%len(c.Standing)])
	}
	at := max(c.Called.Duration()-v.pickDuration(time.Second), 0)
	return []nemesis.Fault{{Kind: nemesis.Cut, Left: []sim.ProcessID{c.Holder}, Right: servers,
		For: v.beyond(at, c.From.Duration(), 0), Trigger: nemesis.Trigger{Time: at}}}
}

// slowClient returns a fault that sets the holder's clock back or slows it down. As a result, the holder thinks that
// its lease lasts longer than it does.
func (v *variation) slowClient() []nemesis.Fault {
	from, to := v.call.Called.Duration(), v.call.From.Duration()
	if v.below(2) == 0 {
		return []nemesis.Fault{{Kind: nemesis.Drift, Target: v.call.Holder, PPM: -v.plans.scenario.Mix.PPM,
			Trigger: nemesis.Trigger{Time: max(from-v.pickDuration(from), 0)}}}
	}
	by := v.pickDuration(max(v.call.To.Duration()-to, time.Second))
	return []nemesis.Fault{{Kind: nemesis.Jump, Target: v.call.Holder, By: -by,
		Trigger: nemesis.Trigger{Time: v.instantIn(from, to)}}}
}

// cutOff returns a cut between the holder and the servers. It keeps the holder from learning that its lease has ended.
func (v *variation) cutOff() []nemesis.Fault {
	from, to := v.window()
	at := v.when(from, to)
	t := v.plans.scenario.Targets()
	return []nemesis.Fault{{Kind: nemesis.Cut, Left: []sim.ProcessID{v.call.Holder}, Right: t.Servers(),
		For: v.beyond(at, v.end(), v.end()-from), Trigger: nemesis.Trigger{Time: at}}}
}

// forgetful returns a crash in which a server loses its data and restarts before the lease ends.
func (v *variation) forgetful() []nemesis.Fault {
	from, to := v.call.From.Duration(), v.call.To.Duration()
	at := v.instantIn(from, to).Truncate(time.Millisecond)
	loss := nemesis.LosesEverything
	if v.below(2) == 0 { // while the key is not on disk yet
		loss, at = nemesis.LosesUnsynced, from+v.pickDuration(min(to-from, time.Second))
	}
	return []nemesis.Fault{{Kind: nemesis.Crash, Target: v.standing(), Loss: loss,
		Restart: v.pickDuration(max(to-at, time.Millisecond)), Trigger: nemesis.Trigger{Time: at}}}
}

// failOver returns two faults: a cut that keeps a replica from receiving the holder's key, and a failover that promotes
// this replica.
func (v *variation) failOver() []nemesis.Fault {
	t := v.plans.scenario.Targets()
	server := v.standing()
	for _, group := range t.Groups {
		if !slices.Contains(group, server) || len(group) < 2 {
			continue
		}
		from, to := v.call.From.Duration(), v.call.To.Duration()
		called := v.call.Called.Duration()
		replica := group[1+v.below(len(group)-1)]
		cut := max(called-v.pickDuration(time.Second), 0)
		return []nemesis.Fault{
			{Kind: nemesis.Cut, OneWay: true, Left: group[:1], Right: []sim.ProcessID{replica},
				For: v.beyond(cut, to, to-from), Trigger: nemesis.Trigger{Time: cut}},
			{Kind: nemesis.FailOver, Target: group[0], Peer: replica,
				Trigger: nemesis.Trigger{Time: from + v.pickDuration(max(to-from, time.Millisecond))}},
		}
	}
	return nil
}

// isolate returns a fault that isolates the master or leader, together with one client, from all other servers.
func (v *variation) isolate() []nemesis.Fault {
	from, to := v.window()
	at := v.when(from, to)
	if v.below(2) == 0 { // before the holder requests the lock
		at = max(v.call.Called.Duration()-v.pickDuration(to-from), 0)
	}
	return v.aside(v.standing(), at)
}

// replace returns faults that isolate the master or leader and pause it until another server has replaced it. The pause
// ends shortly before the holder sends its next request. The paused server, which does not yet know that it has been
// replaced, then serves this request.
func (v *variation) replace() []nemesis.Fault {
	const elected = 1500 * time.Millisecond // by then a service has usually elected another leader
	from, to := v.window()
	at := (from + v.pickDuration(to-from)).Truncate(time.Millisecond)
	end := at + v.pickDuration(to-from)
	if next, ok := v.asks(at + elected); ok {
		end = v.instantIn(next-elected, next)
	}
	server := v.standing()
	cut := v.aside(server, at)
	if cut == nil {
		return nil
	}
	length := max((end - at).Truncate(time.Millisecond), time.Millisecond)
	return append(cut, nemesis.Fault{Kind: nemesis.Pause, Target: server, For: length,
		Trigger: nemesis.Trigger{Time: at}})
}

// aside returns a fault that cuts off a server, together with a client, from all other servers in its service or group.
// The fault begins at the given time and lasts until after the lease has ended. If there are no other servers, aside
// returns nil.
func (v *variation) aside(server sim.ProcessID, at time.Duration) []nemesis.Fault {
	t := v.plans.scenario.Targets()
	var far []sim.ProcessID
	for _, p := range append(t.Servers(), t.Sentinel) {
		if p != server && p != "" && (len(t.Groups) == 0 || v.together(p, server) || p == t.Sentinel) {
			far = append(far, p)
		}
	}
	if len(far) == 0 {
		return nil
	}
	return []nemesis.Fault{{Kind: nemesis.Cut, Left: []sim.ProcessID{v.client(), server}, Right: far,
		For: v.beyond(at, v.end(), v.end()-v.call.From.Duration()), Trigger: nemesis.Trigger{Time: at}}}
}

// asks returns the time of the holder's first request after the given time. ok is false if there was none.
func (v *variation) asks(after time.Duration) (first time.Duration, ok bool) {
	for _, of := range v.kinds {
		for i := range of {
			left := of[i].Left.Duration()
			if of[i].Client == v.call.Holder && left > after && (!ok || left < first) {
				first, ok = left, true
			}
		}
	}
	return first, ok
}

// together reports whether two servers belong to the same group.
func (v *variation) together(a, b sim.ProcessID) bool {
	return slices.ContainsFunc(v.plans.scenario.Targets().Groups, func(group []sim.ProcessID) bool {
		return slices.Contains(group, a) && slices.Contains(group, b)
	})
}

// pauseClient returns a pause that lasts until after the holder's lease has ended. It begins before the lease ends, or
// when one of the holder's requests, or its answer, leaves or arrives.
func (v *variation) pauseClient() []nemesis.Fault {
	from, to := v.window()
	f := nemesis.Fault{Kind: nemesis.Pause, Target: v.call.Holder}
	at := v.when(from, to)
	f.Trigger = nemesis.Trigger{Time: at}
	if near := v.requests(v.call.Holder); len(near) > 0 && v.below(3) == 0 {
		r := near[v.below(len(near))]
		at = r.Left.Duration()
		f.Trigger = nemesis.Trigger{Message: r.Message(v.below(2) == 0), SaidAt: v.below(2) == 0}
	}
	f.For = v.beyond(at, v.end(), v.end()-from)
	return []nemesis.Fault{f}
}

// overstate returns faults that make the holder rely on its lease for too long. If the holder already relies on it for
// longer than another client needs to acquire the lock, overstate usually returns a cut or a pause, which keeps the
// holder from noticing that its lease has ended.
func (v *variation) overstate() []nemesis.Fault {
	of := []func(*variation) []nemesis.Fault{(*variation).lateAnswer, (*variation).slowClient}
	if v.call.After > (v.call.To-v.call.From)/50 && v.below(4) > 0 {
		of = []func(*variation) []nemesis.Fault{(*variation).cutOff, (*variation).pauseClient}
	}
	return of[v.below(2)](v)
}

// lateWrite returns a fault that delays the holder's messages to the resource until after the holder's lease has ended.
func (v *variation) lateWrite() []nemesis.Fault {
	from, to := v.window()
	at := v.when(from, to)
	return []nemesis.Fault{{Kind: nemesis.DelayLink, Target: v.call.Holder, Peer: history.Resource,
		By: v.beyond(at, v.end(), v.end()-from), Trigger: nemesis.Trigger{Time: at}}}
}

// lateAnswer returns a fault that delays one of the last answers that the holder received before it got the lock. As a
// result, the holder thinks that its lease began later than it did.
func (v *variation) lateAnswer() []nemesis.Fault {
	var last []*nemesis.Sent
	for _, of := range v.kinds {
		for i := range of {
			if s := &of[i]; s.Client == v.call.Holder && history.Time(s.Left) < v.call.From {
				last = append(last, s)
			}
		}
	}
	if len(last) == 0 {
		return nil
	}
	slices.SortFunc(last, func(a, b *nemesis.Sent) int { return cmp.Compare(b.Left, a.Left) })
	r := last[v.below(min(len(last), 5))]
	length := max(v.end()-v.call.From.Duration(), time.Second)
	if v.below(2) == 0 {
		return []nemesis.Fault{{Kind: nemesis.DelayLink, Target: r.Server, Peer: r.Client, By: v.pickDuration(length),
			For:     v.pickDuration(time.Second),
			Trigger: nemesis.Trigger{Time: r.Left.Duration().Truncate(time.Millisecond)}}}
	}
	return []nemesis.Fault{r.Strike(nemesis.Fault{Kind: nemesis.DelayMessage, By: v.pickDuration(length)}, true)}
}

// lateTry returns a fault that delays one of the holder's requests, so that it reaches the server only after the holder
// has been granted the lock. The best target would be a request that undoes an earlier, failed try. But the history
// does not mark such requests. Therefore, lateTry picks any request that the holder's attempt sent to the server before
// the grant, except the first and the last.
func (v *variation) lateTry() []nemesis.Fault {
	server, from := v.standing(), v.call.From.Duration()
	var sent []*nemesis.Sent
	for _, of := range v.kinds {
		for i := range of {
			s := &of[i]
			if s.Server == server && s.Attempt == v.call.Attempt && s.Left.Duration() < from {
				sent = append(sent, s)
			}
		}
	}
	if len(sent) < 3 {
		return nil
	}
	slices.SortFunc(sent, func(a, b *nemesis.Sent) int { return cmp.Compare(a.Left, b.Left) })
	s := sent[1+v.below(len(sent)-2)]
	by := from + v.pickDuration(max(v.call.To.Duration()-from, time.Millisecond)) - s.Left.Duration()
	late := nemesis.Fault{Kind: nemesis.DelayMessage, By: by.Truncate(time.Millisecond)}
	return []nemesis.Fault{s.Strike(late, false)}
}

// lateRequest returns a fault that delays another attempt's last request to a server, so that it arrives when the
// holder's key exists. If the close call is about a late request from the holder itself, the fault delays that request
// instead, until the next holder's key exists.
func (v *variation) lateRequest() []nemesis.Fault {
	own := v.call.Way == margin.Requests
	first, last := map[history.Attempt]*nemesis.Sent{}, map[history.Attempt]*nemesis.Sent{}
	var attempts []history.Attempt
	server := v.standing()
	for _, of := range v.kinds {
		for i := range of {
			s := &of[i]
			if s.Server != server || s.Attempt == "" || own != (s.Attempt == v.call.Attempt) ||
				s.Left.Duration() > v.call.To.Duration() {
				continue
			}
			if last[s.Attempt] == nil {
				attempts = append(attempts, s.Attempt)
			}
			if first[s.Attempt] == nil || s.Left < first[s.Attempt].Left {
				first[s.Attempt] = s
			}
			if last[s.Attempt] == nil || last[s.Attempt].Left < s.Left {
				last[s.Attempt] = s
			}
		}
	}
	if !own { // an attempt with a single request only tried to acquire the lock and removes nothing
		attempts = slices.DeleteFunc(attempts, func(a history.Attempt) bool { return first[a] == last[a] })
	}
	if len(attempts) == 0 {
		return nil
	}
	attempt := attempts[v.below(len(attempts))]
	s := last[attempt]
	from, to := v.call.From.Duration(), v.call.To.Duration()
	ttl := v.plans.scenario.Clients[0].Lock.TTL
	switch {
	case own:
		if from = to; v.call.After != history.Never && v.call.At > 0 {
			from = max(from, (v.call.At + v.call.After).Duration())
		}
		to = from + ttl
	case v.below(2) == 0: // the attempt's key stays until it expires, and the next holder acquires the lock after that
		expires := first[attempt].Left.Duration() + ttl
		from, to = expires, expires+to-from
	}
	by := from + v.pickDuration(max(to-from, time.Millisecond)) - s.Left.Duration()
	if by <= 0 {
		return nil
	}
	f := nemesis.Fault{Kind: nemesis.DelayMessage, By: by.Truncate(time.Millisecond) + time.Millisecond}
	return []nemesis.Fault{s.Strike(f, false)}
}
