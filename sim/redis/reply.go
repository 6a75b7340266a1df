package redis

import (
	"github.com/fencepost-sim/fencepost/sim"
)

// The node answers in RESP2, appended to one reused buffer.

const (
	errSyntax    = "ERR syntax error"
	errNotInt    = "ERR value is not an integer or out of range"
	errNotFloat  = "ERR value is not a valid float"
	errWrongType = "WRONGTYPE Operation against a key holding the wrong kind of value"
	errOverflow  = "ERR increment or decrement would overflow"
	errNoKey     = "ERR no such key"
)

// writer writes a reply.
type writer struct{ out []byte }

func (w *writer) replyOK()                { w.out = append(w.out, "+OK\r\n"...) }
func (w *writer) replyNull()              { w.out = append(w.out, "$-1\r\n"...) }
func (w *writer) replyInt(v int64)        { w.out = sim.AppendInt(w.out, v) }
func (w *writer) replyBulk(s string)      { w.out = sim.AppendBulk(w.out, s) }
func (w *writer) replyLen(count int)      { w.out = sim.AppendArray(w.out, count) }
func (w *writer) replyError(text string)  { w.out = sim.AppendLine(w.out, '-', text) }
func (w *writer) replyStatus(text string) { w.out = sim.AppendLine(w.out, '+', text) }

func (w *writer) replyBool(yes bool) {
	if yes {
		w.replyInt(1)
	} else {
		w.replyInt(0)
	}
}
