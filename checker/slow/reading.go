package slow

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// ask is an acquire; section is the time in which it was held, if it was granted. All numbers are places in the
// history, and its length stands for what never happened.
type ask struct {
	process   history.Process
	lock      history.Lock
	shared    bool
	call, ret int
	gone      int          // where its process may have ended at the earliest while it waited; ret if it did not
	outcome   history.Type // zero until it returned
	section   *section
}

// granted reports whether it returned ok.
func (a *ask) granted() bool { return a.section != nil }

type section struct {
	*ask
	attempt history.Attempt
	token   history.Token
	ok, end int // from acquire ok to the first of: release called, lost, crash
	left    int // where it may have ended at the earliest: end, unless its process crashed before that was noticed
	crashed bool
	// release is the first call of release, done its return. If only the outcome is recorded, both are that place.
	release, done int
	lease         *history.Grant
	extensions    []int // of it, each with what it states
}

// fault is one fault of the nemesis and its recorded end.
type fault struct {
	history.Fault
	kind     history.F
	from, to int
}

// reading is a history and what its events are about.
type reading struct {
	*history.History
	none     int // the place after the last event
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

// usesResource reports whether anybody reads or writes. If nobody does, faults of the resource and its links affect
// nobody.
func (r *reading) usesResource() bool {
	return slices.ContainsFunc(r.Events, func(e history.Event) bool {
		return e.Process != history.Nemesis && (e.F == history.Read || e.F == history.Write || e.F == history.Apply)
	})
}

func only(p history.Process, side []history.Process) bool {
	return slices.Equal(slices.Compact(slices.Clone(side)), []history.Process{p})
}

// time is when the event at place i happened; if it never did, when recording stopped.
func (r *reading) time(i int) history.Time {
	if i == r.none {
		return r.end
	}
	return r.Events[i].Time
}

// acquire begins an ask, or ends one of that process and lock: the oldest whose call named the same attempt, or none
// likewise; failing that, the oldest if either names none. If only the outcome is recorded, it was called when it
// returned.
func (r *reading) acquire(i int, e *history.Event) {
	a := &ask{process: e.Process, lock: e.Lock, shared: e.Shared, call: i, ret: r.none, gone: r.none}
	if e.Type == history.Invoke {
		r.asks = append(r.asks, a)
		return
	}
	open := func(named func(history.Attempt) bool) int {
		return slices.IndexFunc(r.asks, func(o *ask) bool {
			return o.process == e.Process && o.lock == e.Lock && o.ret == r.none && named(r.Events[o.call].Attempt)
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

// belongsTo finds the section that the event at place i belongs to: the latest grant of its attempt and lock; without
// an attempt, the latest open section of its process and lock.
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
	if e.Type != history.Invoke && e.Attempt == "" { // it answers the oldest call of its process and lock that is open
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

// mayBeOver is the first place after call from which on all that was recorded before place end, or a crash at place i
// if that is earlier, is later than the process that crashed is known to have lived.
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

// faultAt is the fault that strikes at place i, if one does. Its end is the first that is recorded with its kind and
// line and is not that of an earlier fault; an end without a line may belong to any of its kind.
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

// stops lists what ends a fault that Jepsen's nemesis reports by the words before the colon.
var stops = map[history.F][]history.F{"start": {"stop"}, "start-partition": {"stop-partition"},
	"kill":  {"start", "restart"},
	"crash": {"start", "restart"}, "pause": {"resume"}, "partition": {"heal"}, "isolate": {"heal"}}

// reportedAt reads the reports of a nemesis that records everything as info, and twice. A fault lasts from the first
// report of its beginning to the last of its end.
func (r *reading) reportedAt(i int, f fault) (struck bool, _ fault) {
	ends := stops[f.kind]
	for j := range i {
		o := &r.Events[j]
		if o.Process != history.Nemesis || o.Type != history.Info {
			continue
		}
		if o.F == f.kind {
			struck = true // it is under way already
		} else if slices.Contains(ends, o.F) {
			struck = false
		}
		if slices.Contains(stops[o.F], f.kind) {
			return false, f // a report that o ends
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

// over is where the fault is over. A crash without restart is over as it strikes, as are a jump and a lost connection.
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
