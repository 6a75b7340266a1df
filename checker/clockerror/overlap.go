// Package clockerror decides what remains uncertain in a history whose clocks were not exact. Each process has a clock
// of its own, which was off by at most Header.ErrorOf it, either way: the acts of one process are in the order in which
// they were recorded; of the acts of two processes it is known which came first if their times are further apart than
// both errors together.
//
// Where a process was recorded for a shorter time than others (Header.Seen), whatever it was doing when its record
// ended may have gone on or ended at once: nothing is known of the process from then on.
//
// A law is violated only if it is violated whatever the clocks' true error, and holds only if no possible error breaks
// it.
//
// Goals: no verdict that a different clock error would reverse. Non-goals: the tightest possible answer. What a few
// steps cannot decide is reported as undecided.
package clockerror

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// off is how far the clock of a process may have been from true time.
func off(t *trace.Trace, p history.Process) history.Time { return t.History.Header.ErrorOf(p) }

// interval is a span with its ends in true time, and whose it is.
type interval struct {
	from, to   int64
	seen       int64 // until when it is known to have lasted: less than where its record ended
	begin, end int64 // when it had begun and had not yet ended for certain; or when it may have begun and ended
	process    int32
	shared     bool
	at         int // its index in the list of spans
}

// intervalsOf converts the spans of windows, whose ends are times, or of sections, whose ends are positions, to true
// time, ordered by their beginning: as they certainly were, or as they may have been.
func intervalsOf(t *trace.Trace, spans []trace.Span, sections, sure bool) []interval {
	all := make([]interval, len(spans))
	for i := range spans {
		s := &spans[i]
		g := &t.Grants[s.Grant]
		x := interval{from: s.From, to: s.To, process: t.Number[g.Process], shared: s.Shared, at: i}
		open := g.Release == trace.Open
		if sections {
			open = s.To == trace.Open
			x.from, x.to = int64(t.Time(int(s.From))), math.MaxInt64
			if !open {
				x.to = int64(t.Time(int(s.To)))
			}
			if !sure && !open {
				x.to = int64(t.Time(g.End))
			}
		}
		x.seen = x.to
		if until, ends := t.History.Header.Seen[g.Process]; ends && open {
			x.seen = min(x.to, int64(until))
		}
		off := int64(off(t, g.Process))
		if x.begin, x.end = x.from-off, x.to; sure {
			x.begin, x.end, off = x.from+off, x.seen, -off
		}
		if x.end != math.MaxInt64 {
			x.end += off
		}
		all[i] = x
	}
	slices.SortStableFunc(all, func(a, b interval) int { return cmp.Compare(a.begin, b.begin) })
	return all
}

// latest keeps, of the intervals added so far, the one that ends last, and the one of any other process that does.
type latest struct{ first, second *interval }

func (l *latest) add(x *interval) {
	switch {
	case l.first == nil || x.end > l.first.end:
		if l.first != nil && l.first.process != x.process {
			l.second = l.first
		}
		l.first = x
	case x.process != l.first.process && (l.second == nil || x.end > l.second.end):
		l.second = x
	}
}

// than returns the interval that ends last of those that are not of x's process.
func (l *latest) than(x *interval) *interval {
	if l.first != nil && l.first.process == x.process {
		return l.second
	}
	return l.first
}

// clash finds two intervals of different processes that overlap, among the first places of the list of spans: for
// certain, or possibly at a single instant. The intervals are as they certainly were, or as they may have been.
func clash(all []interval, places int, sure bool) (a, b *interval, found bool) {
	var begun []*interval
	// of the intervals that have begun so far
	alone, together := make([]latest, 1, len(all)+1), make([]latest, 1, len(all)+1)
	for i := range all {
		if x := &all[i]; x.at < places {
			begun = append(begun, x)
			l, s := alone[len(alone)-1], together[len(together)-1]
			if x.shared {
				s.add(x)
			} else {
				l.add(x)
			}
			alone, together = append(alone, l), append(together, s)
		}
	}
	for _, x := range begun {
		n := sort.Search(len(begun), func(i int) bool { return !exceeds(x.end, begun[i].begin, sure) })
		for _, of := range []*latest{&alone[n], &together[n]} {
			o := of.than(x)
			if o != nil && !(o.shared && x.shared) && exceeds(o.end, x.begin, sure) {
				return o, x, true
			}
		}
	}
	return nil, nil, false
}

// exceeds reports whether a time is later than another for certain, or, if sure is false, may be at least as late.
func exceeds(late, early int64, sure bool) bool {
	return late > early || late == early && (!sure || late == math.MaxInt64)
}

// firstOf is trace.Interval.First for inexact clocks: indexes i < j of spans that clash whatever the clocks' true
// error, j as small as possible, and then i.
func firstOf(t *trace.Trace, spans []trace.Span, sections bool) (i, j int, found bool) {
	all := intervalsOf(t, spans, sections, true)
	within := func(places int) bool {
		if _, _, clashes := clash(all, places, true); clashes {
			return true
		}
		return clashOfOne(t, spans[:places])
	}
	if !within(len(spans)) {
		return 0, 0, false
	}
	j = sort.Search(len(spans), func(n int) bool { return within(n + 1) })
	for i = range spans[:j] {
		if pair := []trace.Span{spans[i], spans[j]}; sure(t, pair, sections) {
			return i, j, true
		}
	}
	return 0, 0, false
}

