package lua

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// space lists the whitespace characters in C.
const space = " \t\n\v\f\r"

// readNumber parses a number by the rules of Lua 5.1 (luaO_str2d). It accepts what C's strtod accepts, with white space
// around it, and ignores everything from the first NUL on. gopher-lua would use Go's rules, by which 010 is octal, 1_0
// is ten, and nan is not a number.
func readNumber(s string) (lua.LNumber, bool) {
	s, _, _ = strings.Cut(s, "\x00")
	s = strings.Trim(s, space)
	if s == "" {
		return 0, false
	}
	unsigned := strings.ToLower(strings.TrimPrefix(strings.TrimPrefix(s, "-"), "+"))
	if payload, is := strings.CutPrefix(unsigned, "nan"); is {
		if payload != "" && (payload[0] != '(' || strings.IndexByte(payload, ')') != len(payload)-1) {
			return 0, false
		}
		sign := 1.0
		if s[0] == '-' {
			sign = -1
		}
		return lua.LNumber(math.Copysign(math.NaN(), sign)), true
	}
	f, _, ok := resp.Strtod(s)
	return lua.LNumber(f), ok
}

// toNumber implements tonumber with the rules of Redis's Lua 5.1.
func toNumber(L *lua.LState) int {
	base := L.OptInt(2, 10)
	if base == 10 {
		switch v := L.CheckAny(1).(type) {
		case lua.LNumber:
			L.Push(v)
			return 1
		case lua.LString:
			if f, ok := readNumber(string(v)); ok {
				L.Push(f)
				return 1
			}
		}
		L.Push(lua.LNil)
		return 1
	}
	s := L.CheckString(1)
	if base < 2 || base > 36 {
		L.ArgError(2, "base out of range")
	}
	if f, ok := readInBase(s, base); ok {
		L.Push(f)
	} else {
		L.Push(lua.LNil)
	}
	return 1
}

// readInBase parses an integer as C's strtoul does. A negative number wraps around: -1 becomes 2^64-1. A number that is
// too large becomes the largest possible number.
func readInBase(s string, base int) (lua.LNumber, bool) {
	s, _, _ = strings.Cut(s, "\x00")
	s = strings.Trim(s, space)
	negative := strings.HasPrefix(s, "-")
	if negative || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	if base == 16 && len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x' {
		s = s[2:]
	}
	if s == "" || strings.ContainsAny(s, "+-_") {
		return 0, false
	}
	v, err := strconv.ParseUint(s, base, 64)
	if err != nil && v == 0 {
		return 0, false
	}
	if negative && err == nil {
		v = -v
	}
	return lua.LNumber(v), true
}

// takesNumbers makes a library function convert string arguments to numbers by Lua's rules. first is the position of
// the first argument to convert.
func (e *Engine) takesNumbers(library *lua.LTable, name string, first int) {
	inner := library.RawGetString(name).(*lua.LFunction).GFunction
	library.RawSetString(name, e.state.NewFunction(func(L *lua.LState) int {
		for i := first; i <= L.GetTop(); i++ {
			s, ok := L.Get(i).(lua.LString)
			if !ok {
				continue
			}
			f, ok := readNumber(string(s))
			if !ok {
				L.ArgError(i, "number expected, got string")
			}
			L.Replace(i, f)
		}
		return inner(L)
	}))
}

// arithmetic adds the arithmetic operators to the string metatable. gopher-lua uses them before it tries to convert
// strings to numbers by its own rules.
func (e *Engine) arithmetic(strings *lua.LTable) {
	for event, operate := range map[string]func(a, b float64) float64{
		"__add": func(a, b float64) float64 { return a + b },
		"__sub": func(a, b float64) float64 { return a - b },
		"__mul": func(a, b float64) float64 { return a * b },
		"__div": func(a, b float64) float64 { return a / b },
		"__mod": func(a, b float64) float64 { return a - math.Floor(a/b)*b },
		"__pow": math.Pow,
	} {
		strings.RawSetString(event, e.state.NewFunction(func(L *lua.LState) int {
			return operateOn(L, event, L.Get(1), L.Get(2), operate)
		}))
	}
	strings.RawSetString("__unm", e.state.NewFunction(func(L *lua.LState) int {
		return operateOn(L, "__unm", L.Get(1), lua.LNumber(0), func(a, _ float64) float64 { return -a })
	}))
}

// operateOn executes an operator if at least one operand is a string. If an operand cannot be converted to a number, it
// uses the metatable of the operand that is not a string, as Lua does.
func operateOn(L *lua.LState, event string, a, b lua.LValue, operate func(a, b float64) float64) int {
	x, ok := numberOf(a)
	y, ok2 := numberOf(b)
	if ok && ok2 {
		L.Push(lua.LNumber(operate(float64(x), float64(y))))
		return 1
	}
	for _, v := range []lua.LValue{a, b} {
		if f := L.GetMetaField(v, event); v.Type() != lua.LTString && f != lua.LNil {
			L.Push(f)
			L.Push(a)
			L.Push(b)
			L.Call(2, 1)
			return 1
		}
	}
	wrong := a
	if ok {
		wrong = b
	}
	L.RaiseError("attempt to perform arithmetic on a %s value", wrong.Type())
	return 0
}

// numberOf converts an operand to a number.
func numberOf(v lua.LValue) (lua.LNumber, bool) {
	switch v := v.(type) {
	case lua.LNumber:
		return v, true
	case lua.LString:
		return readNumber(string(v))
	}
	return 0, false
}
