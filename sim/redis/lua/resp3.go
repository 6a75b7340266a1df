package lua

import (
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/fencepost-sim/fencepost/sim"
)

// isRESP3 reports whether values of this kind exist in RESP3 but not in RESP2.
func isRESP3(kind byte) bool { return strings.IndexByte("_%~,#=", kind) >= 0 }

// fromRESP3 converts a RESP3 value for a script that has called redis.setresp(3). For example, a map becomes a table
// with a field named map. head is the content of the value's first line, and the rest of the value begins at b[line].
func fromRESP3(L *lua.LState, b, head []byte, line int) (lua.LValue, int) {
	wrapped := func(name string, v lua.LValue) lua.LValue {
		t := L.CreateTable(0, 1)
		t.RawSetString(name, v)
		return t
	}
	switch b[0] {
	case '_':
		return lua.LNil, line
	case '#':
		return lua.LBool(head[0] == 't'), line
	case ',':
		f, _ := strconv.ParseFloat(string(head), 64)
		return wrapped("double", lua.LNumber(f)), line
	case '=':
		end := line + int(atoi(head))
		text := L.CreateTable(0, 2)
		text.RawSetString("format", lua.LString(b[line:line+3]))
		text.RawSetString("string", lua.LString(b[line+4:end]))
		return wrapped("verbatim_string", text), end + 2
	}
	t := L.NewTable()
	for range atoi(head) {
		key, size := fromRESP(L, b[line:])
		line += size
		value := lua.LValue(lua.LTrue)
		if b[0] == '%' {
			value, size = fromRESP(L, b[line:])
			line += size
		}
		t.RawSet(key, value)
	}
	if b[0] == '%' {
		return wrapped("map", t), line
	}
	return wrapped("set", t), line
}

// answerBool appends a boolean to the reply of a script that has called redis.setresp(3).
func (e *Engine) answerBool(v bool) {
	switch {
	case e.client3 && v:
		e.reply = append(e.reply, "#t\r\n"...)
	case e.client3:
		e.reply = append(e.reply, "#f\r\n"...)
	case v:
		e.reply = sim.AppendInt(e.reply, 1)
	default:
		e.reply = sim.AppendInt(e.reply, 0)
	}
}

// answerRESP3 appends the value of a table that represents a double, a map, a set, a big number or a verbatim string.
// It returns false if the table represents none of these. Pairs and members are written in the order in which the
// script created them; Redis does not define an order.
func (e *Engine) answerRESP3(t *lua.LTable, depth int) bool {
	if n, ok := t.RawGetString("double").(lua.LNumber); ok {
		if text := FormatNumber(float64(n), 17); e.client3 {
			e.reply = sim.AppendLine(e.reply, ',', text)
		} else {
			e.reply = sim.AppendBulk(e.reply, text)
		}
		return true
	}
	pairs, isMap := t.RawGetString("map").(*lua.LTable)
	members, isSet := t.RawGetString("set").(*lua.LTable)
	if !isMap && !isSet {
		return e.answerText(t)
	}
	all, kind := pairs, byte('%')
	if !isMap {
		all, kind = members, '~'
	}
	count := 0
	for k, _ := all.Next(lua.LNil); k != lua.LNil; k, _ = all.Next(k) {
		count++
	}
	e.replyHead(kind, count)
	for k, v := all.Next(lua.LNil); k != lua.LNil; k, v = all.Next(k) {
		e.answer(k, depth+1)
		if isMap {
			e.answer(v, depth+1)
		}
	}
	return true
}

// answerText appends the value of a table that represents a big number or a verbatim string. It returns false if the
// table represents neither.
func (e *Engine) answerText(t *lua.LTable) bool {
	if number, ok := t.RawGetString("big_number").(lua.LString); ok {
		text := strings.NewReplacer("\r", " ", "\n", " ").Replace(string(number))
		if e.client3 {
			e.reply = sim.AppendLine(e.reply, '(', text)
		} else {
			e.reply = sim.AppendBulk(e.reply, text)
		}
		return true
	}
	verbatim, ok := t.RawGetString("verbatim_string").(*lua.LTable)
	if !ok {
		return false
	}
	format, ok := verbatim.RawGetString("format").(lua.LString)
	text, ok2 := verbatim.RawGetString("string").(lua.LString)
	if !ok || !ok2 {
		return false
	}
	if !e.client3 {
		e.reply = sim.AppendBulk(e.reply, string(text))
		return true
	}
	at := len(e.reply)
	e.reply = sim.AppendBulk(e.reply, (string(format) + "   ")[:3]+":"+string(text))
	e.reply[at] = '='
	return true
}

// replyHead appends the header of a map or a set.
func (e *Engine) replyHead(kind byte, count int) {
	at := len(e.reply)
	if !e.client3 && kind == '%' {
		count *= 2
	}
	e.reply = sim.AppendArray(e.reply, count)
	if e.client3 {
		e.reply[at] = kind
	}
}
