package plot

import (
	"sync"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
)

// text is how words are written, in Liberation Sans.
type text struct {
	Ink
	size   float64 // of the font, in points
	anchor float64 // where they lie to their place: 0 begins there, 0.5 has its middle there, 1 ends there
	bold   bool
	turned bool // they run upwards
}

// capital is how high capitals are, as a share of the font's size.
const capital = 0.72

var regular, bold = parsed(liberationsansregular.TTF), parsed(liberationsansbold.TTF)

func parsed(ttf []byte) func() *opentype.Font {
	return sync.OnceValue(func() *opentype.Font {
		f, err := opentype.Parse(ttf)
		if err != nil {
			panic(err) // it is part of the program
		}
		return f
	})
}

// face is the font at a size in pixels.
func (t *text) face(size float64) font.Face {
	f := regular
	if t.bold {
		f = bold
	}
	face, err := opentype.NewFace(f(), &opentype.FaceOptions{Size: size, DPI: 72})
	if err != nil {
		panic(err) // never returned
	}
	return face
}

// width is how wide the words are, in points.
func (t *text) width(words string) float64 {
	const em = 2048 // so large that no rounding shows
	return float64(font.MeasureString(t.face(em), words)) / 64 * t.size / em
}
