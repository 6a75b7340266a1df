package redis

import (
	"strconv"
)

func ping(n *Node, args []string) {
	switch {
	case len(args) > 2:
		n.data.ReplyError(wrongArity("ping"))
	case n.c.listensOnly():
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
	if trouble := checkDB(args[1]); trouble != "" {
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
