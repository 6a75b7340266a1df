package format

import (
	"fmt"
	"slices"
	"strings"
)

// MaxFile is the maximum size of a scenario file, in bytes.
const MaxFile = 1 << 20

// maxProblems is how many problems Error lists at most.
const maxProblems = 10

// Problem is one error in a scenario file.
type Problem struct {
	Path    string
	Line    int // line number from 1; 0: the file as a whole
	Column  int // column, counted in runes from 1
	Message string
	Nearest string // the most similar valid word; empty if none is similar
}

// String returns `file:line:column: message (did you mean "nearest"?)`.
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

// Error lists the problems in a scenario file.
type Error struct {
	Problems []Problem // at least one, ordered by their places in the file
}

// Error returns the first ten problems, one per line, and says how many more there are.
func (e *Error) Error() string {
	var lines []string
	for _, p := range e.Problems[:min(len(e.Problems), maxProblems)] {
		lines = append(lines, p.String())
	}
	if more := len(e.Problems) - maxProblems; more > 0 {
		lines = append(lines, fmt.Sprintf("%s: and %d more", e.Problems[0].Path, more))
	}
	return strings.Join(lines, "\n")
}

// AboutFile returns an error about the whole file.
func AboutFile(path, message string) *Error {
	return &Error{Problems: []Problem{{Path: path, Message: message}}}
}

// TooLarge returns the error for a file with more than MaxFile bytes.
func TooLarge(path string, size int64) error {
	return AboutFile(path, fmt.Sprintf("the file has %d bytes; a scenario has at most %d (1 MiB)", size, MaxFile))
}

// Place is a position in the file. Lines and columns are counted from 1. Columns count characters (runes).
type Place struct{ Line, Column int }

// Right returns the position n characters to the right.
func (a Place) Right(n int) Place { return Place{a.Line, a.Column + n} }

// Problems returns how many problems have been found so far.
func (r *Reader) Problems() int { return len(r.problems) }

func (r *Reader) failed() bool { return len(r.problems) > 0 }

// Problem records a problem. The reader then continues, so that all problems are reported at once.
func (r *Reader) Problem(place Place, nearest, format string, args ...any) {
	r.problems = append(r.problems, Problem{Path: r.path, Line: place.Line, Column: place.Column,
		Message: fmt.Sprintf(format, args...), Nearest: nearest})
}

// Err returns an *Error with all problems, or nil.
func (r *Reader) Err() error {
	if !r.failed() {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return &Error{Problems: r.problems}
}

// Found quotes text from the file, shortening it if it is long.
func Found(s string) string {
	if s == "" {
		return "nothing"
	}
	if runes := []rune(s); len(runes) > 40 {
		s = string(runes[:40]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
