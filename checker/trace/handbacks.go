package trace

import (
	"cmp"
	"slices"
	"sort"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Handback is a release for which the history shows whether it had an effect.
//
// A release is examined only if, when it is called, the lease is valid, the client has no other hold of that lock, and
// the client's own keys are on enough servers to keep the lock taken. Keys set by an earlier release do not count. If
// another client shares the lock without a key of its own, as with a counter of readers, the release is not examined,
// because the keys are then also needed for that client's hold.
//
// The release had an effect if one of the client's keys is deleted, overwritten or given an earlier deadline after the
// call. (A client that sets its own key to the same value again only extends it.) It also had an effect if the lock is
// granted again while all the keys are still there, either to another client, or to the same client for an acquire that
// it had called before the release. If none of this happens before the bound has passed or a key expires, the release
// had no effect.
//
// The effect is unknown if a crash or failover removes a key, if the client crashes, or if the recording ends before
// the bound has passed. It is also unknown if a key expires before the release returns, or so soon after the call that
// the request may not have arrived yet.
type Handback struct {
	Grant int32
	End   int // position after which events no longer matter
	// Expired means that one of the keys expired before the bound had passed. End is then the position of the record
	// that shows this.
	Expired bool
	// positions of the records that set the keys; empty if the release removed any of them
	Left []int32
}

// standing is one of a lock's keys that is, or was, present on a server or on a group of servers that share one copy.
type standing struct {
	unit  history.Process
	of    history.Process
	value string
	until history.Time
	at    int32 // position of the record that set it; none if the key is not present
}

// ownKey is a key that belongs to the client releasing the lock, with the position of the record that set it.
type ownKey struct{ key, at int32 }

// watch tracks a release until its effect is known.
type watch struct {
	Handback
	from, to int32 // its keys are handbacks.own[from:to]
	came     outcome
}

// outcome says what happened to a client's keys when it released a lock.
type outcome uint8

const (
	allStand outcome = iota // all keys are still present
	changed                 // the release had an effect
	expired                 // the first key that disappeared expired, at position End
	gone                    // a key disappeared for another reason
)

// handbacks matches releases with the servers' key records.
type handbacks struct {
	read    bool
	list    []Handback
	order   []int32                // grants in the order of their release calls
	keys    table[place, standing] // in these places, unit stands in for the server
	stand   [][]int32              // by lock: indexes of the keys that are present
	own     []ownKey               // the keys of all releases, one release after the other
	watched []watch
	active  [][]int32 // by lock: indexes in watched of the releases whose outcome is not known yet
	// for each process, the sections that were open when it last called release
	inside  [][]int32
	entered int // index in Trace.Grants of the first grant that has not yet begun
	free    []history.Process
	left    []int32
}

// reset prepares h for another history.
func (h *handbacks) reset() {
	h.read, h.entered = false, 0
	h.list, h.own, h.watched, h.left = h.list[:0], h.own[:0], h.watched[:0], h.left[:0]
	h.keys.reset()
}

// emptied returns n empty lists that reuse the given lists' memory.
func emptied(lists [][]int32, n int) [][]int32 {
	lists = slices.Grow(lists[:0], n)[:n]
	for i := range lists {
		lists[i] = lists[i][:0]
	}
	return lists
}

// Handbacks returns the releases for which the history shows whether they had an effect, in the order in which they
// were called. The header must specify servers, quorum and bound, and the servers must have recorded their keys;
// otherwise the list is empty. It is also empty if the clients themselves decide when a lease has ended, because a
// holder may then let its lease end instead of releasing the lock. The list is valid until the next history is read.
func (t *Trace) Handbacks() []Handback {
	h, header := &t.handbacks, &t.History.Header
	if h.read {
		return h.list
	}
	h.read = true
	if !header.StatesQuorum() || header.Bound <= 0 || len(t.Keys) == 0 || header.Service.Kind().ClientsExpire {
		return nil
	}
	h.stand, h.active = emptied(h.stand, len(t.Locks)), emptied(h.active, len(t.Locks))
	h.inside = emptied(h.inside, len(t.processes))
	keys := t.Keys
	for _, n := range t.byRelease() {
		for ; len(keys) > 0 && int(keys[0]) < t.Grants[n].Release; keys = keys[1:] {
			t.noteKey(keys[0])
		}
		t.beginWatch(n)
	}
	for _, at := range keys {
		t.noteKey(at)
	}
	for i := range h.watched {
		if w := &h.watched[i]; t.shows(w) {
			h.list = append(h.list, w.Handback)
		}
	}
	return h.list
}

// byRelease lists the released grants in the order in which their releases were called.
func (t *Trace) byRelease() []int32 {
	order := t.handbacks.order[:0]
	for n := range t.Grants {
		if t.Grants[n].Release != Open {
			order = append(order, int32(n))
		}
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(t.Grants[a].Release, t.Grants[b].Release) })
	t.handbacks.order = order
	return order
}

