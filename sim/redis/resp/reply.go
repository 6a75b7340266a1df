// Package resp implements Redis's wire format: replies in RESP2 and RESP3, and Redis's syntax for numbers and patterns.
package resp

import (
	"strconv"

	"github.com/fencepost-sim/fencepost/sim"
)

// Port is Redis's default port. Every simulated Redis server listens on it.
const Port = "6379"

// Errors that several commands return.
const (
	ErrSyntax    = "ERR syntax error"
	ErrNotInt    = "ERR value is not an integer or out of range"
	ErrNotFloat  = "ERR value is not a valid float"
	ErrWrongType = "WRONGTYPE Operation against a key holding the wrong kind of value"
	ErrOverflow  = "ERR increment or decrement would overflow"
	ErrNoKey     = "ERR no such key"
)

// Writer appends replies to a reusable buffer.
type Writer struct {
	Out   []byte
	RESP3 bool // replies may use RESP3, because the client has sent HELLO 3
}

// ReplyOK appends the OK status.
func (w *Writer) ReplyOK() { w.Out = append(w.Out, "+OK\r\n"...) }

// ReplyNull appends null.
func (w *Writer) ReplyNull() { w.Out = append(w.Out, either(w.RESP3, "_\r\n", "$-1\r\n")...) }

// ReplyNullArray appends null or, in RESP2, a null array.
func (w *Writer) ReplyNullArray() { w.Out = append(w.Out, either(w.RESP3, "_\r\n", "*-1\r\n")...) }

// ReplyInt appends an integer.
func (w *Writer) ReplyInt(v int64) { w.Out = sim.AppendInt(w.Out, v) }

// ReplyBulk appends a bulk string.
func (w *Writer) ReplyBulk(s string) { w.Out = sim.AppendBulk(w.Out, s) }

// ReplyLen appends an array header with the given number of elements.
func (w *Writer) ReplyLen(count int) { w.Out = sim.AppendArray(w.Out, count) }

// ReplyMap appends a map header with the given number of pairs.
func (w *Writer) ReplyMap(pairs int) {
	if w.RESP3 {
		w.head('%', pairs)
	} else {
		w.ReplyLen(2 * pairs)
	}
}

// ReplySet appends a set header with the given number of elements.
func (w *Writer) ReplySet(count int) { w.head(either[byte](w.RESP3, '~', '*'), count) }

// ReplyPush appends a push header with the given number of elements. A push is not a reply to a request.
func (w *Writer) ReplyPush(parts int) { w.head(either[byte](w.RESP3, '>', '*'), parts) }

func (w *Writer) head(sort byte, count int) {
	w.Out = strconv.AppendInt(append(w.Out, sort), int64(count), 10)
	w.Out = append(w.Out, '\r', '\n')
}

// ReplyDouble appends a floating-point number, given as text. In RESP2 it is a bulk string.
func (w *Writer) ReplyDouble(text string) {
	if w.RESP3 {
		w.Out = sim.AppendLine(w.Out, ',', text)
	} else {
		w.ReplyBulk(text)
	}
}

// ReplyText appends a string for human readers. In RESP2 it is a bulk string.
func (w *Writer) ReplyText(text string) {
	if w.RESP3 {
		w.head('=', len("txt:")+len(text))
		w.Out = append(append(append(w.Out, "txt:"...), text...), '\r', '\n')
	} else {
		w.ReplyBulk(text)
	}
}

func either[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

// ReplyError appends an error. The text begins with the error code.
func (w *Writer) ReplyError(text string) { w.Out = sim.AppendLine(w.Out, '-', text) }

// ReplyStatus appends a simple string.
func (w *Writer) ReplyStatus(text string) { w.Out = sim.AppendLine(w.Out, '+', text) }

// ReplyBool appends 1 for true and 0 for false.
func (w *Writer) ReplyBool(yes bool) {
	if yes {
		w.ReplyInt(1)
	} else {
		w.ReplyInt(0)
	}
}
