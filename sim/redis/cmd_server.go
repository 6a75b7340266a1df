package redis

import (
	"strconv"
	"strings"
)

// version is the Redis that the node behaves as.
const version = "7.0.15"

func ping(n *Node, args []string) {
	c := n.conns[n.conn]
	switch {
	case len(args) > 2:
		n.data.replyError(wrongArity("ping"))
	case c != nil && c.listens():
		n.data.replyLen(2)
		n.data.replyBulk("pong")
		n.data.replyBulk(append(args, "")[1])
	case len(args) == 1:
		n.data.replyStatus("PONG")
	default:
		n.data.replyBulk(args[1])
	}
}

func echo(n *Node, args []string) { n.data.replyBulk(args[1]) }

func selectDB(n *Node, args []string) {
	if trouble := checkDB(args[1]); trouble != "" {
		n.data.replyError(trouble)
		return
	}
	n.data.replyOK()
}

// now is TIME: seconds and microseconds of the node's wall clock.
func now(n *Node, _ []string) {
	micros := n.data.wall / 1000
	n.data.replyLen(2)
	n.data.replyBulk(strconv.FormatInt(micros/1_000_000, 10))
	n.data.replyBulk(strconv.FormatInt(micros%1_000_000, 10))
}

// hello speaks RESP2 only; clients that ask for RESP3 fall back.
func hello(n *Node, args []string) {
	if len(args) > 1 {
		switch v, ok := parseInt(args[1]); {
		case !ok:
			n.data.replyError("ERR Protocol version is not an integer or out of range")
			return
		case v != 2:
			n.data.replyError("NOPROTO unsupported protocol version")
			return
		}
	}
	if len(args) > 2 {
		n.data.replyError("ERR fencepost: options of HELLO are not simulated")
		return
	}
	n.data.replyLen(14)
	for _, pair := range [][2]string{{"server", "redis"}, {"version", version}} {
		n.data.replyBulk(pair[0])
		n.data.replyBulk(pair[1])
	}
	n.data.replyBulk("proto")
	n.data.replyInt(2)
	n.data.replyBulk("id")
	n.data.replyInt(int64(n.conn))
	role := "master"
	if n.repl.master != "" {
		role = "replica"
	}
	for _, pair := range [][2]string{{"mode", "standalone"}, {"role", role}} {
		n.data.replyBulk(pair[0])
		n.data.replyBulk(pair[1])
	}
	n.data.replyBulk("modules")
	n.data.replyLen(0)
}

// client is CLIENT, as far as client libraries use it when they connect.
func client(n *Node, args []string) {
	switch strings.ToLower(args[1]) {
	case "id":
		n.data.replyInt(int64(n.conn))
	case "getname":
		if c := n.conns[n.conn]; c != nil && c.name != "" {
			n.data.replyBulk(c.name)
		} else {
			n.data.replyNull()
		}
	case "setname":
		if strings.ContainsFunc(args[2], func(r rune) bool { return r < '!' || r > '~' }) {
			n.data.replyError("ERR Client names cannot contain spaces, newlines or special characters.")
			return
		}
		n.state().name = args[2]
		n.data.replyOK()
	case "setinfo":
		n.data.replyOK()
	}
}

// auth answers as a server without a password.
func auth(n *Node, args []string) {
	switch len(args) {
	case 2:
		n.data.replyError("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
	case 3:
		if args[1] == "default" {
			n.data.replyOK()
			return
		}
		n.data.replyError("WRONGPASS invalid username-password pair or user is disabled.")
	default:
		n.data.replyError(errSyntax)
	}
}

func quit(n *Node, _ []string) { n.data.replyOK() }

// reset gives a connection back the state of a new one.
func reset(n *Node, _ []string) {
	if c := n.conns[n.conn]; c != nil {
		n.leave(c)
		n.unsubscribeAll(n.conn, c)
		*c = connection{woff: c.woff}
	}
	n.data.replyStatus("RESET")
}
