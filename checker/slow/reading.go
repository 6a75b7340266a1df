package slow

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// ask is a call to acquire. If it was granted, section is its critical section. All int fields are positions in the
// history. An event that never happened has the history's length as its position.
type ask struct {
	process   history.Process
	task      history.Task
	lock      history.Lock
	shared    bool
	call, ret int
	// the earliest position at which the process may have crashed while waiting for the acquire; equal to ret if it did
	// not crash
	gone    int
	outcome history.Type // zero until the acquire has returned
	section *section
}

// granted reports whether the acquire returned ok.
func (a *ask) granted() bool { return a.section != nil }

// sameTask reports whether two acquires were made by the same task of a process, as far as the history says.
func (a *ask) sameTask(b *ask) bool { return a.process == b.process && a.task == b.task }

type section struct {
	*ask
	attempt history.Attempt
	token   history.Token
	ok, end int // positions of acquire ok and of the call of release, lost or a crash, whichever comes first
	// the earliest position at which the section may have ended; equal to end, unless the process crashed earlier and
	// nobody noticed
	left    int
	crashed bool
	// release is the position of the first call to release, and done is the position of that call's return. If only the
	// outcome is recorded, both are the position of the outcome.
	release, done int
	lease         *history.Grant
	extensions    []int // positions of the extensions that returned ok with a grant
}

// fault is a fault caused by the nemesis, from the position where it strikes to its recorded end.
type fault struct {
	history.Fault
	kind     history.F
	from, to int
}

// reading is a history with the acquires, critical sections and faults found in it. In this package, a position is the
// index of an event in the history, and a section is a critical section.
type reading struct {
	*history.History
	none     int // the length of the history, used as the position of anything that never happened
	end      history.Time
	asks     []*ask
	sections []*section
	faults   []fault
	locks    []history.Lock
}

func readingOf(h *history.History) *reading {
	r := &reading{History: h, none: len(h.Events), end: h.Header.End, locks: slices.Clone(h.Header.Locks)}
	for i := range h.Events {
		e := &h.Events[i]
		r.end = max(r.end, e.Time)
		if e.Process == history.Nemesis {
			if struck, to := r.faultAt(i); struck {
				r.faults = append(r.faults, to)
			}
			continue
		}
		switch e.F {
		case history.Acquire:
			if !slices.Contains(r.locks, e.Lock) {
				r.locks = append(r.locks, e.Lock)
			}
			r.acquire(i, e)
		case history.Release:
			r.release(i, e)
		case history.Extend:
			if s := r.belongsTo(i); s != nil && e.Type == history.OK && e.Grant != nil {
				s.extensions = append(s.extensions, i)
			}
		case history.Lost:
			if s := r.belongsTo(i); s != nil {
				s.end, s.left = min(s.end, i), min(s.left, i)
			}
		case history.Crashed:
			r.crash(i, e)
		}
	}
	if !r.usesResource() {
		r.faults = slices.DeleteFunc(r.faults, func(f fault) bool {
			return f.Strikes(history.Resource) && (only(history.Resource, f.On) || only(history.Resource, f.To))
		})
	}
	return r
}

// usesResource reports whether anybody reads or writes the data. If nobody does, faults of the resource and its links
// do not matter.
func (r *reading) usesResource() bool {
	return slices.ContainsFunc(r.Events, func(e history.Event) bool {
		return e.Process != history.Nemesis && (e.F == history.Read || e.F == history.Write || e.F == history.Apply)
	})
}

func only(p history.Process, side []history.Process) bool {
	return slices.Equal(slices.Compact(slices.Clone(side)), []history.Process{p})
}

// time returns the time of the event at position i. For position r.none, it returns the time at which recording
// stopped.
func (r *reading) time(i int) history.Time {
	if i == r.none {
		return r.end
	}
	return r.Events[i].Time
}

// acquire handles event e, at position i, which is the call or return of an acquire. A return belongs to an open
// acquire by the same task for the same lock. It is the oldest one whose call names the same attempt. If there is none,
// it is the oldest one for which the call or the return does not name an attempt. If there is none either, only the
// outcome is recorded, and the acquire begins and ends at position i.
func (r *reading) acquire(i int, e *history.Event) {
	a := &ask{process: e.Process, task: e.Task, lock: e.Lock, shared: e.Shared, call: i, ret: r.none, gone: r.none}
	if e.Type == history.Invoke {
		r.asks = append(r.asks, a)
		return
	}
	open := func(named func(history.Attempt) bool) int {
		return slices.IndexFunc(r.asks, func(o *ask) bool {
			return o.process == e.Process && o.task == e.Task && o.lock == e.Lock && o.ret == r.none &&
				named(r.Events[o.call].Attempt)
		})
	}
	n := open(func(a history.Attempt) bool { return a == e.Attempt })
	if n < 0 {
		n = open(func(a history.Attempt) bool { return a == "" || e.Attempt == "" })
	}
	if n >= 0 {
		a = r.asks[n]
	} else {
		r.asks = append(r.asks, a)
	}
	a.ret, a.gone, a.outcome, a.shared = i, i, e.Type, a.shared || e.Shared
	if e.Type == history.OK {
		a.section = &section{ask: a, attempt: e.Attempt, token: e.Token, ok: i, end: r.none, left: r.none,
			release: r.none,
			done:    r.none, lease: e.Grant}
		r.sections = append(r.sections, a.section)
	}
}

