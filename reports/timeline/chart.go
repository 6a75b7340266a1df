package timeline

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// chart is a page's picture. Time runs from left to right, and the lanes are stacked vertically. Every horizontal
// position is computed from an instant of true time: first here, for the page as initially shown, and again by the
// page's script when the user zooms.
type chart struct {
	Width, Height int
	Left, Right   int // the left and the right edge of the plot
	Top           int // the upper edge of the lanes
	Rows          []laneTitle
	Shapes        []shape // in the order in which they are painted
	Pins          []pin
	Ticks         []tick
	Breaks        []scaleBreak
	Notes         []string // what the picture omits
	Linear        bool     // whether the picture is at true scale; the reader can then switch to the scale folded
	Clients       []string
	lanes         *Lanes
	scale         *scale
	folded        *scale
	from, to      history.Time
	describer     describer
	numbers       map[int]int             // the numbers of the witness events, by position
	middle        map[history.Process]int // vertical middle of each lane except clients' lanes
	middles       map[int]int             // vertical middle of each client's lane, by its number
	clients       []int
	left          int // number of shapes that were left out for lack of room
}

// laneTitle is the title to the left of a lane.
type laneTitle struct {
	Y, Height int
	Middle    int
	Name      string
	Class     string
	Odd       bool
}

// shape is one item in the plot. A box extends from A to B. A mark is at A. A ray and a message are lines from A at
// height Y to B at height Y2. A label belongs to the span from A to B.
type shape struct {
	Kind      string // box, mark, ray, message, label
	Class     string
	A, B      int64  // true time, ns
	X, Width  string // Width is the x-coordinate of B for a ray and a message
	Y, Height int
	Y2        int
	Glyph     string // for a mark: dot, cross or jump
	Label     string
	Tight     bool   // whether the label does not fit before the reader zooms in
	Shift     string // offset that keeps a mark's label inside the plot
	Tip       string
	Events    string // positions of its events, which link it to the witness list
	Number    int    // for a message: its number
}

// pin is the number of a witness event in the picture. The witness list uses the same number.
type pin struct {
	A      int64
	X      string
	Number int
	Pos    int
	Y, Y2  int
	Tip    string
}

type tick struct {
	A     int64
	X     string
	Shift string // distance of the label from the tick
	Label string
	Shown bool
}

// scaleBreak marks a span of time that is drawn compressed.
type scaleBreak struct {
	A, B  int64
	X     string
	Label string
	Shown bool
	Named bool // whether there is room for the label
}

const (
	chartWidth  = 1120
	chartLeft   = 112
	chartRight  = chartWidth - 16
	axisHeight  = 44
	pinHeight   = 20
	trackHeight = 36
	lanePad     = 8
	faultHeight = 22
	resourceRow = 50
	keyHeight   = 14
	waitHeight  = 8    // height of a key that is queued behind another
	mostWaiting = 6    // maximum number of queued keys that are drawn
	mostEvents  = 3000 // maximum number of events in a history that is drawn as a whole
	mostLanes   = 48   // maximum number of client lanes, and of server lanes
	mostShapes  = 20_000
	mostClashes = 500 // maximum number of overlaps that are shaded
	// narrow is the smallest plot width at which the labels must fit. The page's script never makes the plot narrower.
	narrow = 560
	// clipMargin is a margin around the plot. It keeps marks at the edges from being clipped.
	clipMargin = 10
)

// chart draws the lanes. If the history is too long to draw in full, it draws the part around the witness.
func (l *Lanes) chart() *chart {
	c := &chart{
		Width: chartWidth, Left: chartLeft, Right: chartRight, lanes: l,
		describer: newDescriber(l, true), numbers: l.numbers(), middle: map[history.Process]int{},
		middles: map[int]int{},
	}
	c.lanes = l.fewer(c.numbers)
	for _, name := range c.lanes.names() {
		c.Left = max(c.Left, int(labelWidth(name)*1.1)+30)
	}
	c.frame()
	y := c.pinRows() + axisHeight
	c.Top = y
	y = c.faultLanes(y)
	y = c.clientLanes(y)
	y = c.resourceLane(y)
	y = c.serverLanes(y)
	c.messages()
	c.Height = y + 8
	c.pins()
	c.omissions(l)
	return c
}

