// Package format reads scenario files. They are YAML with plain mappings, lists and scalars, and each key determines
// how its value is interpreted. The package also reads a file's expectations, and compares them with the outcome of a
// run. Each key is declared once, next to the setting that it controls. The declaration contains the value's syntax,
// the default, the meaning, and where the value is stored. The reader with its errors, the format reference and the
// keys that a sweep can vary are all generated from these declarations, so none of them can omit a key.
//
// Goals: all problems in a file are reported at once, each with its position and the most similar valid word. Reading
// is fast, even for a malicious file. What Document prints can be read again with the same result. Non-goals: which
// keys exist and how they affect a run (package scenarios); judging laws (checker).
package format

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Reader reads the nodes of a YAML document and collects problems.
type Reader struct {
	// Elsewhere returns the names of the mappings that accept a key. It is nil if these names are not known.
	Elsewhere func(key string) []string

	path     string
	text     []byte
	lines    []string // lines of the text, without its byte order mark
	problems []Problem
}

// Read parses text, which may have at most MaxFile bytes. Errors are of type *Error, and refer to the text by the name
// in path.
func Read(path string, text []byte) (r *Reader, body ast.Node, err error) {
	if len(text) > MaxFile {
		return nil, nil, TooLarge(path, int64(len(text)))
	}
	r = &Reader{path: path, text: text}
	body = r.yaml()
	return r, body, r.Err()
}

// Field is a key in a mapping, with the function that reads its value.
type Field struct {
	Name     string
	Required bool
	Read     func(ast.Node)
	// Instead, if set, is the message for a key that is not allowed in this mapping. It says where the key belongs.
	Instead string
	Says    string // meaning of the key
	Sample  string // a value that the key accepts; may be empty
	Shown   bool   // Sample is the best example for the mapping
	// Takes reports whether the key accepts a value. It does not store the value, but may record problems in the
	// reader. It is nil if it is not known which values the key accepts.
	Takes func(ast.Node) bool
}

// Given maps each key that is present in a mapping to its position.
type Given map[string]Place

// Mapping reads the keys of a mapping. name is what messages call the mapping; it is empty for the whole file. words
// are the words that the caller accepts instead of the mapping; Mapping only mentions them in its error message.
func (r *Reader) Mapping(n ast.Node, name string, known []Field, words ...string) Given {
	keys := Given{}
	start := StartOf(n)
	if _, ok := n.(ast.MapNode); !ok && name != "" {
		r.noMapping(n, name, r.example(n, known), words)
		return keys
	}
	r.Entries(n, name, "", func(key string, place Place, value ast.Node) {
		keys[key] = place
		f := lookup(known, key)
		switch {
		case f == nil:
			r.unknown(key, place, name, known, n)
		case f.Instead != "":
			r.Problem(place, "", "%s", f.Instead)
		case isNull(value) && f.Required:
			r.Problem(StartOf(value), "", "%s has no value", key)
		case isNull(value):
			r.Problem(StartOf(value), "", "%s has no value; remove the key to use the default", key)
		default:
			f.Read(value)
		}
	})
	if _, ok := n.(ast.MapNode); !ok {
		return keys
	}
	for _, f := range known {
		if _, ok := keys[f.Name]; f.Required && !ok {
			r.Problem(start, "", "the key %q is missing%s", f.Name, in(name))
		}
	}
	return keys
}

// Entries calls entry for each key in a mapping. It reports keys that occur twice. If the value is not a mapping, it
// reports this and shows example, an example of a mapping.
func (r *Reader) Entries(n ast.Node, name, example string, entry func(key string, place Place, value ast.Node)) {
	m, ok := n.(ast.MapNode)
	switch {
	case !ok && name == "":
		r.Problem(StartOf(n), "", "a scenario is a mapping of keys to values, found %s", describe(n))
		return
	case !ok:
		r.noMapping(n, name, example, nil)
		return
	}
	seen := Given{}
	for i := m.MapRange(); i.Next(); {
		place := placeOf(i.Key().GetToken())
		key, ok := ScalarText(i.Key())
		if !ok {
			r.Problem(place, "", "expected a key, found %s", describe(i.Key()))
			continue
		}
		if !r.printable(place, key) {
			continue
		}
		if before, ok := seen[key]; ok {
			r.Problem(place, "", "%s occurs a second time; the first is on line %d", Found(key), before.Line)
			continue
		}
		seen[key] = place
		entry(key, place, i.Value())
	}
}

