package redis

import (
	"strings"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// face serves the clients of a server that is not a node and yet speaks its protocol, a Sentinel: connections and
// publish/subscribe are those of a node, everything else is answered by the server itself.
type face struct{ node *Node }

// faceCommands are the commands that a Face carries out itself.
var faceCommands = []string{"PING", "HELLO", "CLIENT", "AUTH", "QUIT", "RESET",
	"SUBSCRIBE", "UNSUBSCRIBE", "PSUBSCRIBE", "PUNSUBSCRIBE"}

// newFace makes a Face of a version. answer replies to the commands that are the server's own, by way of w. Making it
// is as costly as making a node.
func newFace(v Version, answer func(w *resp.Writer, args []string)) *face {
	n := New(Config{Version: v})
	n.face = answer
	return &face{n}
}

// start begins a life.
func (f *face) start(h sim.Host) { f.node.Start(h) }

// serve answers a request.
func (f *face) serve(r *sim.Incoming) { f.node.Serve(r) }

// Closed forgets a connection that its client has closed.
func (f *face) Closed(conn uint64) { f.node.Closed(conn) }

// publish pushes a message to all subscribers of its channel, or of a matching pattern.
func (f *face) publish(channel, message string) {
	f.node.beginTurn()
	f.node.attend(0)
	f.node.publish(toChannels, channel, message)
	f.node.finishTurn()
}

// outward has the server behind a Face answer a command, and reports whether it is one of the server's.
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
