package lua

import (
	"errors"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// This file implements Redis 7.0's cjson library (deps/lua/src/lua_cjson.c) with its default settings. The functions
// that would change settings for all later scripts are not provided. An object's keys are written in the order in which
// the script created them, whereas Redis uses hash table order.

// maxNesting is how deeply arrays and objects may be nested, both in encoding and in decoding.
const maxNesting = 1000

// A table with gaps cannot be encoded as an array if its largest index exceeds both safeIndex and gapRatio times its
// number of elements.
const (
	safeIndex = 10
	gapRatio  = 2
)

// jsonLibrary returns the Lua table "cjson", whose functions scripts can call.
func (e *Engine) jsonLibrary() *lua.LTable {
	t := e.choose(e.state.NewTable(), nil, map[string]lua.LGFunction{
		"encode": func(L *lua.LState) int {
			j := jsonWriter{L: L, null: e.null}
			if L.GetTop() != 1 {
				L.ArgError(1, "expected 1 argument")
			}
			j.value(L.Get(1), 0)
			L.Push(lua.LString(j.b.String()))
			return 1
		},
		"decode": func(L *lua.LState) int {
			if L.GetTop() != 1 {
				L.ArgError(1, "expected 1 argument")
			}
			j := jsonReader{L: L, text: L.CheckString(1), null: e.null}
			L.Push(j.decodeText())
			return 1
		},
	})
	t.RawSetString("null", e.null)
	t.RawSetString("_NAME", lua.LString("cjson"))
	t.RawSetString("_VERSION", lua.LString("2.1.0"))
	e.withhold("cjson", t)
	return t
}

// jsonWriter encodes Lua values as JSON.
type jsonWriter struct {
	L    *lua.LState
	null lua.LValue
	b    strings.Builder
}

func (j *jsonWriter) value(v lua.LValue, depth int) {
	switch v := v.(type) {
	case lua.LString:
		j.text(string(v))
	case lua.LNumber:
		j.number(v)
	case lua.LBool:
		j.b.WriteString(strconv.FormatBool(bool(v)))
	case *lua.LNilType:
		j.b.WriteString("null")
	case *lua.LTable:
		j.table(v, depth+1)
	default:
		if v != j.null {
			j.fail(v, "type not supported")
		}
		j.b.WriteString("null")
	}
	if j.b.Len() > maxReply {
		j.L.RaiseError("fencepost: resulting string too large")
	}
}

func (j *jsonWriter) fail(v lua.LValue, why string) {
	j.L.RaiseError("Cannot serialise %s: %s", v.Type().String(), why)
}

func (j *jsonWriter) number(v lua.LNumber) {
	f := float64(v)
	if math.IsInf(f, 0) || f != f {
		j.fail(v, "must not be NaN or Inf")
	}
	j.b.WriteString(FormatNumber(f, 14))
}

// text writes a string. Control characters, DEL, quotes, slashes and backslashes are escaped; all other bytes are
// copied.
func (j *jsonWriter) text(s string) {
	const digits = "0123456789abcdef"
	j.b.WriteByte('"')
	for _, c := range []byte(s) {
		switch at := strings.IndexByte("\b\t\n\f\r\"\\/", c); {
		case at >= 0:
			j.b.WriteByte('\\')
			j.b.WriteByte("btnfr\"\\/"[at])
		case c < ' ' || c == 127:
			j.b.WriteString("\\u00")
			j.b.WriteByte(digits[c>>4])
			j.b.WriteByte(digits[c&15])
		default:
			j.b.WriteByte(c)
		}
	}
	j.b.WriteByte('"')
}

func (j *jsonWriter) table(t *lua.LTable, depth int) {
	if depth > maxNesting {
		j.L.RaiseError("Cannot serialise, excessive nesting (%d)", depth)
	}
	if length := j.length(t); length > 0 {
		j.b.WriteByte('[')
		for i := 1; i <= length; i++ {
			j.separate(i > 1)
			j.value(t.RawGetInt(i), depth)
		}
		j.b.WriteByte(']')
		return
	}
	j.b.WriteByte('{')
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		j.separate(j.b.String()[j.b.Len()-1] != '{')
		j.key(k)
		j.value(v, depth)
	}
	j.b.WriteByte('}')
}

func (j *jsonWriter) separate(needed bool) {
	if needed {
		j.b.WriteByte(',')
	}
}

