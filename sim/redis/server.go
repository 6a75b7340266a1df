package redis

import (
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/resp"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
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

// serverTime implements TIME, which returns the seconds and microseconds of the node's wall clock.
func serverTime(n *Node, _ []string) {
	micros := n.data.Wall / 1000
	n.data.ReplyLen(2)
	n.data.ReplyBulk(strconv.FormatInt(micros/1_000_000, 10))
	n.data.ReplyBulk(strconv.FormatInt(micros%1_000_000, 10))
}

// notifyKeyspaceEvents is the only parameter that CONFIG can read and set.
const notifyKeyspaceEvents = "notify-keyspace-events"

// config implements CONFIG GET and CONFIG SET. It rejects patterns, and parameters that are not simulated.
func config(n *Node, args []string) {
	set := strings.EqualFold(args[1], "set")
	if set && len(args)%2 != 0 {
		n.data.ReplyError(resp.ErrSyntax)
		return
	}
	step := 1
	if set {
		step = 2
	}
	for i := 2; i < len(args); i += step {
		if !strings.EqualFold(args[i], notifyKeyspaceEvents) {
			n.data.ReplyError("ERR fencepost: CONFIG " + strings.ToUpper(args[1]) + " of '" +
				clip(args[i], 128) + "' is not simulated: only " + notifyKeyspaceEvents + " is")
			return
		}
	}
	if !set {
		n.data.ReplyMap(1)
		n.data.ReplyBulk(args[2]) // spelled as in the client's request
		n.data.ReplyBulk(n.data.Notifies.String())
		return
	}
	n.setNotifications(args)
}

func (n *Node) setNotifications(args []string) {
	events, trouble := store.ParseEvents(args[3])
	switch {
	case len(args) > 4:
		trouble = "duplicate parameter"
	case n.cfg.Version == Redis8 && strings.ContainsAny(args[3], "oc"):
		trouble = "fencepost: the flags o and c are not simulated, so overwritten keys cause no notifications"
	case trouble != "": // Redis formats the previous value and parses the text again, in which n may be missing
		n.data.Notifies, _ = store.ParseEvents(n.data.Notifies.String())
	}
	if trouble != "" {
		n.data.ReplyError("ERR CONFIG SET failed (possibly related to argument '" + args[2] + "') - " + trouble)
		return
	}
	n.data.Notifies = events
	n.data.ReplyOK()
}
