// Package trace reads a history once and collects what the laws need: who requested and was granted which lock, when
// sections and leases began and ended, which faults struck whom, which keys were on which servers, who waited for whom,
// and what took effect at the resource.
//
// Goals: one reading for all laws, in time linear in the history, in memory that is reused. Non-goals: verdicts and
// stories.
package trace

import (
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Open is the position of something that has not happened by the end of the history.
const Open = math.MaxInt

// Ask is one acquire operation. Positions are indexes in History.Events, which is the order of the history.
type Ask struct {
	Process history.Process
	Lock    int32 // index in Trace.Locks
	Grant   int32 // index in Trace.Grants; -1 if it was not granted
	Call    int
	Ret     int          // Open if it never returned; a crash of its process also ends it
	Outcome history.Type // zero if it has not returned
}

// ending is how a section ended.
type ending uint8

const (
	StillOpen ending = iota
	Released         // release was called
	Lost
	Crashed
)

// Grant is one successful acquire with its section, the positions [OK, End).
type Grant struct {
	Ask     int32
	Lock    int32
	Shared  bool
	Ending  ending
	Process history.Process
	Attempt history.Attempt
	Token   history.Token
	OK, End int            // End is Open if the section never ended
	Lease   *history.Grant // nil if the history does not state it
	// Release is the position of the first release call, which may come after the section has ended in another way.
	// Done is the return of that call. Both are Open if there was no release. If only the outcome of a release is
	// recorded, both are the position of the outcome.
	Release, Done int
	window        int32        // used while windows are listed: index of its latest window, or none
	Stated        history.Time // time from which it states how long it is valid; Never if it does not
	Until         history.Time // end of its validity, as last stated before its release was called
}

// Title identifies a grant in the records of servers and of the resource: an attempt on one lock. The same attempt name
// on another lock means another grant.
type Title struct {
	Lock    history.Lock
	Attempt history.Attempt
}

// extension is one successful extend.
type extension struct {
	grant int32
	at    int
}

// LockTrace lists the grants, acquires and spans of one lock, in order.
type LockTrace struct {
	Name   history.Lock
	Grants []int32
	Asks   []int32
	// Windows and Sections are the spans of the grants, in true time and in positions. See windows.go.
	Windows, Sections []Span
	Stated            int // number of windows that its grants state, including those that a release cut to nothing
}

// processTrace is the state of one process while a history is read. It holds lists because a process may have several
// tasks.
type processTrace struct {
	asks     []int32 // open
	sections []int32 // open
	releases []int32 // grants whose release is under way
}

// Trace is a history read once, for all laws. Its memory is reused for the next history.
type Trace struct {
	History    *history.History
	Ascending  bool         // no event is earlier than the one before it
	End        history.Time // when recording stopped
	Locks      []LockTrace
	LockNumber map[history.Lock]int32
	Asks       []Ask
	Grants     []Grant
	extensions []extension
	Owner      map[Title]int32                     // the latest grant of a title
	maker      map[history.Attempt]history.Process // the process that made an attempt
	processes  []processTrace
	Number     map[history.Process]int32
	Faults     []Fault
	Unfelt     []Fault // those that struck only a resource that nobody uses; not in Faults
	Cited      []int   // start positions of the faults that the current story has named
	struck     underWay
	reports    []report
	Data       []int32 // positions of the resource's records and of the clients' reads and writes
	Keys       []int32 // positions of the servers' records about keys
	crashes    []int32 // positions at which processes crashed
	Expiries   bool    // whether the servers record the expiry of keys
	Interval   interval
	Scan       scan
	live       keys
	touched    []use    // by ask
	calms      []calmAt // by fault
	Reach      reach
	Residue    residue
	handbacks  handbacks
	pairs      pairs
}

// Read fills the trace from h.
func (t *Trace) Read(h *history.History) {
	t.reset(h)
	if len(h.Events) >= longHistory {
		t.makeRoom(h)
	}
	for _, name := range h.Header.Locks {
		t.lock(name)
	}
	for i := range h.Events {
		e := &h.Events[i]
		t.Ascending = t.Ascending && (i == 0 || h.Events[i-1].Time <= e.Time)
		t.End = max(t.End, e.Time)
		if e.Process == history.Nemesis { // the nemesis may name faults freely
			t.fault(i, e)
			continue
		}
		switch e.F {
		case history.KeySet, history.KeyGone, history.KeyProlonged:
			t.Keys = append(t.Keys, int32(i))
			t.Expiries = t.Expiries || e.Why == history.Expired || e.Why == history.NotRecorded
		case history.Apply, history.Read, history.Write:
			t.Data = append(t.Data, int32(i))
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
				t.close(g, i, Lost)
			}
		case history.Crashed:
			t.crash(i, e)
		}
	}
	t.Unfelt = t.Unfelt[:0]
	if len(t.Data) == 0 {
		t.Faults = slices.DeleteFunc(t.Faults, t.unfelt)
	}
}

