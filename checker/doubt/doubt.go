// Package doubt says what remains open of a history whose clocks were not exact. Each process has a clock of its own,
// which was off by at most Header.ClockError, either way: what one process did is in the order in which it was
// recorded; of what two processes did it is known which came first where the times are more than twice the error apart.
//
// A law is violated only if it is so whatever the clocks really showed, and holds only if nothing that they may have
// shown breaks it.
//
// Goals: no verdict that another reading of the same clocks would turn around.
// Non-goals: the closest answer that is possible. What is not told apart in a few steps is left open, and said so.
package doubt

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

// apart is how far the times of two processes must be apart for their order to be known.
func apart(t *trace.Trace) int64 { return 2 * int64(t.History.Header.ClockError) }

// interval is a span with its ends in true time, and whose it is.
type interval struct {
	from, to int64
	seen     int64 // until when it is known to have lasted: less than to where it was not recorded any longer
	process  int32
	shared   bool
	at       int // its place in the list of spans
}

// intervalsOf gives spans of windows, whose ends are times, or of sections, whose ends are positions, in true time and
// by their beginning.
func intervalsOf(t *trace.Trace, spans []trace.Span, sections bool) []interval {
	all := make([]interval, len(spans))
	for i := range spans {
		s := &spans[i]
		x := interval{from: s.From, to: s.To, process: t.Number[t.Grants[s.Grant].Process], shared: s.Shared, at: i}
		if sections {
			x.from, x.to = int64(t.Time(int(s.From))), math.MaxInt64
			if s.To != trace.Open {
				x.to = int64(t.Time(int(s.To)))
			}
		}
		x.seen = x.to
		if until, ends := t.History.Header.Seen[t.Grants[s.Grant].Process]; sections && ends && s.To == trace.Open {
			x.seen = int64(until)
		}
		all[i] = x
	}
	slices.SortStableFunc(all, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	return all
}

// latest knows, of what it was given, the interval that ends last, and the one that does so of any other process.
type latest struct{ first, second *interval }

func (l *latest) add(x *interval, end func(*interval) int64) {
	switch {
	case l.first == nil || end(x) > end(l.first):
		if l.first != nil && l.first.process != x.process {
			l.second = l.first
		}
		l.first = x
	case x.process != l.first.process && (l.second == nil || end(x) > end(l.second)):
		l.second = x
	}
}

// than gives the interval that ends last of those that are not of x's process.
func (l *latest) than(x *interval) *interval {
	if l.first != nil && l.first.process == x.process {
		return l.second
	}
	return l.first
}

// clash finds an interval that overlaps another of another process, by more than slack if that is positive; below zero
// it is how far they may lie apart. It looks at the first places of the list of spans.
func clash(all []interval, places int, slack int64) (a, b *interval, found bool) {
	end := func(x *interval) int64 { return x.seen }
	if slack < 0 {
		end = func(x *interval) int64 { return x.to }
	}
	var begun []*interval
	// of the first so many that have begun
	alone, together := make([]latest, 1, len(all)+1), make([]latest, 1, len(all)+1)
	for i := range all {
		if x := &all[i]; x.at < places {
			begun = append(begun, x)
			l, s := alone[len(alone)-1], together[len(together)-1]
			if x.shared {
				s.add(x, end)
			} else {
				l.add(x, end)
			}
			alone, together = append(alone, l), append(together, s)
		}
	}
	for _, x := range begun {
		n := sort.Search(len(begun), func(i int) bool { return !exceeds(end(x), begun[i].from, slack) })
		for _, of := range []*latest{&alone[n], &together[n]} {
			o := of.than(x)
			if o != nil && !(o.shared && x.shared) && exceeds(end(o), x.from, slack) {
				return o, x, true
			}
		}
	}
	return nil, nil, false
}

// exceeds reports whether one time is later than another by more than slack; if that is below zero, whether it is not
// earlier by more than so much.
func exceeds(late, early, slack int64) bool {
	if late == math.MaxInt64 {
		return true
	}
	if slack < 0 {
		return late-early >= slack
	}
	return late-early > slack
}

// First is trace.Interval.First for clocks that are not exact: places i < j of spans that clash whatever the clocks
// showed, j as small as possible, and for that j so is i.
func First(t *trace.Trace, spans []trace.Span, sections bool) (i, j int, found bool) {
	all := intervalsOf(t, spans, sections)
	within := func(places int) bool {
		if _, _, clashes := clash(all, places, apart(t)); clashes {
			return true
		}
		_, _, clashes := firstOfOne(t, spans[:places])
		return clashes
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

// MayOverlap reports whether nobody can tell from the clocks whether windows overlap.
func MayOverlap(t *trace.Trace, windows []trace.Span) bool {
	if apart(t) == 0 {
		return false
	}
	_, _, sure := First(t, windows, false)
	_, _, may := clash(intervalsOf(t, windows, false), len(windows), -apart(t))
	return may && !sure
}

// sure reports whether two spans clash whatever the clocks showed.
func sure(t *trace.Trace, pair []trace.Span, sections bool) bool {
	if _, _, clashes := firstOfOne(t, pair); clashes {
		return true
	}
	_, _, clashes := clash(intervalsOf(t, pair, sections), len(pair), apart(t))
	return clashes
}

// firstOfOne finds spans of one process that clash: their order is known.
func firstOfOne(t *trace.Trace, spans []trace.Span) (i, j int, found bool) {
	if _, _, any := t.Interval.First(spans); !any {
		return 0, 0, false
	}
	of := make(map[history.Process][]trace.Span)
	for i := range spans {
		p := t.Grants[spans[i].Grant].Process
		of[p] = append(of[p], spans[i])
	}
	for _, own := range of {
		if i, j, found := t.Interval.First(own); found {
			return i, j, true
		}
	}
	return 0, 0, false
}

// overlap says why nobody knows whether the spans of a lock overlap; nothing if they do not.
func overlap(t *trace.Trace, what string, sections bool) string {
	for n := range t.Locks {
		l := &t.Locks[n]
		spans := l.Windows
		if sections {
			spans = l.Sections
		}
		a, b, found := clash(intervalsOf(t, spans, sections), len(spans), -apart(t))
		if !found {
			continue
		}
		by := min(a.to, b.to) - max(a.from, b.from)
		how := "overlap by " + time.Duration(by).String()
		switch {
		case max(a.from, b.from) > min(a.seen, b.seen)+apart(t):
			return fmt.Sprintf("%s was recorded until %v, and was inside a critical section then; whether it was "+
				"still inside when %s entered at %v is not known.", processOf(t, spans, first(a, b)),
				history.Time(first(a, b).seen), processOf(t, spans, later(a, b)), history.Time(later(a, b).from))
		case by <= 0:
			how = "lie " + time.Duration(-by).String() + " apart"
		}
		return fmt.Sprintf("The %s of %s at %v and of %s at %v %s. %s", what, processOf(t, spans, a),
			history.Time(a.from), processOf(t, spans, b), history.Time(b.from), how, because(t))
	}
	return ""
}

func first(a, b *interval) *interval {
	if b.from < a.from {
		return b
	}
	return a
}

func later(a, b *interval) *interval {
	if b.from < a.from {
		return a
	}
	return b
}

func processOf(t *trace.Trace, spans []trace.Span, x *interval) history.Process {
	return t.Grants[spans[x.at].Grant].Process
}

// because ends a reason.
func because(t *trace.Trace) string {
	return fmt.Sprintf("Their clocks may be off by %v each, so that nobody can tell which came first.",
		t.History.Header.ClockError.Duration())
}

// Windows says why it is not known that the windows of no lock overlap, although none was seen to for certain.
func Windows(t *trace.Trace, violated bool, _ int) string {
	if violated { // First has seen to it
		return ""
	}
	for n := range t.Locks {
		spans := t.WithUnstated(&t.Locks[n])
		if _, _, found := clash(intervalsOf(t, spans, false), len(spans), -apart(t)); found {
			return "A grant that does not state until when it was valid may have overlapped another. " + because(t)
		}
	}
	return overlap(t, "windows of validity", false)
}

// Sections says why it is not known that the critical sections of no lock overlap, although none was seen to for
// certain.
func Sections(t *trace.Trace, violated bool, _ int) string {
	if violated {
		return ""
	}
	return overlap(t, "critical sections", true)
}
