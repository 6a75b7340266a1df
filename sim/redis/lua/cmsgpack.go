package lua

import (
	"encoding/binary"
	"math"

	lua "github.com/yuin/gopher-lua"
)

// This file implements the function unpack of Redis 7.0's cmsgpack library (deps/lua/src/lua_cmsgpack.c), which decodes
// MessagePack (https://github.com/msgpack/msgpack/blob/master/spec.md). Clients pass structured arguments to their
// scripts in this format. A table's keys are in the order of the text, whereas Redis uses hash table order.

// messagePackLibrary returns the Lua table "cmsgpack", whose functions scripts can call.
func (e *Engine) messagePackLibrary() *lua.LTable {
	t := e.choose(e.state.NewTable(), nil, map[string]lua.LGFunction{
		"unpack": func(L *lua.LState) int {
			given := L.Get(1)
			if L.GetTop() == 0 {
				L.RaiseError("bad argument #1 to 'unpack' (string expected, got no value)")
			} else if !lua.LVCanConvToString(given) {
				L.RaiseError("bad argument #1 to 'unpack' (string expected, got %s)", given.Type())
			}
			m := messagePackReader{L: L, text: e.toString(L, given)}
			count := 0
			for ; m.text != ""; count++ {
				L.Push(m.value())
			}
			return count
		},
	})
	t.RawSetString("_NAME", lua.LString("cmsgpack"))
	t.RawSetString("_VERSION", lua.LString("lua-cmsgpack 0.4.0"))
	t.RawSetString("_COPYRIGHT", lua.LString("Copyright (C) 2012, Salvatore Sanfilippo"))
	t.RawSetString("_DESCRIPTION", lua.LString("MessagePack C implementation for Lua"))
	e.withhold("cmsgpack", t)
	return t
}

// messagePackReader decodes MessagePack to Lua values.
type messagePackReader struct {
	L     *lua.LState
	text  string // what has not been decoded yet
	depth int
}

// take returns the next bytes of the text.
func (m *messagePackReader) take(size uint64) string {
	if size > uint64(len(m.text)) {
		m.L.RaiseError("Missing bytes in input.")
	}
	s := m.text[:size]
	m.text = m.text[size:]
	return s
}

// unsigned reads a number of the given size in bytes, with the most significant byte first.
func (m *messagePackReader) unsigned(size int) uint64 {
	var b [8]byte
	copy(b[8-size:], m.take(uint64(size)))
	return binary.BigEndian.Uint64(b[:])
}

// value reads one value. Its first byte gives its type.
func (m *messagePackReader) value() lua.LValue {
	switch c := m.take(1)[0]; {
	case c <= 0x7f:
		return lua.LNumber(c)
	case c <= 0x8f:
		return m.table(uint64(c&0x0f), true)
	case c <= 0x9f:
		return m.table(uint64(c&0x0f), false)
	case c <= 0xbf:
		return lua.LString(m.take(uint64(c & 0x1f)))
	case c == 0xc0:
		return lua.LNil
	case c == 0xc2, c == 0xc3:
		return lua.LBool(c == 0xc3)
	case c == 0xca:
		return lua.LNumber(math.Float32frombits(uint32(m.unsigned(4))))
	case c == 0xcb:
		return lua.LNumber(math.Float64frombits(m.unsigned(8)))
	case c >= 0xcc && c <= 0xcf: // Redis takes an integer of 64 bits for a signed one
		return lua.LNumber(int64(m.unsigned(1 << (c - 0xcc))))
	case c >= 0xd0 && c <= 0xd3:
		size := 1 << (c - 0xd0)
		unused := 64 - 8*size
		return lua.LNumber(int64(m.unsigned(size)<<unused) >> unused)
	case c >= 0xd9 && c <= 0xdb:
		return lua.LString(m.take(m.unsigned(1 << (c - 0xd9))))
	case c == 0xdc, c == 0xdd:
		return m.table(m.unsigned(2<<(c-0xdc)), false)
	case c == 0xde, c == 0xdf:
		return m.table(m.unsigned(2<<(c-0xde)), true)
	case c >= 0xe0:
		return lua.LNumber(int8(c))
	}
	m.L.RaiseError("Bad data format in input.") // Redis knows neither byte arrays nor extensions
	return nil
}

// table reads an array's elements, or a map's keys and values.
func (m *messagePackReader) table(size uint64, isMap bool) *lua.LTable {
	if m.depth++; m.depth > maxNesting {
		m.L.RaiseError("fencepost: more than %d nested tables in MessagePack", maxNesting)
	}
	t := m.L.NewTable()
	for i := uint64(1); i <= size; i++ {
		key := lua.LValue(lua.LNumber(i))
		if isMap {
			key = m.value()
		}
		value := m.value()
		if number, is := key.(lua.LNumber); key == lua.LNil {
			m.L.Error(lua.LString("table index is nil"), 0)
		} else if is && number != number {
			m.L.Error(lua.LString("table index is NaN"), 0)
		}
		t.RawSet(key, value)
	}
	m.depth--
	return t
}
