package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// colors is the number of colors used to distinguish clients. If there are more clients, some share a color.
const colors = 8

func colorOf(client int) string {
	if client < 0 {
		return "c-none"
	}
	return fmt.Sprintf("c%d", client%colors)
}

// faultLanes draws each fault as a band labeled with its line in the plan. It uses as few rows as the labels allow.
func (c *chart) faultLanes(y int) int {
	var ends []float64
	top := y
	for i := range c.lanes.faults {
		f := &c.lanes.faults[i]
		if f.To < c.from || f.From > c.to {
			continue
		}
		left := c.scale.place(f.From) * narrow
		width := labelWidth(f.Line) + 16
		left = max(0, min(left, narrow-width))
		right := max(left+width, c.scale.place(f.To)*narrow)
		row := slices.IndexFunc(ends, func(end float64) bool { return left >= end })
		if row < 0 {
			row = len(ends)
			ends = append(ends, 0)
		}
		ends[row] = right + 6
		at := top + lanePad/2 + row*faultHeight
		class := "fault"
		if f.From == f.To {
			class = "fault instant"
		}
		c.box(class, f.From, f.To, at+2, faultHeight-4, "", f.Line+"\n"+c.stretch(f.span), f.First, f.Last)
		c.label("fault-label", f.From, f.To, at+faultHeight/2, f.Line)
	}
	if len(ends) == 0 {
		return y
	}
	height := len(ends)*faultHeight + lanePad
	c.title(y, height, "faults", "faults")
	c.middle[history.Nemesis] = y + height/2
	return y + height
}

// label writes a label for a time span. The label stays inside the plot while the span is in view.
func (c *chart) label(class string, from, to history.Time, y int, text string) {
	x := min(c.x(max(from, c.from))+6, float64(c.Right)-labelWidth(text)-4)
	c.Shapes = append(c.Shapes, shape{Kind: "label", Class: class, A: int64(max(from, c.from)), B: int64(min(to, c.to)),
		X: px(max(x, float64(c.Left)+4)), Y: y, Label: text})
}

func (c *chart) clientLanes(y int) int {
	top := y
	tracks := c.tracks()
	for i := range c.lanes.clients {
		lane := &c.lanes.clients[i]
		if lane.Process == probe && !c.showsProbe() {
			continue
		}
		height := len(tracks)*trackHeight + lanePad
		c.title(y, height, lane.Name, colorOf(i))
		middle := y + lanePad/2 + 12
		c.middles[i] = middle
		c.clients = append(c.clients, i)
		c.Clients = append(c.Clients, lane.Name)
		for k, lock := range tracks {
			c.sections(i, lock, y+lanePad/2+k*trackHeight)
		}
		c.operations(i, y+lanePad/2)
		for _, p := range lane.Pauses {
			c.box("pause", p.From, p.To, y+2, height-4, "", string(lane.Process)+" is paused\n"+c.stretch(p), p.First,
				p.Last)
		}
		for k, lock := range tracks {
			c.captions(i, lock, y+lanePad/2+k*trackHeight)
		}
		c.clocks(lane.Clock, y, height)
		for _, crash := range lane.Crashes {
			c.mark("crash", "cross", crash.From, middle, "",
				string(lane.Process)+" crashes at "+c.lanes.instant(crash.From), crash.First)
		}
		y += height
	}
	c.clashes(top, y-top)
	return y
}

// showsProbe reports whether the witness includes a probe event.
func (c *chart) showsProbe() bool {
	for pos := range c.numbers {
		if c.lanes.history.Events[pos].Process == probe {
			return true
		}
	}
	return false
}

// sections draws each critical section as a bar, with the lease granted to the client below it. If the section outlasts
// the lease, a line shows by how much.
func (c *chart) sections(client int, lock history.Lock, y int) {
	lane := &c.lanes.clients[client]
	for _, w := range lane.Waits {
		if lock == "" || w.Lock == lock {
			c.box("wait", w.From, w.To, y+10, 4, "", fmt.Sprintf("%s asks for %s\n%s", lane.Process,
				cmp.Or(string(w.Lock), "the lock"), c.stretch(w.span)), w.First)
		}
	}
	for i := range lane.Sections {
		s := &lane.Sections[i]
		if lock != "" && s.Lock != lock {
			continue
		}
		class := "section " + colorOf(client)
		if s.Shared {
			class += " shared"
		}
		c.box(class, s.From, s.To, y+3, 18, "", c.sectionTip(lane, s), s.First, s.Last)
		past := s.From
		for _, w := range s.Validity {
			if w.From > past {
				c.past(lane, past, min(w.From, s.To), y)
			}
			c.box("lease", w.From, w.To, y+24, 6, "", fmt.Sprintf("lease, as %s sees it\n%s to %s", lane.Process,
				c.lanes.instant(w.From), c.lanes.instant(w.To)))
			past = max(past, w.To)
		}
		if len(s.Validity) > 0 && past < s.To {
			c.past(lane, past, s.To, y)
		}
	}
}

