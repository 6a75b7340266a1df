package timeline

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// maximum number of lines in a timeline, for a run without violations and for a run with violations
const (
	mostLinesCalm   = 36 // about 40 lines together with legend and title
	mostLinesBroken = 60
)

// draw draws the run with time running downward. The lanes are on the left, and the words that describe the events are
// on the right.
func (l *Lanes) draw(p *text.Writer) {
	t, body, hidden := l.lay(p.Width())
	if len(body) == 0 {
		p.Text(text.Plain, 0, "Nothing was recorded.")
		return
	}
	t.head(p)
	for _, ln := range body {
		p.Put(ln)
	}
	p.Blank()
	t.legend(p, hidden)
}

// lay chooses the rows to show, and the layout that they fit in. It returns them drawn, and the number of rows that it
// leaves out.
func (l *Lanes) lay(width int) (t *table, body []*text.Line, hidden int) {
	s := story(l, width >= 110)
	most := mostLinesCalm
	if len(l.witness) > 0 {
		most = mostLinesBroken
	} else if len(choose(s.rows, most+1)) > most {
		s.fold()
	}
	for n := most; n > 0; n -= 3 { // try fewer rows, since wrapped words and scale breaks also take up lines
		places := choose(s.rows, n)
		shown := make([]row, len(places))
		for i, place := range places {
			shown[i] = s.rows[place]
		}
		t = layTable(l, shown, width)
		body, hidden = t.body(s, places, shown)
		if len(body) <= most {
			break
		}
	}
	return t, body, hidden
}

// body draws the rows with the given indices, and the breaks between them. hidden is the number of omitted rows that
// weigh at least as much as the lightest row shown.
func (t *table) body(s *storyline, places []int, shown []row) (body []*text.Line, hidden int) {
	t.lanes.settle(shown)
	d := &drawing{table: t, near: t.lanes.near(shown), leased: map[[2]int]bool{}}
	breakAt := breakLength(shown)
	least := lightest(shown)
	next := 0
	skip := func(until int) (n int) { // skip counts the omitted rows before until that have at least this weight
		for ; next < until; next++ {
			if s.rows[next].weight >= least {
				n++
			}
		}
		return n
	}
	for i := range shown {
		r := &shown[i]
		skipped := skip(places[i])
		next++
		hidden += skipped
		if i > 0 {
			if gap := r.at - shown[i-1].at; gap >= breakAt || skipped > 0 {
				body = append(body, d.gap(&shown[i-1], gap, skipped))
			}
		} else if skipped > 0 {
			body = append(body, d.gap(nil, r.at, skipped))
		}
		body = append(body, d.row(r, s.words(r))...)
	}
	if n := skip(len(s.rows)); n > 0 && len(shown) > 0 {
		hidden += n
		last := &shown[len(shown)-1]
		body = append(body, d.gap(last, t.lanes.end-last.at, n))
	}
	return body, hidden
}

// settle decides which keys to show in each row, and in the gap after it. A row shows the keys after all events that
// happen at its time, up to the next row. If the keys change several times in a gap, the gap shows those that last
// longest.
func (l *Lanes) settle(shown []row) {
	events := l.history.Events
	for i := range shown {
		r, end, until := &shown[i], len(events), l.end
		if i+1 < len(shown) {
			end, until = shown[i+1].pos, shown[i+1].at
		}
		for r.keys = r.pos; r.keys+1 < end && events[r.keys+1].Time <= r.at; r.keys++ {
		}
		r.after = r.keys
		from, longest := r.at, history.Time(-1)
		for pos := r.keys; pos < end; pos++ {
			to := until
			if pos+1 < end {
				to = events[pos+1].Time
			}
			if to-from > longest {
				r.after, longest = pos, to-from
			}
			from = to
		}
	}
}

// near returns a copy of the lanes that contains only those sections, waits, operations and keys that appear in the
// given rows. A long history has many more.
func (l *Lanes) near(shown []row) *Lanes {
	var positions []int
	var times []history.Time
	for i := range shown {
		positions = append(positions, shown[i].pos, shown[i].keys, shown[i].after)
		times = append(times, shown[i].at)
	}
	slices.Sort(positions)
	slices.Sort(times)
	during := func(s span) bool {
		i, _ := slices.BinarySearch(positions, s.First)
		return i < len(positions) && positions[i] <= s.Last
	}
	leased := func(w window) bool {
		i, _ := slices.BinarySearch(times, w.From)
		return i < len(times) && times[i] < w.To
	}
	near := *l
	near.clients, near.servers = slices.Clone(l.clients), slices.Clone(l.servers)
	for i := range near.clients {
		c := &near.clients[i]
		c.Sections = filter(c.Sections, func(s *section) bool {
			return during(s.span) || slices.ContainsFunc(s.Validity, leased)
		})
		c.Waits = filter(c.Waits, func(w *wait) bool { return during(w.span) })
		c.Operations = filter(c.Operations, func(o *call) bool { return during(o.span) })
	}
	for i := range near.servers {
		s := &near.servers[i]
		s.Keys = filter(s.Keys, func(k *keySpan) bool { return during(k.span) })
	}
	return &near
}

