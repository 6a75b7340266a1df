package timeline

import (
	"slices"
	"sort"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// row is one line in a text timeline. It shows one event, several similar events on several servers, or an instant
// without an event. A timeline may have millions of rows, of which only a few are shown, so a row's words are not
// produced until it is shown.
type row struct {
	at     history.Time
	pos    int      // the row shows the clients right after the event at this position
	keys   int      // the row shows the servers' keys right after the event at this position
	after  int      // like keys, for the gap after the row
	other  *unusual // set unless the row is about the event at pos and nothing else
	weight int16
	tone   text.Style
	proof  bool // whether the row shows an event of the witness
}

// unusual describes a row that shows several events or none.
type unusual struct {
	events []int  // positions in ascending order; empty for a lease that expires
	words  string // the words of a row that is about no event
}

// events returns the history positions of the events that a row is about.
func (r *row) events() []int {
	if r.other != nil {
		return r.other.events
	}
	return []int{r.pos}
}

// shows reports whether a row is about the event at pos.
func (r *row) shows(pos int) bool {
	if r.other != nil {
		return slices.Contains(r.other.events, pos)
	}
	return r.pos == pos
}

// firstEvent returns a row's first event, or nil if it has none.
func (l *Lanes) firstEvent(r *row) *history.Event {
	if of := r.events(); len(of) > 0 {
		return &l.history.Events[of[0]]
	}
	return nil
}

// add adds the event at pos to a row.
func (r *row) add(pos int) {
	if r.other == nil {
		r.other = &unusual{events: []int{r.pos}}
	}
	r.other.events = append(r.other.events, pos)
	r.pos = pos
}

// The weights of rows. An event that readers need in order to understand the run weighs more than one that they can
// infer from other events.
const (
	weightProof   = 1000
	weightFault   = 90
	weightDerived = 85
	weightTurn    = 80 // a client enters, leaves or crashes; a key is lost
	weightEffect  = 60
	weightStep    = 40
	weightRoutine = 15 // can be inferred from another row, such as a key set for a client that then acquires the lock
	weightLeast   = 20 // lighter rows are shown only if they are part of the witness
	mostWeight    = weightProof + weightFault
)

// storyline is a history in the form of rows.
type storyline struct {
	t     describer
	lanes *Lanes
	// whether the resource has its own records, which makes the clients' records of the same operations redundant
	applies bool
	slow    map[int]bool // positions of calls that took a long time to reach the resource
	rows    []row
	groups  map[group]int // index of the last row of each group
	folded  bool          // whether each section is a single row
}

// group identifies events that are shown in one row: the same event on several servers within a short time.
type group struct {
	f      history.F
	lock   history.Lock
	of, by history.Attempt
	why    history.Why
	proof  bool
}

// longTravel is how long a request must be in transit to count as slow. Much may change before a slow request arrives.
const longTravel = history.Time(1e8)

// groupSpread is the longest time, in true time, between two events that share a row.
const groupSpread = history.Time(1e9)

// story returns the whole history as rows, in order.
func story(l *Lanes, long bool) *storyline {
	s := &storyline{
		t:       newDescriber(l, long),
		lanes:   l,
		applies: len(l.effects) > 0, groups: map[group]int{}, slow: map[int]bool{},
		rows: make([]row, 0, len(l.history.Events)),
	}
	for _, f := range l.effects {
		if f.Sent >= 0 && f.At-l.history.Events[f.Sent].Time >= longTravel {
			s.slow[f.Sent] = true
		}
	}
	ends := l.outlived()
	for pos := range l.history.Events {
		e := &l.history.Events[pos]
		for len(ends) > 0 && ends[0].At < e.Time {
			s.leaseEnd(ends[0], pos-1)
			ends = ends[1:]
		}
		s.event(pos, e)
	}
	for _, end := range ends {
		s.leaseEnd(end, len(l.history.Events)-1)
	}
	s.recordingEnd()
	return s
}

func (s *storyline) words(r *row) string {
	e := s.lanes.firstEvent(r)
	switch {
	case e == nil:
		return r.other.words
	case s.folded && s.lanes.isEntry(r):
		return s.sectionWords(e, r.pos)
	case !isKey(e) || r.other == nil:
		return s.t.event(e)
	}
	var where []history.Process
	for _, p := range r.events() {
		if at := s.lanes.history.Events[p].Process; !slices.Contains(where, at) {
			where = append(where, at)
		}
	}
	return s.t.key(&s.lanes.history.Events[r.pos], processes(where))
}

// recordingEnd adds a row for the end of the recording if a client was still waiting or in its section then.
func (s *storyline) recordingEnd() {
	still := func(c clientLane) bool {
		return c.Process != probe && (slices.ContainsFunc(c.Waits, func(w wait) bool { return w.Last == open }) ||
			slices.ContainsFunc(c.Sections, func(sec section) bool { return sec.Last == open }))
	}
	if l := s.lanes; slices.ContainsFunc(l.clients, still) {
		s.rows = append(s.rows,
			row{at: l.end, pos: len(l.history.Events) - 1, weight: weightFault,
				other: &unusual{words: "the recording ends"}})
	}
}

func (s *storyline) leaseEnd(o outliving, pos int) {
	doing := "is still at work"
	if lane, ok := s.lanes.client(o.Client); ok &&
		slices.ContainsFunc(lane.Pauses, func(p span) bool { return p.covers(pos) }) {
		doing = "is paused and cannot know this"
	}
	lock := ""
	if s.t.Several {
		lock = " of " + string(o.Section.Lock)
	}
	who := s.t.who(&s.lanes.history.Events[o.Section.First])
	s.rows = append(s.rows, row{at: o.At, pos: pos, weight: weightDerived, tone: text.Yellow,
		other: &unusual{words: who + "'s lease" + lock + " ends here; it " + doing}})
}

func (s *storyline) event(pos int, e *history.Event) {
	proof := s.lanes.witness[pos]
	if s.overAtOnce(e) {
		r := &s.rows[len(s.rows)-1]
		r.add(pos)
		if proof && !r.proof {
			r.proof, r.weight = true, r.weight+weightProof
		}
		return
	}
	g := group{e.F, e.Lock, e.Of, e.By, e.Why, proof}
	i, shown := s.groups[g]
	if shown && isKey(e) && e.Time-s.rows[i].at <= groupSpread && s.quietSince(i) {
		s.rows[i].add(pos)
		return
	}
	r := row{at: e.Time, pos: pos, weight: s.weigh(pos, e), tone: s.tone(e), proof: proof}
	if proof {
		r.weight += weightProof
	}
	if isKey(e) {
		s.groups[g] = len(s.rows)
	}
	s.rows = append(s.rows, r)
}

// isKey reports whether an event changes a key. Such an event may share a row with the same change on other servers.
func isKey(e *history.Event) bool {
	return e.F == history.KeySet || e.F == history.KeyProlonged || e.F == history.KeyGone
}

// overAtOnce reports whether the last row shows the start of a fault that e ends at the same instant. If so, e does not
// need its own row.
func (s *storyline) overAtOnce(e *history.Event) bool {
	if e.Process != history.Nemesis || e.Type == history.Invoke || len(s.rows) == 0 {
		return false
	}
	last := &s.rows[len(s.rows)-1]
	struck := s.lanes.firstEvent(last)
	return struck != nil && last.at == e.Time && struck.Process == history.Nemesis && struck.Type == history.Invoke &&
		struck.Value == e.Value
}

// quietSince reports whether nothing important has happened since row i. Only then may an event be added to row i;
// otherwise the rows would show events out of order.
func (s *storyline) quietSince(i int) bool {
	return !slices.ContainsFunc(s.rows[i+1:], func(r row) bool { return r.weight >= weightStep })
}

func (s *storyline) weigh(pos int, e *history.Event) int16 {
	if e.Process == history.Nemesis {
		return weightFault
	}
	if e.Process == probe || s.lanes.holder(behalf(e)) == probe || e.F.IsCopy() {
		return 0
	}
	switch e.F {
	case history.Acquire:
		return pick(e.Type, weightStep, weightTurn, weightStep+10)
	case history.Extend:
		return pick(e.Type, weightRoutine, weightStep+5, weightTurn-10)
	case history.Release:
		return pick(e.Type, weightTurn-5, weightRoutine, weightStep+5)
	case history.Lost, history.Crashed:
		return weightTurn
	case history.Apply:
		if e.Type == history.OK && e.Op == history.Read {
			return weightStep
		}
		return weightEffect
	case history.Read, history.Write, history.CAS, history.Txn:
		return s.weighCall(pos, e)
	}
	return weighKey(e)
}

// pick returns the weight for an event of type t: invoke for an invocation, ok for a success, and otherwise for the
// rest.
func pick(t history.Type, invoke, ok, otherwise int16) int16 {
	switch t {
	case history.Invoke:
		return invoke
	case history.OK:
		return ok
	}
	return otherwise
}

// weighCall returns the weight of a client's call. A read or write that the resource also records gets a low weight,
// unless the call was slow.
func (s *storyline) weighCall(pos int, e *history.Event) int16 {
	if !s.applies {
		return pick(e.Type, weightRoutine, weightEffect, weightEffect)
	}
	switch {
	case e.Type == history.Fail && e.Why != history.LeaseNotValid:
		return weightRoutine // the refusal that the resource records shows the same
	case e.Type != history.Invoke:
		return pick(e.Type, 0, weightRoutine, weightStep+10)
	}
	if s.slow[pos] {
		return weightEffect + 10
	}
	return weightRoutine
}

func weighKey(e *history.Event) int16 {
	own := e.By == "" || e.By == e.Of
	switch {
	case e.F == history.KeySet:
		return weightRoutine
	case e.F == history.KeyProlonged && own, e.Why == history.Deleted && own:
		return weightRoutine
	case e.F == history.KeyGone && e.Why == history.Expired:
		return weightEffect
	}
	return weightTurn
}

func (s *storyline) tone(e *history.Event) text.Style {
	switch {
	case e.Process == history.Nemesis:
		return text.Yellow
	case e.F == history.Apply && e.Type == history.Fail, e.F == history.Crashed:
		return text.Red
	}
	return text.Plain
}

// choose returns the indices of the rows worth showing, in order. The parameter most limits their number. If there is a
// witness, choose prefers rows near the witness. Otherwise, it chooses the heaviest rows, and among rows of the same
// weight the earlier ones.
func choose(rows []row, most int) []int {
	first, last := -1, -1
	for i := range rows {
		if rows[i].proof {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	score := func(i int) int {
		of := int(rows[i].weight)
		if first >= 0 && !rows[i].proof {
			of -= farness(&rows[i], max(first-i, i-last, 0))
		}
		return of
	}
	var with [mostWeight + 1]int // number of rows with each score
	for i := range rows {
		if of := score(i); of >= weightLeast {
			with[of]++
		}
	}
	least, room := mostWeight, most // of the rows whose score is exactly least, only the first room rows are chosen
	for ; least > weightLeast && with[least] <= room; least-- {
		room -= with[least]
	}
	order := make([]int, 0, most)
	for i := range rows {
		switch of := score(i); {
		case of > least:
			order = append(order, i)
		case of == least && room > 0:
			order, room = append(order, i), room-1
		}
	}
	if first >= 0 && len(order) < fewRows {
		order = fill(order, rows, first, last, min(most, filledRows))
	}
	sort.Ints(order)
	return order
}

// If a timeline with a witness has fewer rows than fewRows, it is extended to filledRows. When there are so few
// important events, it is the routine ones that show the violation: for example, clients take keys from each other and
// never acquire the lock.
const (
	fewRows    = 8
	filledRows = 20
)

// fill appends rows to order until it contains enough of them: first the rows from first to last, then those closest to
// this range. It skips rows without weight.
func fill(order []int, rows []row, first, last, enough int) []int {
	taken := map[int]bool{}
	for _, i := range order {
		taken[i] = true
	}
	add := func(i int) {
		if i >= 0 && i < len(rows) && !taken[i] && rows[i].weight > 0 && len(order) < enough {
			taken[i] = true
			order = append(order, i)
		}
	}
	for i := first; i <= last && len(order) < enough; i++ {
		add(i)
	}
	for far := 1; far < len(rows) && len(order) < enough; far++ {
		add(last + far)
		add(first - far)
	}
	return order
}

// farness returns how much less a row weighs if it is the given number of rows away from the witness (the events that
// demonstrate the violation). A fault always keeps some weight, because its effect may appear long after it struck.
func farness(r *row, rows int) int {
	if r.weight == weightFault {
		return min(4*rows, weightFault-weightLeast)
	}
	return 4 * rows
}