// belongsTo returns the section that the event at position i belongs to: the latest section of its attempt and lock or,
// if the event does not name an attempt, the latest open section of its process and lock. It returns nil if there is
// none.
func (r *reading) belongsTo(i int) *section {
	e := &r.Events[i]
	for _, s := range slices.Backward(r.sections) {
		switch {
		case s.lock != e.Lock:
		case e.Attempt != "" && s.attempt == e.Attempt, e.Attempt == "" && s.process == e.Process && s.end == r.none:
			return s
		}
	}
	return nil
}

func (r *reading) release(i int, e *history.Event) {
	s := r.belongsTo(i)
	if e.Type != history.Invoke && e.Attempt == "" { // a return belongs to the oldest open call of its process and lock
		var answered *section
		for _, o := range r.sections {
			if o.process == e.Process && o.lock == e.Lock && o.release < r.none && o.done == r.none &&
				!r.crashedSince(o.process, o.release, i) && (answered == nil || o.release < answered.release) {
				answered, s = o, o
			}
		}
	}
	if s == nil {
		return
	}
	if s.release == r.none {
		s.release, s.end, s.left = i, min(s.end, i), min(s.left, i)
	}
	if e.Type != history.Invoke && s.done == r.none {
		s.done = i
	}
}

func (r *reading) crashedSince(p history.Process, from, to int) bool {
	return slices.ContainsFunc(r.Events[from:to],
		func(e history.Event) bool { return e.F == history.Crashed && e.Process == p })
}

// mayBeOver returns the earliest position after call at which something that a crashed process was doing may have
// ended. It began at position call, its recorded end is at position end, and the recorded crash is at position i.
// Usually the result is end or i, whichever comes first. If the crash was noticed late, the process may have died at
// any time since it was last known to be alive, so the result may be earlier.
func (r *reading) mayBeOver(call, end, i int) int {
	first := min(end, i)
	for place := first; place > call; place-- {
		if alive := r.Events[i].Until; alive == 0 || place < min(end, i) && r.Events[place].Time < alive {
			break
		}
		first = place
	}
	return first
}

func (r *reading) crash(i int, e *history.Event) {
	for _, a := range r.asks {
		if a.process == e.Process && a.ret == r.none {
			a.ret, a.gone = i, r.mayBeOver(a.call, i, i)
		}
	}
	for _, s := range r.sections {
		if s.process == e.Process && s.end == r.none {
			s.end, s.left, s.crashed = i, i, true
		}
		if s.process == e.Process && !r.crashedSince(e.Process, s.call, i) {
			s.left = r.mayBeOver(s.call, s.left, i)
		}
	}
}

// faultAt returns the fault that strikes at position i, if any. The fault ends at the first recorded end with the same
// kind and the same line in the plan, unless that end belongs to an earlier fault. If an end does not name a line in
// the plan, it may belong to any fault of its kind.
func (r *reading) faultAt(i int) (struck bool, f fault) {
	e := &r.Events[i]
	f = fault{kind: e.F, from: i, to: r.none}
	if e.Fault != nil {
		f.Fault = *e.Fault
	}
	if e.Type == history.Info {
		return r.reportedAt(i, f)
	}
	if e.Type != history.Invoke {
		return false, f
	}
	for j := i + 1; j < r.none && f.to == r.none; j++ {
		o := &r.Events[j]
		if o.Process != history.Nemesis || o.F != e.F || o.Type != history.OK || o.Value != "" && o.Value != e.Value {
			continue
		}
		taken := slices.ContainsFunc(r.faults, func(x fault) bool { return x.to == j })
		if !taken {
			f.to = j
		}
	}
	return true, f
}

// stops maps each kind of fault that Jepsen's nemesis reports to the reports that end it.
var stops = map[history.F][]history.F{"start": {"stop"}, "start-partition": {"stop-partition"},
	"kill":  {"start", "restart"},
	"crash": {"start", "restart"}, "pause": {"resume"}, "partition": {"heal"}, "isolate": {"heal"}}

// reportedAt reports whether the event at position i is the first report of fault f, and returns f with its end. It is
// for histories whose nemesis reports the beginning and the end of each fault twice, in events of type info. A fault
// lasts from the first report of its beginning to the last report of its end.
func (r *reading) reportedAt(i int, f fault) (struck bool, _ fault) {
	ends := stops[f.kind]
	for j := range i {
		o := &r.Events[j]
		if o.Process != history.Nemesis || o.Type != history.Info {
			continue
		}
		if o.F == f.kind {
			struck = true // the fault is already in progress
		} else if slices.Contains(ends, o.F) {
			struck = false
		}
		if slices.Contains(stops[o.F], f.kind) {
			return false, f // f ends o and is not a fault itself
		}
	}
	if struck || ends == nil {
		return false, f
	}
	for j := i + 1; j < r.none; j++ {
		o := &r.Events[j]
		switch {
		case o.Process != history.Nemesis || o.Type != history.Info:
		case slices.Contains(ends, o.F):
			f.to = j
		case o.F == f.kind && f.to < r.none:
			return true, f
		}
	}
	return true, f
}

// over returns the position where the fault is over. A crash without a restart is over as soon as it strikes, and so
// are a clock jump and a connection reset.
func (r *reading) over(f *fault) int {
	if f.to == r.none && !f.kind.Lasts() && !f.Ends {
		return f.from
	}
	return f.to
}

func (f *fault) does() history.Effect { return f.kind.Does() }

func (f *fault) strikes(p history.Process) bool {
	return slices.Contains(f.On, p) || slices.Contains(f.To, p)
}
