package resp

import (
	"bytes"
	"strconv"
	"strings"
)

// Value is a decoded RESP value.
type Value struct {
	Kind byte   // first byte of the encoded value
	Text string // content of a value that is not an aggregate
	Null bool
	List []Value // elements of an aggregate; for a map, keys and values in turn
}

// Size returns the size in bytes of the value at the start of b, or 0 if the value is not complete yet.
func Size(b []byte) int {
	end := bytes.IndexByte(b, '\n')
	if end < 2 {
		return 0
	}
	size := end + 1
	v := Value{Kind: b[0]}
	n, err := strconv.Atoi(string(b[1 : end-1]))
	switch {
	case err != nil || n < 0 || !v.isString() && !v.isAggregate():
		return size
	case v.isString():
		size += n + 2
	default:
		for range Elements(v.Kind, n) {
			next := Size(b[min(size, len(b)):])
			if next == 0 {
				return 0
			}
			size += next
		}
	}
	if size > len(b) {
		return 0
	}
	return size
}

// Parse decodes the value at the start of b, which must be complete.
func Parse(b []byte) (v Value, rest []byte) {
	end := 0
	for b[end] != '\r' {
		end++
	}
	v = Value{Kind: b[0], Text: string(b[1:end])}
	rest = b[end+2:]
	switch {
	case v.Kind == '_':
		v.Null = true
		return v, rest
	case !v.isString() && !v.isAggregate():
		return v, rest
	}
	n, _ := strconv.Atoi(v.Text)
	v.Text = ""
	switch {
	case n < 0:
		v.Null = true
		return v, rest
	case v.isString():
		v.Text = string(rest[:n])
		return v, rest[n+2:]
	}
	for range Elements(v.Kind, n) {
		var item Value
		item, rest = Parse(rest)
		v.List = append(v.List, item)
	}
	return v, rest
}

// Elements returns the number of values that follow the header of an aggregate of the given kind, where n is the number
// in the header.
func Elements(kind byte, n int) int {
	switch kind {
	case '%':
		return 2 * n
	case '|': // the attributes are followed by the value to which they belong
		return 2*n + 1
	}
	return n
}

// Append appends the encoded value to b.
func (v Value) Append(b []byte) []byte {
	size := func(n int) []byte { return append(strconv.AppendInt(append(b, v.Kind), int64(n), 10), "\r\n"...) }
	switch {
	case v.Null && v.Kind != '_':
		return size(-1)
	case v.isString():
		return append(append(size(len(v.Text)), v.Text...), "\r\n"...)
	case v.isAggregate():
		n := len(v.List)
		if v.Kind == '%' || v.Kind == '|' {
			n /= 2
		}
		b = size(n)
		for _, item := range v.List {
			b = item.Append(b)
		}
		return b
	}
	return append(append(append(b, v.Kind), v.Text...), "\r\n"...)
}

// isString reports whether the value is encoded as a length followed by that many bytes.
func (v Value) isString() bool { return v.Kind == '$' || v.Kind == '=' || v.Kind == '!' }

func (v Value) isAggregate() bool {
	switch v.Kind {
	case '*', '~', '>', '%', '|':
		return true
	}
	return false
}

// IsError reports whether the value is an error.
func (v Value) IsError() bool { return v.Kind == '-' || v.Kind == '!' }

// Texts returns each element's text. The elements must not be aggregates.
func (v Value) Texts() (list []string) {
	for _, item := range v.List {
		list = append(list, item.Text)
	}
	return list
}

// Number returns the value as an integer, whether it is encoded as an integer or as a string.
func (v Value) Number() int64 {
	n, _ := strconv.ParseInt(v.Text, 10, 64)
	return n
}

// Bulks returns the elements of an array of bulk strings.
func Bulks(reply string) []string {
	_, rest, _ := strings.Cut(reply, "\r\n")
	var list []string
	for rest != "" {
		size := BulkSize([]byte(rest))
		if size == 0 {
			return list
		}
		_, item, _ := strings.Cut(rest[:size-2], "\r\n")
		list = append(list, item)
		rest = rest[size:]
	}
	return list
}

// BulkSize returns the size in bytes of the bulk string at the start of b, or 0 if b does not start with one.
func BulkSize(b []byte) int {
	line := bytes.IndexByte(b, '\n')
	if b[0] != '$' || line < 2 {
		return 0
	}
	size, err := strconv.Atoi(string(b[1 : line-1]))
	if err != nil || size < 0 || line+1+size+2 > len(b) {
		return 0
	}
	return line + 1 + size + 2
}