// longHistory is the number of events from which it is worth counting them by kind before reading them.
const longHistory = 1 << 16

// makeRoom allocates memory for all acquires of a history at once. A list that grows would leave several times its size
// as garbage.
func (t *Trace) makeRoom(h *history.History) {
	asks, grants := 0, 0
	for i := range h.Events {
		if e := &h.Events[i]; e.F == history.Acquire && e.Process != history.Nemesis {
			if e.Type == history.Invoke {
				asks++
			} else if e.Type == history.OK {
				grants++
			}
		}
	}
	t.Asks, t.Grants = slices.Grow(t.Asks, asks), slices.Grow(t.Grants, grants)
	t.Owner, t.maker = make(map[Title]int32, grants), make(map[history.Attempt]history.Process, grants)
}

func (t *Trace) reset(h *history.History) {
	t.History, t.Ascending, t.Expiries, t.End = h, true, false, h.Header.End
	if t.Number == nil {
		t.LockNumber = make(map[history.Lock]int32)
		t.Owner = make(map[Title]int32)
		t.maker = make(map[history.Attempt]history.Process)
		t.struck = make(underWay)
		t.Number = make(map[history.Process]int32)
	}
	clear(t.LockNumber)
	clear(t.Owner)
	clear(t.maker)
	clear(t.struck)
	t.reports = t.reports[:0]
	clear(t.Number)
	t.Locks, t.processes = t.Locks[:0], t.processes[:0]
	t.Asks, t.Grants, t.extensions = t.Asks[:0], t.Grants[:0], t.extensions[:0]
	t.Faults, t.Cited, t.Data, t.Keys = t.Faults[:0], t.Cited[:0], t.Data[:0], t.Keys[:0]
	t.crashes = t.crashes[:0]
	t.handbacks.reset()
}

// lock returns the number of a lock. Locks are those that the header lists and those that somebody requested. A key
// with any other name is not a lock.
func (t *Trace) lock(name history.Lock) int32 {
	if n := len(t.Locks); n > 0 && t.Locks[n-1].Name == name { // most histories have one
		return int32(n - 1)
	}
	if n, ok := t.LockNumber[name]; ok {
		return n
	}
	n := len(t.Locks)
	t.LockNumber[name] = int32(n)
	if n < cap(t.Locks) {
		t.Locks = t.Locks[:n+1]
		l := &t.Locks[n]
		l.Name, l.Grants, l.Asks = name, l.Grants[:0], l.Asks[:0]
	} else {
		t.Locks = append(t.Locks, LockTrace{Name: name})
	}
	return int32(n)
}

func (t *Trace) process(name history.Process) *processTrace {
	n, ok := t.Number[name]
	if !ok {
		n = int32(len(t.processes))
		t.Number[name] = n
		if int(n) < cap(t.processes) {
			t.processes = t.processes[:n+1]
			p := &t.processes[n]
			p.asks, p.sections, p.releases = p.asks[:0], p.sections[:0], p.releases[:0]
		} else {
			t.processes = append(t.processes, processTrace{})
		}
	}
	return &t.processes[n]
}