// List calls entry for each entry in a list.
func (r *Reader) List(n ast.Node, name string, entry func(ast.Node)) {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		r.Problem(StartOf(n), "", "%s needs a list, found %s", name, describe(n))
		return
	}
	for _, v := range s.Values {
		entry(v)
	}
}

// Scalar returns a scalar as a string. Errors use the text in what to describe the expected value.
func (r *Reader) Scalar(n ast.Node, what string) (string, bool) {
	text, ok := ScalarText(n)
	if !ok {
		r.Problem(StartOf(n), "", "expected %s, found %s", what, describe(n))
	}
	return text, ok && r.printable(StartOf(n), text)
}

// printable reports a problem if text contains characters that nobody can see. YAML can express them with escapes, but
// reports cannot show them.
func (r *Reader) printable(place Place, text string) bool {
	i := strings.IndexFunc(text, func(c rune) bool { return c != '\n' && c != '\t' && history.Unprintable(c) })
	if i < 0 {
		return true
	}
	c, _ := utf8.DecodeRuneInString(text[i:])
	r.Problem(place, "", "the %s is not allowed, found in %s", history.NameUnprintable(c), Found(text))
	return false
}

// ScalarText returns a scalar as written, but without quotes. What 10, no and true mean depends on the key, not on
// YAML's types.
func ScalarText(n ast.Node) (string, bool) {
	switch n.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// isNull reports whether a value is missing.
func isNull(n ast.Node) bool {
	_, ok := n.(*ast.NullNode)
	return ok
}

// describe says what kind of value n is, for an error message.
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
		if text, ok := ScalarText(n); ok {
			return Found(text)
		}
		return "something else"
	}
}

func lookup(known []Field, key string) *Field {
	for i := range known {
		if known[i].Name == key {
			return &known[i]
		}
	}
	return nil
}

// names returns the keys that a file may use. It omits keys with Instead, because they are not allowed.
func names(known []Field) (names []string) {
	for _, k := range known {
		if k.Instead == "" {
			names = append(names, k.Name)
		}
	}
	return names
}

// Missing returns the given keys that are missing from the mapping n.
func Missing(keys []string, n ast.Node) []string {
	there := map[string]bool{}
	if m, ok := n.(ast.MapNode); ok {
		for i := m.MapRange(); i.Next(); {
			key, _ := ScalarText(i.Key())
			there[key] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return there[key] })
}

func in(name string) string {
	if name == "" {
		return ""
	}
	return " in " + name
}

// InLine returns the position at which a scalar's text starts. It returns false if the file does not contain the text
// literally, on one line. In that case, offsets in the text do not correspond to positions in the file.
func (r *Reader) InLine(n ast.Node, text string) (Place, bool) {
	place := placeOf(n.GetToken())
	if place.Line > len(r.lines) {
		return place, false
	}
	runes := []rune(r.lines[place.Line-1])
	rest := string(runes[min(place.Column-1, len(runes)):])
	if quoted := strings.TrimLeft(rest, `"'`); len(quoted) == len(rest)-1 {
		rest, place = quoted, place.Right(1)
	}
	return place, strings.HasPrefix(rest, text)
}

// WordIn looks for the words, in the given order, in the rest of the line that begins at place. It returns the position
// of words[i], or place if it does not find all words up to that one.
func (r *Reader) WordIn(place Place, words []string, i int) Place {
	line := []rune(r.lines[min(place.Line, len(r.lines))-1])
	rest, offset := string(line[min(place.Column-1, len(line)):]), 0
	for k, word := range words[:i+1] {
		next := strings.Index(rest[offset:], word)
		if next < 0 {
			return place
		}
		offset += next
		if k < i {
			offset += len(word)
		}
	}
	return place.Right(len([]rune(rest[:offset])))
}
