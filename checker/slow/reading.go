package slow

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// ask is an acquire; section is the time in which it was held, if it was granted. All numbers are places in the history,
// and its length stands for what never came.
type ask struct {
	process   history.Process
	lock      history.Lock
	call, ret int
	crashed   bool // instead of a return
	section   *section
}

// granted reports whether it returned ok.
func (a *ask) granted() bool { return a.section != nil }

type section struct {
	*ask
	attempt history.Attempt
	token   history.Token
	shared  bool
	ok, end int // from acquire ok to the first of: release called, lost, crash
	// release is the first call of release, done its return.
	release, done int
	lease         *history.Grant
}

// fault is one strike of the nemesis. It ends at its recorded end; without one, where it strikes if it does not last.
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
		switch {
		case e.Process == history.Nemesis && e.Type == history.Invoke:
			r.faults = append(r.faults, r.faultAt(i))
		case e.Process == history.Nemesis:
		case e.F == history.Acquire && e.Type == history.Invoke:
			r.asks = append(r.asks, r.askAt(i))
		}
		if e.F == history.Acquire && e.Process != history.Nemesis && !slices.Contains(r.locks, e.Lock) {
			r.locks = append(r.locks, e.Lock)
		}
	}
	for _, a := range r.asks {
		if a.granted() {
			r.sections = append(r.sections, a.section)
		}
	}
	slices.SortFunc(r.sections, func(a, b *section) int { return a.ok - b.ok })
	return r
}

// time is when the event at place i happened; for what never came, when recording stopped.
func (r *reading) time(i int) history.Time {
	if i == r.none {
		return r.end
	}
	return r.Events[i].Time
}

// after is the first place after i that matches.
func (r *reading) after(i int, matches func(*history.Event) bool) int {
	for j := i + 1; j < r.none; j++ {
		if matches(&r.Events[j]) {
			return j
		}
	}
	return r.none
}

func (r *reading) askAt(i int) *ask {
	e := &r.Events[i]
	a := &ask{process: e.Process, lock: e.Lock, call: i}
	a.ret = r.after(i, func(o *history.Event) bool {
		return o.Process == e.Process && (o.F == history.Crashed || o.F == history.Acquire && o.Lock == e.Lock && o.Type != history.Invoke)
	})
	if a.ret == r.none {
		return a
	}
	o := &r.Events[a.ret]
	if a.crashed = o.F == history.Crashed; a.crashed || o.Type != history.OK {
		return a
	}
	s := &section{ask: a, attempt: o.Attempt, token: o.Token, shared: o.Shared || e.Shared, ok: a.ret, lease: o.Grant}
	own := func(e *history.Event) bool {
		return e.Process == a.process && e.Lock == a.lock && (s.attempt == "" || e.Attempt == s.attempt)
	}
	s.release = r.after(s.ok, func(e *history.Event) bool { return own(e) && e.F == history.Release && e.Type == history.Invoke })
	s.done = r.after(s.release, func(e *history.Event) bool { return own(e) && e.F == history.Release && e.Type != history.Invoke })
	s.end = r.after(s.ok, func(e *history.Event) bool {
		return own(e) && (e.F == history.Lost || e.F == history.Release && e.Type == history.Invoke) || e.Process == a.process && e.F == history.Crashed
	})
	a.section = s
	return a
}

func (r *reading) faultAt(i int) fault {
	e := &r.Events[i]
	f := fault{kind: e.F, from: i}
	if e.Fault != nil {
		f.Fault = *e.Fault
	}
	nth := 0 // of the same line that strike before it and have not ended when it strikes end before it
	for j := range i {
		if o := &r.Events[j]; o.Process == history.Nemesis && o.F == e.F && o.Value == e.Value {
			nth += map[history.Type]int{history.Invoke: 1, history.OK: -1}[o.Type]
		}
	}
	f.to = i
	for ; nth >= 0 && f.to < r.none; nth-- {
		f.to = r.after(f.to, func(o *history.Event) bool {
			return o.Process == history.Nemesis && o.F == e.F && o.Value == e.Value && o.Type == history.OK
		})
	}
	return f
}

// over is where the fault is over. A crash without restart is over as it strikes, as are a jump and a lost connection.
func (r *reading) over(f *fault) int {
	atOnce := []history.F{"jump", "crash", "shut down", "fail over", "break", "expire session"}
	if f.to == r.none && slices.Contains(atOnce, f.kind) && !f.Ends {
		return f.from
	}
	return f.to
}

func (f *fault) strikes(p history.Process) bool {
	return slices.Contains(f.On, p) || slices.Contains(f.To, p)
}
