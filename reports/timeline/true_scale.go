package timeline

import (
	"math"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// On a true scale, equal times have equal lengths, so the user can see how long a lease is compared with the pause that
// outlasts it. A true scale is used if it hides nothing. Each section, each lease and each pause must be at least
// leastVisible pixels wide. The clients' activity must fill at least leastFilled of the picture. The numbers of the
// witness events, which show the violation, must not overlap. Otherwise, the scale is folded: it compresses long idle
// periods, so that it can show milliseconds and minutes side by side.
const (
	leastVisible = 5.0 // in pixels; a narrower bar does not look like a bar
	leastFilled  = 0.5 // as a share of the width
)

// readable reports whether a scale meets the conditions for a true scale described above.
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
	_, fit := c.levels(s) // whether there is room for the numbers of the witness events
	return fit && c.filled(s)
}

// filled reports whether the clients' sections, pauses and waits fill enough of the picture for a true scale.
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

// visible reports whether the part of a span inside the frame is wide enough to be seen. Whatever is outside the frame
// is not drawn.
func (c *chart) visible(s *scale, from, to history.Time) bool {
	from, to = max(from, c.from), min(to, c.to)
	return from > to || (s.place(to)-s.place(from))*float64(c.Right-c.Left) >= leastVisible
}

// mostMarks is the maximum number of round times marked on a true scale (see linearScale).
const mostMarks = 12

// rounds lists the round times to mark on a true scale (see linearScale): multiples of 1, 2 or 5 times a power of ten.
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
