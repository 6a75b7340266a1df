package amend

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// source is a text, and where its lines begin.
type source struct {
	text  string
	start []int // of each line, in bytes
}

func (s *source) lines() {
	s.start = []int{0}
	for i, c := range s.text {
		if c == '\n' {
			s.start = append(s.start, i+1)
		}
	}
}

// line is the text of a line, counted from 0, without its end.
func (s *source) line(i int) string {
	line, _, _ := strings.Cut(s.text[s.start[i]:], "\n")
	return line
}

// offset is where a token begins, in bytes.
func (s *source) offset(t *token.Token) int {
	at := s.start[min(t.Position.Line, len(s.start))-1]
	if t.Position.Line == 1 {
		at += len(s.text) - len(strings.TrimPrefix(s.text, "\ufeff"))
	}
	for range t.Position.Column - 1 {
		_, size := utf8.DecodeRuneInString(s.text[at:])
		at += size
	}
	return at
}

// cut puts something else in the place of text[from:to].
func (s *source) cut(from, to int, other string) { s.text = s.text[:from] + other + s.text[to:] }

// span is where a value stands: a scalar in one line, or what is written with { } or [ ].
func (s *source) span(n ast.Node) (from, to int, err error) {
	switch node := n.(type) {
	case *ast.MappingNode:
		if node.IsFlowStyle {
			return s.offset(node.Start), s.offset(node.End) + 1, nil
		}
	case *ast.SequenceNode:
		if node.IsFlowStyle {
			return s.offset(node.Start), s.offset(node.End) + 1, nil
		}
	case *ast.LiteralNode:
	default:
		return s.scalar(n.GetToken())
	}
	return 0, 0, errStyle
}

// scalar is where a scalar stands, with its quotes.
func (s *source) scalar(t *token.Token) (from, to int, err error) {
	from = s.offset(t)
	rest := s.text[from:]
	if rest == "" || t.Value == "" && t.Type == token.StringType {
		return 0, 0, errStyle
	}
	if quote := rest[0]; quote == '"' || quote == '\'' {
		for i := 1; i < len(rest) && rest[i] != '\n'; i++ {
			switch {
			case quote == '"' && rest[i] == '\\', quote == '\'' && strings.HasPrefix(rest[i:], "''"):
				i++
			case rest[i] == quote:
				return from, from + i + 1, nil
			}
		}
		return 0, 0, errStyle
	}
	if !strings.HasPrefix(rest, t.Value) {
		return 0, 0, errStyle
	}
	return from, from + len(t.Value), nil
}

// written is a key with a value, as it stands in { }, in [ ] or in a line of its own.
func written(path []string, value string, inside bool) string {
	text := format.Quoted(value, inside || len(path) > 1)
	for i := len(path) - 1; i >= 0; i-- {
		text = format.Quoted(path[i], true) + ": " + text
		if i > 0 {
			text = "{" + text + "}"
		}
	}
	return text
}

// insert adds what is missing at the end of a mapping, or at the top in the order of the format.
func (s *source) insert(n ast.Node, above, path []string, value string) error {
	if _, list := n.(*ast.SequenceNode); list {
		return errStyle
	}
	if inBraces(n) {
		end := s.offset(n.(*ast.MappingNode).End)
		text := written(path, value, true)
		if len(members(n)) > 0 {
			end = len(strings.TrimRight(s.text[:end], " \n"))
			text = ", " + text
		}
		s.cut(end, end, text)
		return nil
	}
	all := members(n)
	after := len(all) - 1
	if len(above) == 0 {
		order := scenarios.TopKeys()
		after = -1
		for i, m := range all {
			if slices.Index(order, m.key.GetToken().Value) < slices.Index(order, path[0]) {
				after = i
			}
		}
	}
	column := all[0].key.GetToken().Position.Column - 1
	line := all[0].key.GetToken().Position.Line - 1
	if after >= 0 {
		line = s.after(all[after])
	}
	text := strings.Repeat(" ", column) + written(path, value, false) + "\n"
	if line == len(s.start) {
		s.text += "\n" + strings.TrimSuffix(text, "\n")
		return nil
	}
	s.cut(s.start[line], s.start[line], text)
	return nil
}

// after is the line behind a member of a mapping or list that is written in lines: lines that are further in than it
// belong to it, and items of a list that stand as far in as their key. Empty lines and comments at the end do not.
func (s *source) after(m member) int {
	t, within := m.value.GetToken(), 0
	if m.key != nil {
		t = m.key.GetToken()
	}
	first := t.Position.Line - 1
	within = indent(s.line(first))
	_, isList := m.value.(*ast.SequenceNode)
	end := first + 1
	for i := first + 1; i < len(s.start); i++ {
		line := s.line(i)
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(trimmed, "#") {
			continue
		}
		if in := indent(line); in < within ||
			in == within && !(m.key != nil && isList && !inBraces(m.value) && strings.HasPrefix(trimmed, "- ")) {
			if !closes(trimmed) || in < within {
				break
			}
		}
		end = i + 1
	}
	return end
}

// closes reports whether a line only ends what is written with { } or [ ].
func closes(line string) bool { return strings.HasPrefix(line, "}") || strings.HasPrefix(line, "]") }

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// replace puts a value in the place of a member's. Path is the rest of the way to the value within it.
func (s *source) replace(n ast.Node, key string, m *member, path []string, value string) error {
	if !isCollection(m.value) || inBraces(m.value) {
		from, to, err := s.span(m.value)
		if err != nil {
			return err
		}
		text := format.Quoted(value, inBraces(n))
		if len(path) > 0 {
			text = "{" + written(path, value, true) + "}"
		}
		s.cut(from, to, text)
		return nil
	}
	first := s.offset(m.key.GetToken()) // of a mapping or list in lines
	line := m.key.GetToken().Position.Line - 1
	end := s.after(*m)
	last := len(s.text)
	if end < len(s.start) {
		last = s.start[end]
	}
	if inBraces(n) || line < 0 {
		return errStyle
	}
	s.cut(first, last, written(append([]string{key}, path...), value, false)+"\n")
	return nil
}

// remove takes a member away that is not the only one.
func (s *source) remove(n ast.Node, key string) error {
	all := members(n)
	at := slices.IndexFunc(all, func(m member) bool {
		found := find(n, key)
		return found != nil && m.value == found.value
	})
	m := all[at]
	if !inBraces(n) {
		t := m.value.GetToken()
		if m.key != nil {
			t = m.key.GetToken()
		}
		first, end, last := t.Position.Line-1, s.after(m), len(s.text)
		if end < len(s.start) {
			last = s.start[end]
		}
		s.cut(s.start[first], last, "")
		return nil
	}
	from, err := s.begin(m)
	if err != nil {
		return err
	}
	_, to, err := s.span(m.value)
	if err != nil {
		return err
	}
	switch {
	case at+1 < len(all):
		if to, err = s.begin(all[at+1]); err != nil {
			return err
		}
	case at > 0:
		if _, from, err = s.span(all[at-1].value); err != nil {
			return err
		}
	}
	s.cut(from, to, "")
	return nil
}

// begin is where a member begins.
func (s *source) begin(m member) (int, error) {
	if m.key != nil {
		return s.offset(m.key.GetToken()), nil
	}
	from, _, err := s.span(m.value)
	return from, err
}