// handedBack reports whether the record at a position sets a key that marks the lock as free, for example a token in a
// list, or a value that means "free". There are two cases. Either a release set the key, or an attempt took such a key
// to obtain the lock and put it back before it called release.
func (t *Trace) handedBack(at int) bool {
	e := &t.History.Events[at]
	n, granted := t.Owner[Title{e.Lock, Setter(e)}]
	return granted && (t.Grants[n].Release < at || t.PutsBack(at, n))
}

// beginWatch starts watching the keys of grant n, which is being released.
func (t *Trace) beginWatch(n int32) {
	h, g := &t.handbacks, &t.Grants[n]
	another := t.holdsAnother(n)
	from, now, soonest := len(h.own), t.Time(g.Release), history.Time(history.Never)
	for _, k := range h.stand[g.Lock] {
		if key := &h.keys.all[k]; key.of == g.Process && !t.handedBack(int(key.at)) {
			h.own = append(h.own, ownKey{k, key.at})
			soonest = min(soonest, key.until)
		}
	}
	if another || t.lendsKeys(n) || g.Until <= now || !t.keepsTaken(h.own[from:]) ||
		soonest-now <= t.History.Header.TTL/10 {
		h.own = h.own[:from]
		return
	}
	h.active[g.Lock] = append(h.active[g.Lock], int32(len(h.watched)))
	h.watched = append(h.watched, watch{from: int32(from), to: int32(len(h.own)),
		Handback: Handback{Grant: n, End: t.LastBy(g.Release, now+t.History.Header.Bound)}})
}

// keepsTaken reports whether the given keys keep everybody else from acquiring the lock, because the servers without
// them do not form a quorum.
func (t *Trace) keepsTaken(keys []ownKey) bool {
	h, header := &t.handbacks, &t.History.Header
	if len(keys) == 0 || header.OneService() {
		return len(keys) > 0
	}
	h.free = h.free[:0]
	has := func(u history.Process) bool {
		return slices.ContainsFunc(keys, func(k ownKey) bool { return h.keys.all[k.key].unit == u })
	}
	for _, group := range header.Groups {
		if !has(group[0]) {
			h.free = append(h.free, group[0])
		}
	}
	for _, s := range header.Servers {
		if len(header.Groups) == 0 && !has(s) {
			h.free = append(h.free, s)
		}
	}
	return !header.IsQuorum(h.free)
}

// holdsAnother reports whether, when grant n was released, its client was also in another section of the same lock. It
// must be called for the grants in the order in which they were released.
func (t *Trace) holdsAnother(n int32) bool {
	h, g := &t.handbacks, &t.Grants[n]
	for ; h.entered < len(t.Grants) && t.Grants[h.entered].OK < g.Release; h.entered++ {
		by := &h.inside[t.Number[t.Grants[h.entered].Process]]
		*by = append(*by, int32(h.entered))
	}
	by := &h.inside[t.Number[g.Process]]
	*by = slices.DeleteFunc(*by, func(m int32) bool { return t.Grants[m].End < g.Release })
	return slices.ContainsFunc(*by,
		func(m int32) bool { return m != n && t.Grants[m].Lock == g.Lock && t.Grants[m].End > g.Release })
}

// lendsKeys reports whether, when grant n is released, another client shares the lock without having a key of its own.
func (t *Trace) lendsKeys(n int32) bool {
	h, g := &t.handbacks, &t.Grants[n]
	if !g.Shared {
		return false
	}
	for p, sections := range h.inside {
		has := func(k int32) bool {
			n, known := t.Number[h.keys.all[k].of]
			return known && n == int32(p)
		}
		if int32(p) == t.Number[g.Process] || slices.ContainsFunc(h.stand[g.Lock], has) {
			continue
		}
		if slices.ContainsFunc(sections, func(m int32) bool {
			o := &t.Grants[m]
			return o.Lock == g.Lock && o.Shared && o.OK < g.Release && g.Release < o.End
		}) {
			return true
		}
	}
	return false
}