// operations draws each register operation from its call to its return. Operations that failed or have an unknown
// outcome are paler.
func (c *chart) operations(client, y int) {
	lane := &c.lanes.clients[client]
	for i := range lane.Operations {
		o := &lane.Operations[i]
		if o.To < c.from || o.From > c.to {
			continue
		}
		at, class := o.First, "section "+colorOf(client)
		if o.Last != open {
			at = o.Last
		}
		e, tip := &c.lanes.history.Events[at], c.tip(at)+"\n"+c.stretch(o.span)
		if o.Result != history.OK {
			class += " shared"
		}
		c.box(class, o.From, o.To, y+3, 18, "", tip, o.First, o.Last)
		words := string(o.F)
		if c.lanes.registers > 1 {
			words += " " + string(e.Lock)
		}
		if e.Value != "" {
			words += " " + e.Value
		}
		c.box("caption "+colorOf(client), o.From, o.To, y+3, 18, words, "")
	}
}

// captions writes the attempts' names above their bars, and above the hatching that marks pauses.
func (c *chart) captions(client int, lock history.Lock, y int) {
	for i := range c.lanes.clients[client].Sections {
		s := &c.lanes.clients[client].Sections[i]
		if lock == "" || s.Lock == lock {
			c.box("caption "+colorOf(client), s.From, s.To, y+3, 18, string(s.Attempt), "")
		}
	}
}

func (c *chart) past(lane *clientLane, from, to history.Time, y int) {
	c.box("past", from, to, y+24, 6, "", fmt.Sprintf("%s continues to work without a valid lease\n%s to %s (%s)",
		lane.Process, c.lanes.instant(from), c.lanes.instant(to), text.Lasting(to-from)))
}

