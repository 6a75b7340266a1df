package lua

import (
	"crypto/sha1"
	"encoding/hex"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// redisLibrary returns the Lua table "redis", whose functions scripts can call.
func (e *Engine) redisLibrary() *lua.LTable {
	t := e.choose(e.state.NewTable(), nil, map[string]lua.LGFunction{
		"call":         func(L *lua.LState) int { return e.call(L, false) },
		"pcall":        func(L *lua.LState) int { return e.call(L, true) },
		"error_reply":  errorReply,
		"status_reply": statusReply,
		"sha1hex": func(L *lua.LState) int {
			if L.GetTop() != 1 {
				return e.raise(L, "ERR wrong number of arguments")
			}
			text := "" // stays empty for values that are not strings or numbers
			if v := L.Get(1); lua.LVCanConvToString(v) {
				text = e.toString(L, v)
			}
			L.Push(lua.LString(SHA1Hex(text)))
			return 1
		},
		"log":                e.log,
		"replicate_commands": func(L *lua.LState) int { L.Push(lua.LTrue); return 1 },
		"setresp": func(L *lua.LState) int {
			if L.GetTop() != 1 {
				return e.raise(L, "ERR redis.setresp() requires one argument.")
			}
			version := lua.LVAsNumber(L.Get(1))
			if version != 2 && version != 3 {
				return e.raise(L, "ERR RESP version must be 2 or 3.")
			}
			e.script3 = version == 3
			return 0
		},
	})
	for name, v := range map[string]float64{"LOG_DEBUG": 0, "LOG_VERBOSE": 1, "LOG_NOTICE": 2, "LOG_WARNING": 3,
		"REPL_NONE": 0, "REPL_AOF": 1, "REPL_SLAVE": 2, "REPL_REPLICA": 2, "REPL_ALL": 3} {
		t.RawSetString(name, lua.LNumber(v))
	}
	t.RawSetString("REDIS_VERSION", lua.LString(e.version))
	t.RawSetString("REDIS_VERSION_NUM", lua.LNumber(versionNumber(e.version)))
	e.withhold("redis", t)
	return t
}

// log implements redis.log. It only checks its arguments, because a simulated server has no log file.
func (e *Engine) log(L *lua.LState) int {
	level, isNumber := numberOf(L.Get(1))
	switch {
	case L.GetTop() < 2:
		return e.raise(L, "ERR redis.log() requires two arguments or more.")
	case !isNumber:
		return e.raise(L, "ERR First argument must be a number (log level).")
	case truncate(float64(level)) < 0 || truncate(float64(level)) > 3:
		return e.raise(L, "ERR Invalid debug level.")
	}
	return 0
}

// versionNumber encodes a version as a number: 7.1.2 is 0x70102.
func versionNumber(version string) (number int) {
	for part := range strings.SplitSeq(version, ".") {
		v, _ := strconv.Atoi(part)
		number = number<<8 | v
	}
	return number
}

// SHA1Hex returns the SHA-1 sum of text in hexadecimal. Redis identifies scripts by this value.
func SHA1Hex(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// errorReply implements redis.error_reply. Like Redis, it adds the code ERR to a message without a space.
func errorReply(L *lua.LState) int {
	s, ok := L.Get(1).(lua.LString)
	if !ok || L.GetTop() != 1 {
		L.Push(errorTable(L, "ERR wrong number or type of arguments"))
		return 1
	}
	text := strings.TrimPrefix(strings.TrimRight(string(s), "\r\n"), "-")
	if !strings.Contains(text, " ") {
		text = "ERR " + text
	}
	L.Push(errorTable(L, text))
	return 1
}

func statusReply(L *lua.LState) int {
	s, ok := L.Get(1).(lua.LString)
	if !ok || L.GetTop() != 1 {
		L.Push(errorTable(L, "ERR wrong number or type of arguments"))
		return 1
	}
	t := L.CreateTable(0, 1)
	t.RawSetString("ok", s)
	L.Push(t)
	return 1
}

// toString implements tostring without printing addresses, which would differ between runs.
func (e *Engine) toString(L *lua.LState, v lua.LValue) string {
	if f, ok := L.GetMetaField(v, "__tostring").(*lua.LFunction); ok {
		L.Push(f)
		L.Push(v)
		L.Call(1, 1)
		s := L.Get(-1)
		L.Pop(1)
		return lua.LVAsString(s)
	}
	switch v := v.(type) {
	case lua.LNumber:
		return FormatNumber(float64(v), 14)
	case lua.LString, lua.LBool, *lua.LNilType:
		return v.String()
	}
	return v.Type().String() + ": 0x0"
}

// maxRepeat is the maximum length of the result of string.rep and string.format, in bytes.
const maxRepeat = 1 << 24

func (e *Engine) ownString() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		"rep": func(L *lua.LState) int {
			s, count := L.CheckString(1), L.CheckInt(2)
			if count > 0 && len(s) > maxRepeat/count {
				L.RaiseError("fencepost: resulting string too large")
			}
			L.Push(lua.LString(strings.Repeat(s, max(count, 0))))
			return 1
		},
		"format": e.format,
		"upper":  changesCase('a', 'z'),
		"lower":  changesCase('A', 'Z'),
	}
}

// changesCase returns string.upper or string.lower, which change the letters from first to last. Like C in its default
// locale, they change only ASCII letters. Go's functions would also change other letters, and bytes that are not UTF-8.
func changesCase(first, last byte) lua.LGFunction {
	return func(L *lua.LState) int {
		b := []byte(L.CheckString(1))
		for i, c := range b {
			if first <= c && c <= last {
				b[i] = c ^ 0x20
			}
		}
		L.Push(lua.LString(b))
		return 1
	}
}

// lrand48 is Redis's own random number generator for scripts, which produces the same numbers on every machine.
type lrand48 uint64

// bornWith is the state of the random number generator before it is seeded.
const bornWith lrand48 = 0x1234ABCD330E

func (r *lrand48) seed(s int32) { *r = lrand48(uint64(uint32(s))<<16 | 0x330E) }

func (r *lrand48) next() int64 {
	*r = (*r*0x5DEECE66D + 0xB) & (1<<48 - 1)
	return int64(*r >> 17)
}

func (e *Engine) ownMath() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		"random": func(L *lua.LState) int {
			r := float64(e.random.next()%math.MaxInt32) / math.MaxInt32
			switch L.GetTop() {
			case 0:
				L.Push(lua.LNumber(r))
			case 1:
				upper := L.CheckInt(1)
				if upper < 1 {
					L.ArgError(1, "interval is empty")
				}
				L.Push(lua.LNumber(math.Floor(r*float64(upper)) + 1))
			case 2:
				lower, upper := L.CheckInt(1), L.CheckInt(2)
				if lower > upper {
					L.ArgError(2, "interval is empty")
				}
				L.Push(lua.LNumber(math.Floor(r*float64(upper-lower+1)) + float64(lower)))
			default:
				L.RaiseError("wrong number of arguments")
			}
			return 1
		},
		"randomseed": func(L *lua.LState) int {
			e.random.seed(int32(L.CheckInt(1)))
			return 0
		},
	}
}
