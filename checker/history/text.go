package history

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Unprintable reports whether a character does not belong in text meant for people. A terminal or a browser would
// interpret it as a command, display the characters next to it in another order, or display nothing. Such characters
// are control characters (including line breaks and tabs), Unicode's line and paragraph separators, direction marks,
// and zero-width characters (Unicode Standard, ch. 23.1 and 23.2, and UAX #9).
func Unprintable(c rune) bool {
	if c < utf8.RuneSelf { // the common case must be fast, because whole pages are searched
		return unicode.IsControl(c)
	}
	return unicode.IsControl(c) || unicode.In(c, unicode.Zl, unicode.Zp, unicode.Bidi_Control) ||
		c >= '\u200b' && c <= '\u200d' || c >= '\u2060' && c <= '\u2064' || c == '\ufeff'
}

// NameUnprintable returns an Unprintable character's kind and code point, such as "control character U+0000".
func NameUnprintable(c rune) string {
	kind := "zero-width character"
	switch {
	case unicode.IsControl(c):
		kind = "control character"
	case unicode.In(c, unicode.Zl, unicode.Zp):
		kind = "separator"
	case unicode.In(c, unicode.Bidi_Control):
		kind = "direction mark"
	}
	return fmt.Sprintf("%s %U", kind, c)
}

// NotText returns the words for an error message about an Unprintable character in a file. Only control characters
// suggest that the file is not text.
func NotText(file string, c rune) string {
	if unicode.IsControl(c) {
		return fmt.Sprintf("the %s is not text: it has the %s here", file, NameUnprintable(c))
	}
	return fmt.Sprintf("the %s has the %s here, which nobody can see: remove it", file, NameUnprintable(c))
}

// Printable makes every character in a string visible. It replaces Unprintable characters, except line breaks and tabs,
// with escapes such as \u001b.
func Printable(text string) string {
	hidden := func(c rune) bool { return c != '\n' && c != '\t' && Unprintable(c) }
	if strings.IndexFunc(text, hidden) < 0 {
		return text
	}
	var b strings.Builder
	for _, c := range text {
		if hidden(c) {
			b.WriteString(Escape(c))
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// Escape returns a character as a JSON escape.
func Escape(c rune) string { return fmt.Sprintf(`\u%04x`, c) }

// Capital capitalizes a sentence's first letter, unless its first word is a name such as orders@host-3 or a/b.
func Capital(words string) string {
	first, _, _ := strings.Cut(words, " ")
	if strings.ContainsAny(strings.TrimRight(first, ".:"), `@/:\_.`) {
		return words
	}
	r, n := utf8.DecodeRuneInString(words)
	return string(unicode.ToUpper(r)) + words[n:]
}
