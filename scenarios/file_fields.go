package scenarios

import (
	"strings"
	"sync"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// field is a key that may stand in a mapping, and the function that reads its value.
type field struct {
	name     string
	required bool
	read     func(ast.Node)
	// instead is set on keys that belong elsewhere: why not here.
	instead string
	takes   func(ast.Node) bool
	sample  string // the best example of what the mapping is for: a value of the key; may be empty
	doc     doc
	fields  func() []field // of a mapping: the keys in it
	// What a sweep needs to vary the key; nil if it cannot.
	number func(*Scenario, *Client) (int64, bool)
	kind   format.Kind
	form   format.Form
	value  func(*Scenario, *Client) format.Value
}

// into returns a function that reads a value and, if it is right, stores it.
func into[T any](to *T, read func(ast.Node) (T, bool)) func(ast.Node) {
	return func(n ast.Node) {
		if v, ok := read(n); ok {
			*to = v
		}
	}
}

// mapping reads the keys of a mapping. Name is the name of the mapping in messages; empty for the whole file. words are
// the words that may stand in its place.
func mapping(r *format.Reader, n ast.Node, name string, fields []field, words ...string) format.Given {
	keys := make([]format.Field, len(fields))
	for i, f := range fields {
		keys[i] = format.Field{Name: f.name, Required: f.required, Read: f.read, Instead: f.instead,
			Says:   f.doc.meaning,
			Sample: f.taken(), Shown: f.sample != "", Takes: f.takes}
	}
	return r.Mapping(n, name, keys, words...)
}

// taken returns a value that a key takes: the one that best shows what it does, its default, or any. It is empty for a
// key with a mapping or a list.
func (f *field) taken() string {
	standard := strings.Trim(f.doc.standard, "`")
	switch {
	case f.sample != "":
		return f.sample
	case f.fields != nil || f.kind == format.Mapping:
		return ""
	case f.doc.standard == "`"+standard+"`" && standard != "none":
		return standard
	case f.kind == format.Duration:
		return "10s"
	case f.kind == format.Count:
		return "1"
	}
	return ""
}

// mappings gives the names of the mappings that a key stands in, by the key.
var mappings = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{}
	var walk func(name string, fields []field)
	walk = func(name string, fields []field) {
		for _, f := range fields {
			all[f.name] = append(all[f.name], name)
			walk(strings.TrimPrefix(name+"."+f.name, "."), f.inside())
		}
	}
	walk("", newFile(&format.Reader{}).fields())
	return all
})

// inside are the keys of a field's mapping; none if it is no mapping.
func (f *field) inside() []field {
	if f.fields == nil {
		return nil
	}
	return f.fields()
}

// TopKeys are the keys at the top of a file, in the order of FORMAT.md.
func TopKeys() []string { return namesOf(newFile(nil).fields()) }

func namesOf(fields []field) []string {
	var names []string
	for _, f := range fields {
		if f.instead == "" {
			names = append(names, f.name)
		}
	}
	return names
}
