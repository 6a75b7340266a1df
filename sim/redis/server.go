package redis

import (
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/command"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// version is the Redis that the node behaves as.
const version = "7.0.15"

func ping(n *Node, args []string) {
	c := n.conns[n.conn]
	switch {
	case len(args) > 2:
		n.data.ReplyError(command.WrongArity("ping"))
	case c != nil && c.listens():
		n.data.ReplyLen(2)
		n.data.ReplyBulk("pong")
		n.data.ReplyBulk(append(args, "")[1])
	case len(args) == 1:
		n.data.ReplyStatus("PONG")
	default:
		n.data.ReplyBulk(args[1])
	}
}

func echo(n *Node, args []string) { n.data.ReplyBulk(args[1]) }

func selectDB(n *Node, args []string) {
	if trouble := command.CheckDB(args[1]); trouble != "" {
		n.data.ReplyError(trouble)
		return
	}
	n.data.ReplyOK()
}

// now is TIME: seconds and microseconds of the node's wall clock.
func now(n *Node, _ []string) {
	micros := n.data.Wall / 1000
	n.data.ReplyLen(2)
	n.data.ReplyBulk(strconv.FormatInt(micros/1_000_000, 10))
	n.data.ReplyBulk(strconv.FormatInt(micros%1_000_000, 10))
}

// hello speaks RESP2 only; clients that ask for RESP3 fall back.
func hello(n *Node, args []string) {
	if len(args) > 1 {
		switch v, ok := resp.ParseInt(args[1]); {
		case !ok:
			n.data.ReplyError("ERR Protocol version is not an integer or out of range")
			return
		case v != 2:
			n.data.ReplyError("NOPROTO unsupported protocol version")
			return
		}
	}
	if len(args) > 2 {
		n.data.ReplyError("ERR fencepost: options of HELLO are not simulated")
		return
	}
	n.data.ReplyLen(14)
	for _, pair := range [][2]string{{"server", "redis"}, {"version", version}} {
		n.data.ReplyBulk(pair[0])
		n.data.ReplyBulk(pair[1])
	}
	n.data.ReplyBulk("proto")
	n.data.ReplyInt(2)
	n.data.ReplyBulk("id")
	n.data.ReplyInt(int64(n.conn))
	role := "master"
	if n.repl.master != "" {
		role = "replica"
	}
	for _, pair := range [][2]string{{"mode", "standalone"}, {"role", role}} {
		n.data.ReplyBulk(pair[0])
		n.data.ReplyBulk(pair[1])
	}
	n.data.ReplyBulk("modules")
	n.data.ReplyLen(0)
}

// client is CLIENT, as far as client libraries use it when they connect.
func client(n *Node, args []string) {
	switch strings.ToLower(args[1]) {
	case "id":
		n.data.ReplyInt(int64(n.conn))
	case "getname":
		if c := n.conns[n.conn]; c != nil && c.name != "" {
			n.data.ReplyBulk(c.name)
		} else {
			n.data.ReplyNull()
		}
	case "setname":
		if strings.ContainsFunc(args[2], func(r rune) bool { return r < '!' || r > '~' }) {
			n.data.ReplyError("ERR Client names cannot contain spaces, newlines or special characters.")
			return
		}
		n.state().name = args[2]
		n.data.ReplyOK()
	case "setinfo":
		n.data.ReplyOK()
	}
}

// auth answers as a server without a password.
func auth(n *Node, args []string) {
	switch len(args) {
	case 2:
		n.data.ReplyError("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
	case 3:
		if args[1] == "default" {
			n.data.ReplyOK()
			return
		}
		n.data.ReplyError("WRONGPASS invalid username-password pair or user is disabled.")
	default:
		n.data.ReplyError(resp.ErrSyntax)
	}
}

func quit(n *Node, _ []string) { n.data.ReplyOK() }

// reset gives a connection back the state of a new one.
func reset(n *Node, _ []string) {
	if c := n.conns[n.conn]; c != nil {
		n.leave(c)
		n.unsubscribeAll(n.conn, c)
		*c = connection{woff: c.woff}
	}
	n.data.ReplyStatus("RESET")
}