// noteKey handles the record at a position: it updates the keys that are present, and the releases that are being
// watched.
func (t *Trace) noteKey(at int32) {
	h, e := &t.handbacks, &t.History.Events[at]
	lock, isLock := t.LockNumber[e.Lock]
	if !isLock {
		return
	}
	unit := t.Unit(e.Process)
	n := h.keys.numberOf(place{unit, e.Lock, e.Member})
	key := &h.keys.all[n]
	stands := key.unit != "" && key.at != none
	switch {
	case !stands && e.F != history.KeySet:
		return
	case stands && e.F != history.KeySet && e.Of != "" && e.Of != t.History.Events[key.at].Of:
		return
	case stands:
		t.applyTo(lock, n, int(at))
	}
	switch e.F {
	case history.KeyProlonged:
		key.until = e.Until
	case history.KeyGone:
		key.at = none
		h.stand[lock] = slices.DeleteFunc(h.stand[lock], func(k int32) bool { return k == n })
	default:
		*key = standing{unit, t.ProcessOf(e.Lock, e.Of), e.Value, e.Until, at}
		if !stands {
			h.stand[lock] = append(h.stand[lock], n)
		}
	}
}

// applyTo handles the record at a position, which changes the given key. It updates the outcomes of releases whose
// client has this key, as long as all of that client's keys have stayed in place.
func (t *Trace) applyTo(lock, key int32, at int) {
	h := &t.handbacks
	h.active[lock] = slices.DeleteFunc(h.active[lock],
		func(i int32) bool { return h.watched[i].came != allStand || at > h.watched[i].End })
	for _, i := range h.active[lock] {
		w := &h.watched[i]
		if slices.ContainsFunc(h.own[w.from:w.to], func(k ownKey) bool { return k.key == key }) {
			w.came = t.cameOf(&h.keys.all[key], &t.History.Events[at], t.Grants[w.Grant].Process)
			if w.came == expired {
				w.End = at
			}
		}
	}
}

// cameOf returns a release's outcome according to a record that changes one of its client's keys.
func (t *Trace) cameOf(was *standing, e *history.Event, client history.Process) outcome {
	isSame := e.F == history.KeyProlonged || t.ProcessOf(e.Lock, Setter(e)) == client &&
		t.ProcessOf(e.Lock, e.Of) == client && e.Value != "" && e.Value == was.value
	switch {
	case e.F == history.KeyGone && e.Why == history.Expired, e.F == history.KeySet && e.Time >= was.until:
		return expired
	case e.F == history.KeyGone && e.Why != history.Deleted && e.Why != history.Flushed:
		return gone
	case e.F != history.KeyGone && isSame && e.Until >= was.until:
		return allStand
	}
	return changed
}

// shows reports whether the history shows what effect a release had, if any. If it had none, shows sets w.Left to the
// positions of the records that set the keys that stayed.
func (t *Trace) shows(w *watch) bool {
	h, g := &t.handbacks, &t.Grants[w.Grant]
	crash := t.CrashAfter(g.Process, g.Release)
	switch {
	case w.came == changed:
		return true
	case w.came == gone, w.came == expired && g.Done > w.End,
		w.came == allStand && t.End <= t.Time(g.Release)+t.History.Header.Bound,
		crash != Open && t.earliest(g.Process, g.Release, crash) <= w.End:
		return false
	}
	if !t.takenOver(g, w.End) {
		w.Expired = w.came == expired
		from := len(h.left)
		for _, k := range h.own[w.from:w.to] {
			h.left = append(h.left, k.at)
		}
		w.Left = h.left[from:]
	}
	return true
}

// takenOver reports whether the lock was granted again between g's release and the given position: to another client,
// or to the same client for an acquire that it had called before the release. If both grants are shared, it does not
// count.
func (t *Trace) takenOver(g *Grant, end int) bool {
	grants := t.Locks[g.Lock].Grants
	first := sort.Search(len(grants), func(i int) bool { return t.Grants[grants[i]].OK > g.Release })
	for _, m := range grants[first:] {
		o := &t.Grants[m]
		switch asked := o.Process != g.Process || t.Asks[o.Ask].Call < g.Release; {
		case o.OK > end:
			return false
		case asked && !(o.Shared && g.Shared):
			return true
		}
	}
	return false
}

// LastBy returns the last position before the time due is exceeded: the one before the first event, at or after
// position from, that is later than due. If there is no such event, it returns the position of the last event.
func (t *Trace) LastBy(from int, due history.Time) int {
	rest := t.History.Events[from:]
	if t.Ascending {
		return from + sort.Search(len(rest), func(i int) bool { return rest[i].Time > due }) - 1
	}
	if i := slices.IndexFunc(rest, func(e history.Event) bool { return e.Time > due }); i >= 0 {
		return from + i - 1
	}
	return len(t.History.Events) - 1
}
