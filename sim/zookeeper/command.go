package zookeeper

import (
	"strconv"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// kind says what a transaction does.
type kind string

const (
	createSession kind = "createSession"
	moveSession   kind = "moveSession" // moves a session to the connection on which the request arrived
	closeSession  kind = "closeSession"
	expireSession kind = "expireSession" // the leader ends a session that has expired
	createNode    kind = "create"
	deleteNode    kind = "delete"
	setData       kind = "setData"
	setAccess     kind = "setACL"
	checkVersion  kind = "check"
	multi         kind = "multi"
	tornRequest   kind = "torn"          // the request is cut short and cannot be decoded
	reapContainer kind = "reapContainer" // the leader deletes an empty container
)

// command is a transaction. The log contains pointers to commands, so all members share the same command.
type command struct {
	kind    kind
	op      jute.Op // in a part of a multi: the requested operation
	attempt history.Attempt
	session SessionID
	conn    uint64 // connection on which the request arrived; 0 if it is not from a client
	at      int64  // when a member received the request, by its wall clock, in ms since the Unix epoch; 0 if not given
	path    string
	data    string
	null    bool // the data is null, which differs from empty
	mode    Mode
	version int64
	acl     []permission  // nil means that everyone may do everything
	parts   []command     // parts of a multi: their kinds, paths, data, modes, versions and access lists
	timeout time.Duration // createSession, moveSession: the negotiated session timeout
	client  sim.ProcessID // createSession: the client that made the request
	// identities lists the identities that the client has proved.
	identities []string
	// due is the true time at which the session should have expired, measured from the client's last message that the
	// leader knows of. It is set only for expireSession, and used only for records.
	due history.Time
}

// proposed returns c as a proposal for the log. c must not be changed afterward.
func (c *command) proposed() raft.Command {
	return raft.Command{Attempt: c.attempt, Args: c.words(), Value: c}
}

// words returns words that distinguish this transaction from others, so that its messages get their own random delays.
// If the transaction belongs to an attempt, the transaction's kind is enough.
func (c *command) words() []string {
	if c.attempt != "" {
		return []string{string(c.kind)}
	}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	words := []string{string(c.kind), number(int64(c.session)), number(int64(c.conn))}
	switch c.kind {
	case createSession:
		return append(words, number(int64(c.timeout)), string(c.client))
	case moveSession:
		return append(words, number(int64(c.timeout)))
	case expireSession:
		return append(words, number(int64(c.due)))
	case closeSession:
		return words
	}
	return append(words, c.path)
}
