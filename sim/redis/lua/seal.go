package lua

import (
	"math"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// readOnly is Redis's error message for a write to a table that scripts must not change.
const readOnly = "Attempt to modify a readonly table"

// notProvided lists functions and libraries that Redis provides to scripts but this package does not. The keys are
// library names; "" stands for globals.
var notProvided = map[string][]string{
	"":       {"struct", "bit", "coroutine", "load", "loadstring", "collectgarbage", "gcinfo"},
	"redis":  {"acl_check_cmd", "breakpoint", "debug", "set_repl"},
	"string": {"dump", "gfind"},
	"table":  {"foreach", "foreachi", "setn"},
	"cjson": {"encode_sparse_array", "encode_max_depth", "decode_max_depth", "encode_number_precision",
		"encode_keep_buffer", "encode_invalid_numbers", "decode_invalid_numbers", "new"},
	"cmsgpack": {"pack", "unpack_one", "unpack_limit"},
}

// withhold adds a stand-in for each of a library's functions that this package does not provide. The stand-in raises an
// error that names the missing function.
func (e *Engine) withhold(library string, t *lua.LTable) {
	for _, name := range notProvided[library] {
		t.RawSetString(name, e.state.NewFunction(func(L *lua.LState) int {
			L.RaiseError("fencepost: %s.%s is not provided to scripts", library, name)
			return 0
		}))
	}
}

// seal returns a read-only view of a table, through which scripts can read the table's fields but cannot write to them.
func (e *Engine) seal(what *lua.LTable) *lua.LTable {
	L := e.state
	front, meta := L.NewTable(), L.NewTable()
	meta.RawSetString("__index", what)
	meta.RawSetString("__newindex", L.NewFunction(func(L *lua.LState) int {
		L.RaiseError(readOnly)
		return 0
	}))
	meta.RawSetString("__metatable", lua.LFalse)
	front.Metatable = meta
	e.sealed[front] = true
	return front
}

// openLibraries creates the globals and libraries for scripts.
func (e *Engine) openLibraries() {
	L := e.state
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenTable, lua.OpenString, lua.OpenMath} {
		L.Push(L.NewFunction(open))
		L.Call(0, 0)
	}
	base := L.Get(lua.GlobalsIndex).(*lua.LTable)
	e.globals = L.NewTable()
	e.env = e.seal(e.globals)
	for _, name := range []string{"assert", "getmetatable", "ipairs", "next", "pairs", "rawequal", "rawget", "select",
		"type", "unpack", "xpcall"} {
		e.globals.RawSetString(name, base.RawGetString(name))
	}
	for name, f := range e.ownBase() {
		e.globals.RawSetString(name, L.NewFunction(f))
	}
	e.globals.RawSetString("_G", e.env)
	e.globals.RawSetString(textOfOperand, L.NewFunction(convertOperand))
	e.globals.RawSetString("_VERSION", lua.LString("Lua 5.1"))

	text := e.stringLibrary(base.RawGetString("string"))
	e.globals.RawSetString("string", e.seal(text))
	texts := L.NewTable() // needed for calls such as ("x"):upper()
	texts.RawSetString("__index", text)
	texts.RawSetString("__metatable", lua.LFalse)
	e.arithmetic(texts)
	L.SetMetatable(lua.LString(""), texts)

	tables := e.choose(base.RawGetString("table"), []string{"getn", "maxn"},
		map[string]lua.LGFunction{"concat": concat})
	e.takesTexts(tables, "concat", 2)
	e.takesNumbers(tables, "concat", 3)
	for _, name := range []string{"insert", "remove", "sort"} {
		tables.RawSetString(name, L.NewFunction(e.guarded(base.RawGetString("table").(*lua.LTable).RawGetString(name))))
	}
	e.withhold("table", tables)
	e.globals.RawSetString("table", e.seal(tables))

	numbers := e.choose(base.RawGetString("math"),
		[]string{"abs", "acos", "asin", "atan", "atan2", "ceil", "cos", "cosh",
			"deg", "exp", "floor", "fmod", "frexp", "ldexp", "log", "log10", "max", "min", "mod", "modf", "pi",
			"pow", "rad", "sin", "sinh", "sqrt", "tan", "tanh"}, e.ownMath())
	numbers.ForEach(func(name, v lua.LValue) {
		if v.Type() == lua.LTFunction {
			e.takesNumbers(numbers, name.String(), 1)
		}
	})
	numbers.RawSetString("huge", lua.LNumber(math.Inf(1))) // in gopher-lua, it is finite
	e.globals.RawSetString("math", e.seal(numbers))
	e.redis = e.redisLibrary()
	e.globals.RawSetString("redis", e.seal(e.redis))
	e.openFormats()

	strict := L.NewTable()
	strict.RawSetString("__index", L.NewFunction(missing))
	e.globals.Metatable = strict
	e.openFunctions()
}

