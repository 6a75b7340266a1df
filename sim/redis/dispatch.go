package redis

import (
	"strings"
)

// dispatch executes a command, or queues it in a transaction, and appends its reply to out.
func (n *Node) dispatch(args []string) {
	if len(args) == 0 {
		n.data.ReplyError("ERR fencepost: a request without a command")
		return
	}
	if n.face != nil && n.outward(args) {
		return
	}
	c := n.find(args[0])
	if c == nil {
		n.refuse(nil, unknown(n.cfg.Version, args))
		return
	}
	trouble := c.refusalOf(n.cfg.Version, args)
	if trouble == "" && n.cfg.Password != "" {
		trouble = n.refusesStranger(c)
	}
	if trouble == "" && n.repl.restricted && c.Flags&write != 0 {
		trouble = n.refusesWrites()
	}
	if trouble == "" {
		trouble = n.refusesListener(c, args)
	}
	if trouble != "" {
		n.refuse(c, trouble)
		return
	}
	if t := n.transaction(); t != nil && c.Flags&immediate == 0 {
		t.queue = append(t.queue, append([]string(nil), args...))
		n.data.ReplyStatus("QUEUED")
		return
	}
	if !n.replaying() {
		n.data.ExpireDue()
	}
	if c.run != nil {
		c.run(n, args)
		return
	}
	c.carryOut(n.data, args)
	if n.tracking.active() {
		n.remember(c, args)
	}
}

// refuse answers with the error with which a command (nil: an unknown one) is refused. An open transaction will not be
// executed; an EXEC ends it.
func (n *Node) refuse(c *nodeCommand, trouble string) {
	t := n.transaction()
	if c != nil && c.Name == "exec" {
		trouble = "EXECABORT Transaction discarded because of: " + strings.TrimPrefix(trouble, "ERR ")
		if n.c != nil {
			n.leave(n.c)
		}
	} else if t != nil {
		t.refused = true
	}
	n.data.ReplyError(trouble)
}