func (j *jsonWriter) key(k lua.LValue) {
	switch k := k.(type) {
	case lua.LString:
		j.text(string(k))
	case lua.LNumber:
		j.b.WriteByte('"')
		j.number(k)
		j.b.WriteByte('"')
	default:
		j.fail(k, "table key must be a number or string")
	}
	j.b.WriteByte(':')
}

// length returns the largest index of a table whose keys are all positive integers. It returns 0 if the table is empty,
// and -1 if it has any other key. It raises an error if the table has too many gaps.
func (j *jsonWriter) length(t *lua.LTable) int {
	greatest, items := 0.0, 0.0
	for k, _ := t.Next(lua.LNil); k != lua.LNil; k, _ = t.Next(k) {
		f, ok := k.(lua.LNumber)
		if !ok || float64(f) != math.Floor(float64(f)) || f < 1 {
			return -1
		}
		greatest = max(greatest, float64(f))
		items++
	}
	if greatest > items*gapRatio && greatest > safeIndex {
		j.fail(t, "excessively sparse array")
	}
	return int(greatest)
}

// jsonReader decodes JSON to Lua values.
type jsonReader struct {
	L     *lua.LState
	null  lua.LValue
	text  string
	at    int
	depth int
}

// token is a JSON token. kind is its first character, or '0' for a number, 'x' for an invalid token, and 0 at the end
// of the text.
type token struct {
	kind  byte
	from  int
	text  string     // value of a string, or the reason why the token is invalid
	value lua.LValue // value of a number, true, false or null
}

// names maps each kind of token to its name in error messages.
var names = map[byte]string{'{': "T_OBJ_BEGIN", '}': "T_OBJ_END", '[': "T_ARR_BEGIN", ']': "T_ARR_END",
	'"': "T_STRING", '0': "T_NUMBER", 't': "T_BOOLEAN", 'n': "T_NULL", ':': "T_COLON", ',': "T_COMMA", 0: "T_END"}

// decodeText decodes the text, which must consist of a single value.
func (j *jsonReader) decodeText() lua.LValue {
	if len(j.text) >= 2 && (j.text[0] == 0 || j.text[1] == 0) {
		j.L.RaiseError("JSON parser does not support UTF-16 or UTF-32")
	}
	v := j.value(j.next())
	j.expect("the end", j.next(), 0)
	return v
}

// expect raises an error unless the token has one of the given kinds.
func (j *jsonReader) expect(what string, t token, kinds ...byte) {
	for _, k := range kinds {
		if t.kind == k {
			return
		}
	}
	found := names[t.kind]
	if t.kind == 'x' {
		found = t.text
	}
	j.L.RaiseError("Expected %s but found %s at character %d", what, found, t.from+1)
}

func (j *jsonReader) value(t token) lua.LValue {
	j.expect("value", t, '{', '[', '"', '0', 't', 'n')
	switch t.kind {
	case '"':
		return lua.LString(t.text)
	case '{', '[':
		if j.depth++; j.depth > maxNesting {
			j.L.RaiseError("Found too many nested data structures (%d) at character %d", j.depth, j.at)
		}
		table := j.L.NewTable()
		if t.kind == '{' {
			j.object(table)
		} else {
			j.array(table)
		}
		j.depth--
		return table
	}
	return t.value
}

func (j *jsonReader) object(table *lua.LTable) {
	t := j.next()
	for t.kind != '}' {
		j.expect("object key string", t, '"')
		j.expect("colon", j.next(), ':')
		table.RawSetString(t.text, j.value(j.next()))
		if t = j.next(); t.kind == '}' {
			return
		}
		j.expect("comma or object end", t, ',')
		if t = j.next(); t.kind == '}' {
			j.expect("object key string", t, '"')
		}
	}
}

func (j *jsonReader) array(table *lua.LTable) {
	t := j.next()
	for i := 1; t.kind != ']'; i++ {
		table.RawSetInt(i, j.value(t))
		if t = j.next(); t.kind == ']' {
			return
		}
		j.expect("comma or array end", t, ',')
		if t = j.next(); t.kind == ']' {
			j.value(t)
		}
	}
}