// stringLibrary returns the Lua table "string". from is gopher-lua's.
func (e *Engine) stringLibrary(from lua.LValue) *lua.LTable {
	text := e.choose(from, []string{"byte", "char", "find", "gmatch", "gsub", "len", "match",
		"reverse", "sub"}, e.ownString())
	e.withhold("string", text)
	for name, first := range map[string]int{"rep": 2, "sub": 2, "byte": 2, "char": 1} {
		e.takesNumbers(text, name, first)
	}
	for name, count := range map[string]int{"byte": 1, "find": 2, "gmatch": 2, "gsub": 3, "len": 1, "lower": 1,
		"match": 2, "rep": 1, "reverse": 1, "sub": 1, "upper": 1} {
		e.takesTexts(text, name, count)
	}
	return text
}

// openFormats creates the libraries that encode and decode data.
func (e *Engine) openFormats() {
	e.null = e.state.NewUserData()
	e.globals.RawSetString("cjson", e.seal(e.jsonLibrary()))
	e.globals.RawSetString("cmsgpack", e.seal(e.messagePackLibrary()))
}

// missing raises the error for accessing a global that does not exist.
func missing(L *lua.LState) int {
	name := L.Get(2).String()
	if slices.Contains(notProvided[""], name) {
		L.RaiseError("fencepost: %s is not provided to scripts", name)
	}
	L.RaiseError("Script attempted to access nonexistent global variable '%s'", strings.ReplaceAll(name, "%", "%%"))
	return 0
}

// choose creates a library that contains the named gopher-lua functions and the functions in own.
func (e *Engine) choose(from lua.LValue, names []string, own map[string]lua.LGFunction) *lua.LTable {
	t := e.state.NewTable()
	for _, name := range names {
		t.RawSetString(name, from.(*lua.LTable).RawGetString(name))
	}
	for name, f := range own {
		t.RawSetString(name, e.state.NewFunction(f))
	}
	return t
}

// guarded wraps a function that would write to its first argument without regard to metatables. The wrapper raises an
// error if this argument is a sealed table.
func (e *Engine) guarded(f lua.LValue) lua.LGFunction {
	inner := f.(*lua.LFunction).GFunction
	return func(L *lua.LState) int {
		if e.sealed[L.CheckTable(1)] {
			L.Error(lua.LString(readOnly), 0)
		}
		return inner(L)
	}
}

// ownBase returns replacements for gopher-lua's base functions that would print pointers, change sealed tables, or
// report errors differently than Redis.
func (e *Engine) ownBase() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		"tostring": func(L *lua.LState) int {
			L.Push(lua.LString(e.toString(L, L.CheckAny(1))))
			return 1
		},
		"setmetatable": func(L *lua.LState) int {
			t := L.CheckTable(1)
			if e.sealed[t] {
				L.Error(lua.LString(readOnly), 0)
			}
			L.CheckTypes(2, lua.LTNil, lua.LTTable)
			if m, ok := t.Metatable.(*lua.LTable); ok && m.RawGetString("__metatable") != lua.LNil {
				L.RaiseError("cannot change a protected metatable")
			}
			L.SetMetatable(t, L.Get(2))
			L.SetTop(1)
			return 1
		},
		"rawset": func(L *lua.LState) int {
			t := L.CheckTable(1)
			if e.sealed[t] {
				L.Error(lua.LString(readOnly), 0)
			}
			L.RawSet(t, L.CheckAny(2), L.CheckAny(3))
			L.SetTop(1)
			return 1
		},
		"error": func(L *lua.LState) int {
			e.line = lineOf(L.Where(1), e.line)
			L.Error(e.located(L, L.Get(1), L.OptInt(2, 1)), 0)
			return 0
		},
		"pcall":    protectedCall,
		"tonumber": toNumber,
	}
}

// located returns the value that a script's call of error raises. A text or a number is preceded by the position at the
// given level, if that level is in the script.
func (e *Engine) located(L *lua.LState, v lua.LValue, level int) lua.LValue {
	if level <= 0 || !lua.LVCanConvToString(v) {
		return v
	}
	where := L.Where(level) + " "
	if strings.HasPrefix(where, "[G]") { // a function that is not written in Lua, such as pcall
		where = ""
	}
	return lua.LString(where + e.toString(L, v))
}

// protectedCall implements pcall. As in Redis 7.0, if Redis raised the error, the script gets only the error's message.
func protectedCall(L *lua.LState) int {
	L.CheckAny(1)
	top := L.GetTop()
	err := L.PCall(top-1, lua.MultRet, nil)
	if err == nil {
		L.Insert(lua.LTrue, 1)
		return L.GetTop()
	}
	L.SetTop(0)
	L.Push(lua.LFalse)
	api, ok := err.(*lua.ApiError)
	switch {
	case !ok:
		L.Push(lua.LString(err.Error()))
	default:
		object := api.Object
		if t, isTable := object.(*lua.LTable); isTable && lua.LVCanConvToString(t.RawGetString("err")) {
			object = t.RawGetString("err")
		}
		L.Push(object)
	}
	return 2
}