// clashes shades the times at which a lock has more open sections than it allows: two, unless both are shared, or, for
// a semaphore, more than it has permits.
func (c *chart) clashes(y, height int) {
	var all []*section
	for _, i := range c.clients {
		for k := range c.lanes.clients[i].Sections {
			if s := &c.lanes.clients[i].Sections[k]; s.To >= c.from && s.From <= c.to {
				all = append(all, s)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *section) int { return a.First - b.First })
	var shades []shape
	for j, b := range all {
		for _, to := range c.lanes.clashesWith(b, all[:j]) {
			if len(shades) == mostClashes {
				c.Notes = append(c.Notes, fmt.Sprintf("Only the first %d overlaps of two critical sections are shaded.",
					mostClashes))
				c.Shapes = append(shades, c.Shapes...)
				return
			}
			n := len(c.Shapes)
			c.box("clash", b.From, to.until, y, height, "", fmt.Sprintf("%s\n%s to %s", to.who,
				c.lanes.instant(b.From), c.lanes.instant(to.until)))
			shades = append(shades, c.Shapes[n:]...)
			c.Shapes = c.Shapes[:n]
		}
	}
	c.Shapes = append(shades, c.Shapes...) // draw the shades behind everything else
}

// meeting is a period at the start of a section during which earlier sections are still open, although they should not
// be. It ends at the time until. The text who describes it.
type meeting struct {
	until history.Time
	who   string
}

// clashesWith lists section b's meetings with earlier sections that were open when b began.
func (l *Lanes) clashesWith(b *section, earlier []*section) (all []meeting) {
	var ends []history.Time
	for _, a := range earlier {
		switch {
		case a.Last < b.First || a.Lock != b.Lock || a.Shared && b.Shared:
		case l.permits() > 1:
			ends = append(ends, a.To)
		default:
			all = append(all, meeting{min(a.To, b.To), fmt.Sprintf("two at once: %s and %s", a.Attempt, b.Attempt)})
		}
	}
	if n := l.permits(); n > 1 && len(ends) >= n {
		slices.Sort(ends)
		all = append(all, meeting{min(ends[len(ends)-n], b.To),
			fmt.Sprintf("%d clients are inside at once, but there are only %d permits: %s entered last", len(ends)+1,
				n, b.Attempt)})
	}
	return all
}

func (c *chart) resourceLane(y int) int {
	if len(c.lanes.effects) == 0 {
		return y
	}
	c.title(y, resourceRow, string(history.Resource), "resource")
	middle := y + 31
	c.middle[history.Resource] = middle
	busy := -1e9
	for i := range c.lanes.effects {
		f := &c.lanes.effects[i]
		client := c.lanes.number(f.Of)
		if f.Client == probe && c.numbers[f.Pos] == 0 || f.At < c.from || f.At > c.to {
			continue
		}
		e := &c.lanes.history.Events[f.Pos]
		if from, ok := c.middles[client]; ok && f.Sent >= 0 {
			c.ray("request "+colorOf(client), c.lanes.history.Events[f.Sent].Time, f.At, from+9, middle)
		}
		label := ""
		if f.Op == history.Write {
			label = quoted(e.Value)
		}
		x := c.x(f.At)
		tight := x-busy < float64(labelWidth(label)/2)+4
		if !tight && label != "" {
			busy = x + float64(labelWidth(label)/2)
		}
		glyph, class := "dot", "effect "+colorOf(client)
		switch {
		case !f.Accepted:
			glyph, class = "cross", "effect refused"
		case f.Op == history.Read:
			class += " reading"
		default:
			class += " writing"
		}
		c.mark(class, glyph, f.At, middle, label, c.tip(f.Pos), f.Pos)
		c.Shapes[len(c.Shapes)-1].Tight = tight
	}
	return y + resourceRow
}

func (c *chart) serverLanes(y int) int {
	tracks := c.tracks()
	depth := min(c.lanes.depth(), mostWaiting+1)
	track := keyHeight + (depth-1)*waitHeight
	for i := range c.lanes.servers {
		lane := &c.lanes.servers[i]
		height := len(tracks)*track + 10
		c.title(y, height, string(lane.Process), "server")
		c.middle[lane.Process] = y + height/2
		ahead := lane.ahead()
		for k, lock := range tracks {
			c.keys(lane, ahead, lock, y+5+k*track)
		}
		for _, d := range lane.Down {
			c.box("down", d.From, d.To, y+2, height-4, "", string(lane.Process)+" is down\n"+c.stretch(d), d.First,
				d.Last)
		}
		for _, p := range lane.Pauses {
			c.box("pause", p.From, p.To, y+2, height-4, "", string(lane.Process)+" is paused\n"+c.stretch(p), p.First,
				p.Last)
		}
		c.clocks(lane.Clock, y, height)
		y += height
	}
	return y
}

func (c *chart) keys(lane *serverLane, ahead [][]int, lock history.Lock, y int) {
	for i := range lane.Keys {
		k := &lane.Keys[i]
		if lock != "" && k.Lock != lock || lock == "" && !slices.Contains(c.lanes.locks, k.Lock) {
			continue
		}
		if c.lanes.holder(k.title()) == probe && !c.showsProbe() {
			continue
		}
		for _, p := range places(lane.Keys, i, ahead[i]) {
			c.keyAt(lane, k, &p, y)
		}
	}
}

// inLine is a part of a key's lifetime during which its place in the queue does not change.
type inLine struct {
	span
	before int // number of the same lock's keys that were set earlier and still exist
}

// places splits the lifetime of key i whenever a key ahead of it in the queue disappears.
func places(keys []keySpan, i int, ahead []int) []inLine {
	k := &keys[i]
	gone := slices.Clone(ahead)
	slices.SortStableFunc(gone, func(a, b int) int { return cmp.Compare(keys[a].Last, keys[b].Last) })
	var list []inLine
	at := inLine{k.span, len(gone)}
	for _, j := range gone {
		if keys[j].Last >= k.Last {
			break
		}
		first := at
		first.end(keys[j].Last, keys[j].To)
		list = append(list, first)
		at.From, at.First, at.before = keys[j].To, keys[j].Last, at.before-1
	}
	return append(list, at)
}

// keyAt draws a key at its place in the queue: the first key at full height, the others thinner and below it. It draws
// at most mostWaiting keys after the first.
func (c *chart) keyAt(lane *serverLane, k *keySpan, p *inLine, y int) {
	if p.before > mostWaiting {
		return
	}
	tip := fmt.Sprintf("%s on %s, set for %s\n%s", cmp.Or(string(k.Lock), "the key"), lane.Process,
		cmp.Or(string(k.Of), "nobody"), c.stretch(k.span))
	if p.before > 0 {
		where := "ahead of it in line"
		if c.lanes.severalMayHold() {
			where = "set before it"
		}
		tip += fmt.Sprintf("\n%s %s from %s to %s", text.Count(p.before, "other"), where, c.lanes.instant(p.From),
			c.lanes.instant(p.To))
	}
	if k.Due != 0 {
		tip += "\ndue to expire: " + c.lanes.instant(k.Due)
	}
	if k.Last != open {
		tip += "\nthen " + cmp.Or(string(k.Why), "overwritten or gone")
		if k.By != "" {
			tip += " by " + string(k.By)
		}
	}
	class := "key " + colorOf(c.lanes.number(k.title()))
	if p.before == 0 {
		c.box(class, p.From, p.To, y+1, keyHeight-2, string(k.Of), tip, p.First, p.Last)
		return
	}
	c.box(class+" queued", p.From, p.To, y+keyHeight+(p.before-1)*waitHeight, waitHeight-2, "", tip, p.First, p.Last)
}

// clocks marks jumps and drifts of a lane's clock. It draws a jump, with its size, in the middle of the lane, and a
// drift along the bottom.
func (c *chart) clocks(faults []int, y, height int) {
	for _, i := range faults {
		f := &c.lanes.faults[i]
		if f.Kind.Does() == history.PacesClock {
			c.box("drift", f.From, f.To, y+height-4, 3, "", f.Line+"\n"+c.stretch(f.span), f.First, f.Last)
			continue
		}
		by := ""
		for _, word := range strings.Fields(f.Line) {
			if word[0] == '+' || word[0] == '-' && word != "->" {
				by = word
				break
			}
		}
		c.mark("clock", "jump", f.From, y+height/2, by, f.Line+"\nat "+c.lanes.instant(f.From), f.First)
	}
}
