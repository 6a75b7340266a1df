package checker

// windows lists, for each lock, the true-time spans in which its grants were valid, in the order of the events that
// state them: [granted, until) of the acquire, and one more for each extension. No piece is invented for the gap
// between two. A span is never less than the instant of its decision; only a release call ends it early.
func (t *trace) windows() {
	for i := range t.locks {
		t.locks[i].windows = t.locks[i].windows[:0]
	}
	x := 0
	for g := range t.grants {
		for ; x < len(t.extensions) && t.extensions[x].at < t.grants[g].ok; x++ {
			t.extend(t.extensions[x])
		}
		if t.grants[g].lease != nil {
			t.addWindow(int32(g), t.grants[g].ok)
		}
	}
	for ; x < len(t.extensions); x++ {
		t.extend(t.extensions[x])
	}
}

// extend adds the piece of an extension, unless it was decided only when release had been called.
func (t *trace) extend(x extension) {
	g := &t.grants[x.grant]
	if g.release != open && x.at > g.release && t.h.Events[x.at].Grant.Granted >= t.time(g.release) {
		return
	}
	t.addWindow(x.grant, x.at)
}

// addWindow adds the span that the event at position at states.
func (t *trace) addWindow(n int32, at int) {
	g, lease := &t.grants[n], t.h.Events[at].Grant
	from, to := int64(lease.Granted), int64(lease.Until)
	if g.release != open {
		to = min(to, int64(t.time(g.release)))
	}
	l := &t.locks[g.lock]
	l.windows = append(l.windows, span{from: from, to: max(to, from+1), grant: n, at: at, shared: g.shared})
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
