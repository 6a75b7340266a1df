package checker

import (
	"math"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/linear"
)

// open stands for the position of something that has not happened by the end of the history.
const open = math.MaxInt

// ask is one acquire operation. Positions are places in History.Events, which is the order of the history.
type ask struct {
	process history.Process
	lock    int32 // in trace.locks
	grant   int32 // in trace.grants, -1 if it was not granted
	call    int
	ret     int          // open if it never returned; a crash of its process ends it too
	outcome history.Type // zero while open or crashed
}

// ending says how a section ended.
type ending uint8

const (
	stillOpen ending = iota
	released         // release was called
	lost
	crashed
)

// grant is one acquire ok with its section: [ok, end) in positions.
type grant struct {
	ask     int32
	lock    int32
	shared  bool
	ending  ending
	process history.Process
	attempt history.Attempt
	token   history.Token
	ok, end int            // end is open if the section never ended
	lease   *history.Grant // nil if the history does not carry it
	// release is the position of the first release call, which may come after the section ended otherwise; done is
	// that call's return. Both are open if there was none. A release known only by its outcome was called when it returned.
	release, done int
	window        int32        // while windows are listed: the place of its latest, or none
	stated        history.Time // from when on it states how long it was valid; Never if it does not
	until         history.Time // the end of its validity, as last stated before its release was called
}

// title names a grant in the records of servers and of the resource: an attempt of one lock. The same attempt on another
// lock is another grant.
type title struct {
	lock    history.Lock
	attempt history.Attempt
}

// extension is one extend ok.
type extension struct {
	grant int32
	at    int
}

// lockTrace gathers what belongs to one lock, in order.
type lockTrace struct {
	name   history.Lock
	grants []int32
	asks   []int32
	// windows and sections are the spans of the grants in true time and in positions: see windows.go.
	windows, sections []span
	stated            int // windows that its grants state, those included of which nothing is left
}

// processTrace is the state of one process while a history is read. Lists, because a process may have several tasks.
type processTrace struct {
	asks     []int32 // open
	sections []int32 // open
	release  int32   // the grant whose release is under way, or -1
}

// trace is a history read once, for all laws. Its memory is used again for the next history.
type trace struct {
	h          *history.History
	ascending  bool         // no event is earlier than the one before it
	end        history.Time // when recording stopped
	locks      []lockTrace
	lockNumber map[history.Lock]int32
	asks       []ask
	grants     []grant
	extensions []extension
	owner      map[title]int32                     // the latest grant of a title
	maker      map[history.Attempt]history.Process // whose attempt it is
	processes  []processTrace
	number     map[history.Process]int32
	faults     []fault
	cited      []int // positions at which the faults struck that the story under way has named
	struck     underWay
	reports    []report
	data       []int32 // positions of the resource's records, and of the clients' reads and writes
	keys       []int32 // positions of the servers' records of keys
	expiries   bool    // the servers record that keys expire
	interval   interval
	mutexOps   []linear.MutexOp
	scan       scan
	live       keys
	touched    []use    // by ask
	calms      []calmAt // by fault
	reach      reach
	residue    residue
	pairs      pairs
}

// read fills the trace from h.
func (t *trace) read(h *history.History) {
	t.reset(h)
	for _, name := range h.Header.Locks {
		t.lock(name)
	}
	for i := range h.Events {
		e := &h.Events[i]
		t.ascending = t.ascending && (i == 0 || h.Events[i-1].Time <= e.Time)
		t.end = max(t.end, e.Time)
		if e.Process == history.Nemesis { // it names its faults as it likes
			t.fault(i, e)
			continue
		}
		switch e.F {
		case history.KeySet, history.KeyGone, history.KeyProlonged:
			t.keys = append(t.keys, int32(i))
			t.expiries = t.expiries || e.Why == history.Expired
		case history.Apply, history.Read, history.Write:
			t.data = append(t.data, int32(i))
		case history.Acquire:
			t.acquire(i, e)
		case history.Extend:
			if g := t.sectionOf(e); g >= 0 && e.Type == history.OK && e.Grant != nil {
				t.extensions = append(t.extensions, extension{g, i})
			}
		case history.Release:
			t.released(i, e)
		case history.Lost:
			if g := t.sectionOf(e); g >= 0 {
				t.close(g, i, lost)
			}
		case history.Crashed:
			t.crash(i, e)
		}
	}
	if len(t.data) == 0 {
		t.faults = slices.DeleteFunc(t.faults, ofResource)
	}
}

func (t *trace) reset(h *history.History) {
	t.h, t.ascending, t.expiries, t.end = h, true, false, h.Header.End
	if t.number == nil {
		t.lockNumber = make(map[history.Lock]int32)
		t.owner = make(map[title]int32)
		t.maker = make(map[history.Attempt]history.Process)
		t.struck = make(underWay)
		t.number = make(map[history.Process]int32)
	}
	clear(t.lockNumber)
	clear(t.owner)
	clear(t.maker)
	clear(t.struck)
	t.reports = t.reports[:0]
	clear(t.number)
	t.locks, t.processes = t.locks[:0], t.processes[:0]
	t.asks, t.grants, t.extensions = t.asks[:0], t.grants[:0], t.extensions[:0]
	t.faults, t.cited, t.data, t.keys = t.faults[:0], t.cited[:0], t.data[:0], t.keys[:0]
}