// omissions adds a note for everything that the picture omits.
func (c *chart) omissions(all *Lanes) {
	for _, of := range []struct {
		what       string
		all, drawn int
	}{{"client", len(all.clients), len(c.lanes.clients)}, {"server", len(all.servers), len(c.lanes.servers)}} {
		if of.drawn < of.all {
			c.Notes = append(c.Notes, fmt.Sprintf("Only %d of %d %s lanes are drawn.", of.drawn, of.all, of.what))
		}
	}
	if c.left > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%s did not fit and were left out.", text.Count(c.left, "shape")))
	}
}

// fewer returns the lanes to draw. If there are too many, it returns the lanes of the numbered events and as many of
// the others as fit.
func (l *Lanes) fewer(numbers map[int]int) *Lanes {
	if len(l.clients) <= mostLanes && len(l.servers) <= mostLanes {
		return l
	}
	servers, clients := map[history.Process]bool{}, map[string]bool{}
	for pos := range numbers {
		e := &l.history.Events[pos]
		servers[e.Process] = true
		for _, i := range []int{l.lane(pos), l.number(behalf(e))} {
			if i >= 0 {
				clients[l.clients[i].Name] = true
			}
		}
	}
	few := *l
	few.clients = firstLanes(l.clients, func(c *clientLane) bool { return clients[c.Name] })
	few.servers = firstLanes(l.servers, func(s *serverLane) bool { return servers[s.Process] })
	few.clientOf, few.serverOf = map[history.Process]int{}, map[history.Process]int{}
	for i := len(few.clients) - 1; i >= 0; i-- {
		few.clientOf[few.clients[i].Process] = i
	}
	few.numberLanes()
	for i := range few.servers {
		few.serverOf[few.servers[i].Process] = i
	}
	return &few
}

// firstLanes returns at most mostLanes elements of a list, in list order. Elements for which wanted returns true take
// precedence.
func firstLanes[T any](list []T, wanted func(*T) bool) (few []T) {
	room := mostLanes
	for i := range list {
		if wanted(&list[i]) {
			room--
		}
	}
	for i := range list {
		if is := wanted(&list[i]); is || room > 0 {
			if few = append(few, list[i]); !is {
				room--
			}
		}
	}
	return few[:min(mostLanes, len(few))]
}

// frame decides which part of the run is drawn, and creates the scale for it.
func (c *chart) frame() {
	events := c.lanes.history.Events
	first, last := 0, len(events)
	if last > mostEvents {
		first, last = c.rangeAround(mostEvents)
		c.Notes = append(c.Notes, fmt.Sprintf("%d of %d events are drawn, from %s to %s; "+
			"the others lie outside this range.", last-first, len(events), c.lanes.instant(events[first].Time),
			c.lanes.instant(events[last-1].Time)))
	}
	var times []history.Time
	probing := false
	for pos := first; pos < last; pos++ {
		if c.unseen(pos) {
			probing = true
			continue
		}
		if events[pos].F.IsCopy() { // a copy comes right after an event that is on the scale
			continue
		}
		times = append(times, events[pos].Time)
	}
	if first == 0 {
		times = append(times, 0)
	}
	if last == len(events) && !probing {
		times = append(times, c.lanes.end)
	}
	c.scale = newScale(times)
	c.from, c.to = c.scale.knots[0].at, c.scale.knots[len(c.scale.knots)-1].at
	for _, o := range c.lanes.outlived() {
		if c.from < o.At && o.At < c.to {
			times = append(times, o.At)
		}
	}
	c.folded = newScale(times)
	c.scale = c.folded
	if flat := linearScale(c.from, c.to); c.readable(flat) {
		c.scale, c.Linear = flat, true
	}
	c.ticks(times)
}

// unseen reports whether an event is not drawn because it is one of the probe's and is not in the witness.
func (c *chart) unseen(pos int) bool {
	e := &c.lanes.history.Events[pos]
	return (e.Process == probe || c.lanes.holder(behalf(e)) == probe) && c.numbers[pos] == 0
}

// rangeAround returns a range of n events, with the witness near its middle.
func (c *chart) rangeAround(n int) (first, last int) {
	events := len(c.lanes.history.Events)
	lo, hi := events, -1
	for pos := range c.numbers {
		lo, hi = min(lo, pos), max(hi, pos)
	}
	if hi < 0 {
		return 0, n
	}
	first = max(0, min((lo+hi)/2-n/2, events-n))
	if lo < first { // the witness itself does not fit: show its end
		first = max(0, min(hi-n+n/10, events-n))
	}
	return first, first + n
}

