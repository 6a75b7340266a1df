// Package clockerror decides which laws are uncertain in a history that was recorded with inexact clocks. Each process
// has its own clock, which may have differed from true time by up to Header.ErrorOf(process) in either direction. Each
// process's events happened in the order in which they were recorded. The order of two processes' events is known if
// their times differ by more than the sum of both errors.
//
// A process's record may end before the others do (Header.Seen). Whatever the process was doing at that time may have
// continued, or may have ended at once. Nothing is known about what the process did later.
//
// A law is violated only if it is violated for all possible clock errors. It holds only if it is not violated for any
// of them.
//
// Goals: no verdict that different clock errors would reverse.
//
// Non-goals: the tightest possible answer. A question that cannot be decided in a few steps is undecided.
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

// off returns the maximum difference between a process's clock and true time.
func off(t *trace.Trace, p history.Process) history.Time { return t.History.Header.ErrorOf(p) }

// interval is a period in a process's life. Its endpoints are times, not positions in the history.
type interval struct {
	from, to int64
	// the time until which the interval is known to have lasted; earlier than "to" if the process's record ended
	// earlier
	seen int64
	// the period in which the span was certainly in progress if sure is set, or in which it may have been in progress
	// otherwise
	begin, end int64
	process    int32
	shared     bool
	at         int // index in the list of spans
}

// intervalsOf converts spans to intervals, sorted by begin. The spans are given as positions if sections is true, and
// as times otherwise. If sure is true, each interval certainly lasted from begin to end. Otherwise, it possibly did.
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

// latest holds two of the intervals added so far: first has the latest end of all, and second has the latest end among
// the other processes' intervals.
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

// ofOthers returns the interval with the latest end, ignoring intervals of x's process.
func (l *latest) ofOthers(x *interval) *interval {
	if l.first != nil && l.first.process == x.process {
		return l.second
	}
	return l.first
}

// clash finds two overlapping intervals from different processes. It considers only spans whose index in the list of
// spans is less than places. If sure is true, the intervals and the overlap are certain. Otherwise they are only
// possible, and a single common instant counts as an overlap.
func clash(all []interval, places int, sure bool) (a, b *interval, found bool) {
	var begun []*interval
	// alone[n] summarizes the exclusive intervals among the first n, and together[n] the shared ones
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
			o := of.ofOthers(x)
			if o != nil && !(o.shared && x.shared) && exceeds(o.end, x.begin, sure) {
				return o, x, true
			}
		}
	}
	return nil, nil, false
}

// exceeds compares two times. If sure is true, it reports whether late is certainly after early. Otherwise, it reports
// whether late may be after early or equal to it.
func exceeds(late, early int64, sure bool) bool {
	return late > early || late == early && (!sure || late == math.MaxInt64)
}

// firstOf is like trace.Interval.First, but for inexact clocks. It returns the indexes i < j of two spans that clash
// whatever the true clock errors are. It chooses the smallest possible j, and then the smallest i for this j.
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
	c := newCertainty(t, spans, sections)
	for i = range spans[:j] {
		if c.clash(i, j) {
			return i, j, true
		}
	}
	return 0, 0, false
}

// Certain returns groups of spans that violate mutual exclusion whatever the true clock errors are, in the order of
// trace.Interval.Crowds. The result has at most the given number of groups.
//
// With one permit, each group is a pair. Any pair that certainly clashes also clashes according to the recorded times,
// so Certain examines only pairs that do. It examines at most as many pairs as it may return, but always finds the
// first pair that certainly clashes. With several permits, Certain returns at most one group for each last span.
func Certain(t *trace.Trace, spans []trace.Span, most int, sections bool) (certain [][]int) {
	if t.Permits() > 1 {
		return certainCrowds(t, spans, most, sections)
	}
	i, j, found := firstOf(t, spans, sections)
	if !found {
		return nil
	}
	first, c := []int{i, j}, newCertainty(t, spans, sections)
	certain = append(certain, first)
	for _, pair := range t.Interval.Crowds(spans, 1, most) {
		if len(certain) < most && !slices.Equal(pair, first) && c.clash(pair[0], pair[1]) {
			certain = append(certain, pair)
		}
	}
	return certain
}

