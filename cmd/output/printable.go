package output

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// printable is a writer for text that people read. It replaces each character that a terminal would interpret as a
// command with an escape such as \u001b, which JSON parsers convert back to the character. Input is checked where it is
// read. This writer covers text that is not checked, such as names in file-system error messages. If the terminal shows
// colors, the escape sequences for text styles pass unchanged.
type printable struct {
	to     io.Writer
	styles bool
	begun  []byte // the beginning of an incomplete character
}

// ForPeople returns a writer for text that people read on a terminal or in a file.
func ForPeople(w io.Writer) io.Writer { return &printable{to: w, styles: screenOf(w).color} }

// Write writes all of p. It returns errors from the underlying writer, except the one that reports that a pipe's reader
// has exited.
func (w *printable) Write(p []byte) (int, error) {
	text := append(w.begun, p...)
	w.begun = nil
	var out bytes.Buffer
	for len(text) > 0 {
		if n := w.style(text); n > 0 {
			out.Write(text[:n])
			text = text[n:]
			continue
		}
		c, size := utf8.DecodeRune(text)
		switch {
		case c == utf8.RuneError && !utf8.FullRune(text):
			w.begun, size = bytes.Clone(text), len(text)
		case c == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, text[0])
		case c != '\n' && c != '\t' && history.Unprintable(c):
			out.WriteString(history.Escape(c))
		default:
			out.Write(text[:size])
		}
		text = text[size:]
	}
	if _, err := w.to.Write(out.Bytes()); err != nil && !readerHasLeft(err) {
		return 0, err
	}
	return len(p), nil
}

// style checks whether the text begins with an escape sequence for a text style. It returns the sequence's length, or 0
// if there is none.
func (w *printable) style(words []byte) int {
	if !w.styles || words[0] != '\x1b' {
		return 0
	}
	for _, s := range text.Styles {
		if bytes.HasPrefix(words, []byte(s)) {
			return len(s)
		}
	}
	return 0
}