// Certain returns, of the pairs of spans that clash by the times as recorded, those that do whatever the clocks' true
// error. It finds the first such pair even if that is not among the given ones.
func Certain(t *trace.Trace, spans []trace.Span, pairs [][2]int, sections bool) [][2]int {
	i, j, found := firstOf(t, spans, sections)
	if !found {
		return nil
	}
	first := [2]int{i, j}
	certain := [][2]int{first}
	for _, p := range pairs {
		if p != first && sure(t, []trace.Span{spans[p[0]], spans[p[1]]}, sections) {
			certain = append(certain, p)
		}
	}
	return certain
}

// MayOverlap reports whether the clocks leave it uncertain whether windows overlap.
func MayOverlap(t *trace.Trace, windows []trace.Span) bool {
	if t.History.Header.ClockError == 0 {
		return false
	}
	_, _, sure := firstOf(t, windows, false)
	_, _, may := clash(intervalsOf(t, windows, false, false), len(windows), false)
	return may && !sure
}

// sure reports whether two spans clash whatever the clocks' true error.
func sure(t *trace.Trace, pair []trace.Span, sections bool) bool {
	if clashOfOne(t, pair) {
		return true
	}
	_, _, clashes := clash(intervalsOf(t, pair, sections, true), len(pair), true)
	return clashes
}

// clashOfOne reports whether spans of one process clash: their order is known.
func clashOfOne(t *trace.Trace, spans []trace.Span) bool {
	if _, _, any := t.Interval.First(spans); !any {
		return false
	}
	of := make(map[history.Process][]trace.Span)
	for i := range spans {
		p := t.Grants[spans[i].Grant].Process
		of[p] = append(of[p], spans[i])
	}
	for _, own := range of {
		if _, _, found := t.Interval.First(own); found {
			return true
		}
	}
	return false
}

// overlap explains why it is uncertain whether the spans of a lock overlap; it is empty if they do not.
func overlap(t *trace.Trace, what string, sections bool) string {
	for n := range t.Locks {
		l := &t.Locks[n]
		spans := l.Windows
		if sections {
			spans = l.Sections
		}
		a, b, found := clash(intervalsOf(t, spans, sections, false), len(spans), false)
		if !found {
			continue
		}
		if b.from < a.from {
			a, b = b, a
		}
		p, q := processOf(t, spans, a), processOf(t, spans, b)
		if a.seen < min(a.to, b.from) {
			return fmt.Sprintf("%s was recorded until %v, and ", p, history.Time(a.seen)) +
				fmt.Sprintf(unknown[sections], q, history.Time(b.from)) + "."
		}
		by := min(a.seen, b.seen) - b.from
		how := "overlap by " + time.Duration(by).String()
		if by <= 0 {
			how = "lie " + time.Duration(-by).String() + " apart"
		}
		return fmt.Sprintf("The %s of %s at %v and of %s at %v %s. %s", what, p, history.Time(a.from), q,
			history.Time(b.from), how, because(t, p, q))
	}
	return ""
}

// unknown describes what is not known of a section, or of a lease, whose record ended before it did.
var unknown = map[bool]string{
	true:  "was inside a critical section then; whether it was still inside when %s entered at %v is not known",
	false: "its lease ran then; whether it had released when %s was granted its own at %v is not known",
}

func processOf(t *trace.Trace, spans []trace.Span, x *interval) history.Process {
	return t.Grants[spans[x.at].Grant].Process
}

// because ends a reason that lies in the clocks of two processes.
func because(t *trace.Trace, p, q history.Process) string {
	const noOrder = "so that nobody can tell which came first."
	a, b := off(t, p), off(t, q)
	if a == b {
		return fmt.Sprintf("Their clocks may be off by %v each, %s", a.Duration(), noOrder)
	}
	return fmt.Sprintf("The clock of %s may be off by %v and that of %s by %v, %s", p, a.Duration(), q, b.Duration(),
		noOrder)
}

// Windows explains why it is uncertain whether the windows of any lock overlap, although none do for certain.
func Windows(t *trace.Trace, violated bool, _ int) string {
	if p := t.PausedOpen(); p != "" {
		return "The clocks were not exact: nobody can tell whether " + string(p) + " was paused when it was to be " +
			"told that its lock was lost."
	}
	if violated { // Certain has checked it
		return ""
	}
	for n := range t.Locks {
		spans := t.WithUnstated(&t.Locks[n])
		if a, b, found := clash(intervalsOf(t, spans, false, false), len(spans), false); found {
			return "A grant that does not state until when it was valid may have overlapped another. " +
				because(t, processOf(t, spans, a), processOf(t, spans, b))
		}
	}
	return overlap(t, "windows of validity", false)
}

// Sections explains why it is uncertain whether the critical sections of any lock overlap, although none do for
// certain.
func Sections(t *trace.Trace, violated bool, _ int) string {
	if violated {
		return ""
	}
	return overlap(t, "critical sections", true)
}
