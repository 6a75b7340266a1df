// Package amend changes the text of a scenario file in place: comments, the order of the keys and whatever is not
// changed stay as they were written.
//
// Goals: what a person has written is recognisable afterwards, and the change reads as if that person had made it. What
// the text says is what the same changes make of a format.Document, or there is an error. Non-goals: whether the
// text is a valid scenario (scenarios).
package amend

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// Edit is one change of a document: a scalar at a path such as "lock.ttl", as format.Document has them, or what lies
// there taken away.
type Edit struct {
	Path   string
	Value  string
	Remove bool
}

// To makes the edits in a document.
func To(d *format.Document, edits []Edit) {
	for _, e := range edits {
		if e.Remove {
			d.Remove(e.Path)
		} else {
			d.Set(e.Path, e.Value)
		}
	}
}

// errStyle reports a text that is written in a way that Text cannot change.
var errStyle = errors.New("the file writes this in a way that cannot be changed in place")

// Text makes the edits in a text that scenarios.Parse takes. An error says which edit could not be made in place.
func Text(text []byte, edits []Edit) ([]byte, error) {
	want, err := format.ParseDocument("scenario", text)
	if err != nil {
		return nil, err
	}
	To(want, edits)
	crlf, lf := []byte("\r\n"), []byte("\n")
	foreign := bytes.Contains(text, crlf) // the parser's places in such a text are wrong
	if foreign && bytes.Count(text, crlf) != bytes.Count(text, lf) {
		return nil, errStyle
	}
	text = bytes.ReplaceAll(text, crlf, lf)
	for _, e := range edits {
		if text, err = amended(text, e); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Path, err)
		}
	}
	if foreign {
		text = bytes.ReplaceAll(text, lf, crlf)
	}
	got, err := format.ParseDocument("scenario", text)
	if err != nil {
		return nil, err
	}
	got.Arrange(scenarios.TopKeys())
	want.Arrange(scenarios.TopKeys())
	if got.String() != want.String() {
		return nil, errStyle
	}
	return text, nil
}

// amended makes one edit.
func amended(text []byte, e Edit) ([]byte, error) {
	f, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, err
	}
	t := &source{text: string(text)}
	t.lines()
	root := body(f)
	if root == nil {
		return nil, errStyle
	}
	path := strings.Split(e.Path, ".")
	var within ast.Node = root // the innermost mapping or list on the way that is there
	for i, key := range path {
		next := find(within, key)
		switch last := i == len(path)-1; {
		case next == nil && e.Remove:
			return text, nil
		case next == nil:
			err = t.insert(within, path[:i], path[i:], e.Value)
		case last && e.Remove && i > 0 && len(members(within)) == 1: // leaves nothing behind
			return amended(text, Edit{Path: strings.Join(path[:i], "."), Remove: true})
		case last && e.Remove:
			err = t.remove(within, key)
		case last, !isCollection(next.value):
			err = t.replace(within, key, next, path[i+1:], e.Value)
		default:
			within = next.value
			continue
		}
		break
	}
	return []byte(t.text), err
}

// body is the one document of a file.
func body(f *ast.File) ast.Node {
	for _, d := range f.Docs {
		if d.Body != nil {
			return d.Body
		}
	}
	return nil
}

// member is a key with its value, or an item of a list.
type member struct {
	key, value ast.Node // an item has no key
}

// members lists what a mapping or a list holds.
func members(n ast.Node) (list []member) {
	switch n := n.(type) {
	case *ast.SequenceNode:
		for _, v := range n.Values {
			list = append(list, member{value: v})
		}
	case ast.MapNode:
		for i := n.MapRange(); i.Next(); {
			list = append(list, member{i.Key(), i.Value()})
		}
	}
	return list
}

// find finds a key of a mapping, or an item of a list by its number from 1; nil if it is not there.
func find(n ast.Node, key string) *member {
	for i, m := range members(n) {
		if m.key == nil && strconv.Itoa(i+1) == key || m.key != nil && m.key.GetToken().Value == key {
			return &m
		}
	}
	return nil
}

func isCollection(n ast.Node) bool {
	if _, list := n.(*ast.SequenceNode); list {
		return true
	}
	_, mapping := n.(ast.MapNode)
	return mapping
}

// inBraces reports whether a mapping or a list is written with { } or [ ].
func inBraces(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.IsFlowStyle
	case *ast.SequenceNode:
		return n.IsFlowStyle
	}
	return false
}
