package paper

import (
	"image"
	"image/color"
	stdpng "image/png"
	"io"
	"math"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/vector"
)

type png struct {
	image         *image.RGBA
	height, scale float64 // of the paper, in points; pixels to a point
}

// PNG writes what was drawn as PNG, on a ground of one colour, with so many pixels to an inch.
func (c Canvas) PNG(w io.Writer, ground color.NRGBA, dpi float64) error {
	scale := dpi / Inch
	size := image.Rect(
		0,
		0,
		int(math.Round(float64(c.sheet.width*scale))),
		int(math.Round(float64(c.sheet.height*scale))),
	)
	to := &png{image.NewRGBA(size), c.sheet.height, scale}
	for y := range size.Dy() {
		for x := range size.Dx() {
			to.image.Set(x, y, ground)
		}
	}
	for _, s := range c.sheet.shapes {
		s.png(to)
	}
	return stdpng.Encode(w, to.image)
}

// outline is the edge of a shape in pixels from the upper left corner.
type outline []edge

// edge leads on: to its last point, by a Bézier curve if it has more. The first of an outline, and any that jumps,
// only begins.
type edge struct {
	jump   bool
	points []Point
}

// fill colours the inside of an outline.
func (to *png) fill(ink color.NRGBA, o outline) {
	lo, hi := Point{math.Inf(1), math.Inf(1)}, Point{math.Inf(-1), math.Inf(-1)}
	for _, e := range o {
		for _, p := range e.points {
			lo = Point{min(lo.X, p.X), min(lo.Y, p.Y)}
			hi = Point{max(hi.X, p.X), max(hi.Y, p.Y)}
		}
	}
	box := image.Rect(int(math.Floor(lo.X)), int(math.Floor(lo.Y)), int(math.Ceil(hi.X)), int(math.Ceil(hi.Y))).
		Intersect(to.image.Bounds())
	if box.Empty() {
		return
	}
	at := func(p Point) (float32, float32) {
		return float32(p.X - float64(box.Min.X)), float32(p.Y - float64(box.Min.Y))
	}
	r := vector.NewRasterizer(box.Dx(), box.Dy())
	for _, e := range o {
		x, y := at(e.points[len(e.points)-1])
		switch {
		case e.jump:
			r.ClosePath()
			r.MoveTo(x, y)
		case len(e.points) == 1:
			r.LineTo(x, y)
		case len(e.points) == 2:
			bx, by := at(e.points[0])
			r.QuadTo(bx, by, x, y)
		default:
			bx, by := at(e.points[0])
			cx, cy := at(e.points[1])
			r.CubeTo(bx, by, cx, cy, x, y)
		}
	}
	r.ClosePath()
	r.Draw(to.image, box, image.NewUniform(ink), image.Point{})
}

// pixel is where a point of the paper lies.
func (to *png) pixel(p Point) Point {
	return Point{float64(p.X * to.scale), float64((to.height - p.Y) * to.scale)}
}

func (s *polygon) png(to *png) {
	var o outline
	for i, p := range s.points {
		o = append(o, edge{i == 0, []Point{to.pixel(p)}})
	}
	to.fill(s.ink, o)
}

func (s *polyline) png(to *png) {
	for i := range len(s.points) - 1 {
		s.segments(s.points[i], s.points[i+1], func(a, b Point) {
			length := math.Hypot(b.X-a.X, b.Y-a.Y)
			across := Point{float64((a.Y - b.Y) / length * s.Width / 2), float64((b.X - a.X) / length * s.Width / 2)}
			side := &polygon{
				s.Ink,
				[]Point{
					{a.X + across.X, a.Y + across.Y},
					{b.X + across.X, b.Y + across.Y},
					{b.X - across.X, b.Y - across.Y},
					{a.X - across.X, a.Y - across.Y},
				},
			}
			side.png(to)
		})
	}
}

// segments hands out the parts of a line that are drawn.
func (s *Stroke) segments(a, b Point, draw func(a, b Point)) {
	length := math.Hypot(b.X-a.X, b.Y-a.Y)
	if length == 0 {
		return
	}
	if len(s.Dashes) == 0 {
		draw(a, b)
		return
	}
	at := func(d float64) Point {
		share := d / length
		return Point{a.X + float64((b.X-a.X)*share), a.Y + float64((b.Y-a.Y)*share)}
	}
	for d, i := 0.0, 0; d < length; i++ {
		next := min(d+s.Dashes[i%len(s.Dashes)], length)
		if i%2 == 0 {
			draw(at(d), at(next))
		}
		d = next
	}
}

// circle adds a circle to an outline by four Bézier curves.
func (to *png) circle(o outline, at Point, r float64, back bool) outline {
	const bend = 0.5522847498 // of the radius: with it the curve is a circle to a quarter of a thousandth
	compass := []Point{{1, 0}, {0, 1}, {-1, 0}, {0, -1}}
	if back {
		compass = []Point{{1, 0}, {0, -1}, {-1, 0}, {0, 1}}
	}
	off := func(a Point, b Point, share float64) Point {
		return to.pixel(Point{at.X + float64((a.X+float64(b.X*share))*r), at.Y + float64((a.Y+float64(b.Y*share))*r)})
	}
	o = append(o, edge{true, []Point{off(compass[0], Point{}, 0)}})
	for i, a := range compass {
		b := compass[(i+1)%4]
		o = append(o, edge{false, []Point{off(a, b, bend), off(b, a, bend), off(b, Point{}, 0)}})
	}
	return o
}

func (s *disc) png(to *png) { to.fill(s.ink, to.circle(nil, s.at, s.r, false)) }

func (s *ring) png(to *png) {
	o := to.circle(nil, s.at, s.r+float64(s.Width/2), false)
	to.fill(s.Ink, to.circle(o, s.at, s.r-float64(s.Width/2), true))
}

func (w *words) png(to *png) {
	base := w.base(true)
	w.glyphs(w.text, func(offset float64, segments []sfnt.Segment) {
		place := func(x, y float64) Point { // of a glyph, whose y leads down
			x += offset
			if w.Turned {
				x, y = y, -x
			}
			return to.pixel(Point{base.X + x, base.Y - y})
		}
		var o outline
		for _, s := range segments {
			e := edge{jump: s.Op == sfnt.SegmentOpMoveTo}
			for _, p := range s.Args[:pointsOf(s.Op)] {
				e.points = append(e.points, place(w.units(p.X), w.units(p.Y)))
			}
			o = append(o, e)
		}
		to.fill(w.Ink, o)
	})
}

// pointsOf is how many points a segment has.
func pointsOf(op sfnt.SegmentOp) int {
	switch op {
	case sfnt.SegmentOpQuadTo:
		return 2
	case sfnt.SegmentOpCubeTo:
		return 3
	}
	return 1
}
