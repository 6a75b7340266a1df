package checker

import (
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
// on that. A write without any read builds on nothing: (b) does not apply. An effect whose attempt was never granted has
// no place in the order of grants: it changes the value, (b) applies, (a) does not.
//
// It needs accepted writes. Porcupine judges the clients' read-modify-writes beside it: what it refutes must break (a)
// or (b) too.
func (t *trace) resourceSafety(f *Finding) {
	s := &t.scan
	s.reset(len(t.locks))
	writes := 0
	for _, at := range t.data {
		e := &t.h.Events[at]
		lock, known := t.lockNumber[e.Lock]
		if e.F != history.Apply && known && e.Attempt != "" {
			s.bases.client(int(at), lock, e)
		}
		if e.F != history.Apply || !known || e.Type != history.OK {
			continue
		}
		if e.Op == history.Write {
			writes++
			if newer := t.superseded(lock, e.Of); newer >= 0 {
				t.staleStory(f, int(at), newer)
				return
			}
			if own := s.bases.under(lock, e); own.known && own.value != s.data[lock].value {
				t.lostStory(f, int(at), lock, own)
				return
			}
		}
		s.effect(int(at), lock, e)
		t.rank(int(at), lock, e.Of)
	}
	if writes == 0 {
		f.unchecked("The resource accepted no write.")
		return
	}
	if t.updatesRefuted() {
		f.undecided("Porcupine refutes the clients' read-modify-writes, but the resource's records show no stale effect and no lost " +
			"update: either the records and the clients' replies contradict each other, or the checker is wrong.")
		return
	}
	f.holds(count(writes, "accepted write") + ", none of a superseded holder, no update lost.")
}

// datum is the resource behind one lock.
type datum struct {
	value   string
	initial string
	at      int // the write it comes from, -1 if none
	started bool
	effects []effect // the first accepted effect of each grant
	// highest is the highest token of a grant that took effect, latest the latest request of one. They show quickly that
	// no grant was superseded.
	highest history.Token
	latest  history.Time
}

type effect struct {
	grant int32
	at    int
}

// scan is the state of the resource while its records are read.
type scan struct {
	data  []datum // by lock
	bases bases
}

func (s *scan) reset(locks int) {
	s.bases.reset()
	for len(s.data) < locks {
		s.data = append(s.data, datum{})
	}
	for i := range s.data {
		s.data[i] = datum{at: -1, effects: s.data[i].effects[:0], latest: -history.Never}
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

// rank enters a grant that took effect for the first time.
func (t *trace) rank(at int, lock int32, of history.Attempt) {
	n, granted := t.grantAt(of, lock)
	if !granted {
		return
	}
	d := &t.scan.data[lock]
	for i := len(d.effects) - 1; i >= 0; i-- { // it is most often the last
		if d.effects[i].grant == n {
			return
		}
	}
	d.effects = append(d.effects, effect{n, at})
	g := &t.grants[n]
	d.highest = max(d.highest, g.token)
	if g.lease != nil {
		d.latest = max(d.latest, g.lease.Since)
	}
}

// superseded returns the first effect of a grant later than that of attempt of, as its place in the lock's effects, or
// -1 if there is none.
func (t *trace) superseded(lock int32, of history.Attempt) int {
	n, granted := t.grantAt(of, lock)
	if !granted {
		return -1
	}
	d, g := &t.scan.data[lock], &t.grants[n]
	byToken := g.token != 0 && d.highest > g.token
	byTime := g.lease != nil && g.lease.Granted < d.latest
	if !byToken && !byTime {
		return -1
	}
	for i := range d.effects {
		if t.earlier(g, &t.grants[d.effects[i].grant]) {
			return i
		}
	}
	return -1
}

// earlier orders two grants: by token where both have one and they differ, else a was granted before b's request left.
// Two holders of a shared lock do not supersede each other.
func (t *trace) earlier(a, b *grant) bool {
	switch {
	case a == b || a.shared && b.shared:
		return false
	case a.token != 0 && b.token != 0 && a.token != b.token:
		return a.token < b.token
	}
	return a.lease != nil && b.lease != nil && a.lease.Granted < b.lease.Since
}

func (t *trace) grantAt(of history.Attempt, lock int32) (int32, bool) {
	n, ok := t.owner[of]
	return n, ok && of != "" && t.grants[n].lock == lock
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
	if a.token != 0 && b.token != 0 && a.token != b.token {
		return sentence("token %d, against %d", b.token, a.token)
	}
	return sentence("it was asked for at %v, the other granted at %v", b.lease.Since, a.lease.Granted)
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
