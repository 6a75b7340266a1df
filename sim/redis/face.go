package redis

import (
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// faceCommands lists the commands that the Sentinel's internal node executes itself.
var faceCommands = []string{"PING", "HELLO", "CLIENT", "AUTH", "QUIT", "RESET",
	"SUBSCRIBE", "UNSUBSCRIBE", "PSUBSCRIBE", "PUNSUBSCRIBE"}

// newFace returns a node that handles a Sentinel's client connections. It uses Redis's protocol and stores no data. It
// executes only faceCommands itself, and passes all other commands to answer, which writes the reply to w.
func newFace(v Version, answer func(w *resp.Writer, args []string)) *Node {
	n := New(Config{Version: v})
	n.face = answer
	return n
}

// announce pushes a message to all subscribers to the channel or to a matching pattern.
func (n *Node) announce(channel, message string) {
	n.beginTurn()
	n.attend(0)
	n.publish(toChannels, channel, message)
	n.finishTurn()
}

// outward passes a command to the Sentinel. It returns false if the node must execute the command itself.
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
