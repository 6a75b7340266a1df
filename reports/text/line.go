// Package text lays out text for a terminal: lines in columns of cells, wrapped and cut to a width, with a few styles,
// and commands that can be pasted unchanged.
//
// Goals: no line is wider than the terminal, except for page addresses; control characters in the text never reach the
// output, because a terminal would execute them; the same text always gives the same bytes, whatever the environment
// variables.
//
// Non-goals: asking a terminal for its width or its colors, and knowing what the text is about.
//
// The package github.com/clipperhouse/displaywidth decides how many cells a character takes and where text may be cut.
// The packages charmbracelet/x/ansi and lipgloss use it, too. Package text calls it directly, because x/ansi's output
// depends on an environment variable (RUNEWIDTH_EASTASIAN).
//
// Package text itself implements wrapping, styles and columns. It does not use x/ansi for wrapping, because that
// package breaks words at each hyphen and so would split "client-1". For styles, four escape sequences are enough.
// Columns begin at fixed cells, so that two reports can be compared line by line; one cell can contain signs in several
// styles; and columns continue next to wrapped words. A lipgloss table would need a style function for the same result,
// and would pad each row with spaces.
package text

import "strings"

// Style says how a piece of text stands out. The style alone never carries meaning: without color, a report says the
// same.
type Style uint8

// Styles for text on a terminal.
const (
	Plain Style = iota
	Bold
	Red
	Green
	Yellow
)

// Styles lists the escapes that may appear in text for a terminal with colors.
var Styles = append(escapes[Bold:], reset)

var escapes = [...]string{Bold: "\x1b[1m", Red: "\x1b[1;31m", Green: "\x1b[32m", Yellow: "\x1b[33m"}

const reset = "\x1b[0m"

// Line is one line of a text report under construction.
type Line struct {
	parts []part
	cells int // number of display cells so far
}

type part struct {
	style Style
	text  string
}

// Add appends text. It replaces control characters with spaces, because a terminal would execute them.
func (l *Line) Add(s Style, text string) *Line {
	text = Printable(text)
	if text == "" {
		return l
	}
	l.cells += Cells(text)
	if n := len(l.parts); n > 0 && l.parts[n-1].style == s {
		l.parts[n-1].text += text
		return l
	}
	l.parts = append(l.parts, part{s, text})
	return l
}

// To appends spaces until the line reaches the given column.
func (l *Line) To(column int) *Line {
	if n := column - l.cells; n > 0 {
		l.Add(Plain, strings.Repeat(" ", n))
	}
	return l
}

// Right appends text so that it ends at the given column.
func (l *Line) Right(end int, text string) *Line { return l.To(end-Cells(text)).Add(Plain, text) }

// Cells returns the width of the line so far, in cells.
func (l *Line) Cells() int { return l.cells }
