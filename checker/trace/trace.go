// Package trace reads a history once and collects what the laws need: who requested each lock and who was granted it,
// when sections and leases began and ended, and which processes each fault affected. It also collects which keys each
// server had, who waited for whom, and which requests took effect at the resource. The position of an event is its
// index in the history.
//
// Goals: a single pass over the history serves all laws. It takes time proportional to the length of the history, and
// reuses its memory.
//
// Non-goals: verdicts and explanations.
package trace

import (
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Open is the position of an event that had not happened by the end of the history.
const Open = math.MaxInt

// Ask is one acquire operation. All positions are indexes in History.Events.
type Ask struct {
	Process history.Process
	Task    history.Task
	Lock    int32 // index in Trace.Locks
	Grant   int32 // index in Trace.Grants; -1 if it was not granted
	Call    int
	Ret     int          // position of its return, or of the crash that ended it; Open if it never returned
	Outcome history.Type // zero if it has not returned
}

// task identifies a task, which does one thing at a time.
type task struct {
	process history.Process
	number  history.Task // 0 if the process has only one, or if the history does not say which one it was
}

func (a *Ask) by() task { return task{a.Process, a.Task} }

// SameTask reports whether two acquires were made by the same task of a process, as far as the history says.
func (a *Ask) SameTask(b *Ask) bool { return a.by() == b.by() }

// ending is how a section ended.
type ending uint8

const (
	StillOpen ending = iota
	Released         // release was called
	Lost
	Crashed
)

// Grant is one successful acquire with its critical section. The section covers the positions [OK, End).
type Grant struct {
	Ask     int32
	Lock    int32
	Shared  bool
	Ending  ending
	Process history.Process
	Attempt history.Attempt
	Token   history.Token
	OK, End int            // positions of the grant and of the section's end; End is Open if the section never ended
	Lease   *history.Grant // nil if the history does not state it
	// Release is the position of the first call to release, even if the section had already ended in another way. Done
	// is the position at which that call returned. Both are Open if there was no release. If only the outcome of a
	// release is recorded, both are the position of the outcome.
	Release, Done int
	window        int32        // index of the grant's latest window, or none; used only while windows are listed
	Stated        history.Time // time from which the grant states its validity; Never if it states none
	Until         history.Time // end of the grant's validity, as last stated before its release was called
}

// Title identifies a grant in the records of servers and of the resource. The same attempt may have grants of several
// locks.
type Title struct {
	Lock    history.Lock
	Attempt history.Attempt
}

// extension is one successful extension of a lease.
type extension struct {
	grant int32
	at    int
}

// LockTrace lists the grants, acquires and spans of one lock, in order.
type LockTrace struct {
	Name   history.Lock
	Grants []int32
	Asks   []int32
	// Windows and Sections are the spans of the grants, measured in true time and in positions. See windows.go.
	Windows, Sections []Span
	// number of windows that its acquires and extensions state; a window that a release reduced to nothing counts only
	// if it is an acquire's
	Stated int
}

// processTrace is the state of one process while a history is read. A process may have several tasks, so it may have
// several acquires and sections at once.
type processTrace struct {
	asks     []int32 // open acquires
	sections []int32 // open sections
	releases []int32 // grants whose release has been called and has not returned
	hasAsked bool    // whether it has asked for any lock
}

// Trace is what Read has collected from a history for all laws. Its memory is reused for the next history.
type Trace struct {
	History    *history.History
	Ascending  bool         // whether each event is at the same time as the one before it, or later
	End        history.Time // when recording stopped
	Locks      []LockTrace
	LockNumber map[history.Lock]int32
	Asks       []Ask
	Grants     []Grant
	extensions []extension
	Owner      map[Title]int32 // the latest grant of each title
	processes  []processTrace
	Number     map[history.Process]int32
	Faults     []Fault
	Unfelt     []Fault // faults that struck only a resource that nobody uses; not in Faults
	Cited      []int   // start positions of the faults that the current story has already named
	struck     underWay
	reports    []report
	Data       []int32 // positions of the resource's records and of the clients' reads and writes
	Keys       []int32 // positions of the servers' records about keys
	taken      []int32 // positions at which requests took a key that any client may take
	crashes    []int32 // positions at which processes crashed
	Expiries   bool    // whether the servers record when keys expire
	Interval   interval
	Scan       scan
	live       keys
	kept       kept
	touched    []use    // for each acquire: when its lock was used
	calms      []calmAt // for each fault: when the system was calm again
	Reach      reach
	Residue    residue
	handbacks  handbacks
	pairs      pairs
}

// Read fills the trace with h's data.
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
		if e.Process == history.Nemesis { // the nemesis is free to choose the names of faults
			t.fault(i, e)
			continue
		}
		switch e.F {
		case history.KeySet, history.KeyGone, history.KeyProlonged:
			t.Keys = append(t.Keys, int32(i))
			if e.Takes() {
				t.taken = append(t.taken, int32(i))
			}
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

// longHistory is the minimum number of events for which it pays to count them by kind before reading them.
const longHistory = 1 << 16

// makeRoom allocates memory for all of a history's acquires at once. Growing the lists step by step would leave several
// times their size as garbage.
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
	t.Owner = make(map[Title]int32, grants)
}

func (t *Trace) reset(h *history.History) {
	t.History, t.Ascending, t.Expiries, t.End = h, true, false, h.Header.End
	if t.Number == nil {
		t.LockNumber = make(map[history.Lock]int32)
		t.Owner = make(map[Title]int32)
		t.struck = make(underWay)
		t.Number = make(map[history.Process]int32)
	}
	clear(t.LockNumber)
	clear(t.Owner)
	clear(t.struck)
	t.reports = t.reports[:0]
	clear(t.Number)
	t.Locks, t.processes = t.Locks[:0], t.processes[:0]
	t.Asks, t.Grants, t.extensions = t.Asks[:0], t.Grants[:0], t.extensions[:0]
	t.Faults, t.Cited, t.Data, t.Keys = t.Faults[:0], t.Cited[:0], t.Data[:0], t.Keys[:0]
	t.crashes, t.taken = t.crashes[:0], t.taken[:0]
	t.handbacks.reset()
	t.kept.reset()
}

// lock returns a lock's number. A name is a lock if the header lists it or if some process requested it. A key with any
// other name is not a lock.
func (t *Trace) lock(name history.Lock) int32 {
	if n := len(t.Locks); n > 0 && t.Locks[n-1].Name == name { // most histories have only one lock
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
			p.asks, p.sections, p.releases, p.hasAsked = p.asks[:0], p.sections[:0], p.releases[:0], false
		} else {
			t.processes = append(t.processes, processTrace{})
		}
	}
	return &t.processes[n]
}

