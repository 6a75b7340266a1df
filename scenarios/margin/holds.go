package margin

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// hold is one key of one attempt, from when it was set until it disappeared. unit is the server or group (named by its
// first member) that grants the lock with this key. by is the attempt that removed the key, if that is known.
type hold struct {
	unit, server   history.Process // server has the key; for a group, it is the master
	member         string
	of             history.Attempt
	set, due, gone history.Time // history.Never means that the key does not expire (due) or still exists (gone)
	way            Way          // how the key was lost, if it was lost
	by             history.Attempt
	next           int32 // index of the attempt's next hold, or none
	overtaken      int32 // index of the next hold on the same unit by another attempt, or none
}

const none = -1

// place identifies a key on a server and, for keys with several holders, a member of the key.
type place struct {
	server history.Process
	member string
}

// readHolds lists a lock's keys and records what happened to each. A promoted replica gets the keys of the master that
// it replaces. If it lacks a key, a separate record says that this key was lost.
func (r *Reader) readHolds(lock int32) {
	t := r.t
	if r.live == nil {
		r.live, r.first = map[place]int32{}, map[history.Attempt]int32{}
	}
	r.holds = r.holds[:0]
	clear(r.live)
	clear(r.first)
	r.stated = r.stated[:0]
	faults, windows := t.Faults, t.Locks[lock].Windows
	for _, at := range t.Keys {
		e := &t.History.Events[at]
		for ; len(faults) > 0 && faults[0].Start < int(at); faults = faults[1:] {
			r.promote(&faults[0])
		}
		for ; len(windows) > 0 && windows[0].At < int(at); windows = windows[1:] {
			r.state(&windows[0])
		}
		if n, ok := t.LockNumber[e.Lock]; ok && n == lock {
			r.note(e)
		}
	}
	for i := range windows {
		r.state(&windows[i])
	}
	r.overtake()
}

// promote moves a replaced master's keys to the promoted replica.
func (r *Reader) promote(f *trace.Fault) {
	if f.Does != history.Promotes || len(f.On) == 0 || len(f.To) == 0 {
		return
	}
	old, promoted := f.On[0], f.To[0]
	for p := range r.live {
		if p.server == promoted {
			delete(r.live, p)
		}
	}
	for i := range r.holds {
		h := &r.holds[i]
		p := place{old, h.member}
		if n, ok := r.live[p]; ok && n == int32(i) {
			delete(r.live, p)
			h.server = promoted
			r.live[place{promoted, h.member}] = n
		}
	}
}

// note updates the list of holds with a server's record of a key.
func (r *Reader) note(e *history.Event) {
	at := place{r.t.Keeper(e.Process), e.Member}
	n, stands := r.live[at]
	switch e.F {
	case history.KeySet:
		if stands && r.holds[n].of == e.Of && r.holds[n].due > e.Time {
			r.holds[n].due = e.Until // the owner has set the key again
			return
		}
		if stands {
			r.holds[n].end(e.Time, Removed, trace.Setter(e))
		}
		r.live[at] = r.add(e)
	case history.KeyProlonged:
		if stands && r.holds[n].of == e.Of {
			r.holds[n].due = e.Until
		}
	case history.KeyGone:
		if stands && (e.Of == "" || r.holds[n].of == e.Of) {
			if e.Why == history.Expired && r.holds[n].due == history.Never {
				r.holds[n].due = e.Time
			}
			r.holds[n].end(e.Time, wayOf(e.Why), e.By)
			delete(r.live, at)
		}
	}
}

// end records that a key was gone at the given time. If the key was due to expire earlier, end records that it expired
// when it was due.
func (h *hold) end(at history.Time, way Way, by history.Attempt) {
	if h.due <= at {
		at, way, by = h.due, Expires, ""
	}
	h.gone, h.way, h.by = at, way, by
}

// wayOf returns the way in which a key was lost, given why it disappeared.
func wayOf(why history.Why) Way {
	switch why {
	case history.LostUnsynced, history.LostUnpersisted, history.LostDisk:
		return Crashes
	case history.LostInFailover:
		return Failover
	case history.Deleted, history.Flushed, history.Evicted, history.DeletedByOperator, history.FlushedByOperator:
		return Removed
	}
	return Expires
}

// add appends a new hold for an event that set a key, and links it to the attempt's other holds. It returns the hold's
// index.
func (r *Reader) add(e *history.Event) int32 {
	n, due := int32(len(r.holds)), e.Until
	if r.t.History.Header.Service.Kind().Unrecorded {
		due = history.Never
	}
	r.holds = append(r.holds, hold{unit: r.t.Unit(e.Process), server: e.Process, member: e.Member, of: e.Of,
		set: e.Time, due: due, gone: history.Never, next: none, overtaken: none})
	at, known := r.first[e.Of]
	if !known {
		r.first[e.Of] = n
		return n
	}
	for r.holds[at].next != none {
		at = r.holds[at].next
	}
	r.holds[at].next = n
	return n
}

// overtake finds, for each key, the next key that another attempt set on the same unit (a server or a group).
func (r *Reader) overtake() {
	latest := map[history.Process]int32{}
	for i := len(r.holds) - 1; i >= 0; i-- {
		h := &r.holds[i]
		if n, ok := latest[h.unit]; ok {
			if h.overtaken = n; r.holds[n].of == h.of {
				h.overtaken = r.holds[n].overtaken
			}
		}
		latest[h.unit] = int32(i)
	}
}

// holdsOf yields the holds of an attempt, in the order in which they were set.
func (r *Reader) holdsOf(a history.Attempt) func(func(*hold) bool) {
	return func(yield func(*hold) bool) {
		n, ok := r.first[a]
		for ; ok && n != none; n = r.holds[n].next {
			if !yield(&r.holds[n]) {
				return
			}
		}
	}
}

// byOwner reports whether the key was removed by the attempt that had set it, or by an unknown one.
func (h *hold) byOwner() bool { return h.way == Removed && (h.by == "" || h.by == h.of) }