// certainCrowds is like Certain, but for a lock with several permits. Any group that certainly violates mutual
// exclusion also does so according to the recorded times. So certainCrowds considers only the last spans of groups that
// do. For each of these spans, it looks for a group that ends with it and certainly violates mutual exclusion.
func certainCrowds(t *trace.Trace, spans []trace.Span, most int, sections bool) (certain [][]int) {
	c := newCertainty(t, spans, sections)
	soonest := make([]int64, len(spans)) // the earliest start of the spans from each index on
	earliest := int64(math.MaxInt64)
	for j := range slices.Backward(spans) {
		earliest = min(earliest, c.at[j].from)
		soonest[j] = earliest
	}
	var open []int // earlier spans that may overlap this span or later ones
	next := 0
	for _, group := range t.Interval.Crowds(spans, t.Permits(), math.MaxInt) {
		last := group[len(group)-1]
		for ; next < last; next++ {
			open = append(open, next)
		}
		open = slices.DeleteFunc(open, func(i int) bool { return c.at[i].to < soonest[last] })
		if with := c.crowd(c.clashing(open, last), t.Permits()); with != nil {
			certain = append(certain, append(with, last))
		}
		if len(certain) == most {
			break
		}
	}
	return certain
}

// mayClash finds a group of spans that may violate mutual exclusion, and returns two of them. If found is false, no
// spans can violate it. If a process had several spans, found may be true although no spans can violate it.
func mayClash(t *trace.Trace, spans []trace.Span, sections bool) (a, b *interval, found bool) {
	all := intervalsOf(t, spans, sections, false)
	if t.Permits() == 1 {
		return clash(all, len(spans), false)
	}
	var open []*interval
	for i := range all {
		x := &all[i]
		open = slices.DeleteFunc(open, func(o *interval) bool { return !exceeds(o.end, x.begin, false) })
		with := slices.DeleteFunc(slices.Clone(open), func(o *interval) bool {
			pair := []trace.Span{spans[min(o.at, x.at)], spans[max(o.at, x.at)]}
			return o.process == x.process && !clashOfOne(t, pair)
		})
		if len(with) >= t.Permits() {
			return with[len(with)-1], x, true
		}
		open = append(open, x)
	}
	return nil, nil, false
}

// MayOverlap reports whether clock errors make it uncertain whether windows overlap.
func MayOverlap(t *trace.Trace, windows []trace.Span) bool {
	if t.History.Header.ClockError == 0 {
		return false
	}
	_, _, sure := firstOf(t, windows, false)
	_, _, may := clash(intervalsOf(t, windows, false, false), len(windows), false)
	return may && !sure
}

// certainty determines which of a lock's spans clash whatever the true clock errors are. If every two spans in a group
// certainly clash, there is an instant that lies in all of them, for any clock errors.
type certainty struct {
	trace *trace.Trace
	spans []trace.Span
	at    []interval // the spans as certain intervals, in the same order
}

func newCertainty(t *trace.Trace, spans []trace.Span, sections bool) *certainty {
	c := &certainty{trace: t, spans: spans, at: make([]interval, len(spans))}
	for _, x := range intervalsOf(t, spans, sections, true) {
		c.at[x.at] = x
	}
	return c
}

// clash reports whether two spans certainly clash, for any clock errors.
func (c *certainty) clash(i, j int) bool {
	a, b := &c.at[i], &c.at[j]
	if a.process == b.process {
		return clashOfOne(c.trace, []trace.Span{c.spans[i], c.spans[j]})
	}
	return !(a.shared && b.shared) && exceeds(a.end, b.begin, true) && exceeds(b.end, a.begin, true)
}

// clashing returns those candidates that clash with target. Spans are given by their indexes.
func (c *certainty) clashing(candidates []int, target int) (list []int) {
	for _, i := range candidates {
		if c.clash(i, target) {
			list = append(list, i)
		}
	}
	return list
}

