package plot

// text describes the font, size and placement of words. The font is Liberation Sans.
type text struct {
	Ink
	size   float64 // size of the font, in points
	anchor float64 // where the words are relative to their position: 0 begins there, 0.5 is centered, 1 ends there
	bold   bool
	turned bool // whether the words run upward
}

// capital is the height of capital letters, as a fraction of the font size.
const capital = 0.72

// em is the font size, in the units in which advances are measured.
const em = 2048

// advance is the distance that a rune moves the pen, in the regular and in the bold font, in font units.
type advance struct{ regular, bold int }

// width returns the width of the words in points, without kerning. A rune with an unknown advance counts as one em
// wide. Few characters in any font are wider.
func (t *text) width(words string) float64 {
	units := 0
	for _, r := range words {
		a, ok := advances[r]
		switch {
		case !ok:
			units += em
		case t.bold:
			units += a.bold
		default:
			units += a.regular
		}
	}
	return float64(units) * t.size / em
}
