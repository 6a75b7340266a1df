package scenarios

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/setting"
)

// reader walks over the nodes of a YAML document and collects what is wrong with them.
type reader struct {
	path     string
	text     []byte
	lines    []string // of the text, without its byte order mark
	problems []Problem
}

func newReader(path string, text []byte) *reader { return &reader{path: path, text: text} }

// field is a key that may stand in a mapping, and what reads its value.
type field struct {
	name     string
	required bool
	read     func(ast.Node)
	// instead is set on keys that are right elsewhere: why not here.
	instead string
	doc     doc
	fields  func() []field // of a mapping: the keys in it
	// What a sweep needs of a key that it can vary; nil if it cannot.
	number func(*Scenario, *Client) (int64, bool)
	kind   setting.Kind
	form   setting.Form
	value  func(*Scenario, *Client) setting.Value
}

// given says which keys stand in a mapping, and where.
type given map[string]at

// into reads a value and, if it is right, stores it.
func into[T any](to *T, read func(ast.Node) (T, bool)) func(ast.Node) {
	return func(n ast.Node) {
		if v, ok := read(n); ok {
			*to = v
		}
	}
}

// mapping reads the keys of a mapping. Name is what the mapping is called in messages; empty for the whole file.
func (r *reader) mapping(n ast.Node, name string, fields []field) given {
	keys := given{}
	start := startOf(n)
	r.entries(n, name, func(key string, place at, value ast.Node) {
		keys[key] = place
		f := lookup(fields, key)
		switch {
		case f == nil:
			r.problem(place, nemesis.Nearest(key, missing(fields, n)), "unknown key %s%s", found(key), in(name))
		case f.instead != "":
			r.problem(place, "", "%s", f.instead)
		case isNull(value) && f.required:
			r.problem(startOf(value), "", "%s has no value", key)
		case isNull(value):
			r.problem(startOf(value), "", "%s has no value; leave the key out for its default", key)
		default:
			f.read(value)
		}
	})
	if _, ok := n.(ast.MapNode); !ok {
		return keys
	}
	for _, f := range fields {
		if _, ok := keys[f.name]; f.required && !ok {
			r.problem(start, "", "the key %q is missing%s", f.name, in(name))
		}
	}
	return keys
}

// entries calls entry for each key of a mapping, refusing what is no mapping and keys that stand there twice.
func (r *reader) entries(n ast.Node, name string, entry func(key string, place at, value ast.Node)) {
	m, ok := n.(ast.MapNode)
	if !ok {
		what := "a scenario is a mapping of keys to values"
		if name != "" {
			what = name + " needs a mapping of keys to values"
		}
		r.problem(startOf(n), "", "%s, found %s", what, describe(n))
		return
	}
	seen := given{}
	for i := m.MapRange(); i.Next(); {
		place := placeOf(i.Key().GetToken())
		key, ok := scalarText(i.Key())
		if !ok {
			r.problem(place, "", "expected a key, found %s", describe(i.Key()))
			continue
		}
		if !r.printable(place, key) {
			continue
		}
		if before, ok := seen[key]; ok {
			r.problem(place, "", "%s stands here a second time; the first is in line %d", found(key), before.line)
			continue
		}
		seen[key] = place
		entry(key, place, i.Value())
	}
}

// list calls entry for each entry of a list.
func (r *reader) list(n ast.Node, name string, entry func(ast.Node)) {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		r.problem(startOf(n), "", "%s needs a list, found %s", name, describe(n))
		return
	}
	for _, v := range s.Values {
		entry(v)
	}
}

// scalar returns the text of a scalar; what says in an error what was expected.
func (r *reader) scalar(n ast.Node, what string) (string, bool) {
	text, ok := scalarText(n)
	if !ok {
		r.problem(startOf(n), "", "expected %s, found %s", what, describe(n))
	}
	return text, ok && r.printable(startOf(n), text)
}

// printable refuses a text with control characters, which YAML can write as escapes, but no report can show.
func (r *reader) printable(place at, text string) bool {
	i := strings.IndexFunc(text, func(c rune) bool { return c != '\n' && c != '\t' && history.Unprintable(c) })
	if i < 0 {
		return true
	}
	c, _ := utf8.DecodeRuneInString(text[i:])
	r.problem(place, "", "text here has no control characters, found %U in %s", c, found(text))
	return false
}

// scalarText gives a scalar as it is written, without quotes: the key decides what 10, no and true mean, not YAML.
func scalarText(n ast.Node) (string, bool) {
	switch n.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// isNull reports whether there is no value at all.
func isNull(n ast.Node) bool {
	_, ok := n.(*ast.NullNode)
	return ok
}

// describe names what stands at n.
func describe(n ast.Node) string {
	switch n := n.(type) {
	case *ast.NullNode:
		return "nothing"
	case *ast.LiteralNode:
		return "a block of text"
	case *ast.SequenceNode:
		return "a list"
	case ast.MapNode:
		return "a mapping"
	default:
		if text, ok := scalarText(n); ok {
			return found(text)
		}
		return "something else"
	}
}

// inside are the keys of a field's mapping; none if it is no mapping.
func (f *field) inside() []field {
	if f.fields == nil {
		return nil
	}
	return f.fields()
}

func lookup(fields []field, key string) *field {
	for i := range fields {
		if fields[i].name == key {
			return &fields[i]
		}
	}
	return nil
}

// missing are the keys that may stand in the mapping n and do not yet.
func missing(fields []field, n ast.Node) []string {
	there := map[string]bool{}
	if m, ok := n.(ast.MapNode); ok {
		for i := m.MapRange(); i.Next(); {
			key, _ := scalarText(i.Key())
			there[key] = true
		}
	}
	return slices.DeleteFunc(namesOf(fields), func(name string) bool { return there[name] })
}

func namesOf(fields []field) []string {
	var names []string
	for _, f := range fields {
		if f.instead == "" {
			names = append(names, f.name)
		}
	}
	return names
}

func in(name string) string {
	if name == "" {
		return ""
	}
	return " in " + name
}

// inLine returns where the text of a scalar begins if it stands in one line just as it is read, so that places within it
// are places in the file.
func (r *reader) inLine(n ast.Node, text string) (at, bool) {
	place := placeOf(n.GetToken())
	if place.line > len(r.lines) {
		return place, false
	}
	runes := []rune(r.lines[place.line-1])
	rest := string(runes[min(place.column-1, len(runes)):])
	if quoted := strings.TrimLeft(rest, `"'`); len(quoted) == len(rest)-1 {
		rest, place = quoted, place.right(1)
	}
	return place, strings.HasPrefix(rest, text)
}
