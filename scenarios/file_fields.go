package scenarios

import (
	"strings"
	"sync"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// field is a setting in a mapping, with the function that parses its value.
type field struct {
	name     string
	required bool
	read     func(ast.Node)
	// instead is set for a setting that is not allowed in this mapping, but is allowed elsewhere. It says why, and what
	// to write instead.
	instead string
	takes   func(ast.Node) bool
	sample  string // an example value of the key, used in examples of its mapping; may be empty
	doc     doc
	fields  func() []field // the keys inside the value, if the value is a mapping
	// The fields below are for sweeps, which vary settings. number is nil if a sweep cannot vary this setting.
	number func(*Scenario, *Client) (int64, bool)
	kind   format.Kind
	form   format.Form
	value  func(*Scenario, *Client) format.Value
}

// save returns a function that parses a value and, if the value is valid, stores it in *to.
func save[T any](to *T, read func(ast.Node) (T, bool)) func(ast.Node) {
	return func(n ast.Node) {
		if v, ok := read(n); ok {
			*to = v
		}
	}
}

// mapping parses a mapping's keys. name is the mapping's name in messages; it is empty for the whole file. words lists
// the words that are allowed instead of the mapping.
func mapping(r *format.Reader, n ast.Node, name string, fields []field, words ...string) format.Given {
	keys := make([]format.Field, len(fields))
	for i, f := range fields {
		keys[i] = format.Field{Name: f.name, Required: f.required, Read: f.read, Instead: f.instead,
			Says:   f.doc.meaning,
			Sample: f.taken(), Shown: f.sample != "", Takes: f.takes}
	}
	return r.Mapping(n, name, keys, words...)
}

// taken returns a value that the setting accepts: preferably the setting's sample, and otherwise the default. If there
// is neither, it returns 10s for a duration, 1 for a count, and "" for any other setting. It also returns "" for a
// setting with a mapping as its value.
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

// mappings maps each setting's name to the names of the mappings in which the setting is allowed.
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

// inside returns the settings in the field's mapping, or nil if its value is not a mapping.
func (f *field) inside() []field {
	if f.fields == nil {
		return nil
	}
	return f.fields()
}

// TopKeys returns the names of the settings at the top level of a file, in the same order as FORMAT.md.
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
