package clockerror

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// token is a grant with its fencing token, its process, and two times: when the grant was requested, and when the
// acquire returned ok.
type token struct {
	grant     *trace.Grant
	process   int32
	asked, ok int64
}

// tokensOf lists a lock's grants that have a token, in the order in which their acquires returned. Each element also
// says when the grant was requested (asked) and when its acquire returned (ok). Both are moved by the clock error: if
// sure is true, asked is the earliest possible time and ok the latest. Otherwise, asked is the latest and ok the
// earliest.
func tokensOf(t *trace.Trace, l *trace.LockTrace, sure bool) (all []token) {
	for _, n := range l.Grants {
		g := &t.Grants[n]
		if g.Token == 0 {
			continue
		}
		asked := t.Time(t.Asks[g.Ask].Call)
		if g.Lease != nil {
			asked = max(asked, g.Lease.Since)
		}
		off := off(t, g.Process)
		if !sure {
			off = -off
		}
		all = append(all, token{g, t.Number[g.Process], int64(asked - off), int64(t.Time(g.OK) + off)})
	}
	slices.SortStableFunc(all, func(a, b token) int { return cmp.Compare(a.ok, b.ok) })
	return all
}

// highest remembers the grant with the highest token added so far, and the grant with the highest token from any other
// process.
type highest struct{ first, second *token }

func (h *highest) add(x *token) {
	switch {
	case h.first == nil || x.grant.Token > h.first.grant.Token:
		if h.first != nil && h.first.process != x.process {
			h.second = h.first
		}
		h.first = x
	case x.process != h.first.process && (h.second == nil || x.grant.Token > h.second.grant.Token):
		h.second = x
	}
}

// wentBack finds a grant that has a lower token than an earlier grant to another process, and returns both. A grant is
// earlier if it had already returned when the other one was requested. If sure is true, this is certain. Otherwise, it
// is only possible.
func wentBack(all []token, sure bool) (a, b *token) {
	before := make([]highest, 1, len(all)+1)
	for i := range all {
		h := before[i]
		h.add(&all[i])
		before = append(before, h)
	}
	for i := range all {
		x := &all[i]
		h := before[sort.Search(len(all), func(i int) bool { return !exceeds(x.asked, all[i].ok, sure) })]
		o := h.first
		if o != nil && o.process == x.process {
			o = h.second
		}
		if o != nil && o.grant.Token > x.grant.Token {
			return o, x
		}
	}
	return nil, nil
}

// TokensWentBack finds two of a lock's grants such that the later one certainly has the lower token, whatever the true
// clock errors are. It returns nil if there are none.
func TokensWentBack(t *trace.Trace, l *trace.LockTrace) (a, b *trace.Grant) {
	if x, y := wentBack(tokensOf(t, l, true), true); y != nil {
		return x.grant, y.grant
	}
	return nil, nil
}

// Tokens explains why it is uncertain whether tokens always increase. It returns "" if no violation is possible. It
// also returns "" if violated is set, because the violation is then certain.
func Tokens(t *trace.Trace, violated bool, _ int) string {
	for n := range t.Locks {
		if a, b := wentBack(tokensOf(t, &t.Locks[n], false), false); b != nil && !violated {
			return fmt.Sprintf("A grant of %s has a lower token than one of %s that was made at nearly the same time. ",
				b.grant.Process, a.grant.Process) + clockReason(t, a.grant.Process, b.grant.Process)
		}
	}
	return ""
}

// Effects explains why it is uncertain whether the resource accepted a request from a superseded holder, or whether an
// update was lost. It returns "" if this is certain. The resource orders its records by its own clock, so there are
// several possible reasons. It may be uncertain which of two grants came later. If clients report their reads and
// writes, the order of these may be uncertain too. If a client's record ended too early, it may be uncertain what the
// client read afterward.
func Effects(t *trace.Trace, violated bool, _ int) string {
	if why := missing(t); why != "" {
		return why
	}
	if violated { // if Trace.Superseded reports a violation, it is one whatever the true clock errors are
		return ""
	}
	seen := make([]ask, len(t.Locks))
	for _, at := range t.Data {
		e := &t.History.Events[at]
		lock, known := t.LockNumber[e.Lock]
		if e.F != history.Apply || e.Type != history.OK || !known {
			continue
		}
		n, granted := t.GrantAt(e.Of, lock)
		if !granted {
			continue
		}
		g, s := &t.Grants[n], &seen[lock]
		if other := s.mayBeLater(t, g); e.Op == history.Write && other != "" {
			return fmt.Sprintf("The grants of %s and %s were made at nearly the same time, "+
				"and a request of %s took effect first. ", g.Process, other, other) + clockReason(t, other, g.Process)
		}
		s.asked.add(g.Process, t.Since(g)+off(t, g.Process))
		s.token = max(s.token, g.Token)
	}
	return ""
}

