// This file changes the text of a scenario file as if its author had edited it. It preserves comments, key order and
// unchanged lines. The syntax tree of github.com/goccy/go-yaml makes the changes and prints the text. Its printer loses
// spaces before comments and some empty lines, which asWritten restores. At the end, the new text is compared with a
// format.Document in which the same changes were made; any difference is an error. Comments inside { } or [ ] are also
// an error, because the printer drops them.

package advise

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// edit is one change to a document. It either sets the scalar at a path such as "lock.ttl" (a path in a
// format.Document), or removes what is at the path.
type edit struct {
	Path   string
	Value  string
	Remove bool
}

// String describes the change for a person who must make it by hand: "lock.ttl: 30s", "no lock.quorum".
func (e edit) String() string {
	if e.Remove {
		return "no " + e.Path
	}
	return e.Path + ": " + e.Value
}

func apply(d *format.Document, edits []edit) {
	for _, e := range edits {
		if e.Remove {
			d.Remove(e.Path)
		} else {
			d.Set(e.Path, e.Value)
		}
	}
}

// errStyle is the error for text that is written in a way that cannot be changed in place.
var errStyle = errors.New("the file contains this setting in a form that cannot be changed in place")

// rewritten applies the edits to a scenario's text. If an edit cannot be applied in place, the error names it.
func rewritten(text []byte, edits []edit) ([]byte, error) {
	want, err := format.ParseDocument("scenario", text)
	if err != nil {
		return nil, err
	}
	apply(want, edits)
	crlf, lf := []byte("\r\n"), []byte("\n")
	foreign := bytes.Contains(text, crlf) // the parser's positions are wrong if lines end with CRLF
	if foreign && bytes.Count(text, crlf) != bytes.Count(text, lf) {
		return nil, errStyle
	}
	changed := string(bytes.ReplaceAll(text, crlf, lf))
	for _, e := range edits {
		if changed, err = amended(changed, e); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Path, err)
		}
	}
	text = []byte(changed)
	if foreign {
		text = bytes.ReplaceAll(text, lf, crlf)
	}
	got, err := format.ParseDocument("scenario", text)
	if err != nil {
		return nil, errStyle
	}
	got.Arrange(scenarios.TopKeys())
	want.Arrange(scenarios.TopKeys())
	if got.String() != want.String() {
		return nil, errStyle
	}
	return text, nil
}

// amended applies one edit to the syntax tree of the text, and prints the tree.
func amended(text string, e edit) (string, error) {
	f, err := parser.ParseBytes([]byte(text), parser.ParseComments)
	if err != nil {
		return "", err
	}
	if comments(f.String()) != comments(text) {
		return "", errStyle
	}
	for _, d := range f.Docs {
		if d.Body != nil {
			d.Body = e.applyIn(d.Body, strings.Split(e.Path, "."), scenarios.TopKeys(), false)
		}
	}
	return asWritten(text, f.String()), nil
}

// comments counts the comments in text.
func comments(text string) (n int) {
	for _, t := range lexer.Tokenize(text) {
		if t.Type == token.CommentType {
			n++
		}
	}
	return n
}

// braced returns the number of the first line with a comment inside { } or [ ], counting from 1, or 0 if there is none.
func braced(text string) int {
	depth := 0
	for _, t := range lexer.Tokenize(text) {
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		case token.CommentType:
			if depth > 0 {
				return t.Position.Line
			}
		}
	}
	return 0
}

// CommentsError reports that a file cannot be rewritten without losing comments. The changes must be made by hand.
type CommentsError struct {
	// Line is the line with the first comment inside { } or [ ]. It is 0 if another part of the file cannot be changed
	// in place.
	Line    int
	Changes []string // what to change, such as "lock.ttl: 30s"
}

// Error says why the file cannot be rewritten.
func (e *CommentsError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("line %d has a comment inside { } or [ ], which would be lost", e.Line)
	}
	return errStyle.Error() + ", and its comments would be lost"
}

// applyIn applies the edit inside node n and returns the new node, or nil if nothing is left of it. The path leads from
// n to where the edit belongs. A new key is inserted according to the given order, or at the end if the order does not
// contain it. inBraces says whether n is inside { } or [ ].
func (e *edit) applyIn(n ast.Node, path, order []string, inBraces bool) ast.Node {
	mapping, isMapping := n.(*ast.MappingNode)
	list, isList := n.(*ast.SequenceNode)
	switch {
	case len(path) == 0 && e.Remove:
		return nil
	case len(path) > 0 && isMapping:
		return e.inMapping(mapping, path, order)
	case len(path) > 0 && isList:
		return e.inList(list, path)
	case e.Remove:
		return n
	}
	value := nodeOf(written(path, e.Value, inBraces), 0)
	if comment := n.GetComment(); comment != nil {
		_ = value.SetComment(comment) // no error, since every node accepts a comment
	}
	return value
}