// lock gives the number of a lock. The locks that are judged are those of the header and those that somebody asked
// for; a key of another name is no lock.
func (t *trace) lock(name history.Lock) int32 {
	if n := len(t.locks); n > 0 && t.locks[n-1].name == name { // most histories have one
		return int32(n - 1)
	}
	if n, ok := t.lockNumber[name]; ok {
		return n
	}
	n := len(t.locks)
	t.lockNumber[name] = int32(n)
	if n < cap(t.locks) {
		t.locks = t.locks[:n+1]
		l := &t.locks[n]
		l.name, l.grants, l.asks = name, l.grants[:0], l.asks[:0]
	} else {
		t.locks = append(t.locks, lockTrace{name: name})
	}
	return int32(n)
}

func (t *trace) process(name history.Process) *processTrace {
	n, ok := t.number[name]
	if !ok {
		n = int32(len(t.processes))
		t.number[name] = n
		if int(n) < cap(t.processes) {
			t.processes = t.processes[:n+1]
			p := &t.processes[n]
			p.asks, p.sections = p.asks[:0], p.sections[:0]
		} else {
			t.processes = append(t.processes, processTrace{})
		}
		t.processes[n].release = -1
	}
	return &t.processes[n]
}

func (t *trace) acquire(i int, e *history.Event) {
	p, l := t.process(e.Process), t.lock(e.Lock)
	if e.Type == history.Invoke {
		n := int32(len(t.asks))
		t.asks = append(t.asks, ask{process: e.Process, lock: l, grant: -1, call: i, ret: open})
		t.locks[l].asks = append(t.locks[l].asks, n)
		p.asks = append(p.asks, n)
		return
	}
	n := t.asked(p, l)
	if n < 0 { // a foreign history may record only outcomes: it was called when it returned
		n = int32(len(t.asks))
		t.asks = append(t.asks, ask{process: e.Process, lock: l, grant: -1, call: i})
		t.locks[l].asks = append(t.locks[l].asks, n)
	}
	a := &t.asks[n]
	a.ret, a.outcome = i, e.Type
	if e.Type != history.OK {
		return
	}
	g := int32(len(t.grants))
	a.grant = g
	t.grants = append(t.grants, grant{ask: n, lock: l, shared: e.Shared || t.h.Events[a.call].Shared, process: e.Process,
		attempt: e.Attempt, token: e.Token, ok: i, end: open, lease: e.Grant, release: open, done: open})
	t.locks[l].grants = append(t.locks[l].grants, g)
	p.sections = append(p.sections, g)
	if e.Attempt != "" {
		t.owner[title{e.Lock, e.Attempt}], t.maker[e.Attempt] = g, e.Process
	}
}

// asked takes the oldest open acquire of p on lock l off its list, -1 if there is none.
func (t *trace) asked(p *processTrace, l int32) int32 {
	for i, n := range p.asks {
		if t.asks[n].lock == l {
			p.asks = append(p.asks[:i], p.asks[i+1:]...)
			return n
		}
	}
	return -1
}

// sectionOf finds the grant an event belongs to: that of its attempt, or without one the latest open section of its
// process on that lock. -1: none, as for the clean-up release of an attempt that was never granted.
func (t *trace) sectionOf(e *history.Event) int32 {
	if e.Attempt != "" {
		g, ok := t.owner[title{e.Lock, e.Attempt}]
		if !ok {
			return -1
		}
		return g
	}
	p := t.process(e.Process)
	for i := len(p.sections) - 1; i >= 0; i-- {
		if g := p.sections[i]; t.locks[t.grants[g].lock].name == e.Lock {
			return g
		}
	}
	return -1
}

func (t *trace) released(i int, e *history.Event) {
	p := t.process(e.Process)
	if e.Type == history.Invoke {
		g := t.sectionOf(e)
		if g < 0 || t.grants[g].release != open {
			return
		}
		t.grants[g].release = i
		t.close(g, i, released)
		p.release = g
		return
	}
	g := p.release
	if e.Attempt != "" || g < 0 {
		g = t.sectionOf(e)
	}
	p.release = -1
	if g < 0 {
		return
	}
	s := &t.grants[g]
	if s.release == open { // the history records only its outcome
		s.release = i
		t.close(g, i, released)
	}
	if s.done == open {
		s.done = i
	}
}

// close ends a section, unless it has ended already.
func (t *trace) close(g int32, i int, how ending) {
	s := &t.grants[g]
	if s.ending != stillOpen {
		return
	}
	s.end, s.ending = i, how
	p := t.process(s.process)
	for j, o := range p.sections {
		if o == g {
			p.sections = append(p.sections[:j], p.sections[j+1:]...)
			return
		}
	}
}

func (t *trace) crash(i int, e *history.Event) {
	p := t.process(e.Process)
	for len(p.sections) > 0 {
		t.close(p.sections[len(p.sections)-1], i, crashed)
	}
	for _, n := range p.asks {
		t.asks[n].ret = i
	}
	p.asks = p.asks[:0]
	p.release = -1
}

// time is when the event at position i happened; for open, when recording stopped.
func (t *trace) time(i int) history.Time {
	if i == open {
		return t.end
	}
	return t.h.Events[i].Time
}
