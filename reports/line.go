package reports

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// style is how a piece of text is set off. Meaning never hangs on it alone: a report reads the same without colour.
type style uint8

const (
	plain style = iota
	bold
	red
	green
	yellow
)

// Styles are the escapes by which a text sets pieces off on a terminal that shows colours.
var Styles = append(escapes[bold:], reset)

var escapes = [...]string{bold: "\x1b[1m", red: "\x1b[1;31m", green: "\x1b[32m", yellow: "\x1b[33m"}

const reset = "\x1b[0m"

// line is one line of a text report under construction.
type line struct {
	parts []part
	cells int // display cells so far
}

type part struct {
	style style
	text  string
}

// add appends text. Control characters, which a terminal would obey, become spaces.
func (l *line) add(s style, text string) *line {
	text = printable(text)
	if text == "" {
		return l
	}
	l.cells += cells(text)
	if n := len(l.parts); n > 0 && l.parts[n-1].style == s {
		l.parts[n-1].text += text
		return l
	}
	l.parts = append(l.parts, part{s, text})
	return l
}

// to appends spaces up to the given column.
func (l *line) to(column int) *line {
	if n := column - l.cells; n > 0 {
		l.add(plain, strings.Repeat(" ", n))
	}
	return l
}

// page writes lines of at most width cells, but for the address of a page. It keeps the first error.
type page struct {
	w     io.Writer
	width int
	color bool
	lines int
	probe bool // it was mentioned since it was last explained
	err   error
}

func (p *page) put(l *line) {
	var b strings.Builder
	left := p.width
	for i, part := range l.parts {
		text := part.text
		if !isAddress(text) {
			text = clip(text, left)
		}
		if i == len(l.parts)-1 || len(text) < len(part.text) {
			text = strings.TrimRight(text, " ")
		}
		left -= cells(text)
		p.probe = p.probe || mentionsProbe(text)
		if text == "" {
			continue
		}
		if p.color && part.style != plain {
			text = escapes[part.style] + text + reset
		}
		b.WriteString(text)
	}
	b.WriteByte('\n')
	p.lines++
	if p.err == nil {
		_, p.err = io.WriteString(p.w, b.String())
	}
}

func (p *page) blank() { p.put(new(line)) }

// text wraps s to the width and writes it, each line indented by the given number of cells.
func (p *page) text(s style, indent int, text string) {
	for _, t := range wrap(text, p.width-indent) {
		p.put(new(line).to(indent).add(s, t))
	}
}

// wrap breaks text at spaces into lines of at most width cells. A word that is too long is broken where it must be, unless
// it is the address of a page.
func wrap(text string, width int) []string {
	width = max(width, 2)
	var out []string
	cur, used := "", 0
	for _, word := range strings.Fields(printable(text)) {
		n := cells(word)
		if used > 0 && used+1+n > width {
			out, cur, used = append(out, cur), "", 0
		}
		for n > width && !isAddress(word) {
			head := clip(word, width)
			out = append(out, head)
			word = word[len(head):]
			n = cells(word)
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

// isAddress reports whether a word is the address of a page, which stays whole so that it can be copied.
func isAddress(word string) bool { return strings.Contains(word, "://") }

// printable replaces what a terminal would obey instead of show.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || history.Unprintable(r) {
			return ' '
		}
		return r
	}, s)
}

// clip returns the longest beginning of s that fits in the given cells.
func clip(s string, width int) string {
	used := 0
	for i, r := range s {
		used += runeCells(r)
		if used > width {
			return s[:i]
		}
	}
	return s
}

// cells is the number of terminal cells that s takes.
func cells(s string) int {
	n := 0
	for _, r := range s {
		n += runeCells(r)
	}
	return n
}

// runeCells knows what source documents are written in: East Asian scripts and emoji take two cells, marks none.
func runeCells(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1100 && r <= 0x115F, r >= 0x2E80 && r <= 0xA4CF, r >= 0xAC00 && r <= 0xD7A3, r >= 0xF900 && r <= 0xFAFF,
		r >= 0xFE30 && r <= 0xFE6F, r >= 0xFF00 && r <= 0xFF60, r >= 0xFFE0 && r <= 0xFFE6,
		r >= 0x1F000 && r <= 0x1FAFF, r >= 0x20000 && r <= 0x3FFFD:
		return 2
	}
	return 1
}
