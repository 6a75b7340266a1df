package document

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
)

// Described describes, for the schema, a JSON object that some commands print.
type Described struct {
	Commands []string // the commands that print the object
	Object   any      // the zero value of its type, a struct that embeds Head
	Is       string   // what the object is about, in a few words
}

// keyed is implemented by structs that are printed with additional keys besides their fields. Keys returns these keys
// and describes them for the schema. Their values are numbers, and they are printed before the fields.
type keyed interface{ Keys() []Key }

// Key is an additional key in the JSON object of a struct that implements keyed. Its value is a number.
type Key struct {
	Name    string
	Decimal bool   // whether the number may have a fraction
	Doc     string // what the number means; may be empty
}

// These struct tags tell the schema what a field's type cannot.
const (
	docTag  = "doc"  // the meaning of the field
	ofTag   = "of"   // the name of a definition that describes the field's value, or each value in its list or object
	enumTag = "enum" // the strings allowed in the field, separated by bars
)

// object is a JSON object. Its keys are printed in alphabetical order.
type object = map[string]any

// definitions returns the definitions of values that several objects use.
func definitions() object {
	var outcomes []string
	for o := checker.Unchecked; o <= checker.Violated; o++ {
		outcomes = append(outcomes, o.String())
	}
	return object{
		"law":     object{"enum": LawNames(append(slices.Clone(checker.Laws), checker.Linearizability))},
		"outcome": object{"enum": outcomes},
		"verdict": object{"enum": verdicts(),
			"description": "how the outcome compares with what the scenario expects; " +
				"if the scenario expects no particular outcome, \"held\" or \"broken\""},
		"event": object{"type": "object", "required": []string{"index", "time", "process", "type", "f"},
			"description": "an event of the history, in the same form as in history.jsonl"},
		"measure": object{"type": []string{"number", "null"}, "description": "null without a value"},
	}
}

// Schema returns the JSON Schema (draft 2020-12) for all documents. It is derived from the types that the commands
// print.
func Schema(all []Described) ([]byte, error) {
	s := schema{defs: definitions()}
	var list []object
	for _, d := range all {
		of := s.structure(reflect.TypeOf(d.Object))
		properties := of["properties"].(object)
		properties["schema"], properties["command"] = object{"const": schemaName}, object{"enum": d.Commands}
		of["description"] = d.Is
		s.defs[name(reflect.TypeOf(d.Object))] = of
		list = append(list, reference(name(reflect.TypeOf(d.Object))))
	}
	text, err := json.MarshalIndent(object{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id":     "https://github.com/fencepost-sim/fencepost/schema/1",
		"title":   "What the commands of Fencepost print with --json",
		"description": "Times are simulated times, in nanoseconds if the name ends in _ns. " +
			"Each new edition of the schema has a new number.",
		"type": "object", "required": []string{"schema", "command"}, "oneOf": list, "$defs": s.defs,
	}, "", " ")
	if s.err != nil {
		err = s.err
	}
	return append(text, '\n'), err
}

// schema collects the definitions of struct types, along with the first error.
type schema struct {
	defs object
	err  error
}

func reference(name string) object { return object{"$ref": "#/$defs/" + name} }

// name returns the name under which a struct type is defined. It consists of the package name and the type's name,
// without the suffix JSON or Object.
func name(t reflect.Type) string {
	return path.Base(t.PkgPath()) + "." + strings.TrimSuffix(strings.TrimSuffix(t.Name(), "JSON"), "Object")
}

// define defines a struct type, unless it is already defined. It returns a reference to the definition.
func (s *schema) define(t reflect.Type) object {
	if t.Name() == "" {
		return s.structure(t)
	}
	if _, known := s.defs[name(t)]; !known {
		s.defs[name(t)] = object{} // set this first, since a type may contain itself
		s.defs[name(t)] = s.structure(t)
	}
	return reference(name(t))
}

// structure returns the schema of a struct type.
func (s *schema) structure(t reflect.Type) object {
	properties, required := object{}, []string{}
	if listed, is := reflect.Zero(t).Interface().(keyed); is {
		for _, k := range listed.Keys() {
			of := object{"type": "integer"}
			if k.Decimal {
				of["type"] = "number"
			}
			if k.Doc != "" {
				of["description"] = k.Doc
			}
			properties[k.Name], required = of, append(required, k.Name)
		}
	}
	s.fields(t, properties, &required, true)
	return object{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// fields adds a struct type's fields to the schema. present is false if the struct is embedded through a pointer,
// because then all its fields may be missing.
func (s *schema) fields(t reflect.Type, properties object, required *[]string, present bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case key == "-", key == "" && !f.Anonymous && !f.IsExported():
			continue
		case key == "" && f.Anonymous && f.Type.Kind() == reflect.Pointer:
			s.fields(f.Type.Elem(), properties, required, false)
			continue
		case key == "" && f.Anonymous:
			s.fields(f.Type, properties, required, present)
			continue
		case key == "":
			key = f.Name
		}
		omitted := strings.Contains(options, "omit")
		of := s.value(f.Type, &f)
		if f.Type.Kind() == reflect.Pointer && !omitted {
			of = object{"anyOf": []object{of, {"type": "null"}}}
		}
		if doc := f.Tag.Get(docTag); doc != "" {
			of = maps.Clone(of)
			of["description"] = doc
		}
		properties[key] = of
		if present && !omitted {
			*required = append(*required, key)
		}
	}
}

// texts is the interface implemented by types that are printed as strings.
var texts = reflect.TypeFor[encoding.TextMarshaler]()

// value returns the schema for values of type t in field f.
func (s *schema) value(t reflect.Type, f *reflect.StructField) object {
	switch kind := t.Kind(); {
	case t == reflect.TypeFor[checker.Law]():
		return reference("law")
	case kind == reflect.Pointer:
		return s.value(t.Elem(), f)
	case (kind == reflect.Slice || kind == reflect.Array) && t != reflect.TypeFor[json.RawMessage]():
		return object{"type": "array", "items": s.value(t.Elem(), f)}
	case kind == reflect.Map:
		of := object{"type": "object", "additionalProperties": s.value(t.Elem(), f)}
		if t.Key() == reflect.TypeFor[checker.Law]() {
			of["propertyNames"] = reference("law")
		}
		return of
	case f.Tag.Get(ofTag) != "":
		if s.defs[f.Tag.Get(ofTag)] == nil {
			s.fail("%s has the type %q, which is not defined", f.Name, f.Tag.Get(ofTag))
		}
		return reference(f.Tag.Get(ofTag))
	case f.Tag.Get(enumTag) != "":
		return object{"enum": strings.Split(f.Tag.Get(enumTag), "|")}
	case kind == reflect.String, t.Implements(texts), reflect.PointerTo(t).Implements(texts):
		return object{"type": "string"}
	case kind == reflect.Bool:
		return object{"type": "boolean"}
	case kind == reflect.Float64:
		return object{"type": "number"}
	case slices.Contains([]reflect.Kind{reflect.Int, reflect.Int64, reflect.Uint64, reflect.Uint8}, kind):
		return object{"type": "integer"}
	case kind == reflect.Struct:
		return s.define(t)
	}
	s.fail("%s: nothing says how %v is printed", f.Name, t)
	return object{}
}

func (s *schema) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("document: "+format, args...)
	}
}
