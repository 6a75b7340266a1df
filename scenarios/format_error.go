package scenarios

import (
	"fmt"
	"slices"
	"strings"
)

// maxProblems is how many problems of one file are told at once.
const maxProblems = 10

// Problem is one thing wrong with a scenario file.
type Problem struct {
	Path    string
	Line    int // from 1; 0: the file as a whole
	Column  int // in runes, from 1, of the first rune of what is wrong
	Message string
	Nearest string // the nearest right word; empty if nothing is near
}

// String gives `file:line:column: message (did you mean "nearest"?)`.
func (p Problem) String() string {
	place := p.Path
	if p.Line > 0 {
		place = fmt.Sprintf("%s:%d:%d", p.Path, p.Line, p.Column)
	}
	if p.Nearest == "" {
		return place + ": " + p.Message
	}
	return fmt.Sprintf("%s: %s (did you mean %q?)", place, p.Message, p.Nearest)
}

// FormatError says what is wrong with a scenario file.
type FormatError struct {
	Problems []Problem // at least one, in the order of their places
}

// Error gives one problem a line, the first ten.
func (e *FormatError) Error() string {
	var lines []string
	for _, p := range e.Problems[:min(len(e.Problems), maxProblems)] {
		lines = append(lines, p.String())
	}
	if more := len(e.Problems) - maxProblems; more > 0 {
		lines = append(lines, fmt.Sprintf("%s: and %d more", e.Problems[0].Path, more))
	}
	return strings.Join(lines, "\n")
}

// aboutFile is an error about a file as a whole.
func aboutFile(path, message string) *FormatError {
	return &FormatError{Problems: []Problem{{Path: path, Message: message}}}
}

// at is a place in the file: line and column from 1, columns in runes.
type at struct{ line, column int }

// right is the place n runes further right.
func (a at) right(n int) at { return at{a.line, a.column + n} }

func (r *reader) failed() bool { return len(r.problems) > 0 }

// problem notes something wrong; reading goes on, so that everything wrong is told at once.
func (r *reader) problem(place at, nearest, format string, args ...any) {
	r.problems = append(r.problems, Problem{Path: r.path, Line: place.line, Column: place.column,
		Message: fmt.Sprintf(format, args...), Nearest: nearest})
}

func (r *reader) err() error {
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return &FormatError{Problems: r.problems}
}

// found quotes what stands in the file, cut short where it is long.
func found(s string) string {
	if s == "" {
		return "nothing"
	}
	if runes := []rune(s); len(runes) > 40 {
		s = string(runes[:40]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
