package timeline

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// tickRoom is the width in pixels that a tick label needs.
const tickRoom = 64

// ticks adds ticks at instants when something happened, labeled with the time. If there is not enough room for all
// labels, it prefers the ends of the axis, then the witness, then the faults, then everything else.
func (c *chart) ticks(times []history.Time) {
	events := c.lanes.history.Events
	order := []history.Time{c.from, c.to}
	for pos := range events {
		if c.numbers[pos] != 0 {
			order = append(order, events[pos].Time)
		}
	}
	for i := range c.lanes.faults {
		order = append(order, c.lanes.faults[i].From, c.lanes.faults[i].To)
	}
	if c.Linear {
		order = append(order, c.rounds()...)
	}
	order = append(order, times...)
	seen := map[history.Time]bool{}
	var taken []float64
	for _, at := range order {
		if seen[at] || at < c.from || at > c.to {
			continue
		}
		seen[at] = true
		x := c.x(at)
		// keep the label inside the plot
		label := max(float64(c.Left)+tickRoom/2-12, min(x, float64(c.Right)-tickRoom/2+12))
		free := !slices.ContainsFunc(taken, func(o float64) bool { return label-o < tickRoom && o-label < tickRoom })
		if free {
			taken = append(taken, label)
		}
		c.Ticks = append(c.Ticks,
			tick{A: int64(at), X: px(x), Shift: px(label - x), Label: c.lanes.instant(at), Shown: free})
	}
	for _, b := range c.folded.breaks {
		x, x2 := c.x(b.From), c.x(b.To)
		c.Breaks = append(c.Breaks, scaleBreak{A: int64(b.From), B: int64(b.To), X: px((x + x2) / 2),
			Label: text.Lasting(b.To - b.From), Shown: !c.Linear && x2-x >= 20,
			Named: labelWidth(text.Lasting(b.To-b.From)) < x2-x})
	}
}

// pinLevels returns, for each numbered event of the witness, the row in which its number is drawn. The rows are chosen
// so that the numbers do not overlap, even on a narrow page. In a long run, they may still overlap until the reader
// zooms in.
func (c *chart) pinLevels() map[int]int {
	levels, _ := c.levels(c.scale)
	return levels
}

// levels returns, for each numbered event of the witness, the row in which to draw its number on scale s. fit is true
// if no numbers overlap.
func (c *chart) levels(s *scale) (levels map[int]int, fit bool) {
	const room, mostLevels = 20, 6
	var ends []float64 // position of the last number in each row
	levels, fit = map[int]int{}, true
	for pos := range c.lanes.history.Events {
		if c.numbers[pos] == 0 {
			continue
		}
		x := float64(s.place(c.lanes.history.Events[pos].Time) * narrow)
		row := slices.IndexFunc(ends, func(end float64) bool { return x-end >= room })
		if row < 0 && len(ends) < mostLevels {
			row = len(ends)
			ends = append(ends, 0)
		} else if row < 0 {
			row, fit = slices.Index(ends, slices.Min(ends)), false
		}
		ends[row] = x
		levels[pos] = row
	}
	return levels, fit
}

// pinRows returns the total height of the rows that contain the witness numbers.
func (c *chart) pinRows() int {
	rows := 0
	for _, level := range c.pinLevels() {
		rows = max(rows, level+1)
	}
	return rows * pinHeight
}

// pins adds the witness numbers between the axis and the lanes, each with a line down to its event.
func (c *chart) pins() {
	levels := c.pinLevels()
	for pos := range c.lanes.history.Events {
		n := c.numbers[pos]
		e := &c.lanes.history.Events[pos]
		if n == 0 || e.Time < c.from || e.Time > c.to {
			continue
		}
		y := axisHeight + levels[pos]*pinHeight + pinHeight/2
		y2, ok := c.middles[c.lanes.lane(pos)]
		if ok {
			y2 += max(0, slices.Index(c.tracks(), e.Lock)) * trackHeight
		} else if y2, ok = c.middle[e.Process]; !ok {
			y2 = c.Top
		}
		c.Pins = append(c.Pins,
			pin{A: int64(e.Time), X: px(c.x(e.Time)), Number: n, Pos: pos, Y: y, Y2: y2, Tip: c.tip(pos)})
	}
}
