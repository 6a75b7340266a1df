package text

import (
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Wrap breaks text at spaces into lines of at most width cells. A width below two is treated as two. A word that is
// wider than a line is broken, unless it is a web address.
func Wrap(text string, width int) []string {
	width = max(width, 2) // no character takes more than two cells
	var out []string
	cur, used := "", 0
	for _, word := range strings.Fields(Printable(text)) {
		n := Cells(word)
		if used > 0 && used+1+n > width {
			out, cur, used = append(out, cur), "", 0
		}
		for n > width && !isAddress(word) {
			head := Clip(word, width)
			out = append(out, head)
			word = word[len(head):]
			n = Cells(word)
		}
		if used > 0 {
			cur += " "
			used++
		}
		cur += word
		used += n
	}
	if cur != "" || out == nil {
		out = append(out, cur)
	}
	return out
}

// Clip returns the longest prefix of s that fits into width cells. It never splits anything that is shown as a single
// character.
func Clip(s string, width int) string { return displaywidth.TruncateString(s, width, "") }

// Cells returns the number of terminal cells that s occupies. An East Asian character or an emoji occupies two cells,
// and a combining mark none.
func Cells(s string) int { return displaywidth.String(s) }

// isAddress reports whether a word is a web address. Web addresses are not broken, so that they can be copied.
func isAddress(word string) bool { return strings.Contains(word, "://") }

// Printable replaces characters that a terminal would execute, rather than show, with spaces.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || history.Unprintable(r) {
			return ' '
		}
		return r
	}, s)
}
