package trace

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Windows lists, for each lock, the true-time spans in which its grants were valid, in the order of the events that
// state them: [granted, until) of the acquire, and one more for each extension, which replaces what was left of the one
// before from its own grant on, so that the spans of one grant share no instant. A span is never less than the instant
// of its decision; only a release call ends it early, and a span that it ends at its beginning is dropped.
func (t *Trace) Windows() {
	for i := range t.Locks {
		l := &t.Locks[i]
		l.Windows, l.Stated = slices.Grow(l.Windows[:0], len(l.Grants)), 0
	}
	x := 0
	for n := range t.Grants {
		g := &t.Grants[n]
		g.window, g.Stated, g.Until = none, history.Never, -history.Never
		for ; x < len(t.extensions) && t.extensions[x].at < g.OK; x++ {
			t.addWindow(t.extensions[x].grant, t.extensions[x].at)
		}
		if g.Lease != nil {
			t.Locks[g.Lock].Stated++
			t.addWindow(int32(n), g.OK)
		}
	}
	for ; x < len(t.extensions); x++ {
		t.addWindow(t.extensions[x].grant, t.extensions[x].at)
	}
	for i := range t.Locks {
		l := &t.Locks[i]
		l.Windows = slices.DeleteFunc(l.Windows, func(s Span) bool { return s.To < s.From })
	}
}

// none is the place of a span that does not exist.
const none = -1

// addWindow adds the span that the event at position at states for grant n, and removes what it replaces from earlier
// ones.
func (t *Trace) addWindow(n int32, at int) {
	g, lease := &t.Grants[n], t.History.Events[at].Grant
	l := &t.Locks[g.Lock]
	until := lease.Until
	if lease.Open {
		until = t.openEnd(g, lease)
	}
	s := Span{From: int64(lease.Granted), To: int64(max(lease.Granted, until)), Grant: n, At: at, Shared: g.Shared}
	g.Stated = min(g.Stated, lease.Granted)
	if g.Release == Open || lease.Granted <= t.Time(g.Release) {
		g.Until = until
	}
	if g.Release != Open {
		s.To = min(s.To, int64(t.Time(g.Release)))
		if s.To < s.From || s.To == s.From && until > lease.Granted {
			return // the release left nothing of it
		}
	}
	if at != g.OK {
		l.Stated++
	}
	for g.window != none && l.Windows[g.window].From >= s.From { // all of it is replaced
		o := &l.Windows[g.window]
		o.To, g.window = o.From-1, o.before
	}
	if g.window != none {
		o := &l.Windows[g.window]
		o.To = min(o.To, s.From)
		o.goesOn = o.To == s.From && s.From < s.To
	}
	s.before, g.window = g.window, int32(len(l.Windows))
	l.Windows = append(l.Windows, s)
}

// LastWindow is the window of a grant that ends last, nil if it has none.
func (t *Trace) LastWindow(lock, grant int32) (last *Span) {
	windows := t.Locks[lock].Windows
	for i := range windows {
		if w := &windows[i]; w.Grant == grant && (last == nil || w.To > last.To) {
			last = w
		}
	}
	return last
}

// WindowsOf are the windows of two grants of a lock, in the order of the events that state them.
func (t *Trace) WindowsOf(lock, a, b int32) []Span {
	others := func(w Span) bool { return w.Grant != a && w.Grant != b }
	windows := t.Locks[lock].Windows
	if slices.ContainsFunc(windows, others) {
		windows = slices.DeleteFunc(slices.Clone(windows), others)
	}
	return windows
}

// WithUnstated adds to the windows of a lock the spans in which its grants that state none may have been valid: from
// the call at the earliest to the first extension that states one, or the release. It returns none if all state theirs.
func (t *Trace) WithUnstated(l *LockTrace) []Span {
	var spans []Span
	for _, n := range l.Grants {
		g := &t.Grants[n]
		s := Span{From: int64(t.Time(t.Asks[g.Ask].Call)), To: int64(g.Stated), Grant: n, At: g.OK, Shared: g.Shared}
		if g.Release != Open {
			s.To = min(s.To, int64(t.Time(g.Release)))
		}
		if g.Lease == nil && s.From < s.To {
			spans = append(spans, s)
		}
	}
	if len(spans) > 0 {
		spans = append(spans, l.Windows...)
		slices.SortFunc(spans, func(a, b Span) int { return a.At - b.At })
	}
	return spans
}

// Sections lists, for each lock, its critical sections as spans of positions, no longer than they lasted for certain.
// One that may have been over before it was recorded to begin ends before it begins: it overlaps what reaches over
// both.
func (t *Trace) Sections() {
	for i := range t.Locks {
		l := &t.Locks[i]
		l.Sections = slices.Grow(l.Sections[:0], len(l.Grants))
		for _, n := range l.Grants {
			g := &t.Grants[n]
			l.Sections = append(l.Sections,
				Span{From: int64(g.OK), To: int64(t.Left(g)), Grant: n, At: g.OK, Shared: g.Shared})
		}
	}
}

// GaveBack reports whether release had been called by a time, while the lease was still valid: it ended by that, and
// not by itself.
func (g *Grant) GaveBack(t *Trace, by history.Time) bool {
	return g.Release != Open && t.Time(g.Release) <= by && t.Time(g.Release) < g.Until
}
