package zookeeper

import (
	"strconv"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// kind is the kind of a transaction.
type kind string

const (
	createSession kind = "createSession"
	moveSession   kind = "moveSession" // to the connection on which the request arrived
	closeSession  kind = "closeSession"
	expireSession kind = "expireSession" // closeSession by the leader
	createNode    kind = "create"
	deleteNode    kind = "delete"
	setData       kind = "setData"
	setAccess     kind = "setACL"
	checkVersion  kind = "check"
	multi         kind = "multi"
	tornRequest   kind = "torn"          // the request ends too early to be decoded
	reapContainer kind = "reapContainer" // deleteNode by the leader
)

// command is a transaction. The log carries a pointer to it, which all members share.
type command struct {
	kind    kind
	op      jute.Op // in a part of a multi: the operation that was requested
	attempt history.Attempt
	session SessionID
	conn    uint64 // connection of the request; 0 if no client made it
	at      int64  // ms since the Unix epoch, by the wall clock of the member that took the request; 0: not stated
	path    string
	data    string
	null    bool // there is no data, not even empty data
	mode    Mode
	version int64
	acl     []permission  // nil: everybody may do everything
	parts   []command     // parts of a multi: their kinds, paths, data, modes, versions and access lists
	timeout time.Duration // createSession, moveSession: as negotiated
	client  sim.ProcessID // createSession: the client that makes the request
	// identities are the identities that the client has proved.
	identities []string
	// due, for expireSession, is the true time at which the session was due to expire, counted from the last sign of
	// life that the leader received. It is for records only.
	due history.Time
}

// proposed returns c in the form that is proposed; nobody may change c afterwards.
func (c *command) proposed() raft.Command {
	return raft.Command{Attempt: c.attempt, Args: c.words(), Value: c}
}

// words distinguishes the messages about one transaction from those about others. If the transaction has an attempt,
// its kind is enough.
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