func (e *edit) inMapping(n *ast.MappingNode, path, order []string) ast.Node {
	for i, m := range n.Values {
		if m.Key.GetToken().Value != path[0] {
			continue
		}
		if m.Value = e.applyIn(m.Value, path[1:], nil, n.IsFlowStyle); m.Value == nil {
			n.Values = slices.Delete(n.Values, i, i+1)
		}
		if comment := m.Key.GetComment(); comment != nil && len(path) == 1 && m.Value != nil {
			// The comment was between the key and a block mapping, which is now a single value.
			_, _ = m.Value.SetComment(comment), m.Key.SetComment(nil)
		}
		if len(n.Values) == 0 {
			return nil
		}
		return n
	}
	if e.Remove {
		return n
	}
	at := len(n.Values)
	for order != nil && at > 0 &&
		slices.Index(order, n.Values[at-1].Key.GetToken().Value) > slices.Index(order, path[0]) {
		at--
	}
	text := format.Quoted(path[0], true) + ": " + written(path[1:], e.Value, n.IsFlowStyle)
	m := nodeOf(text, n.Values[0].Key.GetToken().Position.Column-1).(*ast.MappingNode).Values[0]
	if at > 0 { // keep a comment that follows the mapping at its end
		m.FootComment, n.Values[at-1].FootComment = n.Values[at-1].FootComment, nil
	}
	n.Values = slices.Insert(n.Values, at, m)
	return n
}

func (e *edit) inList(n *ast.SequenceNode, path []string) ast.Node {
	i, err := strconv.Atoi(path[0])
	if i--; err != nil || i < 0 || i >= len(n.Values) {
		return n
	}
	if n.Values[i] = e.applyIn(n.Values[i], path[1:], nil, n.IsFlowStyle); n.Values[i] == nil {
		n.Values = slices.Delete(n.Values, i, i+1)
		if len(n.ValueHeadComments) > 0 {
			n.ValueHeadComments = slices.Delete(n.ValueHeadComments, i, i+1)
		}
	}
	if len(n.Values) == 0 {
		return nil
	}
	return n
}

// written formats value as YAML, inside one flow mapping for each key in path. For example, path [a b] and value 1 give
// "{a: {b: 1}}". inBraces says whether the result will be inside { } or [ ], where more values must be quoted.
func written(path []string, value string, inBraces bool) string {
	if len(path) == 0 {
		return format.Quoted(value, inBraces)
	}
	return "{" + format.Quoted(path[0], true) + ": " + written(path[1:], value, true) + "}"
}

// nodeOf indents a line by the given number of columns, parses it and returns its node.
func nodeOf(line string, column int) ast.Node {
	f, err := parser.ParseBytes([]byte(strings.Repeat(" ", column)+line), 0)
	if err != nil {
		panic(err) // cannot happen, since written quotes what needs quotes
	}
	return f.Docs[0].Body
}

// asWritten restores what the printer changed in the text: spaces in lines, the columns of comments, and the comments
// and empty lines around removed lines.
func asWritten(before, printed string) string {
	rest := strings.Split(strings.TrimRight(before, "\n"), "\n")
	end := before[len(strings.TrimRight(before, "\n")):]
	var lines []string
	for _, line := range strings.Split(strings.TrimRight(printed, "\n"), "\n") {
		same := func(s string) bool { return slices.Equal(strings.Fields(s), strings.Fields(line)) }
		if at := slices.IndexFunc(rest, same); at >= 0 {
			lines = append(lines, surroundings(rest[:at])...)
			line, rest = rest[at], rest[at+1:]
		} else {
			line = aligned(line, rest)
		}
		lines = append(lines, line)
	}
	return strings.Join(append(lines, surroundings(rest)...), "\n") + end
}

// aligned moves the comment at the end of a line to the column where it was before, if there is room. It does not move
// a comment that was separated from its code by a single space.
func aligned(line string, before []string) string {
	code, comment := trailing(line)
	if comment == "" {
		return line
	}
	code = strings.TrimRight(code, " ")
	for _, was := range before {
		if old, same := trailing(was); same == comment && strings.HasSuffix(old, "  ") {
			blanks := utf8.RuneCountInString(old) - utf8.RuneCountInString(code)
			return code + strings.Repeat(" ", max(1, blanks)) + comment
		}
	}
	return line
}

// trailing splits a line into its code and the comment after it. comment is empty if there is none.
func trailing(line string) (code, comment string) {
	for _, t := range lexer.Tokenize(line) {
		if t.Type != token.CommentType {
			continue
		}
		if code, isLast := strings.CutSuffix(line, "#"+t.Value); isLast && strings.TrimSpace(code) != "" {
			return code, "#" + t.Value
		}
	}
	return line, ""
}

// surroundings returns the comments and empty lines at the beginning of the given lines, and the comments at their end.
func surroundings(lines []string) []string {
	comment := func(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "#") }
	first, last := 0, len(lines)
	for first < last && (comment(lines[first]) || strings.TrimSpace(lines[first]) == "") {
		first++
	}
	for last > first && comment(lines[last-1]) {
		last--
	}
	return slices.Concat(lines[:first], lines[last:])
}
