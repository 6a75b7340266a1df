package redis

import (
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// faceCommands are the commands that the node behind a Sentinel carries out itself.
var faceCommands = []string{"PING", "HELLO", "CLIENT", "AUTH", "QUIT", "RESET",
	"SUBSCRIBE", "UNSUBSCRIBE", "PSUBSCRIBE", "PUNSUBSCRIBE"}

// newFace makes a node that serves the clients of a server that is none and yet speaks its protocol, a Sentinel:
// connections and publish/subscribe are those of a node, everything else is answered by the server itself. answer
// replies to the commands that are the server's own, by way of w.
func newFace(v Version, answer func(w *resp.Writer, args []string)) *Node {
	n := New(Config{Version: v})
	n.face = answer
	return n
}

// announce pushes a message to all subscribers of its channel, or of a matching pattern.
func (n *Node) announce(channel, message string) {
	n.beginTurn()
	n.attend(0)
	n.publish(toChannels, channel, message)
	n.finishTurn()
}

// outward has the Sentinel answer a command, and reports whether it is one of the Sentinel's own.
func (n *Node) outward(args []string) bool {
	switch {
	case isOneOf(args[0], faceCommands...):
		return false
	case n.c.listensOnly():
		name := args[0]
		if len(args) > 1 && strings.EqualFold(name, "sentinel") {
			name += "|" + args[1]
		}
		n.data.ReplyError("ERR Can't execute '" + clip(strings.ToLower(name), 128) + "': " + listenersMay)
	default:
		n.face(&n.data.Writer, args)
	}
	return true
}
