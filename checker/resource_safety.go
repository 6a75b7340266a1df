package checker

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// resourceSafety judges the data's promise on the resource's own records:
//
//	(a) once a read or write of grant B was accepted, no write of an earlier grant A is accepted;
//	(b) each accepted write builds on the value that its own read returned.
//
// The data of a lock is one register. It starts as "", or as what the first accepted read returned. What a read returned
// is what its client was told before it called the write; where the history does not tell of clients' reads and writes, it
// is the read that the resource accepted last. A grant that wrote knows the value it wrote, so that its next write builds
// on that. A write without any read builds on nothing: (b) does not apply. Nor does it where the value to be lost, or the one
// read after it, was written by nobody in the history. An effect whose attempt was never granted has no place in the order
// of grants: it changes the value, (b) applies, (a) does not.
//
// It needs accepted writes, and grants that state when they were decided, or tokens. Porcupine judges the clients'
// read-modify-writes beside it: what it refutes must break (a) or (b) too.
func (t *trace) resourceSafety(f *Finding) {
	s := &t.scan
	s.reset(len(t.locks), len(t.grants))
	writes, ranked, unranked := 0, false, false
	for _, at := range t.data {
		e := &t.h.Events[at]
		lock, known := t.lockNumber[e.Lock]
		if e.F != history.Apply && known && e.Attempt != "" {
			s.bases.client(int(at), lock, e)
		}
		if e.F != history.Apply || !known || e.Type != history.OK {
			continue
		}
		n, granted := t.grantAt(e.Of, lock)
		if e.Op == history.Write {
			writes++
			if granted {
				if newer := t.superseded(lock, n); newer >= 0 {
					t.staleStory(f, int(at), newer)
					return
				}
				unranked = unranked || s.data[lock].incomparable(&t.grants[n], s.ranked[n])
				ranked = ranked || t.grants[n].kind()&(hasTimes|hasToken) != 0
			}
			if own := s.bases.under(lock, e); t.loses(lock, own) {
				t.lostStory(f, int(at), lock, own)
				return
			}
		}
		s.effect(int(at), lock, e)
		if granted {
			t.rank(int(at), lock, n)
		}
	}
	switch {
	case writes == 0:
		f.unchecked("The resource accepted no write.")
	case unranked || !ranked:
		f.unchecked("Whose grant is the later one cannot be told: there are grants that state neither when they were decided nor a fencing token.")
	case t.updatesRefuted():
		f.undecided("Porcupine refutes the clients' read-modify-writes, but the resource's records show no stale effect and no lost " +
			"update: either the records and the clients' replies contradict each other, or the checker is wrong.")
	default:
		f.holds(count(writes, "accepted write") + ", none of a superseded holder, no update lost.")
	}
}

// datum is the resource behind one lock.
type datum struct {
	value   string
	initial string
	at      int // the write it comes from, -1 if none
	started bool
	effects []effect // the first accepted effect of each grant
	kinds   [kinds]int
	ranks   [2]ranks // of all grants that took effect, and of those that were not shared
}

type effect struct {
	grant int32
	at    int
}

// scan is the state of the resource while its records are read.
type scan struct {
	data    []datum // by lock
	ranked  []bool  // by grant: whether it took effect
	written map[datumValue]bool
	bases   bases
}

// datumValue is a value of what one lock guards.
type datumValue struct {
	lock  history.Lock
	value string
}

func (s *scan) reset(locks, grants int) {
	s.bases.reset()
	s.written = nil
	s.ranked = slices.Grow(s.ranked[:0], grants)[:grants]
	clear(s.ranked)
	for len(s.data) < locks {
		s.data = append(s.data, datum{})
	}
	for i := range s.data {
		d := &s.data[i]
		*d = datum{at: -1, effects: d.effects[:0], ranks: d.ranks}
		for j := range d.ranks {
			d.ranks[j].reset()
		}
	}
}