// crowd finds n of the candidates that all clash with one another. It returns the first such combination, or nil if
// there is none. Spans are given by their indexes.
func (c *certainty) crowd(candidates []int, n int) []int {
	if n == 0 {
		return []int{}
	}
	for ; len(candidates) >= n; candidates = candidates[1:] {
		if rest := c.crowd(c.clashing(candidates[1:], candidates[0]), n-1); rest != nil {
			return append([]int{candidates[0]}, rest...)
		}
	}
	return nil
}

// clashOfOne reports whether two spans of the same process clash. Their order is known in spite of the clock errors.
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

// overlap explains why it is uncertain whether a lock's spans overlap. It returns "" if no two spans can overlap.
func overlap(t *trace.Trace, what string, sections bool) string {
	for n := range t.Locks {
		l := &t.Locks[n]
		spans := l.Windows
		if sections {
			spans = l.Sections
		}
		a, b, found := mayClash(t, spans, sections)
		if !found {
			continue
		}
		if b.from < a.from {
			a, b = b, a
		}
		p, q := processOf(t, spans, a), processOf(t, spans, b)
		if a.seen < min(a.to, b.from) {
			return fmt.Sprintf(unknown[sections], p, history.Time(a.seen), q, history.Time(b.from))
		}
		by := min(a.seen, b.seen) - b.from
		how := "overlap by " + time.Duration(by).String()
		if by <= 0 {
			how = "lie " + time.Duration(-by).String() + " apart"
		}
		return fmt.Sprintf("The %s of %s at %v and of %s at %v %s. %s", what, p, history.Time(a.from), q,
			history.Time(b.from), how, clockReason(t, p, q))
	}
	return ""
}

// unknown contains the explanations for a critical section (true) or a lease (false) that was still open when its
// process's record ended.
var unknown = map[bool]string{
	true: "%s was recorded until %v, and was inside a critical section then; " +
		"it is not known whether it was still inside when %s entered at %v.",
	false: "%s was recorded until %v, and its lease had not ended then; " +
		"it is not known whether it had been released when %s was granted a lease at %v.",
}

func processOf(t *trace.Trace, spans []trace.Span, x *interval) history.Process {
	return t.Grants[spans[x.at].Grant].Process
}

// clockReason returns the last sentence of an explanation. It says that two processes' clock errors leave the order of
// their events unknown.
func clockReason(t *trace.Trace, p, q history.Process) string {
	a, b := off(t, p), off(t, q)
	if a == b {
		return fmt.Sprintf("Their clocks may be off by %v each, so it is not known which came first.", a.Duration())
	}
	return fmt.Sprintf("The clock of %s may be off by %v and that of %s by %v, so it is not known which came first.",
		p, a.Duration(), q, b.Duration())
}

// Windows explains why it is uncertain whether any lock's windows overlap. It returns "" if an overlap is certain, or
// if none is possible. If a process was paused while it had a lease without a stated end, Windows never returns "".
func Windows(t *trace.Trace, violated bool, _ int) string {
	if p := t.PausedOpen(); p != "" {
		return fmt.Sprintf("The clocks were not exact: "+
			"it is not known whether %s was paused when it should have been told that its lock was lost.", p)
	}
	if violated { // Certain has found it, whatever the true clock errors are
		return ""
	}
	for n := range t.Locks {
		spans := t.WithUnstated(&t.Locks[n])
		if a, b, found := mayClash(t, spans, false); found {
			return "A grant that does not state how long it was valid may have overlapped another. " +
				clockReason(t, processOf(t, spans, a), processOf(t, spans, b))
		}
	}
	return overlap(t, "validity windows", false)
}

// Sections explains why it is uncertain whether any lock's critical sections overlap. It returns "" if an overlap is
// certain, or if none is possible.
func Sections(t *trace.Trace, violated bool, _ int) string {
	if violated {
		return ""
	}
	return overlap(t, "critical sections", true)
}