// filter returns the elements of a list for which keep returns true.
func filter[T any](list []T, keep func(*T) bool) (kept []T) {
	for i := range list {
		if keep(&list[i]) {
			kept = append(kept, list[i])
		}
	}
	return kept
}

// lightest returns the weight of the lightest row shown, but at most weightStep. It ignores the rows of the witness. A
// timeline says how many rows it omits, counting only those that weigh at least as much. So if it shows routine rows,
// the number includes omitted routine rows.
func lightest(shown []row) int16 {
	least := int16(weightStep)
	for _, r := range shown {
		if !r.proof {
			least = min(least, r.weight)
		}
	}
	return least
}

// breakLength returns the shortest gap that is marked as a break in the scale: ten times the usual gap between rows,
// but at least 10 ms.
func breakLength(shown []row) history.Time {
	var gaps []history.Time
	for i := 1; i < len(shown); i++ {
		if g := shown[i].at - shown[i-1].at; g > 0 {
			gaps = append(gaps, g)
		}
	}
	if len(gaps) == 0 {
		return history.Never
	}
	slices.Sort(gaps)
	return max(10*gaps[len(gaps)/2], 1e7)
}

// drawing is the state of a table while it is being drawn row by row. Its field leased lists the leases that were in
// effect in the previous row, by lane and track.
type drawing struct {
	*table
	near   *Lanes // the lanes reduced to what the rows show
	leased map[[2]int]bool
}

// gap draws a break in the scale if a lot of time passes or rows are omitted.
func (d *drawing) gap(after *row, long history.Time, skipped int) *text.Line {
	ln := new(text.Line).To(d.time-1).Add(text.Plain, d.put(inGutter, '⋮')).To(d.time + gutter)
	if after != nil {
		still := after.continued()
		still.keys = after.after
		d.state(ln, &still, true)
	}
	words := text.Lasting(long) + " later"
	switch {
	case after == nil:
		words = text.Count(skipped, "earlier step") + " left out"
	case skipped > 0:
		words = text.Lasting(long) + ", " + text.Count(skipped, "step") + " left out"
	}
	return ln.To(d.words).Add(text.Plain, words)
}

// continued returns a row that shows the same state as r but does not describe an event.
func (r *row) continued() row { return row{at: r.at, pos: r.pos, keys: r.keys, other: &unusual{}} }

// row draws one row. To the right of the lanes, it writes the given words, which describe the row, wrapped to several
// lines if necessary.
func (d *drawing) row(r *row, words string) []*text.Line {
	tone := r.tone
	if r.proof && tone == text.Plain {
		tone = text.Bold
	}
	texts := text.Wrap(words, d.width-d.words)
	ln := new(text.Line).Right(d.time, d.lanes.clock(r.at)).Add(text.Plain, " ")
	d.mark(ln, r)
	ln.To(d.time + gutter)
	d.state(ln, r, false)
	out := []*text.Line{ln.To(d.words).Add(tone, texts[0])}
	for _, content := range texts[1:] {
		more := new(text.Line).To(d.time + gutter)
		still := r.continued()
		d.state(more, &still, true)
		out = append(out, more.To(d.words).Add(tone, content))
	}
	return out
}

// mark writes two characters to the left of the lanes. The first marks an event that is part of the witness, and the
// second a time at which too many clients are in a section.
func (d *drawing) mark(ln *text.Line, r *row) {
	if r.proof {
		ln.Add(text.Bold, d.put(inGutter, '▸'))
	} else {
		ln.Add(text.Plain, " ")
	}
	if d.near.overlapped(r.pos) {
		ln.Add(text.Red, d.put(inGutter, '!'))
	}
}

// state draws the state of all lanes. If continues is set, the line is a continuation of another one, so it does not
// show anything beginning or ending.
func (d *drawing) state(ln *text.Line, r *row, continues bool) {
	clash := d.near.overlapped(r.pos)
	col := ln.Cells()
	for k, c := range d.clients {
		ln.To(col)
		for track, lock := range d.tracks {
			d.track(ln, r, [2]int{k, track}, &d.near.clients[c], lock, continues, clash)
		}
		col += d.lane
	}
	if d.block == 0 {
		return
	}
	col++
	for _, lock := range d.keys {
		ln.To(col)
		for k, s := range d.servers {
			ln.To(col + k*d.cell)
			d.keysOn(ln, &d.near.servers[s], lock, r.keys)
		}
		col += d.block
	}
}