// ask summarizes the grants of a lock that have taken effect so far. It holds the latest times at which their requests
// may have been made, and their highest token.
type ask struct {
	asked lastTimes
	token history.Token
}

// mayBeLater returns the process of a grant that took effect before g, but may have been made after g. It returns "" if
// there is no such grant. The order of the two is uncertain if the other process may have made its request after g was
// decided, or if an earlier grant has a higher token than g.
func (s *ask) mayBeLater(t *trace.Trace, g *trace.Grant) history.Process {
	other, latest := s.asked.ofOthers(g.Process)
	if t.Decided(g)-off(t, g.Process) <= latest || g.Token != 0 && s.token > g.Token {
		return other
	}
	return ""
}

// lastTimes stores the latest time added so far and its process, and the latest time from any other process.
type lastTimes struct {
	first, second moment
}

// moment is a time on a process's clock. It is unset if the process is empty.
type moment struct {
	process history.Process
	at      history.Time
}

func (l *lastTimes) add(p history.Process, at history.Time) {
	switch {
	case l.first.process == "" || at > l.first.at:
		if l.first.process != p {
			l.second = l.first
		}
		l.first = moment{p, at}
	case p != l.first.process && (l.second.process == "" || at > l.second.at):
		l.second = moment{p, at}
	}
}

// ofOthers returns the latest moment of any process except p. If there is none, it returns an empty process and a time
// before all others.
func (l *lastTimes) ofOthers(p history.Process) (history.Process, history.Time) {
	m := l.first
	if m.process == p {
		m = l.second
	}
	if m.process == "" {
		return "", math.MinInt64
	}
	return m.process, m.at
}

// missing explains why the reads and writes reported by clients are incomplete, or why their order relative to the
// resource's records is uncertain. It returns "" if they are complete and ordered.
func missing(t *trace.Trace) string {
	list := make([]*history.Event, 0, len(t.Data))
	reads := make(map[trace.Title]history.Process) // the process that reported each attempt's reads and writes
	for _, at := range t.Data {
		e := &t.History.Events[at]
		list = append(list, e)
		if e.F != history.Apply && e.Attempt != "" {
			reads[trace.Title{Lock: e.Lock, Attempt: e.Attempt}] = e.Process
		}
	}
	slices.SortStableFunc(list, func(a, b *history.Event) int { return cmp.Compare(a.Time, b.Time) })
	// each lock's times: those reported by clients and those reported by the resource
	seen := make(map[history.Lock]*[2]lastTimes)
	for _, e := range list {
		own, other := 0, 1
		if e.F == history.Apply {
			own, other = 1, 0
			reader := reads[trace.Title{Lock: e.Lock, Attempt: e.Of}]
			if until, ends := t.History.Header.Seen[reader]; ends && until < t.History.Header.Seen[e.Process] &&
				e.Type == history.OK && e.Time+off(t, e.Process) >= until-off(t, reader) {
				return fmt.Sprintf("%s was recorded until %v, and the resource accepted what it did at %v; "+
					"what it read in between is not known.", reader, until, e.Time)
			}
		}
		both := seen[e.Lock]
		if both == nil {
			both = new([2]lastTimes)
			seen[e.Lock] = both
		}
		if p, at := both[other].ofOthers(""); e.Time-off(t, e.Process) <= at {
			return "The clients and the resource recorded reads and writes at nearly the same times. " +
				clockReason(t, p, e.Process)
		}
		both[own].add(e.Process, e.Time+off(t, e.Process))
	}
	return ""
}
