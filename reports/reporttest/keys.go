package reporttest

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// keyStyle matches the keys of all JSON documents.
var keyStyle = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// OddKeys returns the fields of a JSON document whose keys do not have the usual form, which is lower case with
// underscores, such as "put_aside". An example is a field without a json tag. object is the zero value of the
// document's type.
func OddKeys(object any) (odd []string) {
	var seen []reflect.Type
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			walk(t.Elem())
		case reflect.Struct:
			if slices.Contains(seen, t) || encodesItself(t) {
				return
			}
			seen = append(seen, t)
			for i := range t.NumField() {
				f := t.Field(i)
				key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				if key == "-" || !f.IsExported() && !f.Anonymous {
					continue
				}
				if !keyStyle.MatchString(key) && !(f.Anonymous && key == "") {
					odd = append(odd, fmt.Sprintf("%v.%s: key %q", t, f.Name, key))
				}
				walk(f.Type)
			}
		}
	}
	walk(reflect.TypeOf(object))
	return odd
}

// encodesItself reports whether a type's JSON does not consist of its fields.
func encodesItself(t reflect.Type) bool {
	encoders := []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()}
	return slices.ContainsFunc(encoders, func(e reflect.Type) bool {
		return t.Implements(e) || reflect.PointerTo(t).Implements(e)
	})
}
