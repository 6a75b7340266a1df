package scenarios

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// table describes the settings in one mapping and points to the struct that stores them.
type table[T any] struct {
	*format.Reader
	name string // name of the mapping in messages
	keys []format.Key[T]
	to   *T
	of   func(*Scenario, *Client) *T // where the finished scenario stores the values
	// note, if set, is called for each setting that the file contains.
	note func(path string, place format.Place)
	// refuse, if set, explains why a word is not allowed as a setting's value, and what to write instead.
	refuse func(k *format.Key[T], word string) string
	// absent lists the settings that only other protocols have. Each one's name is its path, and it says what to write
	// instead.
	absent []field
}

// fields returns the settings in the mapping at a path. prefix is that path followed by a dot, such as "extension.", or
// "" for the table's own mapping.
func (t *table[T]) fields(prefix string) (list []field) {
	for i := range t.keys {
		k := &t.keys[i]
		name, inside := strings.CutPrefix(k.Path, prefix)
		if !inside || strings.Contains(name, ".") {
			continue
		}
		f := field{name: name, doc: docOf(k), sample: k.Example, read: func(n ast.Node) { t.read(n, k) },
			takes: func(n ast.Node) bool {
				_, ok := t.Value(n, &k.Form)
				return ok
			}}
		f.number = func(s *Scenario, c *Client) (int64, bool) { return k.Form.Number(k.Get(t.of(s, c))) }
		f.kind, f.form = k.Form.Kind, k.Form
		f.value = func(s *Scenario, c *Client) format.Value { return k.Get(t.of(s, c)) }
		if k.Form.Kind == format.Mapping {
			f.fields = func() []field { return t.fields(k.Path + ".") }
		}
		list = append(list, f)
	}
	for _, f := range t.absent {
		if name, inside := strings.CutPrefix(f.name, prefix); inside && !strings.Contains(name, ".") {
			f.name = name
			list = append(list, f)
		}
	}
	return list
}

// docOf returns a setting's reference documentation.
func docOf[T any](k *format.Key[T]) doc {
	d := doc{values: k.Form.Values(), standard: k.Depends, meaning: k.Meaning, words: k.Form.Words}
	switch {
	case k.Form.Required:
		d.standard = "required"
	case k.Depends == "":
		d.standard = "`" + k.Form.Text(k.Standard) + "`"
	}
	return d
}

// read parses a setting's value, which may be a nested mapping.
func (t *table[T]) read(n ast.Node, k *format.Key[T]) {
	if text, ok := format.ScalarText(n); k.Form.Kind == format.Mapping && !(ok && slices.Contains(k.Form.Words, text)) {
		if _, ok := n.(ast.MapNode); ok {
			k.Set(t.to, format.Value{})
		}
		inside := mapping(t.Reader, n, t.name+"."+k.Path, t.fields(k.Path+"."), k.Form.Words...)
		for key, place := range inside {
			if t.note != nil {
				t.note(k.Path+"."+key, place)
			}
		}
		return
	}
	if text, ok := format.ScalarText(n); ok && t.refuse != nil && !slices.Contains(k.Form.Words, text) {
		if why := t.refuse(k, text); why != "" {
			t.Problem(format.StartOf(n), "", "%s", why)
			return
		}
	}
	if v, ok := t.Value(n, &k.Form); ok {
		k.Set(t.to, v)
	}
}

// standards sets every setting in a table to its default, except settings with defaults that depend on other settings.
func standards[T any](keys []format.Key[T], to *T) {
	for _, k := range keys {
		if k.Depends == "" {
			k.Set(to, k.Standard)
		}
	}
}

// doc is a setting's reference documentation.
type doc struct {
	values, standard, meaning string
	words                     []string // the values that are words and not numbers
}

// Variable is a setting that a sweep can vary.
type Variable struct {
	Path string // the key, as in FORMAT.md
	Kind format.Kind
	// Number returns the setting's value for one client of a scenario if that is a single number. It returns false if
	// the value is a word or a range.
	Number func(*Scenario, *Client) (int64, bool)
	// Form describes the permitted values, and Value returns the value that is in effect. For a setting in the "lock"
	// mapping, Form comes from one of the protocols that accept it. Form and Value are empty for the few settings that
	// have their own parsing code: clients, lock.protocol and servers.persistence.
	Form  format.Form
	Value func(*Scenario, *Client) format.Value
	Own   bool // the key may also, or only, occur inside overrides
}

// Variables returns all settings that affect a run, in the same order as FORMAT.md, except those with mappings, lists
// or names as values. The second list contains the settings that are allowed only in the "overrides" mapping.
func Variables() (all, only []Variable) {
	f := newFile(&format.Reader{})
	for _, v := range variables("", f.fields()) {
		v.Own = strings.HasPrefix(v.Path, "lock.") && v.Path != "lock.protocol" ||
			strings.HasPrefix(v.Path, "work.") && v.Path != "work.stagger"
		all = append(all, v)
	}
	only = variables("work.", f.workFields(&Work{}, oneClient)[:1])
	return all, only
}

func variables(under string, fields []field) (list []Variable) {
	for _, f := range fields {
		path := under + f.name
		if f.number != nil && f.kind != format.Name && !(f.kind == format.Mapping && len(f.doc.words) == 0) {
			list = append(list, Variable{Path: path, Kind: f.kind, Number: f.number, Form: f.form, Value: f.value})
		}
		list = append(list, variables(path+".", f.inside())...)
	}
	return list
}

// wordOf is the Number function for settings that never have a number as their value.
func wordOf(*Scenario, *Client) (int64, bool) { return 0, false }
