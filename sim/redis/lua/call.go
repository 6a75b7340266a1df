package lua

import (
	"bytes"
	"math"
	"strconv"

	lua "github.com/yuin/gopher-lua"

	"github.com/fencepost-sim/fencepost/sim"
)

// call implements redis.call and, if catch is true, redis.pcall.
func (e *Engine) call(L *lua.LState, catch bool) int {
	trouble := e.collect(L)
	var reply []byte
	if trouble == "" {
		reply, trouble = e.command(e.args, e.script3)
	}
	if trouble == "" && reply[0] == '-' {
		trouble = string(bytes.TrimRight(reply[1:], "\r\n"))
	}
	if trouble != "" {
		if !catch {
			return e.raise(L, trouble)
		}
		L.Push(errorTable(L, trouble))
		return 1
	}
	v, _ := fromRESP(L, reply)
	L.Push(v)
	return 1
}

// collect stores a redis.call's arguments in e.args. If they are invalid, it returns the error.
func (e *Engine) collect(L *lua.LState) (trouble string) {
	e.args = e.args[:0]
	top := L.GetTop()
	if top == 0 {
		return "ERR Please specify at least one argument for this redis lib call"
	}
	for i := 1; i <= top; i++ {
		switch v := L.Get(i).(type) {
		case lua.LString:
			e.args = append(e.args, string(v))
		case lua.LNumber:
			e.args = append(e.args, FormatNumber(float64(v), 17))
		default:
			return "ERR Lua redis lib command arguments must be strings or integers"
		}
	}
	return ""
}

// fromRESP converts one RESP value to Lua. It also returns the value's size in bytes. It assumes that b is valid,
// because b was written by this program.
func fromRESP(L *lua.LState, b []byte) (lua.LValue, int) {
	line := bytes.IndexByte(b, '\n') + 1
	head := b[1 : line-2]
	switch b[0] {
	case '+':
		t := L.CreateTable(0, 1)
		t.RawSetString("ok", lua.LString(head))
		return t, line
	case '-':
		return errorTable(L, string(head)), line
	}
	if isRESP3(b[0]) {
		return fromRESP3(L, b, head, line)
	}
	number := atoi(head)
	switch {
	case b[0] == ':':
		return lua.LNumber(number), line
	case number < 0:
		return lua.LFalse, line
	case b[0] == '$':
		end := line + int(number)
		return lua.LString(b[line:end]), end + 2
	}
	t := L.CreateTable(int(number), 0)
	for i := 1; i <= int(number); i++ {
		v, size := fromRESP(L, b[line:])
		t.RawSetInt(i, v)
		line += size
	}
	return t, line
}

// atoi parses an integer in a reply.
func atoi(b []byte) int64 {
	v := int64(0)
	for _, c := range b {
		if c != '-' {
			v = v*10 - int64(c-'0') // uses negative numbers, because the smallest integer has no positive counterpart
		}
	}
	if b[0] == '-' {
		return v
	}
	return -v
}

// answer converts a Lua value to RESP and appends it to the reply. Like Redis, it truncates numbers to integers and
// ends an array at the first nil.
func (e *Engine) answer(v lua.LValue, depth int) {
	if depth > 100 {
		e.replyError("ERR reached lua stack limit")
		return
	}
	if len(e.reply) > maxReply {
		return // the reply is too long already, and Run will replace it
	}
	switch v := v.(type) {
	case lua.LString:
		e.reply = sim.AppendBulk(e.reply, string(v))
	case lua.LNumber:
		e.reply = sim.AppendInt(e.reply, truncate(float64(v)))
	case lua.LBool:
		if e.script3 {
			e.answerBool(bool(v))
		} else if v {
			e.reply = sim.AppendInt(e.reply, 1)
		} else {
			e.replyNull()
		}
	case *lua.LTable:
		e.answerTable(v, depth)
	default:
		e.replyNull()
	}
}

func (e *Engine) replyNull() {
	if e.client3 {
		e.reply = append(e.reply, "_\r\n"...)
	} else {
		e.reply = append(e.reply, "$-1\r\n"...)
	}
}

func (e *Engine) answerTable(t *lua.LTable, depth int) {
	if s, ok := t.RawGetString("err").(lua.LString); ok {
		e.replyError(string(s))
		return
	}
	if s, ok := t.RawGetString("ok").(lua.LString); ok {
		e.reply = sim.AppendLine(e.reply, '+', string(s))
		return
	}
	if e.answerRESP3(t, depth) {
		return
	}
	count := 0
	for t.RawGetInt(count+1) != lua.LNil {
		count++
	}
	e.reply = sim.AppendArray(e.reply, count)
	for i := 1; i <= count; i++ {
		e.answer(t.RawGetInt(i), depth+1)
	}
}

// truncate converts a number to an integer as C does on x86-64: a number that does not fit becomes the smallest
// integer.
func truncate(f float64) int64 {
	if f != f || f >= math.MaxInt64 || f <= math.MinInt64 {
		return math.MinInt64
	}
	return int64(f)
}

// FormatNumber formats a number like C's %.<digits>g. Lua and Redis use this format.
func FormatNumber(f float64, digits int) string {
	if f == math.Trunc(f) && math.Abs(f) < 1e14 && digits >= 14 {
		if f == 0 && math.Signbit(f) {
			return "-0"
		}
		return strconv.FormatInt(int64(f), 10)
	}
	switch {
	case f != f:
		if math.Signbit(f) {
			return "-nan"
		}
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	return cGeneral(f, digits, false)
}
