package lua

import (
	"slices"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// functionChunk is what Redis's error messages call a function library.
const functionChunk = "user_function"

// flags are the flags that a function can have, in the order in which Redis lists them.
var flags = []string{"no-writes", "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys"}

// Function is a function registered by a library.
type Function struct {
	Name           string
	Description    string
	HasDescription bool
	Flags          []string
	callback       *lua.LFunction
}

// Has reports whether the function has a flag.
func (f *Function) Has(flag string) bool { return slices.Contains(f.Flags, flag) }

// badName is Redis's error for an invalid library or function name.
const badName = "Library names can only contain letters, " +
	"numbers, or underscores(_) and must be at least one character long"

// checkName returns an error message if a library or function cannot have the name, and "" otherwise.
func checkName(name string) string {
	odd := func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}
	if name == "" || strings.ContainsFunc(name, odd) {
		return badName
	}
	return ""
}

// Load runs a library's code, without its first line, and returns the functions that the code registers. While the code
// is running, redis is the only global that it can use. When a function is called later, it can still use the code's
// local variables.
func (e *Engine) Load(code string) (list []*Function, trouble string) {
	f, err := e.compile(code, functionChunk)
	if err != nil {
		return nil, "Error compiling function: " + err.Error()
	}
	f.Env = e.library.env
	e.library.list = nil
	e.library.expose(e.library.loading)
	defer e.library.expose(e.library.running)
	e.budget.left, e.line = maxInstructions, 1
	e.state.Push(f)
	if err := e.state.PCall(0, 0, nil); err != nil {
		e.state.SetTop(0)
		return nil, "Error registering functions: " + e.textOf(err)
	}
	if len(e.library.list) == 0 {
		return nil, "No functions registered"
	}
	return e.library.list, ""
}

// Call calls a function with the keys and the other arguments, and returns its reply in the same form as Run.
func (e *Engine) Call(f *Function, keys, argv []string, resp3 bool) (reply []byte) {
	e.state.Push(f.callback)
	e.state.Push(listOf(e.state, keys))
	e.state.Push(listOf(e.state, argv))
	return e.run(2, f.Name, functionChunk, resp3)
}

// libraryState is the part of an engine that function libraries use.
type libraryState struct {
	env     *lua.LTable // the table that libraries see as _G; it is empty and sealed
	running *lua.LTable // the globals when a function is called
	loading *lua.LTable // the globals when a library is loaded
	list    []*Function // functions that the library being loaded has registered
}

// expose makes a table's fields visible to function libraries as globals.
func (s *libraryState) expose(globals *lua.LTable) {
	s.env.Metatable.(*lua.LTable).RawSetString("__index", globals)
}

// openFunctions creates the globals that function libraries use. It is called before KEYS and ARGV exist.
func (e *Engine) openFunctions() {
	L := e.state
	s := &e.library
	s.running, s.loading = L.NewTable(), L.NewTable()
	s.env = e.seal(s.running)
	e.globals.ForEach(func(name, v lua.LValue) { s.running.RawSet(name, v) })
	s.running.RawSetString("_G", s.env)
	s.running.Metatable = e.globals.Metatable

	api := L.NewTable()
	api.RawSetString("register_function", L.NewFunction(e.register))
	api.Metatable = e.globals.Metatable
	e.redis.ForEach(func(name, v lua.LValue) {
		if text := name.String(); text == "log" || text == strings.ToUpper(text) && !strings.HasPrefix(text, "REPL") {
			api.RawSet(name, v)
		}
	})
	s.loading.RawSetString("redis", e.seal(api))
	s.loading.RawSetString(textOfOperand, e.globals.RawGetString(textOfOperand))
	s.loading.Metatable = e.globals.Metatable
}

// register implements redis.register_function.
func (e *Engine) register(L *lua.LState) int {
	f, trouble := new(Function), ""
	switch L.GetTop() {
	case 1:
		trouble = f.readNamed(L.Get(1))
	case 2:
		trouble = f.readPair(L.Get(1), L.Get(2))
	default:
		trouble = "wrong number of arguments to redis.register_function"
	}
	if trouble == "" {
		trouble = checkName(f.Name)
	}
	if trouble == "" && slices.ContainsFunc(e.library.list, func(o *Function) bool { return o.Name == f.Name }) {
		trouble = "Function already exists in the library"
	}
	if trouble != "" {
		return e.raise(L, "ERR "+trouble)
	}
	e.library.list = append(e.library.list, f)
	return 0
}

// readPair reads a name and a callback.
func (f *Function) readPair(name, callback lua.LValue) (trouble string) {
	if !lua.LVCanConvToString(name) {
		return "first argument to redis.register_function must be a string"
	}
	var ok bool
	f.Name = lua.LVAsString(name)
	if f.callback, ok = callback.(*lua.LFunction); !ok {
		return "second argument to redis.register_function must be a function"
	}
	return ""
}

