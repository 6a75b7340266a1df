package slow

import (
	"cmp"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

func init() {
	register("lease-exclusion", (*reading).leaseExclusion)
	register("mutual-exclusion", (*reading).mutualExclusion)
}

// window is part of a lease's validity, [from, to) in true time. at is the position of the event that records it. If
// from and to are equal, the window is an instant.
type window struct {
	*section
	from, to history.Time
	at       int
	joiner   history.Attempt // if the window depends on a key that its client joined: the client's own attempt
}

// windowOf returns the validity of a section's lease as a list of windows: one for the grant, and one for each
// extension. Each window replaces the earlier ones from the time it begins. The call to release ends the validity.
// Windows that begin after this call or become empty are omitted.
func (r *reading) windowOf(s *section) (pieces []window) {
	stated := s.extensions
	if s.lease != nil {
		stated = append([]int{s.ok}, stated...)
	}
	for _, at := range stated {
		g := r.Events[at].Grant
		until := g.Until
		if g.Open {
			until = r.openEnd(s, g)
		}
		w := window{section: s, from: g.Granted, to: max(g.Granted, until), at: at}
		if s.release < r.none {
			if r.releasedBefore(s, g, until) {
				continue
			}
			w.to = min(w.to, r.time(s.release))
		}
		for i := range pieces {
			pieces[i].to = min(pieces[i].to, w.from)
		}
		pieces = slices.DeleteFunc(pieces, func(p window) bool { return p.from >= w.from })
		pieces = append(pieces, w)
	}
	return pieces
}

// releasedBefore reports whether the release of section s was called so early that g, a grant or an extension, does not
// count: before g was granted or, if g's validity is not empty, at the same instant. The validity ends at until.
func (r *reading) releasedBefore(s *section, g *history.Grant, until history.Time) bool {
	released := r.time(s.release)
	return released < g.Granted || released == g.Granted && until > g.Granted
}

// openEnd returns the end of a lease whose end was not recorded. Usually this is when the holder learned that the lock
// was lost. If the holder was paused at any time since it last renewed the key, and the key ended earlier, the lease
// ended with the key. A key without an expiry ends once it has not been renewed for a TTL. If the key was set again
// after it had ended, the lease ended all the same.
func (r *reading) openEnd(s *section, g *history.Grant) history.Time {
	ends := func(i int) history.Time {
		e := r.Events[i]
		if e.Until == history.Never && r.Header.TTL > 0 {
			return e.Time + r.Header.TTL
		}
		return e.Until
	}
	last := map[history.Process]int{}
	for i, e := range r.Events {
		if (e.F == history.KeySet || e.F == history.KeyProlonged) && e.Lock == s.lock && e.Of == s.attempt &&
			e.Time < g.Until {
			server := e.Process
			if r.oneService() {
				server = ""
			}
			if before, known := last[server]; known && ends(before) < e.Time && ends(before) >= g.Granted {
				continue // it was set again after it had ended
			}
			last[server] = i
		}
	}
	var latest []int // the latest deadlines first; for equal deadlines, the server recorded first comes first
	for _, e := range r.Events {
		server := e.Process
		if r.oneService() {
			server = ""
		}
		if i, known := last[server]; known && !slices.Contains(latest, i) && e.Of == s.attempt && e.Lock == s.lock &&
			(e.F == history.KeySet || e.F == history.KeyProlonged) {
			latest = append(latest, i)
		}
	}
	slices.SortStableFunc(latest, func(a, b int) int { return cmp.Compare(ends(b), ends(a)) })
	needed := max(r.Header.Quorum, 1)
	if r.oneService() {
		needed = 1
	}
	if len(latest) < needed {
		return g.Until
	}
	key := r.Events[latest[needed-1]]
	for i := range r.faults {
		f := &r.faults[i]
		if f.does() == history.Stops && f.strikes(s.process) && r.time(f.from) < g.Until &&
			r.time(r.over(f)) >= key.Time {
			return min(g.Until, ends(latest[needed-1]))
		}
	}
	return g.Until
}

// windows lists all windows of all leases, in the order of the events that record them.
func (r *reading) windows() (all []window) {
	for _, s := range r.sections {
		all = append(all, r.windowOf(s)...)
	}
	slices.SortFunc(all, func(a, b window) int { return a.at - b.at })
	return all
}

func (w *window) holdsAt(x history.Time) bool { return w.from <= x && x < w.to }

// overlap reports whether two windows overlap. An instant overlaps a window only if the window's lease is valid both
// one nanosecond before the instant and at the instant. At the instant, another window of the same section may cover
// it.
func (r *reading) overlap(a, b *window) bool {
	if a.section == b.section || a.lock != b.lock || a.shared && b.shared {
		return false
	}
	if a.from == a.to {
		a, b = b, a
	}
	if b.from < b.to {
		return a.from < b.to && b.from < a.to
	}
	states := a.at != a.ok || a.lease != nil
	goesOn := states && slices.ContainsFunc(r.windowOf(a.section), func(w window) bool { return w.holdsAt(b.from) })
	return a.holdsAt(b.from-1) && (a.holdsAt(b.from) || goesOn)
}

func (r *reading) leaseExclusion() Finding {
	windows := r.windows()
	if !r.exercised(func(s *section) bool { return r.countWindows(s) > 0 }) {
		return Finding{Outcome: Unchecked}
	}
	var broken []Breach
	for j, b := range windows {
		for _, a := range windows[:j] {
			if r.permits() == 1 && r.overlap(&a, &b) {
				broken = append(broken, Breach{[]int{a.at, b.at}, r.cause(&a, &b), max(a.from, b.from)})
			}
		}
	}
	broken = append(broken, r.crowdedWindows(windows)...)
	if len(broken) == 0 && r.unstatedDecides() {
		return Finding{Outcome: Unchecked}
	}
	judged := 0
	for _, s := range r.sections {
		judged += r.countWindows(s)
	}
	return Finding{Outcome: Holds, Judged: judged, Breaches: broken}
}

// countWindows counts a section's windows: one for its grant, and one for each extension that was granted before the
// release.
func (r *reading) countWindows(s *section) (n int) {
	if s.lease != nil {
		n++
	}
	for _, at := range s.extensions {
		if g := r.Events[at].Grant; s.release == r.none || !r.releasedBefore(s, g, g.Until) {
			n++
		}
	}
	return n
}

// unstatedDecides reports whether a grant without a recorded window may have overlapped another grant. Such a grant may
// have been valid from its call until its release or, if an extension records a window, until that window begins.
func (r *reading) unstatedDecides() bool {
	possible := func(s *section) []window {
		if s.lease != nil {
			return r.windowOf(s)
		}
		w := window{section: s, from: r.time(s.call), to: history.Never, at: s.ok}
		if s.release < r.none {
			w.to = r.time(s.release)
		}
		for _, at := range s.extensions {
			w.to = min(w.to, r.Events[at].Grant.Granted)
		}
		if w.to <= w.from {
			return r.windowOf(s)
		}
		return append(r.windowOf(s), w)
	}
	if r.permits() > 1 {
		var all []window
		for _, s := range r.sections {
			all = append(all, possible(s)...)
		}
		return len(crowds(all, r.permits(), func(a, b window) bool { return r.overlap(&a, &b) })) > 0
	}
	for j, b := range r.sections {
		for _, a := range r.sections[:j] {
			if a.lease != nil && b.lease != nil {
				continue
			}
			for _, x := range possible(a) {
				for _, y := range possible(b) {
					if r.overlap(&x, &y) {
						return true
					}
				}
			}
		}
	}
	return false
}

// exercised reports whether the history put exclusion to the test. There must be a section for which the function
// matters returns true, and at least as many other requests for its lock as there are permits.
func (r *reading) exercised(matters func(*section) bool) bool {
	for _, s := range r.sections {
		if !matters(s) {
			continue
		}
		others := 0
		for _, a := range r.asks {
			if a != s.ask && a.lock == s.lock {
				others++
			}
		}
		if others >= r.permits() {
			return true
		}
	}
	return false
}

func (r *reading) mutualExclusion() Finding {
	if !r.exercised(func(*section) bool { return true }) {
		return Finding{Outcome: Unchecked}
	}
	may := false
	var broken []Breach
	for j, b := range r.sections {
		for _, a := range r.sections[:j] {
			if a.lock != b.lock || a.shared && b.shared || r.permits() > 1 {
				continue
			}
			may = may || b.ok < a.end
			if b.ok < a.left && a.ok < b.left {
				broken = append(broken, Breach{[]int{a.ok, b.ok}, r.sectionCause(a, b), r.time(b.ok)})
			}
		}
	}
	if r.permits() > 1 {
		broken, may = r.crowdedSections()
	}
	if may {
		return Finding{Outcome: Undecided, Breaches: broken}
	}
	return Finding{Outcome: Holds, Judged: len(r.sections), Breaches: broken}
}

// sectionCause returns the reason why two critical sections overlap. If the leases recorded before the overlap also
// overlap, it returns the cause of that overlap. Otherwise it says whether a holder entered after its lease had ended,
// outlived its lease, lost its session, or never renewed its lease. sectionCause returns "" if this package does not
// determine the cause: the holder may have been waiting for another lock, or a fault may have made the holder late or
// kept it from renewing.
func (r *reading) sectionCause(a, b *section) string {
	if r.keylessLock(a.lock) {
		return "granted by no server"
	}
	for _, s := range []*section{a, b} {
		if s.lease == nil && len(s.extensions) == 0 {
			return "cause not recorded"
		}
	}
	windows := slices.DeleteFunc(r.windows(), func(w window) bool { return w.at > b.ok })
	if b.lease != nil && !slices.ContainsFunc(windows, func(w window) bool { return w.section == b }) {
		// the lease was released immediately
		windows = append(windows, window{section: b, from: b.lease.Granted, to: b.lease.Granted, at: b.ok})
	}
	for j, y := range windows {
		for _, x := range windows[:j] {
			if (x.section == a && y.section == b || x.section == b && y.section == a) && r.overlap(&x, &y) {
				return r.cause(&x, &y)
			}
		}
	}
	holder, ended := r.outlived(a, b)
	if holder.lease != nil && r.grantedByNone(&window{section: holder, at: holder.ok}) {
		return "granted by no server"
	}
	if holder.lease != nil && ended <= holder.lease.Granted {
		if holder.lease.Open && holder.lease.Until > holder.lease.Granted {
			return "validity miscounted"
		}
		return "lease not rechecked"
	}
	for _, o := range r.asks {
		if waits := o.process == a.process && o.lock != a.lock && a.ok < o.call && o.call < b.ok &&
			(b.ok < o.ret || o.ret < r.none && r.time(o.ret) >= ended); waits {
			return ""
		}
	}
	lost := r.lossTold(holder, b, ended)
	switch cut := r.cutShort(holder, ended); {
	case lost != "" && len(r.faults) > 0:
		return ""
	case lost != "":
		return lost
	case cut && !slices.ContainsFunc(r.faults, func(f fault) bool { return f.kind.Does() != history.EndsSession }):
		return "session expired"
	case cut:
		return ""
	case !r.neverRenewed(holder, ended, b):
		return "holder outlived its lease"
	case len(r.faults) > 0:
		return ""
	}
	return "never renewed"
}

// lossTold returns the reason why a holder lost its key early. The holder must have been told of the loss, and its
// lease must have ended at the given time. Otherwise, lossTold returns "". It also returns "" if the key expired on
// time, if b's key was set before the holder's, or if the holder is b itself.
func (r *reading) lossTold(holder, b *section, ended history.Time) string {
	for _, x := range r.windowOf(holder) {
		g := r.Events[x.at].Grant
		crashed := slices.ContainsFunc(r.Events[x.at:], func(e history.Event) bool {
			return e.F == history.Crashed && e.Process == holder.process && e.Time == ended
		})
		if x.from > r.time(b.ok) || x.to != ended || g.Until != ended || !g.Told && (!g.Open || crashed) {
			continue
		}
		for _, y := range r.windowOf(b) {
			if y.at != b.ok || holder == b {
				continue
			}
			switch cause, mine := r.decide(&x, &y); cause {
			case "validity miscounted", "validity miscounted (gone key extended)", "never renewed",
				"cause not recorded", "lease not rechecked", "session expired", "granted by no server",
				"counted without quorum", "granted twice by one server":
			default:
				if mine {
					return cause
				}
			}
		}
	}
	return ""
}

// outlived returns the holder whose lease had already ended when b entered, and the time at which the lease ended.
func (r *reading) outlived(a, b *section) (*section, history.Time) {
	met := r.time(b.ok)
	holder, ended := a, met
	for _, s := range []*section{b, a} {
		covered, last := false, history.Time(-1<<63)
		for _, w := range r.windows() {
			if w.section == s && w.from <= met {
				covered, last = covered || met < w.to, max(last, w.to)
			}
		}
		if !covered && last > -1<<63 {
			holder, ended = s, last
		}
	}
	return holder, ended
}

// cutShort reports whether a fault ended the holder's session and thereby its key. There are two signs of this: the key
// expired before its deadline, or its deadline had already passed when the key was last set or extended. The key must
// be gone by the end of the lease, and the lease must have been valid when it was granted.
func (r *reading) cutShort(holder *section, ended history.Time) bool {
	if holder.lease == nil || ended <= holder.lease.Granted {
		return false
	}
	var set, due history.Time
	for i, e := range r.Events {
		if e.Lock != holder.lock || e.Of != holder.attempt || e.Time > ended {
			continue
		}
		switch e.F {
		case history.KeySet, history.KeyProlonged:
			set, due = e.Time, e.Until
		case history.KeyGone:
			if e.Why == history.Expired && due != 0 && (e.Time < due-2_000_000 || due <= set) {
				return r.sessionEnded(holder.process, i)
			}
		}
	}
	return false
}

// neverRenewed reports whether a holder worked for longer than its lease lasted, although the history records its key
// but no request to extend it (see unasked). The work ends when the holder leaves or, if the holder is b itself, when
// it enters. The work must also take longer than every lease of the lock recorded up to the holder's grant. If the
// lease had already ended when it was granted, neverRenewed returns false, because such a lease could not have been
// renewed.
func (r *reading) neverRenewed(holder *section, ended history.Time, b *section) bool {
	left := holder.end
	if holder == b {
		left = b.ok
	}
	if holder.lease == nil || ended <= holder.lease.Granted ||
		r.time(left)-r.time(holder.ok) <= ended-holder.lease.Since {
		return false
	}
	for _, s := range r.sections {
		if s.lock == holder.lock && s.ok <= holder.ok && s.lease != nil && s.lease.Until != history.Never &&
			r.time(left)-r.time(holder.ok) <= s.lease.Until-s.lease.Since {
			return false
		}
	}
	return r.unasked(holder, left)
}

// unasked reports whether, before the given position, the history records a grant's key but no renewal of the key. A
// renewal is an extension of the grant, or a request that sets the key again or extends it.
func (r *reading) unasked(holder *section, before int) bool {
	recorded := false
	for i, e := range r.Events[:min(before, r.none)] {
		own := e.Lock == holder.lock && e.Of == holder.attempt
		switch {
		case own && e.F == history.KeySet && i < holder.ok:
			recorded = true
		case own && e.F == history.KeySet, own && e.F == history.KeyProlonged && e.By != "" && i > holder.ok:
			return false
		case e.F == history.Extend && e.Process == holder.process && e.Lock == holder.lock && i > holder.ok &&
			(e.Attempt == "" || e.Attempt == holder.attempt):
			return false
		}
	}
	return recorded
}
