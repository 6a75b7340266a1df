package output

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/reports/text"
)

// TestPrintableTakesTextInPieces checks that the output is the same if a text is written in two pieces, split at any
// byte.
func TestPrintableTakesTextInPieces(t *testing.T) {
	for text, want := range map[string]string{
		"a é 世\t\x1b[2J\u009b\n": "a é 世\t" + `\u001b[2J\u009b` + "\n",
		"\xff\xe4\xb8":           `\xff`, // an incomplete character at the end is not written
	} {
		for at := range len(text) + 1 {
			var b bytes.Buffer
			w := &printable{to: &b, styles: true}
			for _, piece := range []string{text[:at], text[at:]} {
				if n, err := w.Write([]byte(piece)); n != len(piece) || err != nil {
					t.Fatal(n, err)
				}
			}
			if b.String() != want {
				t.Errorf("%q cut at %d: got %q, want %q", text, at, b.String(), want)
			}
		}
	}
}

// TestStylesPassWhereThereAreColours checks that the escape sequences of all text styles in reports reach a terminal
// with colors, and that another escape sequence does not.
func TestStylesPassWhereThereAreColours(t *testing.T) {
	words := strings.Join(text.Styles, "x")
	for _, styles := range []bool{false, true} {
		var b bytes.Buffer
		fmt.Fprint(&printable{to: &b, styles: styles}, words+"\x1b[5m")
		want := words
		if !styles {
			want = strings.ReplaceAll(words, "\x1b", `\u001b`)
		}
		if want += `\u001b[5m`; b.String() != want || len(text.Styles) < 5 {
			t.Errorf("styles %t: got %q, want %q", styles, b.String(), want)
		}
	}
}
