package trace

import (
	"cmp"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// never marks a lock that is making progress. It is stored instead of the time at which the lock stopped making
// progress, and is later than any time in a history.
const never = history.Never

// Stuck is a waiter that was stuck for too long.
type Stuck struct {
	Ask          int32 // index of the waiter's first acquire
	At           int   // the position at which the state below applies
	Since, Until history.Time
	Cycle        []int32 // acquires that wait for each other in a cycle; empty if there is no cycle
	// the last acquire in the chain of waits that begins with the waiter; its lock blocks all others in the chain
	Root    int32
	Holders []int32 // the grants that hold Root's lock
	// Gone lists the permanent faults that leave Root's waiter without a quorum of servers. It is empty if the waiter
	// still has a quorum.
	Gone []*Fault
}

// standstill tracks who is waiting for each lock and who holds it. For each lock with waiters, it stores when the lock
// stopped making progress.
type standstill struct {
	t       *Trace
	waits   []wait
	over    []bool           // by wait: whether it has ended
	waiting map[task][]int32 // waits in progress
	// the waits for each lock, in the order in which they began; the first one is still in progress
	line    [][]int32
	holders [][]int32 // by lock: open sections
	// for each lock, the time at which it stopped, or will stop, making progress; never if it is making progress
	since   []history.Time
	before  []history.Time // copy of since made before the current turns
	endless map[Title]bool // attempts that have a key without expiry
	faults  int            // number of faults in progress
	calm    history.Time   // when the last fault was over
	// for each wait that has been reported, the time at which it became stuck
	noted map[int32]history.Time
}

// FirstStuck returns the first of the waiters that Stuck returns, if any.
func (t *Trace) FirstStuck(limit history.Time) (Stuck, bool) {
	if all := t.Stuck(limit, 1); len(all) > 0 {
		return all[0], true
	}
	return Stuck{}, false
}

// Stuck returns the waiters that were stuck for longer than limit while no fault was in progress. Each waiter is
// reported once per period between faults. The waiters are in the order in which they became overdue, with one
// exception: the first waiter that still had a quorum of servers comes first, because waiters without a quorum are
// blocked by the missing servers. most is the maximum number of waiters. If that first waiter would not be among them,
// it is added.
//
// To save time, Stuck does not determine which locks are making no progress until some wait has lasted longer than
// limit.
func (t *Trace) Stuck(limit history.Time, most int) []Stuck {
	waits := t.waits()
	first := slices.IndexFunc(waits, func(w wait) bool { return t.Time(w.to)-t.Time(w.from) > limit })
	if first < 0 {
		return nil
	}
	n := len(t.Locks)
	s := standstill{t: t, endless: t.keysWithoutExpiry(), waits: waits, over: make([]bool, len(waits)),
		waiting: make(map[task][]int32), line: make([][]int32, n),
		holders: make([][]int32, n), since: slices.Repeat([]history.Time{never}, n), before: make([]history.Time, n),
		noted: make(map[int32]history.Time)}
	var all []Stuck
	reaching := -1 // index of the first waiter that still had a quorum
	look := func(at int) (enough bool) {
		for _, x := range s.overdue(at, limit) {
			switch {
			case reaching < 0 && len(x.Gone) == 0:
				reaching, all = len(all), append(all, x)
			case len(all) < most:
				all = append(all, x)
			}
		}
		return reaching >= 0 && len(all) >= most
	}
	for turns := t.Turns(waits); len(turns) > 0; {
		at := turns[0].At
		if look(at) {
			break
		}
		n := 1
		for n < len(turns) && turns[n].At == at { // a crash may end several holds and waits at once
			n++
		}
		s.pass(t.Time(at), turns[:n], at >= waits[first].from)
		if turns = turns[n:]; len(turns) == 0 {
			look(Open)
		}
	}
	if reaching > 0 {
		x := all[reaching]
		copy(all[1:], all[:reaching])
		all[0] = x
	}
	return all
}

// pass applies all turns at one moment: waits, holds and faults that begin or end. If closely is set, it then
// determines which locks make progress. A lock that made no progress before and after these turns counts as having made
// none in between. It did make progress if it was acquired, or if a holder released or lost it, but not if a holder
// crashed.
func (s *standstill) pass(now history.Time, turns []turn, closely bool) {
	copy(s.before, s.since)
	for _, u := range turns {
		if u.Kind == HoldBegins || u.Kind == HoldEnds && s.t.Grants[u.N].Ending != Crashed {
			s.before[s.t.Grants[u.N].Lock] = never
		}
		s.apply(now, u)
	}
	if !closely {
		return
	}
	s.settle(now)
	for l := range s.since {
		if s.before[l] <= now && s.since[l] <= now {
			s.since[l] = s.before[l]
		}
	}
}

func (s *standstill) apply(now history.Time, u turn) {
	drop := func(list []int32) []int32 { return slices.DeleteFunc(list, func(n int32) bool { return n == u.N }) }
	switch u.Kind {
	case WaitBegins:
		w := &s.waits[u.N]
		s.waiting[w.by] = append(s.waiting[w.by], u.N)
		s.line[w.lock] = append(s.line[w.lock], u.N)
	case WaitEnds:
		w := &s.waits[u.N]
		s.waiting[w.by] = drop(s.waiting[w.by])
		s.over[u.N] = true
		for line := &s.line[w.lock]; len(*line) > 0 && s.over[(*line)[0]]; {
			*line = (*line)[1:]
		}
	case HoldBegins:
		l := s.t.Grants[u.N].Lock
		s.holders[l] = append(s.holders[l], u.N)
	case HoldEnds:
		l := s.t.Grants[u.N].Lock
		s.holders[l] = drop(s.holders[l])
	case FaultStrikes:
		s.faults++
	case FaultIsOver:
		s.faults--
		s.calm = now
	}
}

// overdue returns the waiters that had been stuck for longer than limit just before position at, the one that had been
// stuck longest first. It omits those that were already reported. While a fault is active, it returns none.
func (s *standstill) overdue(at int, limit history.Time) (all []Stuck) {
	if s.faults > 0 {
		return nil
	}
	type late struct {
		wait  int32
		since history.Time
	}
	var found []late
	for l, line := range s.line {
		for i, n := range line {
			since := max(s.t.Time(s.waits[n].from), s.since[l], s.calm)
			tooLong := since < s.t.Time(at)-limit
			if noted, was := s.noted[n]; tooLong && !s.over[n] && !(was && noted == since) {
				found = append(found, late{n, since})
				s.noted[n] = since
			}
			if i == 0 && !tooLong { // of the waiters for one lock, the first has been stuck longest
				break
			}
		}
	}
	slices.SortFunc(found, func(a, b late) int { return cmp.Or(cmp.Compare(a.since, b.since), int(a.wait-b.wait)) })
	for _, x := range found {
		all = append(all, s.stuck(x.wait, at, x.since))
	}
	return all
}

// stuck describes waiter n, which has been stuck since the given time.
func (s *standstill) stuck(n int32, at int, since history.Time) Stuck {
	cycle, root := s.follow(n)
	ask := s.waits[root].ask
	return Stuck{Ask: s.waits[n].ask, At: at, Since: since, Until: s.t.Time(at), Cycle: cycle, Root: ask,
		Holders: slices.Clone(s.holders[s.waits[root].lock]), Gone: s.t.withoutQuorum(s.t.Asks[ask].Process, at)}
}

// settle determines which locks are making no progress, or will stop making progress at some later moment if nothing
// else happens, and stores these moments in s.since. It first assumes that no lock with waiters is making progress, and
// corrects this until nothing changes. So locks whose waiters are waiting for each other in a cycle make no progress.
func (s *standstill) settle(now history.Time) {
	for l := range s.since {
		if s.since[l] = never; len(s.line[l]) > 0 {
			s.since[l] = now
		}
	}
	for changed := true; changed; {
		changed = false
		for l := range s.since {
			for i := len(s.holders[l]) - 1; i >= 0 && s.since[l] != never; i-- {
				if from := s.holderStuck(s.holders[l][i]); from > s.since[l] {
					s.since[l], changed = from, true
				}
			}
		}
	}
}

// holderStuck returns the moment from which holder n counts as stuck, or never. If n is waiting for a lock that is not
// making progress, n is stuck from the moment at which this wait began, or at which the lock stopped making progress if
// that is later. If nothing limits n's hold, n is stuck from the moment at which the hold reached the duration that the
// header declares. If both apply, the earlier moment counts.
func (s *standstill) holderStuck(n int32) history.Time {
	g := &s.t.Grants[n]
	from := never
	if s.t.History.Header.Uncapped || s.endless[Title{s.t.Locks[g.Lock].Name, g.Attempt}] {
		from = s.t.Time(g.OK) + s.t.History.Header.Hold
	}
	for _, w := range s.waiting[s.t.Asks[g.Ask].by()] {
		from = min(from, max(s.t.Time(s.waits[w].from), s.since[s.waits[w].lock]))
	}
	return from
}

// follow finds out what waiter n is ultimately waiting for. It goes from n to a holder of the lock that n is waiting
// for, if this holder is itself waiting, then to a holder of the lock that this holder is waiting for, and so on. If it
// comes to a waiter that it has already visited, it returns the cycle. root is the last waiter that it visited.
func (s *standstill) follow(n int32) (cycle []int32, root int32) {
	var path []int32
	for {
		if i := slices.Index(path, n); i >= 0 {
			for _, w := range path[i:] {
				cycle = append(cycle, s.waits[w].ask)
			}
			return cycle, n
		}
		path = append(path, n)
		next := int32(-1)
		for _, g := range s.holders[s.waits[n].lock] {
			for _, w := range s.waiting[s.t.Asks[s.t.Grants[g].Ask].by()] {
				if next < 0 || w < next {
					next = w
				}
			}
		}
		if next < 0 {
			return nil, n
		}
		n = next
	}
}

// keysWithoutExpiry returns the attempts whose key has no expiry according to the key's last record.
func (t *Trace) keysWithoutExpiry() map[Title]bool {
	never := make(map[Title]bool)
	for _, at := range t.Keys {
		if e := &t.History.Events[at]; e.F != history.KeyGone && e.Of != "" {
			never[Title{e.Lock, e.Of}] = e.Until == history.Never
		}
	}
	return never
}
