package checker

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fencepost-sim/fencepost/checker/history"
)

func sentence(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// count gives a number with its noun in the right form.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

func quoted(l history.Lock) string { return `"` + string(l) + `"` }

func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

func (f *Finding) unchecked(why string) { f.Outcome, f.Explanation = Unchecked, why }
func (f *Finding) undecided(why string) { f.Outcome, f.Explanation = Undecided, why }
func (f *Finding) holds(seen string)    { f.Outcome, f.Explanation = Holds, seen }

// violated fills in a violation of a lock between the given processes. The witness is given in positions, and may repeat
// or be -1 or open.
func (f *Finding) violated(t *trace, cause Cause, story string, witness []int, lock history.Lock, holders ...history.Process) {
	f.Outcome, f.Cause, f.Remedy, f.Explanation = Violated, cause, remedies[cause.Kind], story
	f.Lock, f.Holders = lock, holders
	slices.Sort(t.cited)
	for _, at := range slices.Compact(t.cited) {
		f.Faults = append(f.Faults, t.h.Events[at].Index)
	}
	t.cited = t.cited[:0]
	slices.Sort(witness)
	for _, at := range slices.Compact(witness) {
		if at >= 0 && at < len(t.h.Events) {
			f.Witness = append(f.Witness, t.h.Events[at].Index)
		}
	}
}

// who names a grant in a sentence about two: by its process, and by its attempt too if both have the same process.
func (t *trace) who(g, other *grant) string {
	if g.process == other.process && g.attempt != "" {
		return sentence("%s (attempt %s)", g.process, g.attempt)
	}
	return string(g.process)
}

// name gives an attempt with the process whose attempt it is, as far as the history tells.
func (t *trace) name(a history.Attempt) string {
	if a == "" {
		return "somebody"
	}
	return sentence("%s (attempt %s)", t.processOf(a), a)
}

// processOf is the process that made an attempt. An attempt that was never granted is known by its name only, which
// begins with the process.
func (t *trace) processOf(a history.Attempt) history.Process {
	if g, ok := t.owner[a]; ok {
		return t.grants[g].process
	}
	process, _, _ := strings.Cut(string(a), "/")
	return history.Process(process)
}

// sectionStory says that two critical sections overlapped.
func (t *trace) sectionStory(c *clash) string {
	a, b := &t.grants[c.first.grant], &t.grants[c.then.grant]
	return sentence("%s entered the critical section of %s at %v although %s, inside since %v, had not left it (%s).",
		capital(t.who(b, a)), quoted(t.locks[c.lock].name), t.time(b.ok), t.who(a, b), t.time(a.ok), t.endText(a))
}

func (t *trace) endText(g *grant) string {
	switch g.ending {
	case released:
		return sentence("it called release at %v", t.time(g.end))
	case lost:
		return sentence("it noticed at %v that its lock was lost", t.time(g.end))
	case crashed:
		return sentence("it crashed at %v", t.time(g.end))
	}
	return "it never did"
}

// overstayStory says why the holder n was inside after its lease ended at end.
func (t *trace) overstayStory(n int32, end int64, by *fault) string {
	g := &t.grants[n]
	s := sentence("The lease of %s had ended at %v as it should; the lock service broke no promise.", g.process, history.Time(end))
	switch {
	case by == nil:
		return s + sentence(" %s simply worked longer than its lease, and did not stop when it ended.", capital(string(g.process)))
	case by.kind == history.Pause && t.time(by.over()) < history.Time(end):
		return s + sentence(" But %s had been paused %s, and its work came to last longer than the lease (%s).", g.process, t.spell(by), t.cite(by))
	case by.kind == history.Pause:
		return s + sentence(" But %s was paused %s and could not notice it (%s).", g.process, t.spell(by), t.cite(by))
	}
	return s + sentence(" But messages of %s were held up or lost %s (%s), and it waited for them inside.", g.process, t.spell(by), t.cite(by))
}

// spell says when a fault was on.
func (t *trace) spell(f *fault) string {
	switch over := f.over(); over {
	case f.from:
		return sentence("at %v", t.time(f.from))
	case open:
		return sentence("from %v to the end", t.time(f.from))
	default:
		return sentence("from %v to %v", t.time(f.from), t.time(over))
	}
}

// leaseStory says that two leases overlapped, and what every server that both counted tells about it.
func (t *trace) leaseStory(c *clash, cause Cause, told []record) string {
	a, b := c.first, c.then
	if b.from < a.from { // told in the order in which they were granted
		a, b = b, a
	}
	ga, gb := &t.grants[a.grant], &t.grants[b.grant]
	var s strings.Builder
	s.WriteString(sentence("%s was granted the lock %s at %v although the lease of %s ran from %v to %v: two leases at once.",
		capital(t.who(gb, ga)), quoted(t.locks[c.lock].name), history.Time(b.from), t.who(ga, gb), history.Time(a.from), history.Time(a.to)))
	switch cause.Kind {
	case CountedWithoutQuorum:
		s.WriteString(sentence(" They counted no server in common (%s; %s), so none could refuse the second.", t.countedText(&a), t.countedText(&b)))
	case Untold:
		if len(told) == 0 {
			s.WriteString(" The history does not tell what became of the first one's keys.")
		}
	}
	if len(told) > 0 {
		t.serversStory(&s, c, told)
	}
	return s.String()
}

// serversStory says what each server tells, the last one first. Where one lease was miscounted it had run out on several.
func (t *trace) serversStory(s *strings.Builder, c *clash, told []record) {
	last := &told[len(told)-1]
	s.WriteString(sentence(" What decided it: %s.", t.recordStory(c, last)))
	var likewise, others []string
	for i := range told[:len(told)-1] {
		if r := &told[i]; last.cause.Kind == ValidityMiscounted && r.cause == last.cause && r.victim == last.victim {
			likewise = append(likewise, sentence("on %s at %v", t.h.Events[r.set[r.victim]].Process, t.h.Events[r.at].Time))
		} else {
			others = append(others, sentence(" Before that, %s.", t.recordStory(c, r)))
		}
	}
	if len(likewise) > 0 {
		s.WriteString(sentence(" Before that, it had expired %s.", list(likewise)))
	}
	for _, other := range slices.Backward(others) {
		s.WriteString(other)
	}
}

func (t *trace) countedText(s *span) string {
	counted := t.h.Events[s.at].Grant.Counted
	if len(counted) == 0 {
		return sentence("%s none", t.grants[s.grant].process)
	}
	return sentence("%s %s", t.grants[s.grant].process, list(counted))
}

// list joins names as a sentence does.
func list[T ~string](names []T) string {
	var s strings.Builder
	for i, n := range names {
		switch {
		case i > 0 && i == len(names)-1:
			s.WriteString(" and ")
		case i > 0:
			s.WriteString(", ")
		}
		s.WriteString(string(n))
	}
	return s.String()
}
