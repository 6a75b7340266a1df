package plot

import (
	"image"
	"image/draw"
	"image/png"
	"io"
	"math"
	"slices"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// raster is a pixel canvas.
type raster struct {
	*image.RGBA
	scale float64 // pixels per point
}

// PNG draws the diagram in the given size in points, at dpi pixels per inch.
func (d *Diagram) PNG(w io.Writer, width, height, dpi float64) error {
	scale := dpi / 72
	to := raster{image.NewRGBA(image.Rect(0, 0, int(math.Round(width*scale)), int(math.Round(height*scale)))), scale}
	draw.Draw(to, to.Rect, image.NewUniform(Ground.RGB), image.Point{}, draw.Src)
	d.draw(to, box{0, 0, width, height})
	return png.Encode(w, to)
}

func (to raster) polygon(i Ink, points ...Point) {
	lo, hi := points[0], points[0]
	for _, p := range points {
		lo, hi = Point{min(lo.X, p.X), min(lo.Y, p.Y)}, Point{max(hi.X, p.X), max(hi.Y, p.Y)}
	}
	bounds := image.Rect(int(math.Floor(lo.X*to.scale)), int(math.Floor(lo.Y*to.scale)),
		int(math.Ceil(hi.X*to.scale)), int(math.Ceil(hi.Y*to.scale))).Intersect(to.Rect)
	r := vector.NewRasterizer(bounds.Dx(), bounds.Dy())
	for n, p := range points {
		x := float32(float64(p.X*to.scale) - float64(bounds.Min.X))
		y := float32(float64(p.Y*to.scale) - float64(bounds.Min.Y))
		if n == 0 {
			r.MoveTo(x, y)
		} else {
			r.LineTo(x, y)
		}
	}
	r.ClosePath()
	r.Draw(to, bounds, image.NewUniform(i.RGB), image.Point{})
}

func (to raster) line(s Style, points ...Point) {
	for i := range len(points) - 1 {
		a, b := points[i], points[i+1]
		length := math.Hypot(b.X-a.X, b.Y-a.Y)
		x, y := (b.X-a.X)/max(length, 1e-9), (b.Y-a.Y)/max(length, 1e-9)
		side := func(along, across float64) Point {
			return Point{a.X + float64(x*along) - float64(y*across), a.Y + float64(y*along) + float64(x*across)}
		}
		piece, step := length, length+1
		if s.Dashed {
			piece, step = dash, dash+gap
		}
		for from := 0.0; from < length; from += step {
			to.polygon(s.Ink, side(from, s.Width/2), side(min(from+piece, length), s.Width/2),
				side(min(from+piece, length), -s.Width/2), side(from, -s.Width/2))
		}
	}
}

// circle draws a disc as a polygon. For a ring, the polygon goes around the outer circle and back around the inner one.
func (to raster) circle(s Style, at Point, r float64) {
	var outer, inner []Point
	half := float64(s.Width / 2)
	const corners = 48 // enough that they are not visible
	for i := range corners + 1 {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / corners)
		on := func(r float64) Point { return Point{at.X + float64(r*cos), at.Y + float64(r*sin)} }
		outer, inner = append(outer, on(r+half)), append(inner, on(r-half))
	}
	if s.Width > 0 {
		slices.Reverse(inner)
		outer = append(outer, inner...)
	}
	to.polygon(s.Ink, outer...)
}

// face returns the font in a size given in pixels. The fonts are not kept in a package variable, so that a program that
// does not draw any PNGs is linked without them.
func (t *text) face(size float64) font.Face {
	ttf := liberationsansregular.TTF
	if t.bold {
		ttf = liberationsansbold.TTF
	}
	parsed, err := opentype.Parse(ttf)
	if err != nil {
		panic(err) // the font is part of the program
	}
	face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: size, DPI: 72})
	if err != nil {
		panic(err) // this error is never returned
	}
	return face
}

func (to raster) write(t text, at Point, words string) {
	size, width := float64(t.size*to.scale), float64(t.width(words)*to.scale)
	left, y := float64(at.X*to.scale), float64(at.Y*to.scale)
	x := left - float64(t.anchor*width)
	pen := font.Drawer{Dst: to, Src: image.NewUniform(t.RGB), Face: t.face(size),
		Dot: fixed.Point26_6{X: fixed.Int26_6(64 * x), Y: fixed.Int26_6(64 * y)}}
	if !t.turned {
		pen.DrawString(words)
		return
	}
	flat := image.NewAlpha(image.Rect(0, 0, int(width)+1, int(2*size)))
	pen.Dst, pen.Src, pen.Dot = flat, image.Opaque, fixed.P(0, int(size))
	pen.DrawString(words)
	turned := image.NewAlpha(image.Rect(0, 0, flat.Rect.Dy(), flat.Rect.Dx()))
	for y := range flat.Rect.Dy() {
		for x := range flat.Rect.Dx() {
			turned.SetAlpha(y, flat.Rect.Dx()-1-x, flat.AlphaAt(x, y))
		}
	}
	corner := image.Pt(int(left)-int(size), int(y-float64((1-t.anchor)*width)))
	draw.DrawMask(to, turned.Rect.Add(corner), image.NewUniform(t.RGB), image.Point{}, turned, image.Point{}, draw.Over)
}
