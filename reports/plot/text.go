package plot

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

// em is the font's size in the units of its advances.
const em = 2048

// advance is how far a rune moves the pen, in units of the font.
type advance struct{ regular, bold int }

// width is how wide the words are, in points, without kerning. A rune that is not among the advances is as wide as the
// font's size, which few of any font exceed.
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
