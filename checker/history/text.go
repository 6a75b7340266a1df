package history

import "unicode"

// Unprintable reports whether a character is one that text for people does not hold, since a terminal would obey it
// instead of showing it, or would show in another order what stands beside it: control characters, line breaks and tabs
// among them, Unicode's separators of lines and paragraphs, and marks of direction (Unicode Standard, ch. 23.1 and UAX
// #9).
func Unprintable(c rune) bool {
	return unicode.IsControl(c) || unicode.In(c, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}
