package trace

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Windows computes, for each lock, the true-time spans in which its grants were valid, in the order of the events that
// record them. An acquire records the span [granted, until). An extension records another span, which replaces the
// grant's previous one from the moment of the extension on. One grant's spans therefore do not overlap. A span contains
// at least the instant when the lease was granted or extended. Only a release call ends a span early. If this leaves
// nothing of the span, the span is dropped.
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

// none is the index that stands for a missing span.
const none = -1

// addWindow adds the window that the event at the given position records for grant n. It shortens the grant's earlier
// windows, so that they end where the new window begins.
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
			return // the release left nothing of the span
		}
	}
	if at != g.OK {
		l.Stated++
	}
	for g.window != none && l.Windows[g.window].From >= s.From { // the new span replaces that window completely
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

// LastWindow returns a grant's window. If the grant has several windows, it returns the one that ends last. If the
// grant has no window, it returns nil.
func (t *Trace) LastWindow(lock, grant int32) (last *Span) {
	windows := t.Locks[lock].Windows
	for i := range windows {
		if w := &windows[i]; w.Grant == grant && (last == nil || w.To > last.To) {
			last = w
		}
	}
	return last
}

// WindowsOf returns the windows of two of a lock's grants, in the order of the events that record them.
func (t *Trace) WindowsOf(lock, a, b int32) []Span {
	others := func(w Span) bool { return w.Grant != a && w.Grant != b }
	windows := t.Locks[lock].Windows
	if slices.ContainsFunc(windows, others) {
		windows = slices.DeleteFunc(slices.Clone(windows), others)
	}
	return windows
}

// WithUnstated returns a lock's windows, plus spans for the grants without a window recorded by the acquire. Such a
// span covers the time during which the grant may have been valid. It begins with the call to acquire. It ends when an
// extension first records a window or when the release begins, whichever comes first. If there are no such spans,
// WithUnstated returns nil.
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

// Sections computes, for each lock, its critical sections as spans of positions. A span covers only the time when the
// client was certainly in the section. If a client that crashed may have been dead before the recorded beginning of its
// section, the span's end is before its beginning. Such a span overlaps only spans that contain both of these
// positions.
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

// GaveBack reports whether, by the given time, the holder had called its release while its lease was still valid. If
// so, the release ended the lease. A lease without a recorded end is valid until its holder learns that the lock is
// lost.
func (g *Grant) GaveBack(t *Trace, by history.Time) bool {
	valid := g.Lease != nil && g.Lease.Open && g.Ending == Released
	return g.Release != Open && t.Time(g.Release) <= by && (valid || t.Time(g.Release) < g.Until)
}
