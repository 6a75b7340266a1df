package checker

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// windows lists, for each lock, the true-time spans in which its grants were valid, in the order of the events that
// state them: [granted, until) of the acquire, and one more for each extension, which replaces what was left of the one
// before from its own grant on, so that the spans of one grant share no instant. A span is never less than the instant of
// its decision; only a release call ends it early, and one that it ends as it begins is none.
func (t *trace) windows() {
	for i := range t.locks {
		l := &t.locks[i]
		l.windows, l.stated = l.windows[:0], 0
	}
	x := 0
	for n := range t.grants {
		g := &t.grants[n]
		g.window, g.stated, g.until = none, history.Never, -history.Never
		for ; x < len(t.extensions) && t.extensions[x].at < g.ok; x++ {
			t.addWindow(t.extensions[x].grant, t.extensions[x].at)
		}
		if g.lease != nil {
			t.locks[g.lock].stated++
			t.addWindow(int32(n), g.ok)
		}
	}
	for ; x < len(t.extensions); x++ {
		t.addWindow(t.extensions[x].grant, t.extensions[x].at)
	}
	for i := range t.locks {
		l := &t.locks[i]
		l.windows = slices.DeleteFunc(l.windows, func(s span) bool { return s.to < s.from })
	}
}

// none is the place of a span that there is not.
const none = -1

// addWindow adds the span that the event at position at states for grant n, and takes what it replaces from those before.
func (t *trace) addWindow(n int32, at int) {
	g, lease := &t.grants[n], t.h.Events[at].Grant
	l := &t.locks[g.lock]
	s := span{from: int64(lease.Granted), to: int64(max(lease.Granted, lease.Until)), grant: n, at: at, shared: g.shared}
	g.stated = min(g.stated, lease.Granted)
	if g.release == open || lease.Granted <= t.time(g.release) {
		g.until = lease.Until
	}
	if g.release != open {
		s.to = min(s.to, int64(t.time(g.release)))
		if s.to < s.from || s.to == s.from && lease.Until > lease.Granted {
			return // the release left nothing of it
		}
	}
	if at != g.ok {
		l.stated++
	}
	for g.window != none && l.windows[g.window].from >= s.from { // all of it is replaced
		o := &l.windows[g.window]
		o.to, g.window = o.from-1, o.before
	}
	if g.window != none {
		o := &l.windows[g.window]
		o.to = min(o.to, s.from)
		o.goesOn = o.to == s.from && s.from < s.to
	}
	s.before, g.window = g.window, int32(len(l.windows))
	l.windows = append(l.windows, s)
}

// withUnstated adds to the windows of a lock the spans in which those of its grants may have been valid that do not say
// so: from the call at the earliest to the first extension that does, or the release. It gives none if all say so.
func (t *trace) withUnstated(l *lockTrace) []span {
	var spans []span
	for _, n := range l.grants {
		g := &t.grants[n]
		s := span{from: int64(t.time(t.asks[g.ask].call)), to: int64(g.stated), grant: n, at: g.ok, shared: g.shared}
		if g.release != open {
			s.to = min(s.to, int64(t.time(g.release)))
		}
		if g.lease == nil && s.from < s.to {
			spans = append(spans, s)
		}
	}
	if len(spans) > 0 {
		spans = append(spans, l.windows...)
		slices.SortFunc(spans, func(a, b span) int { return a.at - b.at })
	}
	return spans
}

// sections lists, for each lock, its critical sections as spans of positions.
func (t *trace) sections() {
	for i := range t.locks {
		l := &t.locks[i]
		l.sections = l.sections[:0]
		for _, n := range l.grants {
			g := &t.grants[n]
			l.sections = append(l.sections, span{from: int64(g.ok), to: int64(g.end), grant: n, at: g.ok, shared: g.shared})
		}
	}
}