// readNamed reads a table of named arguments.
func (f *Function) readNamed(v lua.LValue) (trouble string) {
	t, ok := v.(*lua.LTable)
	if !ok {
		return "calling redis.register_function with a single argument is only applicable to Lua table (representing " +
			"named arguments)."
	}
	named := false
	for key, v := t.Next(lua.LNil); key != lua.LNil && trouble == ""; key, v = t.Next(key) {
		if !lua.LVCanConvToString(key) {
			return "named argument key given to redis.register_function is not a string"
		}
		name := strings.ToLower(lua.LVAsString(key))
		named = named || name == "function_name"
		trouble = f.readArgument(name, v)
	}
	switch {
	case trouble != "":
		return trouble
	case !named:
		return "redis.register_function must get a function name argument"
	case f.callback == nil:
		return "redis.register_function must get a callback argument"
	}
	return ""
}

// readArgument reads one named argument.
func (f *Function) readArgument(name string, v lua.LValue) (trouble string) {
	isText := lua.LVCanConvToString(v)
	ok := true
	switch name {
	case "function_name":
		if f.Name = lua.LVAsString(v); !isText {
			return "function_name argument given to redis.register_function must be a string"
		}
	case "description":
		if f.Description, f.HasDescription = lua.LVAsString(v), true; !isText {
			return "description argument given to redis.register_function must be a string"
		}
	case "callback":
		if f.callback, ok = v.(*lua.LFunction); !ok {
			return "callback argument given to redis.register_function must be a function"
		}
	case "flags":
		t, ok := v.(*lua.LTable)
		if !ok {
			return "flags argument to redis.register_function must be a table representing function flags"
		}
		for i := 1; t.RawGetInt(i) != lua.LNil; i++ {
			flag := strings.ToLower(lua.LVAsString(t.RawGetInt(i)))
			if !slices.Contains(flags, flag) {
				return "unknown flag given"
			}
			f.Flags = append(f.Flags, flag)
		}
	default:
		return "unknown argument given to redis.register_function"
	}
	return ""
}

// Library is a function library: its name and its code.
type Library struct {
	Name, Code string
	Functions  []*Function
}

// ParseLibrary reads the first line of a library: "#!lua name=NAME". body is the rest of the code, which begins with a
// line break.
func ParseLibrary(code string) (name, body, trouble string) {
	if !strings.HasPrefix(code, "#!") {
		return "", "", "Missing library metadata"
	}
	end := strings.IndexByte(code, '\n')
	if end < 0 {
		return "", "", "Invalid library metadata"
	}
	if strings.ContainsAny(code[:end], `'"`) {
		return "", "", "fencepost: quotes in the first line of a library are not simulated"
	}
	words := strings.Fields(code[:end])
	named := false
	for _, word := range words[1:] {
		switch {
		case len(word) < 5 || !strings.EqualFold(word[:5], "name="):
			return "", "", "Invalid metadata value given: " + word
		case named:
			return "", "", "Invalid metadata value, name argument was given multiple times"
		}
		name, named = word[5:], true
	}
	switch engine := words[0][2:]; {
	case !named:
		return "", "", "Library name was not given"
	case checkName(name) != "":
		return "", "", badName
	case !strings.EqualFold(engine, "lua"):
		return "", "", "Engine '" + engine + "' not found"
	}
	return name, code[end:], ""
}

// Describe appends the library's entry in the FUNCTION LIST reply.
func (l *Library) Describe(w *resp.Writer, withCode bool) {
	w.ReplyMap(3 + map[bool]int{true: 1}[withCode])
	for _, text := range []string{"library_name", l.Name, "engine", "LUA", "functions"} {
		w.ReplyBulk(text)
	}
	w.ReplyLen(len(l.Functions))
	for _, f := range l.Functions {
		w.ReplyMap(3)
		w.ReplyBulk("name")
		w.ReplyBulk(f.Name)
		w.ReplyBulk("description")
		if f.HasDescription {
			w.ReplyBulk(f.Description)
		} else {
			w.ReplyNull()
		}
		w.ReplyBulk("flags")
		has := slices.DeleteFunc(slices.Clone(flags), func(flag string) bool { return !f.Has(flag) })
		w.ReplySet(len(has))
		for _, flag := range has {
			w.ReplyStatus(flag)
		}
	}
	if withCode {
		w.ReplyBulk("library_code")
		w.ReplyBulk(l.Code)
	}
}

// lineOf returns the line number at the start of an error message ("user_script:3: …"), or otherwise if there is none.
func lineOf(message string, otherwise int) int {
	rest, ok := strings.CutPrefix(message, chunk+":")
	if !ok {
		rest, ok = strings.CutPrefix(message, functionChunk+":")
	}
	if !ok {
		return otherwise
	}
	digits, _, _ := strings.Cut(rest, ":")
	if line, err := strconv.Atoi(digits); err == nil {
		return line
	}
	return otherwise
}
