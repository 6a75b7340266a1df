package timeline

import (
	"fmt"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/phrase"
)

// fold shortens the story of a run in which nothing broke: one row for each section, and what is out of the ordinary.
func fold(l *Lanes, rows []row) []row {
	type uses struct{ reads, writes int }
	used := map[history.Attempt]uses{}
	for _, f := range l.effects {
		u := used[f.Of]
		switch {
		case !f.Accepted:
		case f.Op == history.Read:
			u.reads++
		default:
			u.writes++
		}
		used[f.Of] = u
	}
	sections := map[int]string{} // words, by the position at which the section was entered
	for c := range l.clients {
		for i := range l.clients[c].Sections {
			s := &l.clients[c].Sections[i]
			sections[s.First] = sectionWords(l, l.clients[c].Process, s, used[s.Attempt].reads, used[s.Attempt].writes)
		}
	}
	out := make([]row, len(rows))
	for i, r := range rows {
		if len(r.events) > 0 {
			if words, ok := sections[r.pos]; ok {
				r.words = words
			} else if ordinary(&l.history.Events[r.pos]) {
				r.weight = min(r.weight, weightRoutine)
			}
		}
		out[i] = r
	}
	return out
}

// ordinary reports whether an event is part of any uneventful section.
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

func sectionWords(l *Lanes, who history.Process, s *section, reads, writes int) string {
	words := string(who)
	if len(l.locks) > 1 {
		words += " in " + string(s.Lock)
	}
	if s.Last == open {
		words += " enters and stays to the end"
	} else {
		words += " inside for " + phrase.Lasting(s.To-s.From)
	}
	var did []string
	if reads > 0 {
		did = append(did, phrase.Count(reads, "read"))
	}
	if writes > 0 {
		did = append(did, phrase.Count(writes, "write"))
	}
	if len(did) == 0 {
		return words
	}
	return fmt.Sprintf("%s: %s", words, strings.Join(did, ", "))
}
