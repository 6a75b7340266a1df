// Package text lays text out for a terminal: lines in columns of cells, wrapped and clipped to a width, set off by a
// few styles, and commands that can be pasted from where they stand.
//
// Goals: no line is wider than the terminal, but for the address of a page; nothing that a terminal would obey gets
// through; the same text gives the same bytes whatever the environment says.
// Non-goals: asking a terminal for its width or its colours, and knowing what the text is about.
//
// How many cells a character takes, and where text may be cut, is github.com/clipperhouse/displaywidth's business. It
// is the library by which charmbracelet/x/ansi and lipgloss measure, taken directly since x/ansi lets a variable of the
// environment (RUNEWIDTH_EASTASIAN) change what is written. Three things stay by hand. Wrap: that of x/ansi breaks at
// each hyphen, and so "client-1" in two. Styles: they are four escapes. Columns: they stand at fixed cells, so that two
// reports can be compared line by line, have signs of several styles in one cell, and go on beside wrapped words; a
// lipgloss table would get the same numbers from a function of styles, and fill each row with blanks to its end.
package text

import "strings"

// Style is how a piece of text is set off. Meaning never hangs on it alone: a report reads the same without colour.
type Style uint8

// The styles.
const (
	Plain Style = iota
	Bold
	Red
	Green
	Yellow
)

// Styles are the escapes by which a text sets pieces off on a terminal that shows colours.
var Styles = append(escapes[Bold:], reset)

var escapes = [...]string{Bold: "\x1b[1m", Red: "\x1b[1;31m", Green: "\x1b[32m", Yellow: "\x1b[33m"}

const reset = "\x1b[0m"

// Line is one line of a text report under construction.
type Line struct {
	parts []part
	cells int // display cells so far
}

type part struct {
	style Style
	text  string
}

// Add appends text. Control characters, which a terminal would obey, become spaces.
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

// To appends spaces up to the given column.
func (l *Line) To(column int) *Line {
	if n := column - l.cells; n > 0 {
		l.Add(Plain, strings.Repeat(" ", n))
	}
	return l
}

// Right appends text that ends at the given column.
func (l *Line) Right(end int, text string) *Line { return l.To(end-Cells(text)).Add(Plain, text) }

// Cells is how many cells the line takes so far.
func (l *Line) Cells() int { return l.cells }