func (d *drawing) track(ln *text.Line, r *row, at [2]int, lane *clientLane, lock history.Lock, continues, clash bool) {
	sign, tone := sectionSign(lane, lock, r)
	if tone == text.Plain && clash && strings.ContainsRune("█▄▒", sign) {
		tone = text.Red
	}
	if strings.ContainsRune("┆✗", sign) {
		ln.Add(tone, d.put(inLane, sign)+strings.Repeat(" ", d.bar-1))
	} else {
		ln.Add(tone, strings.Repeat(d.put(inLane, sign), d.bar))
	}
	begun, runs := leaseStands(lane, lock, r)
	lease := ' '
	switch {
	case runs && begun:
		lease = '┐'
	case runs:
		lease = '│'
	case d.leased[at] && !continues:
		lease = '┘'
	}
	if !continues {
		d.leased[at] = runs
	}
	ln.Add(text.Green, d.put(inLease, lease))
}

// sectionSign returns the character that shows what a client is doing in row r of the timeline, for example whether it
// is in a critical section. It also returns the character's style. An empty lock means any lock.
func sectionSign(lane *clientLane, lock history.Lock, r *row) (rune, text.Style) {
	for i := range lane.Crashes {
		if r.shows(lane.Crashes[i].First) {
			return '✗', text.Red
		}
	}
	paused := slices.ContainsFunc(lane.Pauses, func(s span) bool { return s.covers(r.pos) })
	for i := range lane.Sections {
		s := &lane.Sections[i]
		if lock != "" && s.Lock != lock {
			continue
		}
		switch {
		case r.shows(s.Last):
			return '▀', text.Plain
		case r.shows(s.First):
			return '▄', text.Plain
		case s.covers(r.pos) && paused:
			return '▒', text.Yellow
		case s.covers(r.pos):
			return '█', text.Plain
		}
	}
	if paused {
		return '░', text.Yellow
	}
	for i := range lane.Waits {
		if w := &lane.Waits[i]; (lock == "" || w.Lock == lock) && w.covers(r.pos) {
			return '┆', text.Plain
		}
	}
	for i := range lane.Operations {
		switch o := &lane.Operations[i]; {
		case r.shows(o.Last):
			return '▀', text.Plain
		case r.shows(o.First):
			return '▄', text.Plain
		case o.covers(r.pos):
			return '█', text.Plain
		}
	}
	return ' ', text.Plain
}

// leaseStands returns the state of a client's lease in row r: whether the lease is in effect there, and whether it
// begins there.
func leaseStands(lane *clientLane, lock history.Lock, r *row) (begun, runs bool) {
	for i := range lane.Sections {
		s := &lane.Sections[i]
		if lock != "" && s.Lock != lock || s.First > r.pos {
			continue
		}
		for _, w := range s.Validity {
			if w.From <= r.at && r.at < w.To {
				runs = true
				begun = begun || r.shows(s.First)
			}
		}
	}
	return begun, runs
}

// keysOn draws a lock's keys on one server, in at most t.depth characters: the owner's mark, then the marks of other
// holders and of the clients queued behind them, then "+" if there are more. It draws "·" if there is no key, a blank
// if the server may be a replica, and "✗" if it is down.
func (t *table) keysOn(ln *text.Line, lane *serverLane, lock history.Lock, pos int) {
	if slices.ContainsFunc(lane.Down, func(s span) bool { return s.covers(pos) }) {
		ln.Add(text.Red, t.put(inKeys, '✗'))
		return
	}
	var owners []int
	more := false
	for i := range lane.Keys {
		k := &lane.Keys[i]
		if k.Lock != lock || !k.covers(pos) {
			continue
		}
		if more = len(owners) == t.depth; more {
			owners = owners[:t.depth-1]
			break
		}
		owners = append(owners, t.lanes.number(k.title()))
	}
	for _, owner := range owners {
		ln.Add(text.Plain, t.put(inKeys, t.markOf(owner)))
	}
	switch {
	case more:
		ln.Add(text.Plain, t.put(inKeys, '+'))
	case len(owners) > 0:
	case slices.ContainsFunc(lane.Copies, func(s span) bool { return s.covers(pos) }):
		ln.Add(text.Plain, t.put(inKeys, ' '))
	default:
		ln.Add(text.Plain, t.put(inKeys, '·'))
	}
	t.owned(owners)
}
