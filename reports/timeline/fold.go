package timeline

import (
	"fmt"
	"sort"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// fold shortens the rows for a run without a violation. It keeps one row per section, and every unusual row.
func (s *storyline) fold() {
	s.folded = true
	for i := range s.rows {
		r := &s.rows[i]
		if len(r.events()) > 0 && !s.lanes.isEntry(r) && ordinary(&s.lanes.history.Events[r.pos]) {
			r.weight = min(r.weight, weightRoutine)
		}
	}
}

// isEntry reports whether a row shows a client entering its critical section.
func (l *Lanes) isEntry(r *row) bool {
	e := &l.history.Events[r.pos]
	return r.other == nil && e.Process != history.Nemesis && e.F == history.Acquire && e.Type == history.OK
}

// ordinary reports whether an event is to be expected in a critical section without problems.
func ordinary(e *history.Event) bool {
	switch e.F {
	case history.Acquire, history.Extend, history.Release:
		return e.Type == history.Invoke || e.Type == history.OK
	case history.Apply:
		return e.Type == history.OK
	case history.Read, history.Write, history.CAS, history.Txn:
		return e.Type == history.Invoke || e.Type == history.OK
	}
	return false
}

// sectionWords describes the critical section that a client entered with the event at position pos: how long it lasted,
// and its reads and writes.
func (s *storyline) sectionWords(e *history.Event, pos int) string {
	lane := &s.lanes.clients[s.lanes.lane(pos)]
	at := sort.Search(len(lane.Sections), func(i int) bool { return lane.Sections[i].First >= pos })
	sec := &lane.Sections[at]
	words := s.t.who(e)
	if len(s.lanes.locks) > 1 {
		words += " in " + string(sec.Lock)
	}
	if sec.Last == open {
		words += " enters and stays until the end"
	} else {
		words += " inside for " + text.Lasting(sec.To-sec.From)
	}
	reads, writes := 0, 0
	for i := range s.lanes.effects {
		switch f := &s.lanes.effects[i]; {
		case !sec.did(f) || !f.Accepted:
		case f.Op == history.Read:
			reads++
		default:
			writes++
		}
	}
	var did []string
	if reads > 0 {
		did = append(did, text.Count(reads, "read"))
	}
	if writes > 0 {
		did = append(did, text.Count(writes, "write"))
	}
	if len(did) == 0 {
		return words
	}
	return fmt.Sprintf("%s: %s", words, strings.Join(did, ", "))
}
