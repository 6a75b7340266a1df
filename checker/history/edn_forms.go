package history

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// errCut means that the text ends in the middle of an operation, or before the bracket around all operations is closed.
var errCut = errors.New("the file ends in the middle of the history")

// Limits on one operation, so that no input can use up the memory.
const (
	maxForm  = 1 << 20 // maximum length of a form in bytes
	maxDepth = 100     // maximum number of nested brackets
)

// forms splits a file into the history's maps and records the line on which each begins. It does not parse the maps. It
// ignores brackets inside strings, characters and comments.
type forms struct {
	in    *bufio.Reader
	line  int
	outer byte // the bracket that closes the vector or list around the maps, ']' or ')'; 0 if there is none
	begun bool // whether a map or the outer bracket has been read
	over  bool // whether the outer bracket has been closed
	text  []byte
}

func newForms(r io.Reader) *forms { return &forms{in: bufio.NewReaderSize(r, 64<<10), line: 1} }

// next returns the next map's text and the line on which it begins. After the last map, it returns io.EOF. The text is
// valid until the next call.
func (f *forms) next() (text []byte, line int, err error) {
	for {
		c, err := f.in.ReadByte()
		if err != nil {
			return nil, f.line, f.end(err)
		}
		switch {
		case isBlank(c):
			f.newline(c)
		case c == ';':
			f.comment()
		case f.over:
			return nil, f.line, fmt.Errorf("%s after the end of the history", f.found(c))
		case c == '[' && !f.begun, c == '(' && !f.begun:
			f.begun, f.outer = true, closing(c)
		case f.outer != 0 && c == f.outer:
			f.over = true
		case c == '{':
			f.begun = true
			at := f.line
			err := f.form(c)
			return f.text, at, err
		case c == '#':
			if err := f.tag(); err != nil {
				return nil, f.line, err
			}
		default:
			return nil, f.line, fmt.Errorf("expected an operation (a map in braces), found %s", f.found(c))
		}
	}
}

// end returns the error to report if nothing more can be read between two maps: io.EOF if the file is complete, errCut
// if the outer bracket is still open, and otherwise the read error.
func (f *forms) end(err error) error {
	if err == io.EOF && f.outer != 0 && !f.over {
		return fmt.Errorf("%w: the outer bracket is not closed", errCut)
	}
	return err
}

// tag handles what follows a '#' between two maps. It skips a record name, as in #jepsen.history.Op{…}. After #_, it
// skips the next map.
func (f *forms) tag() error {
	for n := 0; n < longestShown; n++ {
		c, err := f.in.ReadByte()
		switch {
		case err != nil:
			return f.cut(err)
		case n == 0 && c == '_':
			return f.ignore()
		case c == '{' && n > 0:
			return f.in.UnreadByte()
		case isBlank(c) && n > 0:
			f.newline(c)
			return nil
		case c <= ' ' || c == '{' || c == '"':
			return fmt.Errorf("expected the name of a record after #, found %s", f.found(c))
		}
	}
	return errors.New("the name of a record after # is too long")
}

// ignore skips the map after #_.
func (f *forms) ignore() error {
	for {
		c, err := f.in.ReadByte()
		switch {
		case err != nil:
			return f.cut(err)
		case c == '{':
			return f.form(c)
		case !isBlank(c):
			return fmt.Errorf("expected a map after #_, found %s", f.found(c))
		}
		f.newline(c)
	}
}

// form reads a map's text up to its closing bracket. The caller has already read the opening bracket.
func (f *forms) form(open byte) error {
	f.text = append(f.text[:0], open)
	closes := []byte{closing(open)}
	for len(closes) > 0 {
		c, err := f.in.ReadByte()
		if err != nil {
			return f.cut(err)
		}
		f.newline(c)
		f.text = append(f.text, c)
		switch c {
		case '{', '[', '(':
			closes = append(closes, closing(c))
		case '}', ']', ')':
			if last := closes[len(closes)-1]; c != last {
				return fmt.Errorf("expected '%c', found '%c'", last, c)
			}
			closes = closes[:len(closes)-1]
		case '"', ';', '\\':
			if err := f.skip(c); err != nil {
				return err
			}
		}
		switch {
		case len(f.text) > maxForm:
			return fmt.Errorf("an operation of more than %d bytes", maxForm)
		case len(closes) > maxDepth:
			return fmt.Errorf("brackets are nested more than %d deep", maxDepth)
		}
	}
	return nil
}

// skip reads the rest of a string or a comment, or the character after a backslash. c is the byte that has already been
// read: a quote, a semicolon or a backslash.
func (f *forms) skip(c byte) error {
	for escaped := false; len(f.text) <= maxForm; {
		b, err := f.in.ReadByte()
		if err != nil {
			return f.cut(err)
		}
		f.newline(b)
		f.text = append(f.text, b)
		switch {
		case c == '\\', c == ';' && b == '\n', c == '"' && b == '"' && !escaped:
			return nil
		}
		escaped = b == '\\' && !escaped
	}
	return nil
}

func (f *forms) comment() {
	for {
		c, err := f.in.ReadByte()
		if err != nil || c == '\n' {
			f.newline(c)
			return
		}
	}
}

func (f *forms) newline(c byte) {
	if c == '\n' {
		f.line++
	}
}

// found quotes the character that starts with byte c, for an error message.
func (f *forms) found(c byte) string {
	rest, _ := f.in.Peek(utf8.UTFMax - 1)
	r, _ := utf8.DecodeRune(append([]byte{c}, rest...))
	return fmt.Sprintf("%q", r)
}

func (f *forms) cut(err error) error {
	if err == io.EOF {
		return errCut
	}
	return err
}

func isBlank(c byte) bool { return c == ' ' || c == ',' || '\t' <= c && c <= '\r' }

func closing(open byte) byte {
	switch open {
	case '(':
		return ')'
	case '[':
		return ']'
	}
	return '}'
}
