package reading

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Part is a history together with the name of its file.
type Part struct {
	Name    string
	History *history.History
	// Cut says what is wrong with the end of a truncated file. It is empty if the file is complete. The events before
	// the cut have been read.
	Cut string
}

// Merge combines several machines' histories into one, in time order. Events from the same part keep their order. For
// each process, the merged header contains its clock's maximum error and the time at which its recording ended. A
// single part is returned as it is. If there are several parts, their events are moved into the new history, and the
// parts must not be used afterward.
//
// Merge returns an error in four cases: a part does not state its clock's error; two parts contain the same process or
// attempt; only some parts state when their time begins; or the headers contradict each other.
func Merge(parts []Part) (*history.History, error) {
	if len(parts) == 1 {
		return parts[0].History, nil
	}
	out := &history.History{}
	owners := make(map[history.Process]string)
	owns := make(map[history.Attempt]int32) // index of the part that records each attempt
	for i := range parts {
		p := &parts[i]
		if err := p.mergeable(&parts[0]); err != nil {
			return nil, err
		}
		if err := mergeHeader(&out.Header, p, i == 0); err != nil {
			return nil, err
		}
		for n := range p.History.Events {
			e := &p.History.Events[n]
			if of, other := owners[e.Process]; other && of != p.Name && e.Process != history.Nemesis {
				return nil, fmt.Errorf("%s and %s both record the process %q: "+
					"processes of different machines need different names", of, p.Name, e.Process)
			}
			owners[e.Process] = p.Name
			if e.F != history.Acquire || e.Type != history.OK || e.Attempt == "" {
				continue
			}
			if of, other := owns[e.Attempt]; other && int(of) != i {
				return nil, fmt.Errorf("%s and %s both have an attempt %q: attempts need different names",
					parts[of].Name, p.Name, e.Attempt)
			}
			owns[e.Attempt] = int32(i)
		}
	}
	out.Header.Seen, out.Header.ClockErrors = map[history.Process]history.Time{}, map[history.Process]history.Time{}
	for i := range parts {
		parts[i].knows(&out.Header)
	}
	if !slices.ContainsFunc(slices.Collect(maps.Values(out.Header.ClockErrors)),
		func(e history.Time) bool { return e != out.Header.ClockError }) {
		out.Header.ClockErrors = nil // all processes have the same error
	}
	out.Events = inOrder(parts, out.Header.Start)
	return out, nil
}

// knows adds to a header what the part p says about the processes that it recorded: their clocks' maximum errors, and
// the times at which their records end. If p's header gives an end for a process (Seen), that process's record ends
// then. Otherwise, it ends at the end that the header gives for the whole part or at the last event, whichever is
// later. If the file is truncated, the end given for the whole part does not count.
func (p *Part) knows(to *history.Header) {
	h, shift := p.History, p.shift(to.Start)
	end := -history.Never
	if h.Header.End != 0 && p.Cut == "" {
		end = h.Header.End + shift
	}
	for i := range h.Events {
		end = max(end, h.Events[i].Time+shift)
	}
	for i := range h.Events {
		process := h.Events[i].Process
		to.ClockErrors[process] = max(to.ClockErrors[process], h.Header.ErrorOf(process))
		if process != history.Nemesis { // several parts may record faults
			to.Seen[process] = end
		}
		if seen, own := h.Header.Seen[process]; own {
			to.Seen[process] = seen + shift
		}
	}
}

// shift returns how much to add to the part's times so that they are measured from start. The part must not begin
// before start.
func (p *Part) shift(start int64) history.Time {
	if p.History.Header.Start == 0 {
		return 0
	}
	return history.Time(p.History.Header.Start - start)
}

func (p *Part) mergeable(first *Part) error {
	h := &p.History.Header
	switch {
	case h.ClockError == 0:
		return fmt.Errorf("%s does not state its clock's error, "+
			"so its events cannot be ordered relative to those of another machine: "+
			"add \"clock_error\" (ns) to its header, or --clock-error", p.Name)
	case (h.Start == 0) != (first.History.Header.Start == 0):
		with, without := p, first
		if h.Start == 0 {
			with, without = first, p
		}
		return fmt.Errorf("the header of %s states when its time begins (\"start\"), but the header of %s does not",
			with.Name, without.Name)
	}
	return nil
}

// longest returns each client's longest TTL in the two headers. It omits a client if this TTL equals the default, which
// is the greater of the headers' TTL fields.
func longest(a, b *history.Header) map[history.Process]history.Time {
	of := map[history.Process]history.Time{}
	for _, h := range []*history.Header{a, b} {
		for _, p := range h.Clients {
			of[p] = max(of[p], h.TTLOf(p))
		}
	}
	maps.DeleteFunc(of, func(_ history.Process, ttl history.Time) bool { return ttl == max(a.TTL, b.TTL) })
	return of
}