func (t *Trace) acquire(i int, e *history.Event) {
	p, l := t.process(e.Process), t.lock(e.Lock)
	if e.Type == history.Invoke {
		n := int32(len(t.Asks))
		t.Asks = append(t.Asks, Ask{Process: e.Process, Lock: l, Grant: -1, Call: i, Ret: Open})
		t.Locks[l].Asks = append(t.Locks[l].Asks, n)
		p.asks = append(p.asks, n)
		return
	}
	n := t.asked(p, l, e.Attempt)
	if n < 0 { // a foreign history may record only outcomes: it was called when it returned
		n = int32(len(t.Asks))
		t.Asks = append(t.Asks, Ask{Process: e.Process, Lock: l, Grant: -1, Call: i})
		t.Locks[l].Asks = append(t.Locks[l].Asks, n)
	}
	a := &t.Asks[n]
	a.Ret, a.Outcome = i, e.Type
	if e.Type != history.OK {
		return
	}
	g := int32(len(t.Grants))
	a.Grant = g
	t.Grants = append(t.Grants,
		Grant{Ask: n, Lock: l, Shared: e.Shared || t.History.Events[a.Call].Shared, Process: e.Process,
			Attempt: e.Attempt, Token: e.Token, OK: i, End: Open, Lease: e.Grant, Release: Open, Done: Open})
	t.Locks[l].Grants = append(t.Locks[l].Grants, g)
	p.sections = append(p.sections, g)
	if e.Attempt != "" {
		t.Owner[Title{e.Lock, e.Attempt}], t.maker[e.Attempt] = g, e.Process
	}
}

// asked removes from the list of p the open acquire of lock l that an event of an attempt answers, and returns it, or
// -1 if there is none. This is the acquire whose call names the attempt. If there is none, it is the oldest one,
// provided the call or the event names no attempt.
func (t *Trace) asked(p *processTrace, l int32, of history.Attempt) int32 {
	found := -1
	for i, n := range p.asks {
		if t.Asks[n].Lock != l {
			continue
		}
		named := t.History.Events[t.Asks[n].Call].Attempt
		if named == of {
			found = i
			break
		}
		if found < 0 && (named == "" || of == "") {
			found = i
		}
	}
	if found < 0 {
		return -1
	}
	n := p.asks[found]
	p.asks = slices.Delete(p.asks, found, found+1)
	return n
}

// sectionOf returns the grant that an event belongs to: the grant of its attempt, or, if it names no attempt, the
// latest open section of its process on that lock. It is -1 if there is none, for example for the clean-up release of
// an attempt that was never granted.
func (t *Trace) sectionOf(e *history.Event) int32 {
	if e.Attempt != "" {
		g, ok := t.Owner[Title{e.Lock, e.Attempt}]
		if !ok {
			return -1
		}
		return g
	}
	p := t.process(e.Process)
	for _, g := range slices.Backward(p.sections) {
		if t.Locks[t.Grants[g].Lock].Name == e.Lock {
			return g
		}
	}
	return -1
}

func (t *Trace) released(i int, e *history.Event) {
	p := t.process(e.Process)
	if e.Type == history.Invoke {
		g := t.sectionOf(e)
		if g < 0 || t.Grants[g].Release != Open {
			return
		}
		t.Grants[g].Release = i
		t.close(g, i, Released)
		p.releases = append(p.releases, g)
		return
	}
	g := t.releasing(p, e)
	if g < 0 {
		return
	}
	s := &t.Grants[g]
	if s.Release == Open { // the history records only the outcome of the release
		s.Release = i
		t.close(g, i, Released)
	}
	if s.Done == Open {
		s.Done = i
	}
}

