package redis

import (
	"strconv"

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

func (n *Node) replyOK()                { n.out = append(n.out, "+OK\r\n"...) }
func (n *Node) replyNull()              { n.out = append(n.out, "$-1\r\n"...) }
func (n *Node) replyInt(v int64)        { n.out = sim.AppendInt(n.out, v) }
func (n *Node) replyBulk(s string)      { n.out = sim.AppendBulk(n.out, s) }
func (n *Node) replyLen(count int)      { n.out = sim.AppendArray(n.out, count) }
func (n *Node) replyError(text string)  { n.out = sim.AppendLine(n.out, '-', text) }
func (n *Node) replyStatus(text string) { n.out = sim.AppendLine(n.out, '+', text) }

func (n *Node) replyBool(yes bool) {
	if yes {
		n.replyInt(1)
	} else {
		n.replyInt(0)
	}
}

// parseInt reads a decimal integer as strictly as Redis does: no sign but '-', no leading zeros, no spaces.
func parseInt(s string) (int64, bool) {
	digits := s
	if len(s) > 1 && s[0] == '-' {
		digits = s[1:]
		if digits == "0" {
			return 0, false
		}
	}
	if digits == "" || len(digits) > 1 && digits[0] == '0' || digits[0] < '0' || digits[0] > '9' {
		return 0, false
	}
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil
}