// next reads the next token. A zero byte counts as the end of the text.
func (j *jsonReader) next() token {
	for j.at < len(j.text) && strings.IndexByte(" \t\r\n", j.text[j.at]) >= 0 {
		j.at++
	}
	t := token{from: j.at}
	if j.at == len(j.text) || j.text[j.at] == 0 {
		return t
	}
	c, rest := j.text[j.at], j.text[j.at:]
	switch {
	case strings.IndexByte("{}[],:", c) >= 0:
		t.kind = c
		j.at++
		return t
	case c == '"':
		return j.quoted(t)
	case c == '-' || c >= '0' && c <= '9':
		return j.number(t)
	}
	for _, word := range []struct {
		text  string
		value lua.LValue
	}{{"true", lua.LTrue}, {"false", lua.LFalse}, {"null", j.null}} {
		if strings.HasPrefix(rest, word.text) {
			j.at += len(word.text)
			t.kind, t.value = 't', word.value
			if word.value == j.null {
				t.kind = 'n'
			}
			return t
		}
	}
	if lower := strings.ToLower(rest); c == '+' || strings.HasPrefix(lower, "inf") || strings.HasPrefix(lower, "nan") {
		return j.number(t)
	}
	t.kind, t.text = 'x', "invalid token"
	return t
}

// number reads a number. Like cjson, it accepts everything that C's strtod accepts, which is more than JSON allows.
func (j *jsonReader) number(t token) token {
	f, size := prefixNumber(j.text[j.at:])
	if size == 0 {
		t.kind, t.text = 'x', "invalid number"
		return t
	}
	j.at += size
	t.kind, t.value = '0', lua.LNumber(f)
	return t
}

// prefixNumber parses the longest number at the start of a string. It also returns the number's length in bytes, which
// is 0 if the string does not begin with a number.
func prefixNumber(s string) (f float64, size int) {
	end := 0
	for end < len(s) && end < 1024 && (strings.IndexByte("+-.", s[end]) >= 0 || s[end] >= '0' && s[end] <= '9' ||
		s[end]|0x20 >= 'a' && s[end]|0x20 <= 'z') {
		end++
	}
	for ; end > 0; end-- {
		text := strings.ToLower(s[:end])
		if strings.HasPrefix(strings.TrimLeft(text, "+-"), "0x") && !strings.Contains(text, "p") {
			text += "p0" // the exponent is optional in C but required in Go
		}
		if f, err := strconv.ParseFloat(text, 64); err == nil || errors.Is(err, strconv.ErrRange) {
			return f, end
		}
	}
	return 0, 0
}

func (j *jsonReader) quoted(t token) token {
	var b strings.Builder
	fail := func(why string) token {
		t.kind, t.from, t.text = 'x', j.at, why
		return t
	}
	for j.at++; ; j.at++ {
		if j.at == len(j.text) || j.text[j.at] == 0 {
			return fail("unexpected end of string")
		}
		switch c := j.text[j.at]; c {
		case '"':
			j.at++
			t.kind, t.text = '"', b.String()
			return t
		case '\\':
			if j.at+1 < len(j.text) && j.text[j.at+1] == 'u' {
				if !j.unicode(&b) {
					return fail("invalid unicode escape code")
				}
				continue
			}
			at := -1
			if j.at+1 < len(j.text) {
				at = strings.IndexByte("\"\\/btnfr", j.text[j.at+1])
			}
			if at < 0 {
				return fail("invalid escape code")
			}
			j.at++
			b.WriteByte("\"\\/\b\t\n\f\r"[at])
		default:
			b.WriteByte(c)
		}
	}
}

// unicode reads one \uXXXX escape, or two that form a surrogate pair. It leaves j.at at the last digit.
func (j *jsonReader) unicode(b *strings.Builder) bool {
	c, ok := j.hex(j.at)
	size := 6
	if ok && c&0xF800 == 0xD800 {
		low, lowOK := j.hex(j.at + size)
		ok = c&0x400 == 0 && lowOK && low&0xFC00 == 0xDC00
		c = (c&0x3FF<<10 | low&0x3FF) + 0x10000
		size = 12
	}
	if ok {
		b.WriteRune(c)
		j.at += size - 1
	}
	return ok
}

// hex reads one \uXXXX escape.
func (j *jsonReader) hex(at int) (c rune, ok bool) {
	if at+6 > len(j.text) || j.text[at:at+2] != "\\u" {
		return 0, false
	}
	for _, digit := range []byte(j.text[at+2 : at+6]) {
		value, err := strconv.ParseUint(string(digit), 16, 8)
		if err != nil {
			return 0, false
		}
		c = c<<4 | rune(value)
	}
	return c, true
}
