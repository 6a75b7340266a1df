package redis

import "strings"

// dispatch executes a command, or queues it in a transaction, and appends its reply to out.
func (n *Node) dispatch(args []string) {
	if len(args) == 0 {
		n.data.replyError("ERR fencepost: a request without a command")
		return
	}
	c := findCommand(args[0])
	if c == nil {
		n.refuse(nil, unknown(args))
		return
	}
	trouble := c.refusal(args)
	if trouble == "" && n.repl.restricted && c.flags&write != 0 {
		trouble = n.refusesWrites()
	}
	if trouble == "" {
		trouble = n.refusesListener(c, append(args, "")[1])
	}
	if trouble != "" {
		n.refuse(c, trouble)
		return
	}
	if t := n.transaction(); t != nil && c.flags&immediate == 0 {
		t.queue = append(t.queue, append([]string(nil), args...))
		n.data.replyStatus("QUEUED")
		return
	}
	if !n.replaying() {
		n.data.expireDue()
	}
	if c.run != nil {
		c.run(n, args)
		return
	}
	c.do(n.data, args)
}

// refuse answers with the error with which a command (nil: an unknown one) is refused. An open transaction will not be
// executed; an EXEC ends it.
func (n *Node) refuse(c *nodeCommand, trouble string) {
	t := n.transaction()
	if c != nil && c.name == "exec" {
		trouble = "EXECABORT Transaction discarded because of: " + strings.TrimPrefix(trouble, "ERR ")
		if conn := n.conns[n.conn]; conn != nil {
			n.leave(conn)
		}
	} else if t != nil {
		t.refused = true
	}
	n.data.replyError(trouble)
}
