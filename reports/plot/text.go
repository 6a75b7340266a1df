package plot

// text says how words are written. The font is Liberation Sans.
type text struct {
	Ink
	size   float64 // size of the font, in points
	anchor float64 // position of the words relative to their place: 0 begins there, 0.5 is centred, 1 ends there
	bold   bool
	turned bool // written upwards
}

// capital is the height of capital letters, as a share of the font's size.
const capital = 0.72

// em is the font's size in the units of its advances.
const em = 2048

// advance is how far a rune moves the pen in the regular and in the bold font, in units of the font.
type advance struct{ regular, bold int }

// width returns the width of the words in points, without kerning. A rune without a known advance counts as wide as the
// font's size, which few characters of any font exceed.
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
