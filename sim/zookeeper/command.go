package zookeeper

import (
	"slices"
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

// command is a transaction in the form that the log carries.
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

// replicated returns c in the form that the log carries: all fields in order.
func (c *command) replicated() raft.Command {
	n := func(i int64) string { return strconv.FormatInt(i, 10) }
	args := []string{string(c.kind), n(int64(c.session)), n(int64(c.conn))}
	switch c.kind {
	case createSession:
		args = append(args, n(int64(c.timeout)), string(c.client))
	case moveSession:
		args = append(args, n(int64(c.timeout)))
	case expireSession:
		args = append(args, n(int64(c.due)))
	case reapContainer:
		args = append(args, c.path)
	case closeSession:
	case multi:
		args = append(args, n(c.at), c.proved())
		for i := range c.parts {
			args = c.parts[i].appendTo(append(args, string(c.parts[i].kind)))
		}
	default:
		args = c.appendTo(append(args, n(c.at), c.proved()))
	}
	return raft.Command{Attempt: c.attempt, Args: args}
}

// proved returns the client's identities as one argument.
func (c *command) proved() string {
	if len(c.identities) == 0 {
		return ""
	}
	return string(jute.Record(nil).Texts(c.identities))
}

// fieldsOfNode is the number of arguments that appendTo appends.
const fieldsOfNode = 7

// appendTo appends the fields that concern a znode.
func (c *command) appendTo(args []string) []string {
	null, acl := "", ""
	if c.null {
		null = "null"
	}
	if c.acl != nil {
		acl = string(appendACL(nil, c.acl))
	}
	return append(args, strconv.Itoa(int(c.op)), c.path, c.data, null, strconv.Itoa(int(c.mode)),
		strconv.FormatInt(c.version, 10), acl)
}

// readFrom decodes what appendTo appended.
func (c *command) readFrom(args []string) {
	op, _ := strconv.Atoi(args[0])
	mode, _ := strconv.Atoi(args[4])
	c.op, c.path, c.data, c.null, c.mode = jute.Op(op), args[1], args[2], args[3] != "", Mode(mode)
	c.version, _ = strconv.ParseInt(args[5], 10, 64)
	if args[6] != "" {
		c.acl = append([]permission{}, readACL(&jute.Fields{Rest: []byte(args[6])})...)
	}
}

// readCommand decodes what replicated returned.
func readCommand(r *raft.Command) command {
	n := func(i int) int64 {
		v, _ := strconv.ParseInt(r.Args[i], 10, 64)
		return v
	}
	c := command{kind: kind(r.Args[0]), attempt: r.Attempt, session: SessionID(n(1)), conn: uint64(n(2))}
	switch c.kind {
	case createSession:
		c.timeout, c.client = time.Duration(n(3)), sim.ProcessID(r.Args[4])
	case moveSession:
		c.timeout = time.Duration(n(3))
	case expireSession:
		c.due = history.Time(n(3))
	case reapContainer:
		c.path = r.Args[3]
	case closeSession:
	default:
		c.at = n(3)
		if r.Args[4] != "" {
			c.identities = (&jute.Fields{Rest: []byte(r.Args[4])}).Texts()
		}
		if c.kind != multi {
			c.readFrom(r.Args[5:])
			break
		}
		for args := range slices.Chunk(r.Args[5:], 1+fieldsOfNode) {
			part := command{kind: kind(args[0]), attempt: c.attempt, at: c.at, identities: c.identities}
			part.readFrom(args[1:])
			c.parts = append(c.parts, part)
		}
	}
	return c
}
