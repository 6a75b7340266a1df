package zookeeper

import (
	"strconv"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// kind is what a transaction does.
type kind string

const (
	createSession kind = "createSession"
	moveSession   kind = "moveSession" // to the connection on which it arrived
	closeSession  kind = "closeSession"
	expireSession kind = "expireSession" // closeSession by the leader
	createNode    kind = "create"
	deleteNode    kind = "delete"
	setData       kind = "setData"
)

// command is a transaction as it travels through the log.
type command struct {
	kind    kind
	attempt history.Attempt
	session SessionID
	conn    uint64 // on which it arrived; 0 if no client asked
	path    string
	data    string
	mode    Mode
	version int64
	timeout time.Duration // createSession: as negotiated
	client  sim.ProcessID // createSession: the client that asks
	// due is, for expireSession, the true time at which the session was due to expire when the leader last received a
	// sign of it. It is for records only.
	due history.Time
}

// replicated is c as the log carries it: all fields in order.
func (c *command) replicated() raft.Command {
	n := func(i int64) string { return strconv.FormatInt(i, 10) }
	args := []string{string(c.kind), n(int64(c.session)), n(int64(c.conn))}
	switch c.kind {
	case createSession:
		args = append(args, n(int64(c.timeout)), string(c.client))
	case expireSession:
		args = append(args, n(int64(c.due)))
	case createNode:
		args = append(args, c.path, c.data, n(int64(c.mode)))
	case deleteNode:
		args = append(args, c.path, n(c.version))
	case setData:
		args = append(args, c.path, c.data, n(c.version))
	}
	return raft.Command{Attempt: c.attempt, Args: args}
}

// readCommand undoes replicated.
func readCommand(r *raft.Command) command {
	n := func(i int) int64 {
		v, _ := strconv.ParseInt(r.Args[i], 10, 64)
		return v
	}
	c := command{kind: kind(r.Args[0]), attempt: r.Attempt, session: SessionID(n(1)), conn: uint64(n(2))}
	switch c.kind {
	case createSession:
		c.timeout, c.client = time.Duration(n(3)), sim.ProcessID(r.Args[4])
	case expireSession:
		c.due = history.Time(n(3))
	case createNode:
		c.path, c.data, c.mode = r.Args[3], r.Args[4], Mode(n(5))
	case deleteNode:
		c.path, c.version = r.Args[3], n(4)
	case setData:
		c.path, c.data, c.version = r.Args[3], r.Args[4], n(5)
	}
	return c
}