func (s *scan) effect(at int, lock int32, e *history.Event) {
	d := &s.data[lock]
	if e.Op == history.Write {
		d.value, d.at = e.Value, at
	} else if !d.started {
		d.value, d.initial = e.Value, e.Value
	}
	d.started = true
	s.bases.accept(at, lock, e)
}

// loses reports whether a write that builds on own overwrites another that it does not know of. A value that nobody wrote
// is no update; nor is one lost to this write that somebody outside the history had overwritten before it was read.
func (t *trace) loses(lock int32, own basis) bool {
	d := &t.scan.data[lock]
	if !own.known || own.value == d.value || d.at < 0 {
		return false
	}
	return own.asked <= d.at || !t.fromNowhere(lock, own.value)
}

// fromNowhere reports whether a value was written by nobody in the history, and is not what the data began with.
func (t *trace) fromNowhere(lock int32, value string) bool {
	s := &t.scan
	if value == s.data[lock].initial {
		return false
	}
	if s.written == nil {
		s.written = make(map[datumValue]bool)
		for _, at := range t.data {
			if e := &t.h.Events[at]; e.F == history.Write || e.F == history.Apply && e.Op == history.Write {
				s.written[datumValue{e.Lock, e.Value}] = true
			}
		}
	}
	return !s.written[datumValue{t.locks[lock].name, value}]
}

func (t *trace) grantAt(of history.Attempt, lock int32) (int32, bool) {
	n, ok := t.owner[title{t.locks[lock].name, of}]
	return n, ok && of != ""
}

func (t *trace) staleStory(f *Finding, at, newer int) {
	e := &t.h.Events[at]
	lock := t.lockNumber[e.Lock]
	by := t.scan.data[lock].effects[newer]
	n, _ := t.grantAt(e.Of, lock)
	a, b := &t.grants[n], &t.grants[by.grant]
	effect := &t.h.Events[by.at]
	story := sentence("The resource accepted a write of %s at %v although it had accepted a %s of %s at %v, whose grant of %s is the later one (%s).",
		t.who(a, b), e.Time, effect.Op, t.who(b, a), effect.Time, quoted(e.Lock), t.orderText(a, b))
	w := []int{a.ok, b.ok, by.at, at}
	if a.lease != nil {
		end := a.lease.Granted
		if last := t.lastWindow(lock, n); last != nil {
			end = history.Time(last.to)
		}
		why := t.blameFor(lateness{grant: n, met: by.at, left: at, deadline: effect.Time, ended: end})
		story += t.blameStory(a.process, why)
		w = append(w, why.witness()...)
		if end <= e.Time {
			story += sentence(" Its lease had ended at %v.", end)
		}
	}
	story += " The resource did not know that the writer was no longer the holder."
	f.violated(t, Cause{Kind: StaleEffect}, story, w, e.Lock, a.process, b.process)
	f.At = e.Index
}

func (t *trace) orderText(a, b *grant) string {
	if t.decided(a) < t.since(b) {
		return sentence("it was asked for at %v, the other granted at %v", t.since(b), t.decided(a))
	}
	return sentence("token %d, against %d", b.token, a.token)
}

func (t *trace) lostStory(f *Finding, at int, lock int32, own basis) {
	e, d := &t.h.Events[at], &t.scan.data[lock]
	now := "was not the resource's"
	if d.at >= 0 {
		other := &t.h.Events[d.at]
		now = sentence("had been overwritten by %q of %s at %v", d.value, t.name(other.Of), other.Time)
	}
	known := &t.h.Events[own.at]
	did := known.F
	if did == history.Apply {
		did = known.Op
	}
	story := sentence("The resource accepted the write %q of %s at %v. It builds on the value %q, known from the writer's own %s at %v; but that value %s: that update is lost.",
		e.Value, t.name(e.Of), e.Time, own.value, did, known.Time, now)
	f.violated(t, Cause{Kind: LostUpdate}, story, []int{own.at, d.at, at}, e.Lock, t.processOf(e.Of))
	f.At = e.Index
}
