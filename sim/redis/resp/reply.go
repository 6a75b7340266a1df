// Package resp is what goes over the wire of a simulated Redis: replies in RESP2, and numbers and patterns as Redis reads
// them.
package resp

import "github.com/fencepost-sim/fencepost/sim"

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
type Writer struct{ Out []byte }

// ReplyOK replies +OK.
func (w *Writer) ReplyOK() { w.Out = append(w.Out, "+OK\r\n"...) }

// ReplyNull replies that there is nothing.
func (w *Writer) ReplyNull() { w.Out = append(w.Out, "$-1\r\n"...) }

// ReplyInt replies with an integer.
func (w *Writer) ReplyInt(v int64) { w.Out = sim.AppendInt(w.Out, v) }

// ReplyBulk replies with a bulk string.
func (w *Writer) ReplyBulk(s string) { w.Out = sim.AppendBulk(w.Out, s) }

// ReplyLen begins an array of so many replies.
func (w *Writer) ReplyLen(count int) { w.Out = sim.AppendArray(w.Out, count) }

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