// mergeHeader merges part p's header into another header. If p is the first part, its header replaces the other one.
func mergeHeader(to *history.Header, p *Part, first bool) error {
	h, before := p.History.Header, *to
	if first {
		*to = h
		return nil
	}
	shift := history.Time(h.Start - to.Start)
	if h.Start < to.Start {
		to.End -= shift
		to.Start, shift = h.Start, 0
	}
	to.End = max(to.End, h.End+shift)
	to.TTLs = longest(to, &h)
	to.Clients, to.Locks = union(to.Clients, h.Clients), union(to.Locks, h.Locks)
	to.Unknown = slices.DeleteFunc(union(to.Unknown, h.Unknown),
		func(m history.Measure) bool { return !before.MayApply(m) || !h.MayApply(m) })
	to.Measures = slices.DeleteFunc(slices.Clone(to.Measures), func(m history.Measure) bool { return !h.Applies(m) })
	to.Lapses, to.Asked, to.Quiet = union(to.Lapses, h.Lapses), nil, nil
	to.TTL, to.Hold, to.Slack = max(to.TTL, h.TTL), max(to.Hold, h.Hold), max(to.Slack, h.Slack)
	to.Bound, to.ClockError = max(to.Bound, h.Bound), max(to.ClockError, h.ClockError)
	to.Messages, to.Attempts, to.Taken = to.Messages+h.Messages, to.Attempts+h.Attempts, to.Taken+h.Taken
	to.Uncapped = to.Uncapped || h.Uncapped
	to.Scenario, to.Seed = "", 0
	for _, c := range []struct {
		key       string
		same      bool
		here, now any
	}{
		{"servers", slices.Equal(to.Servers, h.Servers), to.Servers, h.Servers},
		{"shards", slices.EqualFunc(to.Groups, h.Groups, slices.Equal), to.Groups, h.Groups},
		{"quorum", to.Quorum == h.Quorum, to.Quorum, h.Quorum},
		{"order", to.Order == h.Order, to.Order, h.Order},
		{"permits", to.Permits == h.Permits, to.Permits, h.Permits},
		{"service", to.Service == h.Service, to.Service, h.Service},
		{"reentrant", to.Reentrant == h.Reentrant, to.Reentrant, h.Reentrant},
		{"reading", to.Reading == h.Reading, to.Reading, h.Reading},
		{"initial", to.Initial == h.Initial, to.Initial, h.Initial},
	} {
		if !c.same {
			return fmt.Errorf("%s: the header has %s %v, but the earlier files have %v: "+
				"they describe different lock services",
				p.Name, c.key, c.now, c.here)
		}
	}
	return nil
}

func union[T comparable](a, b []T) []T {
	all := slices.Clone(a)
	for _, x := range b {
		if !slices.Contains(all, x) {
			all = append(all, x)
		}
	}
	return all
}

// inOrder returns the events of all parts in time order, measured from start. If times are equal, the earlier part
// comes first. A part's events keep their order, even if its clock jumped backward. If the parts already follow one
// another in memory, the events are moved in place. Otherwise they are copied first.
func inOrder(parts []Part, start int64) []history.Event {
	type queue struct {
		at   history.Time // the time that the queue's next event is sorted by
		next int          // the index of that event in events
		end  int
	}
	var queues []*queue
	var events []history.Event
	for i := range parts {
		own, shift := parts[i].History.Events, parts[i].shift(start)
		if shift != 0 {
			for n := range own {
				own[n] = shifted(own[n], shift)
			}
		}
		if len(own) > 0 {
			queues = append(queues, &queue{at: own[0].Time, next: len(events), end: len(events) + len(own)})
		}
		if events == nil {
			events = own
		} else {
			events = joined(events, own)
		}
	}
	order := make([]int, 0, len(events)) // order[i] is the index of the event that belongs at position i
	for len(queues) > 0 {
		first := 0
		for i, q := range queues {
			if q.at < queues[first].at {
				first = i
			}
		}
		q := queues[first]
		order = append(order, q.next)
		if q.next++; q.next < q.end {
			q.at = max(q.at, events[q.next].Time)
		} else {
			queues = slices.Delete(queues, first, first+1)
		}
	}
	arrange(events, order)
	for i := range events {
		events[i].Index = i
	}
	return events
}

// joined returns a followed by b. If b already follows a in memory, nothing is copied.
func joined(a, b []history.Event) []history.Event {
	if n := len(a) + len(b); len(b) > 0 && n <= cap(a) && &a[:n][len(a)] == &b[0] {
		return a[:n]
	}
	return slices.Concat(a, b)
}

// arrange reorders events in place: the event at order[i] moves to i. It overwrites order.
func arrange(events []history.Event, order []int) {
	for i := range order {
		if order[i] == i {
			continue
		}
		e, at := events[i], i
		for order[at] != i { // follow a cycle of events, each of which moves to the position of another
			events[at] = events[order[at]]
			at, order[at] = order[at], at
		}
		events[at], order[at] = e, at
	}
}

// shifted returns an event with its times moved by delta, the difference between two starting times.
func shifted(e history.Event, delta history.Time) history.Event {
	e.Time += delta
	if e.Sent != 0 {
		e.Sent += delta
	}
	key := e.F == history.KeySet || e.F == history.KeyProlonged
	if key && e.Until != history.Never || e.F == history.Crashed && e.Until != 0 {
		e.Until += delta
	}
	if e.Grant != nil {
		g := *e.Grant
		g.Since, g.Granted = g.Since+delta, g.Granted+delta
		if g.Until != history.Never {
			g.Until += delta
		}
		e.Grant = &g
	}
	return e
}
