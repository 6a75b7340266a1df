package timeline

import (
	"math"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// True scale reads better as long as it hides nothing: a lease then looks as long as it is, beside the pause that
// outlasts it. A run is drawn so if each section, each lease and each pause is at least leastVisible pixels wide, if
// what clients do fills at least leastFilled of the picture, and if no number of the witness covers another in the rows
// that there are for them. Otherwise the scale is folded: milliseconds and minutes side by side.
const (
	leastVisible = 5.0 // pixels, from which on a bar is seen as a bar
	leastFilled  = 0.5 // of the width
)

// readable reports whether a scale shows all that the rule above names.
func (c *chart) readable(s *scale) bool {
	for i := range c.lanes.clients {
		lane := &c.lanes.clients[i]
		if lane.Process == probe && !c.showsProbe() {
			continue
		}
		for k := range lane.Sections {
			sec := &lane.Sections[k]
			if !c.visible(s, sec.From, sec.To) {
				return false
			}
			for _, w := range sec.Validity {
				if !c.visible(s, w.From, w.To) {
					return false
				}
			}
		}
		for _, p := range lane.Pauses {
			if !c.visible(s, p.From, p.To) {
				return false
			}
		}
	}
	_, fit := c.levels(s) // the numbers of the witness can stand beside or above each other
	return fit && c.filled(s)
}

// filled reports whether the clients' sections, pauses and waits reach over enough of the picture.
func (c *chart) filled(s *scale) bool {
	last := c.from
	for i := range c.lanes.clients {
		lane := &c.lanes.clients[i]
		if lane.Process == probe && !c.showsProbe() {
			continue
		}
		for k := range lane.Sections {
			last = max(last, lane.Sections[k].To)
		}
		for _, p := range lane.Pauses {
			last = max(last, p.To)
		}
		for k := range lane.Waits {
			last = max(last, lane.Waits[k].To)
		}
		for k := range lane.Operations {
			last = max(last, lane.Operations[k].To)
		}
	}
	return s.place(last) >= leastFilled
}

// visible reports whether a stretch, as far as it lies in the frame, is wide enough. What lies outside is not drawn at
// all.
func (c *chart) visible(s *scale, from, to history.Time) bool {
	from, to = max(from, c.from), min(to, c.to)
	return from > to || (s.place(to)-s.place(from))*float64(c.Right-c.Left) >= leastVisible
}

// mostMarks is how many round instants are marked on a true scale, at most.
const mostMarks = 12

// rounds lists the instants on a true scale that a reader counts by: multiples of 1, 2 or 5 times a power of ten.
func (c *chart) rounds() (list []history.Time) {
	least := float64(c.to-c.from) / mostMarks
	step := math.Pow(10, math.Floor(math.Log10(least)))
	for _, by := range []float64{1, 2, 5, 10} {
		if float64(by*step) >= least {
			step = float64(by * step)
			break
		}
	}
	width := max(history.Time(step), 1)
	for at := (c.from/width + 1) * width; at < c.to; at += width {
		list = append(list, at)
	}
	return list
}
