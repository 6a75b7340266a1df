package history

import (
	"olympos.io/encoding/edn"
)

// flat parses an operation that has only known keys and whose values are non-negative whole numbers, keywords, nil, or
// vectors of these, as in nearly all operations. It is many times faster than the EDN library. It reports whether it
// succeeded. If not, op is undefined and the library must parse the text.
func (op *operation) flat(text []byte) bool {
	in := words{rest: text}
	if !in.take('{') {
		return false
	}
	seen := map[*any]bool{}
	for !in.take('}') {
		key, ok := in.simple()
		to := op.field(key)
		if !ok || to == nil || seen[to] {
			return false
		}
		seen[to] = true
		if *to, ok = in.value(); !ok {
			return false
		}
	}
	in.blanks()
	return len(in.rest) == 0
}

// field returns where a key's value is stored, or nil if operations have no such key.
func (op *operation) field(key any) *any {
	switch key {
	case edn.Keyword("index"):
		return &op.Index
	case edn.Keyword("time"):
		return &op.Time
	case edn.Keyword("process"):
		return &op.Process
	case edn.Keyword("type"):
		return &op.Type
	case edn.Keyword("f"):
		return &op.F
	case edn.Keyword("key"):
		return &op.Key
	case edn.Keyword("value"):
		return &op.Value
	case edn.Keyword("error"):
		return &op.Error
	}
	return nil
}

// words splits EDN text into words.
type words struct{ rest []byte }

// blanks skips the characters that separate words. In EDN, these include commas.
func (w *words) blanks() {
	for len(w.rest) > 0 && isBlank(w.rest[0]) {
		w.rest = w.rest[1:]
	}
}

// take consumes a bracket if it comes next.
func (w *words) take(bracket byte) bool {
	w.blanks()
	if len(w.rest) == 0 || w.rest[0] != bracket {
		return false
	}
	w.rest = w.rest[1:]
	return true
}

// value reads a simple value (see simple), or a vector of simple values.
func (w *words) value() (any, bool) {
	if !w.take('[') {
		return w.simple()
	}
	list := []any{}
	for !w.take(']') {
		v, ok := w.simple()
		if !ok {
			return nil, false
		}
		list = append(list, v)
	}
	return list, true
}

// mostDigits is the largest number of digits that is certain to fit in 64 bits.
const mostDigits = 18

// simple reads a non-negative whole number, a keyword made up of lower-case letters and hyphens, or nil. A blank or a
// closing bracket must follow.
func (w *words) simple() (any, bool) {
	w.blanks()
	n := 0
	for n < len(w.rest) && !isBlank(w.rest[n]) && w.rest[n] != '}' && w.rest[n] != ']' {
		n++
	}
	word := w.rest[:n]
	if n == 0 || n == len(w.rest) {
		return nil, false
	}
	w.rest = w.rest[n:]
	switch {
	case string(word) == "nil":
		return nil, true
	case word[0] == ':':
		return edn.Keyword(word[1:]), isPlain(word[1:])
	case word[0] == '0' && n > 1 || n > mostDigits:
		return nil, false
	}
	number := int64(0)
	for _, c := range word {
		if c < '0' || c > '9' {
			return nil, false
		}
		number = 10*number + int64(c-'0')
	}
	return number, true
}

// isPlain reports whether a keyword's name consists of lower-case letters and hyphens and begins with a letter.
func isPlain(name []byte) bool {
	for i, c := range name {
		if (c < 'a' || c > 'z') && (c != '-' || i == 0) {
			return false
		}
	}
	return len(name) > 0
}
