package search

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/margin"
	"github.com/fencepost-sim/fencepost/sim"
)

// focus changes a fault so that it strikes the processes and messages involved in the close call, around the time when
// the run came closest to a violation.
func (v *variation) focus(f nemesis.Fault) nemesis.Fault {
	if f.Kind == 0 {
		return f
	}
	client := v.client()
	f = v.retarget(f, client)
	near := v.requests(client)
	from, to := v.window()
	switch {
	case f.Number > 0 || f.Trigger.Message.Named() && f.Target == "": // the fault strikes a message
		if len(near) == 0 {
			return v.turn(f)
		}
		return v.late(f, near[v.below(len(near))], from, to)
	case !f.Kind.Has(nemesis.FieldTrigger):
		return f
	}
	at := f.Trigger.Time
	if v.below(6) > 0 {
		at = v.when(from, to)
		f.Trigger = nemesis.Trigger{Time: at}
	} else if f.Trigger.Point == "" && len(near) > 0 {
		r := near[v.below(len(near))]
		at = r.Left.Duration()
		f.Trigger = nemesis.Trigger{Message: r.Message(v.below(2) == 0), SaidAt: v.below(2) == 0}
	}
	for _, length := range []*time.Duration{&f.For, &f.Restart} {
		if d, ok := v.length(at, from); ok && *length > 0 && v.below(2) == 0 {
			*length = d
		}
	}
	return f
}

// client picks the client that a fault strikes: usually the holder, sometimes the client that requests the lock next.
func (v *variation) client() sim.ProcessID {
	if v.call.Next != "" && v.below(4) == 0 {
		return v.call.Next
	}
	return v.call.Holder
}

// window returns the period in which a fault can make a difference. It begins either when the holder calls acquire or
// when it is granted the lock, at random. If an action of the holder brought the run close to a violation, the period
// ends with this action, and otherwise with the lease.
func (v *variation) window() (from, to time.Duration) {
	c := v.call
	from, to = c.Called.Duration(), c.To.Duration()
	if v.below(2) == 0 {
		from = c.From.Duration()
	}
	switch c.Way {
	case margin.Outlives, margin.Writes, margin.Overstated:
		to = c.At.Duration()
	}
	if c.To == history.Never || to <= from {
		to = from + time.Second
	}
	return from, to
}

// end returns the time at which the lease ended. A fault makes a difference if it lasts at least until then.
func (v *variation) end() time.Duration {
	if v.call.To == history.Never {
		return v.call.From.Duration() + time.Second
	}
	return v.call.To.Duration()
}

// retarget changes a fault so that it strikes the given client and a server on which the holder's key exists.
func (v *variation) retarget(f nemesis.Fault, client sim.ProcessID) nemesis.Fault {
	var server sim.ProcessID
	if n := len(v.call.Standing); n > 0 {
		server = v.call.Standing[v.below(n)]
	}
	turned := map[bool]bool{}
	for _, p := range f.On() {
		isClient := nemesis.IsClient(p)
		to := server
		if isClient {
			to = client
		}
		if !turned[isClient] && to != "" && to != p && v.alike(p, to) {
			f = v.exchange(f, p, to)
		}
		turned[isClient] = true
	}
	return f
}

// alike reports whether two processes are of the same kind: both clients, or both lock servers.
func (v *variation) alike(a, b sim.ProcessID) bool {
	t := v.plans.scenario.Targets()
	for _, of := range [][]sim.ProcessID{t.Clients, t.Servers()} {
		if slices.Contains(of, a) && slices.Contains(of, b) {
			return true
		}
	}
	return false
}

// exchange returns the fault with processes a and b swapped. If they belong to different groups of the same size, it
// swaps all members of the two groups.
func (v *variation) exchange(f nemesis.Fault, a, b sim.ProcessID) nemesis.Fault {
	as, bs := []sim.ProcessID{a}, []sim.ProcessID{b}
	for _, group := range v.plans.scenario.Targets().Groups {
		if slices.Contains(group, a) && !slices.Contains(group, b) {
			as = group
		}
		if slices.Contains(group, b) && !slices.Contains(group, a) {
			bs = group
		}
	}
	if len(as) != len(bs) {
		as, bs = []sim.ProcessID{a}, []sim.ProcessID{b}
	}
	return f.Renamed(func(p sim.ProcessID) sim.ProcessID {
		if i := slices.Index(as, p); i >= 0 {
			return bs[i]
		}
		if i := slices.Index(bs, p); i >= 0 {
			return as[i]
		}
		return p
	})
}

