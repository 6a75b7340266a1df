package zookeeper

import "github.com/fencepost-sim/fencepost/sim/zookeeper/jute"

// body returns the part of a reply that follows the zxid. It begins with the error code. If the code is 0, the caller
// appends the result.
func body(code int32) jute.Record { return jute.Record(nil).Int(code) }

// reply returns the complete reply to the request that is being served.
func (c *connection) reply(at Zxid, body []byte) []byte {
	switch code := (&jute.Fields{Rest: body}).Int(); {
	case c.op == jute.CreateSession:
		return jute.Record(body).Framed()
	case c.op == jute.Auth:
		at = 0
	case code == jute.Unimplemented && !creates(c.op):
		at = -1
	}
	return append(jute.Record(nil).Int(c.xid).Long(int64(at)), body...).Framed()
}

// creates reports whether an operation creates a znode. It also returns true for kinds of znodes that are refused.
func creates(op jute.Op) bool {
	return op == jute.Create || op == jute.Create2 || op == jute.CreateContainer || op == jute.CreateTTL
}

// moved reports whether a reply's body says that the session has moved to another connection. ZooKeeper never sends
// such a reply, but closes the connection instead.
func (c *connection) moved(body []byte) bool {
	return c.op != jute.CreateSession && (&jute.Fields{Rest: body}).Int() == jute.SessionMoved
}

// outcome appends the body of a transaction's reply to b.
func (c *connection) outcome(b jute.Record, cmd *command, r *result) []byte {
	switch {
	case c.op == jute.CreateSession && r.session == nil:
		return append(b, noSession(c.old)...)
	case c.op == jute.CreateSession:
		id := int64(r.session.id)
		return append(b, jute.ConnectReply(id, int32(r.session.timeout.Milliseconds()), password(id), c.old)...)
	case cmd.kind == multi && r.code != MarshallingError:
		return outcomes(b.Int(0), cmd, r)
	}
	return appendOutcome(b.Int(numbers[r.code]), c.op, r)
}

// appendOutcome appends the result of an operation to b.
func appendOutcome(b jute.Record, op jute.Op, r *result) jute.Record {
	if r.code != "" {
		return b
	}
	switch op {
	case jute.Create:
		return b.Text(r.path)
	case jute.Create2, jute.CreateContainer, jute.CreateTTL:
		return appendStat(b.Text(r.path), r.stat)
	case jute.SetData, jute.SetACL:
		return appendStat(b, r.stat)
	}
	return b
}

// outcomes appends the results of a multi's parts to b. If a part failed, nothing was executed, and each part gets an
// error code: 0 before the failed part, and RuntimeInconsistency after it.
func outcomes(b jute.Record, c *command, r *result) jute.Record {
	const failed, more, over = -1, false, true
	for i := range c.parts {
		switch {
		case r.code == "":
			op := c.parts[i].op
			if op == jute.CreateContainer {
				op = jute.Create2 // the code that ZooKeeper uses in this reply (OpResult.CreateResult)
			}
			b = appendOutcome(b.Int(int32(op)).Flag(more).Int(0), op, &r.each[i])
			continue
		case i < len(r.each):
			code := numbers[r.each[i].code]
			b = b.Int(failed).Flag(more).Int(code).Int(code)
		default:
			b = b.Int(failed).Flag(more).Int(jute.RuntimeInconsistency).Int(jute.RuntimeInconsistency)
		}
	}
	return b.Int(failed).Flag(over).Int(-1)
}

// noSession returns the reply to a client whose session has ended or whose password is wrong.
func noSession(old bool) jute.Record {
	return jute.ConnectReply(0, 0, noPassword, old)
}

// noPassword is sent instead of a password if there is no session.
var noPassword = string(make([]byte, jute.PasswordLength))

// password returns a session's password (ZooKeeperServer.generatePasswd, which uses java.util.Random).
func password(session int64) string {
	const multiplier, addend, mask = 0x5DEECE66D, 0xB, 1<<48 - 1
	seed := (uint64(session) ^ 0xB3415C00 ^ multiplier) & mask
	b := make([]byte, 0, jute.PasswordLength)
	for len(b) < jute.PasswordLength {
		seed = (seed*multiplier + addend) & mask
		n := uint32(seed >> 16)
		b = append(b, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
	}
	return string(b)
}
