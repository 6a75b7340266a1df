package lua

import (
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// format implements string.format, with the same results as C's printf. gopher-lua would pass the arguments to Go's
// fmt, which prints addresses.
func (e *Engine) format(L *lua.LState) int {
	pattern := L.CheckString(1)
	var b strings.Builder
	arg := 1
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' {
			b.WriteByte(pattern[i])
			continue
		}
		start := i
		for i++; i < len(pattern) && strings.IndexByte("-+ #0123456789.", pattern[i]) >= 0; i++ {
		}
		if i == len(pattern) || !isSpec(pattern[start+1:i]) {
			L.RaiseError("invalid format (width or precision too long)")
		}
		if pattern[i] == '%' {
			b.WriteByte('%')
			continue
		}
		arg++
		b.WriteString(e.formatOne(L, pattern[start+1:i], pattern[i], arg))
		if b.Len() > maxRepeat {
			L.RaiseError("fencepost: resulting string too large")
		}
	}
	L.Push(lua.LString(b.String()))
	return 1
}

// isSpec reports whether s consists of flags, a width of at most two digits, and a precision of at most two digits.
func isSpec(s string) bool {
	width, precision, dot := strings.Cut(strings.TrimLeft(s, "-+ #0"), ".")
	digits := func(s string) bool { return len(s) <= 2 && strings.Trim(s, "0123456789") == "" }
	return len(s) <= 10 && digits(width) && digits(precision) && (dot || precision == "")
}

// formatOne formats a single argument. spec consists of the flags, the width and the precision.
func (e *Engine) formatOne(L *lua.LState, spec string, verb byte, arg int) string {
	p := readSpec(spec)
	switch verb {
	case 'd', 'i':
		return p.signed(truncate(float64(L.CheckNumber(arg))))
	case 'u':
		return p.integer("", unsigned(float64(L.CheckNumber(arg))), 10)
	case 'o':
		return p.integer("", unsigned(float64(L.CheckNumber(arg))), 8)
	case 'x':
		return p.integer("", unsigned(float64(L.CheckNumber(arg))), 16)
	case 'X':
		return strings.ToUpper(p.integer("", unsigned(float64(L.CheckNumber(arg))), 16))
	case 'c':
		p.precision = -1
		return untilNUL(p.text(string([]byte{byte(truncate(float64(L.CheckNumber(arg))))})))
	case 'e', 'f', 'g':
		return p.float(verb, float64(L.CheckNumber(arg)))
	case 'E', 'G':
		return strings.ToUpper(p.float(verb|0x20, float64(L.CheckNumber(arg))))
	case 's':
		text := checkText(L, arg)
		if p.precision < 0 && len(text) >= 100 {
			return text // Lua does not use printf, so the text may contain NUL
		}
		return p.text(untilNUL(text))
	case 'q':
		return quote(checkText(L, arg))
	}
	L.RaiseError("invalid option '%%%c' to 'format'", verb)
	return ""
}

// unsigned converts a number to an unsigned integer as C does on x86-64.
func unsigned(f float64) uint64 {
	if f >= 1<<63 {
		return 1<<63 ^ uint64(truncate(f-(1<<63)))
	}
	return uint64(truncate(f))
}

// untilNUL returns the part of a text that C sees.
func untilNUL(text string) string {
	text, _, _ = strings.Cut(text, "\x00")
	return text
}

// checkText checks that an argument is a string or a number, and returns it as a string.
func checkText(L *lua.LState, arg int) string {
	switch v := L.Get(arg).(type) {
	case lua.LString:
		return string(v)
	case lua.LNumber:
		return FormatNumber(float64(v), 14)
	default:
		L.ArgError(arg, fmt.Sprintf("string expected, got %s", v.Type()))
		return ""
	}
}

// quote writes s as a string literal that Lua can read.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '"', '\\', '\n':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '\r':
			b.WriteString("\\r")
		case 0:
			b.WriteString("\\000")
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