// mirror copies faults that involve a server on which the holder's key was lost. In each copy, a server that still has
// the key takes the place of that server. If the plan then has too many faults, mirror removes faults that involve
// neither server. If that is not enough, or if the two servers are of different kinds, mirror leaves the plan
// unchanged. If no server lost the key, or none still has it, mirror focuses one fault instead.
func (v *variation) mirror() {
	if len(v.call.Gone) == 0 || len(v.call.Standing) == 0 {
		v.change(v.focus)
		return
	}
	from := v.call.Gone[v.below(len(v.call.Gone))].Server
	to := v.call.Standing[v.below(len(v.call.Standing))]
	if !v.alike(from, to) || from == to {
		return
	}
	var both, copies, others []nemesis.Fault
	for _, f := range v.faults {
		g := v.exchange(f, from, to)
		if g.String() == f.String() {
			others = append(others, f)
			continue
		}
		if both = append(both, f); v.plans.generator.Allows(g) {
			copies = append(copies, g)
		}
	}
	for _, f := range both {
		copies = slices.DeleteFunc(copies, func(g nemesis.Fault) bool { return g.String() == f.String() })
	}
	kept := append(both, copies...)
	room := v.plans.scenario.Mix.Most - len(kept)
	if room < 0 || len(copies) == 0 {
		return
	}
	for len(others) > room {
		i := v.below(len(others))
		others = slices.Delete(others, i, i+1)
	}
	v.faults = append(kept, others...)
}

// requests returns requests that were sent around the time of the close call: those of the given client, of the
// holder's attempt and of the next holder's attempt. At random, it returns only those of the holder's acquire, or also
// those from up to one TTL before. If the close call is about late requests, it always includes the earlier ones, and
// adds half of all other requests from this period, because they may arrive late.
func (v *variation) requests(client sim.ProcessID) (near []*nemesis.Sent) {
	c := v.call
	stale := v.stale()
	early := c.Called.Duration()
	if stale || v.below(8) == 0 {
		early -= v.plans.scenario.Clients[0].Lock.TTL
	}
	acquiring := v.below(3) == 0 // use only the requests of the holder's acquire
	for _, of := range v.kinds {
		for i := range of {
			s := &of[i]
			left := s.Left.Duration()
			switch {
			case left < early || left > c.To.Duration():
			case acquiring && (left > c.From.Duration() || left < c.Called.Duration() || s.Client != c.Holder):
			case s.Client == client || s.Attempt != "" && (s.Attempt == c.Attempt || s.Attempt == c.NextAttempt),
				stale && v.below(2) == 0:
				near = append(near, s)
			}
		}
	}
	return near
}

// stale reports whether the close call is about requests that arrived late.
func (v *variation) stale() bool {
	return v.call.Way == margin.Removed || v.call.Way == margin.Requests
}

// late changes a fault that affects one message so that it affects request r or the answer to r. If the close call is
// about late requests (see stale), the message may be delayed until some time between begin and end.
func (v *variation) late(f nemesis.Fault, r *nemesis.Sent, begin, end time.Duration) nemesis.Fault {
	f = r.Strike(f, v.below(2) == 0)
	if f.By <= 0 {
		return f
	}
	if v.stale() && v.below(2) == 0 {
		if by := v.instantIn(begin, end) - r.Left.Duration(); by > 0 {
			f.By = by.Truncate(time.Millisecond) + time.Millisecond
			return f
		}
	}
	if d, ok := v.length(r.Left.Duration(), begin); ok {
		f.By = d
	}
	return f
}

// when picks a random time: at an event between begin and end or up to 3 ms before one, any other time between begin
// and end, up to 1 s before the holder requested the lock, during its acquire, or up to 1 s after the grant.
func (v *variation) when(begin, end time.Duration) time.Duration {
	called, granted := v.call.Called.Duration(), v.call.From.Duration()
	switch v.below(5) {
	case 0: // when an event occurs, or up to 3 ms before
		lo, _ := slices.BinarySearch(v.instants, begin)
		hi, _ := slices.BinarySearch(v.instants, end+1)
		if lo == hi {
			return begin
		}
		at := v.instants[lo+v.below(hi-lo)]
		if v.below(2) == 0 {
			at = max(at-time.Duration(v.below(3000))*time.Microsecond, 0)
		}
		return at
	case 1: // before the holder requested the lock
		return max(called-time.Duration(v.below(1000))*time.Millisecond, 0)
	case 2: // soon after the grant
		return granted + time.Duration(1+v.below(1000))*time.Millisecond>>v.below(10)
	case 3: // during the acquire call or shortly before it
		if granted > called && v.below(2) == 0 {
			return v.instantIn(called, granted)
		}
		return max(called-time.Duration(v.below(20))*time.Millisecond, 0)
	}
	return v.instantIn(begin, end).Truncate(time.Millisecond)
}

// instantIn picks an instant in the half-open interval [from, to).
func (v *variation) instantIn(from, to time.Duration) time.Duration {
	return from + time.Duration(v.random.Uint64()%uint64(max(to-from, 1)))
}

// length picks the duration of a fault that begins at the given time. The fault ends near the end of the lease, well
// after it, or near some other event. ok is false if the fault should keep its duration.
func (v *variation) length(at, from time.Duration) (d time.Duration, ok bool) {
	end := at
	switch v.below(4) {
	case 0:
		end = v.end() + time.Duration(v.below(100))*time.Millisecond
	case 1:
		end = v.end() + time.Duration(v.below(max(int((v.end()-from)/time.Millisecond), 1)))*time.Millisecond
	case 2:
		if t, ok := v.near(at); ok {
			end = t
		}
	}
	return end - at, end > at
}
