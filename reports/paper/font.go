package paper

import (
	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

var regular, bold = parsed(liberationsansregular.TTF), parsed(liberationsansbold.TTF)

func parsed(ttf []byte) *sfnt.Font {
	f, err := sfnt.Parse(ttf)
	if err != nil {
		panic(err) // it is part of the program
	}
	return f
}

// em is the size at which glyphs are read, so large that no rounding shows; lengths in it are 26.6 fixed-point numbers,
// of which
// emUnits are the font's size.
const (
	em      = 2048
	emUnits = em * 64.0
)

func (t *Text) font() *sfnt.Font {
	if t.Bold {
		return bold
	}
	return regular
}

// Width is how wide the words are, in points.
func (t Text) Width(words string) float64 {
	width, buffer := fixed.Int26_6(0), sfnt.Buffer{}
	for _, r := range words {
		width += t.advance(&buffer, t.glyph(&buffer, r))
	}
	return t.units(width)
}

// units gives a length in the em in points.
func (t *Text) units(n fixed.Int26_6) float64 { return float64(float64(n) * t.Size / emUnits) }

// glyph is that of a character; the first, an empty box, if the font has none.
func (t *Text) glyph(b *sfnt.Buffer, r rune) sfnt.GlyphIndex {
	index, err := t.font().GlyphIndex(b, r)
	if err != nil {
		return 0
	}
	return index
}

func (t *Text) advance(b *sfnt.Buffer, g sfnt.GlyphIndex) fixed.Int26_6 {
	advance, err := t.font().GlyphAdvance(b, g, fixed.I(em), font.HintingNone)
	if err != nil {
		return 0
	}
	return advance
}

// glyphs hands out the outline of each character and how far it stands from the first, in points.
func (t *Text) glyphs(words string, draw func(offset float64, outline []sfnt.Segment)) {
	offset, buffer := fixed.Int26_6(0), sfnt.Buffer{}
	for _, r := range words {
		g := t.glyph(&buffer, r)
		if outline, err := t.font().LoadGlyph(&buffer, g, fixed.I(em), nil); err == nil {
			draw(t.units(offset), outline)
		}
		offset += t.advance(&buffer, g)
	}
}