func (t *Trace) acquire(i int, e *history.Event) {
	p, l := t.process(e.Process), t.lock(e.Lock)
	p.hasAsked = true
	if e.Type == history.Invoke {
		n := int32(len(t.Asks))
		t.Asks = append(t.Asks, Ask{Process: e.Process, Task: e.Task, Lock: l, Grant: -1, Call: i, Ret: Open})
		t.Locks[l].Asks = append(t.Locks[l].Asks, n)
		p.asks = append(p.asks, n)
		return
	}
	n := t.openAsk(p, l, e)
	// a history from another program may record only outcomes; if so, treat the return as the call
	if n < 0 {
		n = int32(len(t.Asks))
		t.Asks = append(t.Asks, Ask{Process: e.Process, Task: e.Task, Lock: l, Grant: -1, Call: i})
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
		t.Owner[Title{e.Lock, e.Attempt}] = g
	}
}

// openAsk finds the open acquire of lock l that an event completes. It removes the acquire from p's list and returns
// it, or returns -1 if there is none. Among the acquires of the event's task, it prefers the one whose call names the
// event's attempt. Otherwise, it takes the oldest one for which either the call or the event does not name an attempt.
func (t *Trace) openAsk(p *processTrace, l int32, e *history.Event) int32 {
	found := -1
	for i, n := range p.asks {
		if t.Asks[n].Lock != l || t.Asks[n].Task != e.Task {
			continue
		}
		named := t.History.Events[t.Asks[n].Call].Attempt
		if named == e.Attempt {
			found = i
			break
		}
		if found < 0 && (named == "" || e.Attempt == "") {
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

// sectionOf returns the grant that an event belongs to: the grant of the event's attempt or, if the event names none,
// the process's latest open section of that lock. It returns -1 if there is no such grant, for example for the clean-up
// release of an attempt that was never granted.
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

// releasing finds the grant whose release returns with event e, and removes it from p's list of releases in progress.
// It is the grant of the event's attempt or, if the event names none, the oldest one of that lock. If no such release
// is in progress, the history records only the outcomes of releases, and releasing returns the grant that e belongs to
// (see sectionOf).
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

// Left returns the first position at which a grant's section may have ended. It may be before the recorded start of the
// section, but not before the call to acquire.
func (t *Trace) Left(g *Grant) int { return t.earliest(g.Process, t.Asks[g.Ask].Call, g.End) }

// Waited returns the position up to which the process of an acquire is known to have waited. If the process crashed,
// this may be before the crash was recorded.
func (t *Trace) Waited(a *Ask) int {
	if a.Outcome != 0 {
		return a.Ret
	}
	return t.earliest(a.Process, a.Call, a.Ret)
}

// MayBeGone reports whether a grant's process may have died by the given position, after calling release but before
// that call returned.
func (t *Trace) MayBeGone(g *Grant, at int) bool {
	crash := t.CrashAfter(g.Process, g.Release)
	return crash < g.Done && t.earliest(g.Process, g.Release, crash) <= at
}

// earliest returns the first position after call at which something that a process was doing may have ended. If the
// process crashed, this may be before the recorded end: the process may have died at any time since it was last known
// to be alive.
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

// EndsUnseen reports whether the exact time of any process's crash is unknown.
func (t *Trace) EndsUnseen() bool {
	return slices.ContainsFunc(t.crashes, func(i int32) bool { return t.History.Events[i].Until != 0 })
}

// CrashAfter returns the position of the first crash of a process at or after the given position. It returns Open if
// there is none.
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

// Time returns the time of the event at position i. For Open it returns the time at which recording stopped.
func (t *Trace) Time(i int) history.Time {
	if i == Open {
		return t.End
	}
	return t.History.Events[i].Time
}

// ProcessOf returns the process that made an attempt to acquire a lock. If the attempt was never granted, the process
// is read from the attempt's name, which begins with it.
func (t *Trace) ProcessOf(lock history.Lock, a history.Attempt) history.Process {
	if g, granted := t.Owner[Title{lock, a}]; granted {
		return t.Grants[g].Process
	}
	process, _, _ := strings.Cut(string(a), "/")
	return history.Process(process)
}