// x returns an instant's x-coordinate on the page as initially shown.
func (c *chart) x(at history.Time) float64 {
	return float64(c.Left) + float64(c.scale.place(at)*float64(c.Right-c.Left))
}

// px formats a coordinate. In this package, every product is converted to float64 before something is added to it. This
// prevents the compiler from fusing the two operations, which would round differently, so the pages are the same on all
// platforms (Go specification, "Floating-point operators").
func px(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }

// box adds a box from one instant to another. The part outside the frame is cut off.
func (c *chart) box(class string, from, to history.Time, y, height int, label, tip string, events ...int) {
	if to < c.from || from > c.to || !c.hasRoom() {
		return
	}
	from, to = max(from, c.from), min(to, c.to)
	x, x2 := c.x(from), c.x(to)
	c.Shapes = append(c.Shapes, shape{Kind: "box", Class: class, A: int64(from), B: int64(to), X: px(x),
		Width: px(max(x2-x, 1.5)), Y: y, Height: height, Label: label, Tight: labelWidth(label)+10 > x2-x, Tip: tip,
		Events: positions(events)})
}

// hasRoom reports whether one more shape may be drawn. If not, it counts the shape as omitted.
func (c *chart) hasRoom() bool {
	if len(c.Shapes) < mostShapes {
		return true
	}
	c.left++
	return false
}

func (c *chart) mark(class, glyph string, at history.Time, y int, label, tip string, events ...int) {
	if at < c.from || at > c.to || !c.hasRoom() {
		return
	}
	x, half := c.x(at), float64(labelWidth(label)/2)
	shift := max(float64(c.Left)+half, min(x, float64(c.Right)-half)) - x
	c.Shapes = append(c.Shapes, shape{Kind: "mark", Class: class, Glyph: glyph, A: int64(at), X: px(x), Y: y,
		Label: label, Shift: px(shift), Tip: tip, Events: positions(events)})
}

func (c *chart) ray(class string, from, to history.Time, y, y2 int) {
	if from < c.from || to > c.to || !c.hasRoom() {
		return
	}
	c.Shapes = append(c.Shapes, shape{Kind: "ray", Class: class, A: int64(from), B: int64(to), X: px(c.x(from)),
		Width: px(c.x(to)), Y: y, Y2: y2})
}

// messages draws each message as a line from its sender's lane to its receiver's lane.
func (c *chart) messages() {
	for _, m := range c.lanes.messages {
		y, sent := c.laneOf(m.From)
		y2, received := c.laneOf(m.To)
		if !sent || !received || m.Left < c.from || m.Arrived > c.to || !c.hasRoom() {
			continue
		}
		client, asks := c.lanes.clientOf[m.From]
		if !asks {
			client = c.lanes.clientOf[m.To]
		}
		c.Shapes = append(c.Shapes, shape{Kind: "message", Class: colorOf(client), A: int64(m.Left),
			B: int64(m.Arrived), X: px(c.x(m.Left)), Width: px(c.x(m.Arrived)), Y: y, Y2: y2,
			Number: m.Number, Tip: m.Words + "\n" + c.lanes.instant(m.Left) + " to " + c.lanes.instant(m.Arrived)})
	}
}

// laneOf returns the vertical center of a process's lane. ok is false if the process has no lane.
func (c *chart) laneOf(p history.Process) (y int, ok bool) {
	if i, is := c.lanes.clientOf[p]; is {
		y, ok = c.middles[i]
		return y, ok
	}
	y, ok = c.middle[p]
	return y, ok
}

func positions(events []int) string {
	s := make([]string, 0, len(events))
	for _, e := range events {
		if e != open && e >= 0 {
			s = append(s, strconv.Itoa(e))
		}
	}
	return strings.Join(s, " ")
}

// labelWidth estimates a label's width in pixels.
func labelWidth(s string) float64 { return float64(6.4 * float64(text.Cells(s))) }

func (c *chart) title(y, height int, name, class string) {
	c.Rows = append(c.Rows,
		laneTitle{Y: y, Height: height, Middle: y + height/2, Name: name, Class: class, Odd: len(c.Rows)%2 == 1})
}

// tracks returns the locks that have their own row in each lane. If all locks share one row, it returns a single empty
// name.
func (c *chart) tracks() []history.Lock {
	if n := len(c.lanes.locks); n == 0 || n > mostLocks {
		return []history.Lock{""}
	}
	return c.lanes.locks
}
