// Package resp is what goes over the wire of a simulated Redis: replies in RESP2 and RESP3, and numbers and patterns as
// Redis reads them.
package resp

import (
	"strconv"

	"github.com/fencepost-sim/fencepost/sim"
)

// Port is Redis's default, where every simulated one listens.
const Port = "6379"

// Errors that several commands reply with.
const (
	ErrSyntax    = "ERR syntax error"
	ErrNotInt    = "ERR value is not an integer or out of range"
	ErrNotFloat  = "ERR value is not a valid float"
	ErrWrongType = "WRONGTYPE Operation against a key holding the wrong kind of value"
	ErrOverflow  = "ERR increment or decrement would overflow"
	ErrNoKey     = "ERR no such key"
)

// Writer appends replies to one buffer, which is used again and again.
type Writer struct {
	Out   []byte
	RESP3 bool // the types of RESP3 may be used: the client has asked for them with HELLO 3
}

// ReplyOK replies +OK.
func (w *Writer) ReplyOK() { w.Out = append(w.Out, "+OK\r\n"...) }

// ReplyNull replies that there is nothing.
func (w *Writer) ReplyNull() { w.Out = append(w.Out, either(w.RESP3, "_\r\n", "$-1\r\n")...) }

// ReplyNullArray replies that there is nothing where RESP2 has an array.
func (w *Writer) ReplyNullArray() { w.Out = append(w.Out, either(w.RESP3, "_\r\n", "*-1\r\n")...) }

// ReplyInt replies with an integer.
func (w *Writer) ReplyInt(v int64) { w.Out = sim.AppendInt(w.Out, v) }

// ReplyBulk replies with a bulk string.
func (w *Writer) ReplyBulk(s string) { w.Out = sim.AppendBulk(w.Out, s) }

// ReplyLen begins an array of so many replies.
func (w *Writer) ReplyLen(count int) { w.Out = sim.AppendArray(w.Out, count) }

// ReplyMap begins a map of so many pairs of replies.
func (w *Writer) ReplyMap(pairs int) {
	if w.RESP3 {
		w.head('%', pairs)
	} else {
		w.ReplyLen(2 * pairs)
	}
}

// ReplySet begins a set of so many replies.
func (w *Writer) ReplySet(count int) { w.head(either[byte](w.RESP3, '~', '*'), count) }

// ReplyPush begins what is no answer to a request, of so many parts.
func (w *Writer) ReplyPush(parts int) { w.head(either[byte](w.RESP3, '>', '*'), parts) }

func (w *Writer) head(sort byte, count int) {
	w.Out = strconv.AppendInt(append(w.Out, sort), int64(count), 10)
	w.Out = append(w.Out, '\r', '\n')
}

// ReplyDouble replies with a number that is written as text in RESP2.
func (w *Writer) ReplyDouble(text string) {
	if w.RESP3 {
		w.Out = sim.AppendLine(w.Out, ',', text)
	} else {
		w.ReplyBulk(text)
	}
}

// ReplyText replies with a text that is for people.
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

// ReplyError replies with an error, whose first word is its kind.
func (w *Writer) ReplyError(text string) { w.Out = sim.AppendLine(w.Out, '-', text) }

// ReplyStatus replies with a simple string.
func (w *Writer) ReplyStatus(text string) { w.Out = sim.AppendLine(w.Out, '+', text) }

// ReplyBool replies 1 or 0.
func (w *Writer) ReplyBool(yes bool) {
	if yes {
		w.ReplyInt(1)
	} else {
		w.ReplyInt(0)
	}
}
