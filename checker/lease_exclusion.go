package checker

// leaseExclusion judges the lock service's promise: the granted validity windows of one lock never overlap in true
// time, shared ones aside.
//
// It needs grants that carry granted and until; where one that does not may have overlapped another, it is unchecked. It
// counts as exercised once a lock had two windows, or one window and another acquire that could have got in: a lone grant
// that nobody else asked for shows nothing.
func (t *trace) leaseExclusion(f *Finding) {
	windows, exercised := 0, false
	for i := range t.locks {
		l := &t.locks[i]
		windows += l.stated
		exercised = exercised || l.stated > 0 && len(l.asks) > 1
	}
	switch {
	case windows == 0:
		f.unchecked("No grant states when its lease was granted and until when it was valid.")
		return
	case !exercised:
		f.unchecked("One lease was granted and nobody else asked for its lock.")
		return
	}
	c, found := t.firstClash(LeaseExclusion)
	if !found {
		if g := t.undecidedBy(); g != nil {
			f.unchecked(sentence("The grant of %s to %s at %v does not state until when it was valid, and that would decide whether it overlapped another.",
				quoted(t.locks[g.lock].name), g.process, t.time(g.ok)))
			return
		}
		f.holds(count(windows, "window") + " of validity, no two of one lock overlapped.")
		return
	}
	cause, told := t.decide(&c)
	f.violated(t, cause, t.leaseStory(&c, cause, told), t.witness(&c, told), t.locks[c.lock].name, t.between(&c)...)
	f.About = t.about(&c, told)
	f.At = t.h.Events[max(c.first.at, c.then.at)].Index
}

// undecidedBy finds a grant whose window is not stated and may have overlapped another, nil if there is none. No two that
// are stated overlap.
func (t *trace) undecidedBy() *grant {
	for n := range t.locks {
		spans := t.withUnstated(&t.locks[n])
		if i, j, clashes := t.interval.first(spans); clashes {
			if g := &t.grants[spans[j].grant]; g.lease == nil {
				return g
			}
			return &t.grants[spans[i].grant]
		}
	}
	return nil
}

// firstClash returns, over all locks, the clash whose second span the history states first.
func (t *trace) firstClash(law Law) (best clash, found bool) {
	for n := range t.locks {
		spans := t.locks[n].windows
		if law == MutualExclusion {
			spans = t.locks[n].sections
		}
		i, j, clashes := t.interval.first(spans)
		if clashes && (!found || spans[j].at < best.then.at) {
			best, found = clash{law: law, lock: int32(n), first: spans[i], then: spans[j]}, true
		}
	}
	return best, found
}