// releasing removes from the list of its process the grant whose release returns: the grant of the event's attempt, or,
// if the event names none, the oldest one on that lock. If no release is under way, the history records only outcomes.
func (t *Trace) releasing(p *processTrace, e *history.Event) int32 {
	for i, g := range p.releases {
		of := &t.Grants[g]
		if t.Locks[of.Lock].Name == e.Lock && (e.Attempt == "" || e.Attempt == of.Attempt) {
			p.releases = slices.Delete(p.releases, i, i+1)
			return g
		}
	}
	return t.sectionOf(e)
}

// close ends a section, unless it has already ended.
func (t *Trace) close(g int32, i int, how ending) {
	s := &t.Grants[g]
	if s.Ending != StillOpen {
		return
	}
	s.End, s.Ending = i, how
	p := t.process(s.Process)
	p.sections = slices.DeleteFunc(p.sections, func(o int32) bool { return o == g })
}

func (t *Trace) crash(i int, e *history.Event) {
	t.crashes = append(t.crashes, int32(i))
	p := t.process(e.Process)
	for len(p.sections) > 0 {
		t.close(p.sections[len(p.sections)-1], i, Crashed)
	}
	for _, n := range p.asks {
		t.Asks[n].Ret = i
	}
	p.asks, p.releases = p.asks[:0], p.releases[:0]
}

// Left returns the first position at which the section of a grant may have been over. It may come before the position
// at which the section was recorded to begin, but not before the acquire's call.
func (t *Trace) Left(g *Grant) int { return t.earliest(g.Process, t.Asks[g.Ask].Call, g.End) }

// Waited returns the position up to which the process of an acquire certainly waited. If it crashed, this may be before
// the crash was recorded.
func (t *Trace) Waited(a *Ask) int {
	if a.Outcome != 0 {
		return a.Ret
	}
	return t.earliest(a.Process, a.Call, a.Ret)
}

// MayBeGone reports whether the process of a grant may have died by position at, between the call and the return of its
// release.
func (t *Trace) MayBeGone(g *Grant, at int) bool {
	crash := t.CrashAfter(g.Process, g.Release)
	return crash < g.Done && t.earliest(g.Process, g.Release, crash) <= at
}

// earliest returns the first position after call at which an activity of a process, recorded to end at position end,
// may have been over. This is end, unless the process crashed and is not known to have lived until then.
func (t *Trace) earliest(p history.Process, call, end int) int {
	crash := t.CrashAfter(p, call)
	if crash == Open || end == Open {
		return end
	}
	alive := t.History.Events[crash].Until
	if alive == 0 {
		return end
	}
	if t.Ascending {
		rest := t.History.Events[call+1 : max(end, call+1)]
		return min(end, call+1+sort.Search(len(rest), func(i int) bool { return rest[i].Time >= alive }))
	}
	for end > call+1 && t.History.Events[end-1].Time >= alive {
		end--
	}
	return end
}

// EndsUnseen reports whether some process crashed at a time that is not known exactly.
func (t *Trace) EndsUnseen() bool {
	return slices.ContainsFunc(t.crashes, func(i int32) bool { return t.History.Events[i].Until != 0 })
}

// CrashAfter returns the position of the first crash of a process at position at or later; Open if there is none.
func (t *Trace) CrashAfter(p history.Process, at int) int {
	from, _ := slices.BinarySearch(t.crashes, int32(min(at, math.MaxInt32)))
	for _, i := range t.crashes[from:] {
		if t.History.Events[i].Process == p {
			return int(i)
		}
	}
	return Open
}

// Extended reports whether any lease was extended.
func (t *Trace) Extended() bool { return len(t.extensions) > 0 }

// Time returns when the event at position i happened. For Open it returns when recording stopped.
func (t *Trace) Time(i int) history.Time {
	if i == Open {
		return t.End
	}
	return t.History.Events[i].Time
}

// ProcessOf returns the process that made an attempt. If the attempt was never granted, it is taken from the attempt's
// name, which begins with the process.
func (t *Trace) ProcessOf(a history.Attempt) history.Process {
	if p, ok := t.maker[a]; ok {
		return p
	}
	process, _, _ := strings.Cut(string(a), "/")
	return history.Process(process)
}
