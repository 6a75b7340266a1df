package trace

import (
	"cmp"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Overtaking is a grant to one process while another, which had asked for the lock earlier, was still waiting for it.
type Overtaking struct {
	Grant   int32
	Waiting int32 // index of the acquire of the process that had asked earlier
}

// arrivals goes through one lock's grants in order, and tracks who had asked for the lock before each grant.
type arrivals struct {
	t    *Trace
	asks []int32
	// for each acquire called before the current grant, in the order of asks: the first position at which a fault may
	// affect it
	disturbed []int
	first     int   // index in asks of the first acquire that later ones must not overtake
	waiting   []int // indexes in asks of the acquires that may be waiting
}

// Overtakings returns, in order, a lock's grants that overtook other processes. If a grant overtook several processes,
// only the one that asked first is named. If a fault may have affected a process while it was waiting, or within
// Order.Turn before it asked, overtaking it is excused. kept is the number of grants that kept the order although
// another process, which had asked later, was still waiting. If a fault may have affected the process that got such a
// grant, the grant is not counted.
func (t *Trace) Overtakings(lock int) (found []Overtaking, kept int) {
	l := &t.Locks[lock]
	v := arrivals{t: t, asks: l.Asks}
	by := make(map[history.Process]*affected)
	for _, n := range l.Grants {
		g := &t.Grants[n]
		for next := len(v.disturbed); next < len(v.asks) && t.Asks[v.asks[next]].Call < g.OK; next++ {
			v.disturbed = append(v.disturbed, t.disturbedAt(&t.Asks[v.asks[next]], by))
			v.waiting = append(v.waiting, next)
		}
		if i := v.overtaken(g); i >= 0 {
			found = append(found, Overtaking{n, v.asks[i]})
		} else if v.leavesBehind(g) {
			kept++
		}
	}
	return found, kept
}

// overtaken finds the first acquire that a grant overtook, and returns its index in v.asks. It returns -1 if there is
// none.
func (v *arrivals) overtaken(g *Grant) int {
	for v.first < len(v.disturbed) && v.isSettled(v.first, g.OK) {
		v.first++
	}
	b := &v.t.Asks[g.Ask]
	for i := v.first; i < len(v.disturbed); i++ {
		a := &v.t.Asks[v.asks[i]]
		switch late := v.isLate(b, a); {
		case !late && v.t.Ascending:
			return -1
		case late && a.Process != g.Process && !v.isSettled(i, g.OK) && v.t.waitsFor(a, g):
			return i
		}
	}
	return -1
}

// isLate reports whether acquire b was called so much later than acquire a that b must wait for a.
func (v *arrivals) isLate(b, a *Ask) bool {
	return a.Call < b.Call && v.t.Time(b.Call)-v.t.Time(a.Call) > v.t.History.Header.Order.Slack
}

// isSettled reports whether, by the given position, an acquire has ended or a fault may have affected it.
func (v *arrivals) isSettled(i, at int) bool {
	return v.disturbed[i] <= at || v.t.Waited(&v.t.Asks[v.asks[i]]) <= at
}

// leavesBehind reports whether a grant goes to a process unaffected by any fault while another process, which asked
// later, is still waiting.
func (v *arrivals) leavesBehind(g *Grant) bool {
	own, visited := slices.BinarySearch(v.asks[:len(v.disturbed)], g.Ask)
	if !visited || v.disturbed[own] <= g.OK {
		return false
	}
	for n := len(v.waiting) - 1; n >= 0; n-- {
		b := &v.t.Asks[v.asks[v.waiting[n]]]
		switch late, waits := v.isLate(b, &v.t.Asks[g.Ask]), v.t.Waited(b) > g.OK; {
		case late && waits && b.Process != g.Process:
			return true
		case !late && v.t.Ascending:
			return false
		case !waits && n == len(v.waiting)-1:
			v.waiting = v.waiting[:n]
		}
	}
	return false
}

// waitsFor reports whether acquire a was still waiting for the lock when another process got grant g. If a was granted
// the lock, it was waiting if its grant was decided after g. If a gave up, it was waiting if it did so more than
// Order.Slack after g. If a never ended, it was waiting.
func (t *Trace) waitsFor(a *Ask, g *Grant) bool {
	switch {
	case a.Grant >= 0:
		return t.Decided(&t.Grants[a.Grant]) > t.Decided(g)
	case a.Outcome != 0:
		return t.Time(a.Ret)-t.Time(g.OK) > t.History.Header.Order.Slack
	}
	return true
}

// affected lists the faults that may affect a process.
type affected struct {
	faults []int32
	next   int          // index of the first fault that had not struck at the latest call
	until  history.Time // when the last of the faults before next was over
}

// disturbedAt returns the position from which a fault may affect acquire a, or Open if there is none. If a fault was
// active within Order.Turn before the acquire's call, this is the position of the call. Otherwise, it is the position
// at which the next fault strikes. disturbedAt must be called for the acquires one by one, in the order of their calls.
func (t *Trace) disturbedAt(a *Ask, by map[history.Process]*affected) int {
	x := by[a.Process]
	if x == nil {
		x = &affected{until: Long}
		for i := range t.Faults {
			if t.mayAffect(&t.Faults[i], a.Process) {
				x.faults = append(x.faults, int32(i))
			}
		}
		by[a.Process] = x
	}
	for ; x.next < len(x.faults) && t.Faults[x.faults[x.next]].Start < a.Call; x.next++ {
		over := history.Never
		if at := t.Faults[x.faults[x.next]].Over(); at != Open {
			over = t.Time(at)
		}
		x.until = max(x.until, over)
	}
	switch {
	case x.until >= t.Time(a.Call)-t.History.Header.Order.Turn:
		return a.Call
	case x.next < len(x.faults):
		return t.Faults[x.faults[x.next]].Start
	}
	return Open
}

// mayAffect reports whether a fault may affect p, a process that asks for a lock. It returns false if the fault strikes
// only the resource and other processes that ask for locks, or only links to or from such processes.
func (t *Trace) mayAffect(f *Fault, p history.Process) bool {
	elsewhere := func(side []history.Process) bool {
		return len(side) > 0 && !slices.ContainsFunc(side, func(o history.Process) bool {
			n, active := t.Number[o]
			asks := active && t.processes[n].hasAsked
			return o == p || o != history.Resource && !asks
		})
	}
	return !elsewhere(f.On) && !elsewhere(f.To)
}

// Idle is a period in which a lock was free while a process was waiting for it.
type Idle struct {
	Ask          int32 // index of the first acquire of the process that had waited longest
	Since, Until history.Time
}

// LeftFree returns the periods longer than turn (see history.Order.Turn) in which a lock was left free: a process was
// waiting for it, no process held or acquired it, and no fault was active. If a never-ending fault may be affecting a
// process, this process does not count as waiting. LeftFree returns at most the given number of periods, in the order
// in which they became too long.
func (t *Trace) LeftFree(turn history.Time, most int) (all []Idle) {
	waits := t.waits()
	s := queues{t: t, waits: waits, over: make([]bool, len(waits)), locks: make([]queue, len(t.Locks)),
		cutOff: make(map[history.Process]int)}
	for i := range s.locks {
		s.locks[i].free, s.locks[i].noted = Long, -1
	}
	s.calm = Long
	for turns := t.Turns(waits); len(turns) > 0 && len(all) < most; {
		at := turns[0].At
		all = s.tooLong(all, at, turn)
		for ; len(turns) > 0 && turns[0].At == at; turns = turns[1:] {
			s.apply(turns[0])
		}
		if len(turns) == 0 {
			all = s.tooLong(all, Open, turn)
		}
	}
	slices.SortStableFunc(all, func(a, b Idle) int { return cmp.Compare(a.Since, b.Since) })
	return all[:min(most, len(all))]
}

// queues replays the history to track who is waiting for each lock and who is holding it.
type queues struct {
	t      *Trace
	waits  []wait
	over   []bool // by wait: whether it has ended
	locks  []queue
	faults int                     // number of faults in progress
	calm   history.Time            // when the last fault was over
	cutOff map[history.Process]int // where the first fault without end struck that may affect a process
}

// waitsAt reports whether, just before the given position, a wait was still in progress and no never-ending fault was
// affecting its process.
func (s *queues) waitsAt(n int32, at int) bool {
	p := s.waits[n].by.process
	struck, known := s.cutOff[p]
	if !known {
		struck = Open
		lasting := func(f Fault) bool { return f.isLasting() && s.t.mayAffect(&f, p) }
		if i := slices.IndexFunc(s.t.Faults, lasting); i >= 0 {
			struck = s.t.Faults[i].Start
		}
		s.cutOff[p] = struck
	}
	return !s.over[n] && at <= struck
}

type queue struct {
	line    []int32 // waits in the order of their beginnings; the first is in progress
	holders int
	free    history.Time // when its last holder left
	noted   int32        // the last wait that was reported
	since   history.Time // the time from which it was reported
}

// tooLong appends a period for each lock that a process was waiting for just before position at, and that had then been
// free for longer than turn (see history.Order.Turn). It does not append a period twice. It does nothing while a fault
// is active.
func (s *queues) tooLong(all []Idle, at int, turn history.Time) []Idle {
	if s.faults > 0 {
		return all
	}
	for l := range s.locks {
		q := &s.locks[l]
		first := slices.IndexFunc(q.line, func(n int32) bool { return s.waitsAt(n, at) })
		if first < 0 || q.holders > 0 {
			continue
		}
		n := q.line[first]
		w := &s.waits[n]
		since := max(s.t.Time(w.from), q.free, s.calm)
		if s.t.Time(at)-since > turn && (q.noted != n || q.since != since) {
			q.noted, q.since = n, since
			all = append(all, Idle{Ask: w.ask, Since: since, Until: s.t.Time(at)})
		}
	}
	return all
}

func (s *queues) apply(u turn) {
	switch u.Kind {
	case WaitBegins:
		q := &s.locks[s.waits[u.N].lock]
		q.line = append(q.line, u.N)
	case WaitEnds:
		s.over[u.N] = true
		for q := &s.locks[s.waits[u.N].lock]; len(q.line) > 0 && s.over[q.line[0]]; {
			q.line = q.line[1:]
		}
	case HoldBegins:
		s.locks[s.t.Grants[u.N].Lock].holders++
	case HoldEnds:
		q := &s.locks[s.t.Grants[u.N].Lock]
		q.holders--
		q.free = s.t.Time(u.At)
	case FaultStrikes:
		s.faults++
	case FaultIsOver:
		s.faults--
		s.calm = s.t.Time(u.At)
	}
}
