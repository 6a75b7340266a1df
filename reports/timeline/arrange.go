package timeline

import (
	"maps"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// Arrange arranges a history in lanes. It accepts any history, even a truncated or inconsistent one, and leaves out
// anything that does not fit into a lane. It marks the witness events of every violation in the findings. The lanes
// keep a reference to h, which is never changed.
func Arrange(h *history.History, findings []checker.Finding) *Lanes {
	a := &arranger{
		l: &Lanes{
			end: h.Header.End, locks: slices.Clone(h.Header.Locks), history: h, witness: map[int]bool{},
			clientOf: map[history.Process]int{}, serverOf: map[history.Process]int{},
			bounded: bounded(h.Events),
		},
		locks:    map[history.Lock]bool{},
		sections: map[holding]ref{}, waits: map[waiting][]ref{}, calls: map[calling]ref{}, keys: map[keyOn]ref{},
	}
	for _, lock := range h.Header.Locks {
		a.locks[lock] = true
	}
	a.l.madeBy = newByTitle[history.Process](a.locks)
	a.makeRoom()
	for _, p := range h.Header.Clients {
		a.client(p)
	}
	for _, p := range h.Header.Servers {
		a.server(p)
	}
	a.replicas()
	for pos := range h.Events {
		a.event(pos, &h.Events[pos])
	}
	a.faults(h)
	a.origins()
	a.split()
	if len(a.l.locks) == 0 {
		a.operations()
	}
	for b := range (checker.Verdict{Findings: findings}).Breaches() {
		for _, pos := range b.Witness {
			if pos >= 0 && pos < len(h.Events) {
				a.l.witness[pos] = true
			}
		}
	}
	return a.l
}

// makeRoom sets a.room, a function that allocates the slices for a client's lane, with room for everything that the
// client does. It also finds the end of the recording.
func (a *arranger) makeRoom() {
	type numbers struct{ sections, waits, calls int }
	of := map[history.Process]*numbers{}
	for i := range a.l.history.Events {
		e := &a.l.history.Events[i]
		a.l.end = max(a.l.end, e.Time)
		n := of[e.Process]
		if n == nil {
			n = &numbers{}
			of[e.Process] = n
		}
		switch {
		case e.F == history.Acquire && e.Type == history.Invoke:
			n.waits++
		case e.F == history.Acquire && e.Type == history.OK:
			n.sections++
		case e.Type == history.Invoke:
			n.calls++
		}
	}
	a.room = func(lane *clientLane) {
		if n := of[lane.Process]; n != nil {
			lane.Sections, lane.Waits = make([]section, 0, n.sections), make([]wait, 0, n.waits)
			lane.Calls = make([]call, 0, n.calls)
		}
	}
}

// operations adds the calls in a history without locks to the lanes, as register operations.
func (a *arranger) operations() {
	registers := map[history.Lock]bool{}
	for i := range a.l.clients {
		lane := &a.l.clients[i]
		lane.Operations = lane.Calls
		for _, o := range lane.Operations {
			registers[a.l.history.Events[o.First].Lock] = true
		}
	}
	a.l.registers = len(registers)
}

// arranger keeps track of everything that has begun and has not ended yet.
type arranger struct {
	l        *Lanes
	room     func(*clientLane) // allocates the slices for a client's lane
	locks    map[history.Lock]bool
	sections map[holding]ref
	waits    map[waiting][]ref // the oldest wait comes first
	calls    map[calling]ref
	keys     map[keyOn]ref
}

type (
	holding struct {
		p       history.Process
		lock    history.Lock
		attempt history.Attempt
	}
	waiting struct {
		p    history.Process
		lock history.Lock
	}
	calling struct {
		p  history.Process
		f  history.F
		of trace.Title
	}
	keyOn struct {
		p      history.Process
		lock   history.Lock
		member string
	}
)

// ref is the position of an element in one of a lane's slices. It is not a pointer, because a pointer would become
// invalid when the slice grows.
type ref struct{ lane, i int }

func (a *arranger) client(p history.Process) int {
	i, ok := a.l.clientOf[p]
	if !ok {
		i = len(a.l.clients)
		a.l.clientOf[p] = i
		a.l.clients = append(a.l.clients, clientLane{Process: p, Name: string(p)})
		a.room(&a.l.clients[i])
	}
	return i
}

func (a *arranger) server(p history.Process) int {
	i, ok := a.l.serverOf[p]
	if !ok {
		i = len(a.l.servers)
		a.l.serverOf[p] = i
		a.l.servers = append(a.l.servers, serverLane{Process: p})
	}
	return i
}

func (a *arranger) begin(pos int, at history.Time) span {
	return span{From: at, To: a.l.end, First: pos, Last: open}
}

func (s *span) end(pos int, at history.Time) { s.To, s.Last = at, pos }

func (a *arranger) event(pos int, e *history.Event) {
	if e.Process == history.Nemesis {
		if e.Type == history.Invoke && e.Fault != nil && e.Fault.Loses == history.LosesEverything {
			a.forget(pos, e)
		}
		if e.Type == history.Invoke {
			a.promote(pos, e)
		}
		return
	}
	switch e.F {
	case history.Acquire:
		a.acquire(pos, e)
	case history.Extend:
		a.call(pos, e)
		a.extend(e)
	case history.Release:
		if e.Type == history.Invoke {
			a.leave(pos, e)
		}
		a.call(pos, e)
	case history.Lost:
		a.leave(pos, e)
	case history.Crashed:
		a.crash(pos, e)
	case history.Read, history.Write, history.CAS, history.Txn:
		a.call(pos, e)
	case history.Apply:
		a.apply(pos, e)
	case history.KeySet, history.KeyProlonged, history.KeyGone, history.KeyCopied, history.CopyGone:
		a.key(pos, e)
	}
}

func (a *arranger) acquire(pos int, e *history.Event) {
	c := a.client(e.Process)
	if !a.locks[e.Lock] {
		a.locks[e.Lock] = true
		a.l.locks = append(a.l.locks, e.Lock)
	}
	if e.Attempt != "" {
		a.l.madeBy.set(made(e), e.Process)
	}
	lane, key := &a.l.clients[c], waiting{e.Process, e.Lock}
	if e.Type == history.Invoke {
		a.waits[key] = append(a.waits[key], ref{c, len(lane.Waits)})
		lane.Waits = append(lane.Waits, wait{span: a.begin(pos, e.Time), Lock: e.Lock, Attempt: e.Attempt})
		return
	}
	asked := a.waits[key]
	i := slices.IndexFunc(asked, func(r ref) bool { return lane.Waits[r.i].Attempt == e.Attempt })
	if i < 0 { // an event or a wait without an attempt may belong to any attempt
		i = slices.IndexFunc(asked, func(r ref) bool { return lane.Waits[r.i].Attempt == "" || e.Attempt == "" })
	}
	if i >= 0 {
		w := &lane.Waits[asked[i].i]
		w.end(pos, e.Time)
		w.Attempt, w.Result = e.Attempt, e.Type
		a.waits[key] = slices.Delete(asked, i, i+1)
	}
	if e.Type == history.OK {
		a.enter(pos, e, c)
	}
}

func (a *arranger) enter(pos int, e *history.Event, c int) {
	lane := &a.l.clients[c]
	s := section{span: a.begin(pos, e.Time), Lock: e.Lock, Attempt: e.Attempt, Token: e.Token, Shared: e.Shared}
	if g := e.Grant; g != nil && g.Until > g.Granted {
		s.Validity = []window{{g.Granted, g.Until}}
	}
	a.sections[holding{e.Process, e.Lock, e.Attempt}] = ref{c, len(lane.Sections)}
	lane.Sections = append(lane.Sections, s)
}

// section finds the open section that a client's event refers to. If the event names no attempt or no lock, this is the
// client's latest open section that fits the rest of the event.
func (a *arranger) section(e *history.Event) (holding, *section) {
	key := holding{e.Process, e.Lock, e.Attempt}
	if r, ok := a.sections[key]; ok {
		return key, &a.l.clients[r.lane].Sections[r.i]
	}
	c, ok := a.l.clientOf[e.Process]
	if !ok || e.Attempt != "" && e.Lock != "" {
		return key, nil
	}
	for i := len(a.l.clients[c].Sections) - 1; i >= 0; i-- {
		s := &a.l.clients[c].Sections[i]
		if s.Last == open && (e.Lock == "" || s.Lock == e.Lock) && (e.Attempt == "" || s.Attempt == e.Attempt) {
			return holding{e.Process, s.Lock, s.Attempt}, s
		}
	}
	return key, nil
}

func (a *arranger) extend(e *history.Event) {
	if e.Type != history.OK || e.Grant == nil || e.Grant.Until <= e.Grant.Granted {
		return
	}
	_, s := a.section(e)
	if s == nil {
		return
	}
	w := window{e.Grant.Granted, e.Grant.Until}
	if n := len(s.Validity); n > 0 && w.From <= s.Validity[n-1].To {
		s.Validity[n-1].To = max(s.Validity[n-1].To, w.To)
		return
	}
	s.Validity = append(s.Validity, w)
}

func (a *arranger) leave(pos int, e *history.Event) {
	key, s := a.section(e)
	if s == nil {
		return
	}
	s.end(pos, e.Time)
	s.Ended = e.F
	if e.F == history.Release {
		s.Validity = cutAt(s.Validity, e.Time)
	}
	delete(a.sections, key)
}

// cutAt truncates time windows at the given instant.
func cutAt(ws []window, at history.Time) []window {
	kept := ws[:0]
	for _, w := range ws {
		if w.From < at {
			kept = append(kept, window{w.From, min(w.To, at)})
		}
	}
	return kept
}

func (a *arranger) crash(pos int, e *history.Event) {
	c, ok := a.l.clientOf[e.Process]
	if !ok {
		return
	}
	lane := &a.l.clients[c]
	lane.Crashes = append(lane.Crashes, a.begin(pos, e.Time))
	for i := range lane.Sections {
		if s := &lane.Sections[i]; s.Last == open {
			s.end(pos, e.Time)
			s.Ended = history.Crashed
			delete(a.sections, holding{e.Process, s.Lock, s.Attempt})
		}
	}
	for i := range lane.Waits {
		if w := &lane.Waits[i]; w.Last == open {
			w.end(pos, e.Time)
			delete(a.waits, waiting{e.Process, w.Lock})
		}
	}
	for i := range lane.Calls {
		if call := &lane.Calls[i]; call.Last == open {
			call.end(pos, e.Time)
			delete(a.calls, calling{e.Process, call.F, call.Of})
		}
	}
}

func (a *arranger) call(pos int, e *history.Event) {
	c := a.client(e.Process)
	lane, key := &a.l.clients[c], calling{e.Process, e.F, made(e)}
	if e.Type == history.Invoke {
		a.calls[key] = ref{c, len(lane.Calls)}
		lane.Calls = append(lane.Calls, call{span: a.begin(pos, e.Time), F: e.F, Of: made(e)})
		return
	}
	if r, ok := a.calls[key]; ok {
		lane.Calls[r.i].end(pos, e.Time)
		lane.Calls[r.i].Result = e.Type
		delete(a.calls, key)
	}
}

func (a *arranger) apply(pos int, e *history.Event) {
	a.l.effects = append(a.l.effects, effect{At: e.Time, Pos: pos, Op: e.Op, Accepted: e.Type == history.OK,
		Of: behalf(e), Client: a.l.holder(behalf(e)), Sent: -1})
}

func (a *arranger) key(pos int, e *history.Event) {
	s := a.server(e.Process)
	lane, key := &a.l.servers[s], keyOn{e.Process, e.Lock, e.Member}
	r, there := a.keys[key]
	switch e.F {
	case history.KeySet, history.KeyCopied:
		if there {
			lane.Keys[r.i].end(pos, e.Time)
		}
		a.keys[key] = ref{s, len(lane.Keys)}
		lane.Keys = append(lane.Keys, keySpan{span: a.begin(pos, e.Time), Lock: e.Lock, Of: e.Of, Due: e.Until})
	case history.KeyProlonged:
		if there {
			lane.Keys[r.i].Due = e.Until
		}
	case history.KeyGone, history.CopyGone:
		if there {
			k := &lane.Keys[r.i]
			k.end(pos, e.Time)
			k.Why, k.By = e.Why, e.By
			delete(a.keys, key)
		}
	}
	if e.Why != history.NotRecorded {
		return
	}
	for other, r := range a.keys { // no matter which server it was set on
		if other.lock == e.Lock && other.member == e.Member {
			k := &a.l.servers[r.lane].Keys[r.i]
			k.end(pos, e.Time)
			k.Why = e.Why
			delete(a.keys, other)
		}
	}
}

// forget handles an event at which members of a service with one replicated log lose their disks. It ends these
// members' copies of all keys, because no event records which keys such a member loses.
func (a *arranger) forget(pos int, e *history.Event) {
	if s := a.l.history.Header.Service; !s.Kind().OneLog {
		return
	}
	for key, r := range a.keys {
		if slices.Contains(e.Fault.On, key.p) {
			k := &a.l.servers[r.lane].Keys[r.i]
			k.end(pos, e.Time)
			k.Why = history.LostDisk
			delete(a.keys, key)
		}
	}
}

// replicas records which servers may be replicas at the start of the recording: all but the first in each group. In a
// Redis Cluster, some of these are masters of other slots.
func (a *arranger) replicas() {
	if a.l.history.Header.Service.Kind().OneLog {
		return
	}
	for _, group := range a.l.history.Header.Groups {
		for _, p := range group[min(1, len(group)):] {
			lane := &a.l.servers[a.server(p)]
			lane.Copies = append(lane.Copies, a.begin(0, 0))
		}
	}
}

// promote shows a promotion, in which a replica takes over the keys of the master that it replaces. It omits the keys
// that the replica lacks, which the next events, at the same instant, report as lost.
func (a *arranger) promote(pos int, e *history.Event) {
	over, ok := trace.PromotionBy(e.F.Does(), e.Fault)
	if !ok || a.l.history.Header.Service.Kind().OneLog {
		return
	}
	from, to := a.server(over.Old), a.server(over.New)
	for i := range a.l.servers[to].Copies {
		if c := &a.l.servers[to].Copies[i]; c.Last == open {
			c.end(pos, e.Time)
		}
	}
	a.l.servers[from].Copies = append(a.l.servers[from].Copies, a.begin(pos, e.Time))
	for key, r := range a.keys {
		if _, kept := over.Moved(key.p); !kept {
			a.l.servers[to].Keys[r.i].end(pos, e.Time)
			delete(a.keys, key)
		}
	}
	kept := slices.DeleteFunc(slices.Collect(maps.Keys(a.keys)), func(k keyOn) bool {
		now, _ := over.Moved(k.p)
		return now == k.p || a.lacks(pos, e.Time, now, k)
	})
	slices.SortFunc(kept, func(x, y keyOn) int { return a.keys[x].i - a.keys[y].i })
	for _, key := range kept {
		k := a.l.servers[from].Keys[a.keys[key].i]
		k.span = a.begin(pos, e.Time)
		a.keys[keyOn{over.New, key.lock, key.member}] = ref{to, len(a.l.servers[to].Keys)}
		a.l.servers[to].Keys = append(a.l.servers[to].Keys, k)
	}
}

// lacks reports whether an event after position pos, at the same instant, says that a new master has lost a key.
func (a *arranger) lacks(pos int, at history.Time, master history.Process, key keyOn) bool {
	for _, e := range a.l.history.Events[pos+1:] {
		if e.Time > at {
			return false
		}
		if e.F == history.KeyGone && e.Process == master && e.Lock == key.lock && e.Member == key.member {
			return true
		}
	}
	return false
}

// faults arranges the faults and gives each lane the faults that struck its process. A fault without a duration ends
// the moment it strikes.
func (a *arranger) faults(h *history.History) {
	for i, strike := range trace.Faults(h) {
		f := fault{span: a.begin(strike.Start, h.Events[strike.Start].Time), Kind: strike.Kind, Line: strike.Line,
			How: strike.Fault}
		if promotion := promotion(&h.Events[strike.Start]); promotion != "" {
			f.Line = promotion
		}
		switch {
		case strike.Stop != trace.Open:
			f.end(strike.Stop, h.Events[strike.Stop].Time)
		case !a.lasts(&f):
			f.To = f.From
		}
		a.l.faults = append(a.l.faults, f)
		for _, p := range f.How.Struck() {
			if c, ok := a.l.clientOf[p]; ok {
				a.onClient(&a.l.clients[c], &f, i)
			}
			if s, ok := a.l.serverOf[p]; ok {
				a.onServer(&a.l.servers[s], &f, i)
			}
		}
	}
}

// lasts reports whether a fault without a recorded end lasts until the end of the run. A server crash does. A client
// crash does not, even if the client never restarts.
func (a *arranger) lasts(f *fault) bool {
	if f.Kind.IsDown() && len(f.How.On) > 0 {
		_, client := a.l.clientOf[f.How.On[0]]
		return !client
	}
	return f.Kind.Lasts()
}

func (a *arranger) onClient(lane *clientLane, f *fault, i int) {
	switch f.Kind.Does() {
	case history.Stops:
		lane.Pauses = append(lane.Pauses, f.span)
	case history.SetsClock, history.PacesClock:
		lane.Clock = append(lane.Clock, i)
	}
}

func (a *arranger) onServer(lane *serverLane, f *fault, i int) {
	switch f.Kind.Does() {
	case history.Stops:
		lane.Pauses = append(lane.Pauses, f.span)
	case history.Kills, history.ShutsDown:
		lane.Down = append(lane.Down, f.span)
	case history.SetsClock, history.PacesClock:
		lane.Clock = append(lane.Clock, i)
	}
}
