package redis

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// This file implements publish and subscribe. A message goes to the clients that are subscribed when it is published. A
// client that is subscribed to the channel and to a matching pattern gets it twice. The message is not written to the
// append-only file. Replicas get it in the stream of effects, for their own subscribers.

// audience is one kind of subscription: to channels, to channel patterns, or to shard channels.
type audience struct {
	prefix   string // prefix of its commands and messages: "", "p" or "s"
	channels []*channel
}

// channel is a channel or a pattern with its subscribers. It exists as long as it has subscribers.
type channel struct {
	name  string
	conns []uint64 // in the order in which they subscribed
}

func (a *audience) find(name string) (i int, found bool) {
	i = slices.IndexFunc(a.channels, func(c *channel) bool { return c.name == name })
	return i, i >= 0
}

// The kinds of subscription, as indices into Node.audiences and connection.subscribed.
const (
	toChannels = iota
	toPatterns
	toShards
	audiences
)

func newAudiences() [audiences]audience {
	return [audiences]audience{toChannels: {prefix: ""}, toPatterns: {prefix: "p"}, toShards: {prefix: "s"}}
}

// subscriptions returns the number of subscriptions to report in the replies to SUBSCRIBE and similar commands.
// Channels and patterns are counted together.
func (c *connection) subscriptions(kind int) int {
	if kind == toShards {
		return len(c.subscribed[toShards])
	}
	return len(c.subscribed[toChannels]) + len(c.subscribed[toPatterns])
}

// listensOnly reports whether the connection may send only subscription commands. This is the case if it has
// subscriptions and uses RESP2, because messages could then be mistaken for replies.
func (c *connection) listensOnly() bool {
	return c != nil && !c.resp3 && c.subscriptions(toChannels)+c.subscriptions(toShards) > 0
}

// refusesListener returns an error if a connection with subscriptions must not send this command, and "" otherwise.
func (n *Node) refusesListener(c *nodeCommand, args []string) string {
	if !n.c.listensOnly() || c.Flags&listener != 0 || n.replaying() || n.inScript || n.inExec {
		return ""
	}
	name := c.Name
	if c.Subs != nil {
		name += "|" + strings.ToLower(args[1])
	}
	return "ERR Can't execute '" + name + "': " + listenersMay
}

const listenersMay = "only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"

// subscribe implements SUBSCRIBE, PSUBSCRIBE and SSUBSCRIBE.
func subscribe(kind int) func(n *Node, args []string) {
	return func(n *Node, args []string) {
		c, a := n.state(), &n.audiences[kind]
		if n.inExec && kind == toShards { // Redis permits the other two kinds for the sake of old clients
			n.data.ReplyError("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client")
			return
		}
		for _, name := range args[1:] {
			if !slices.Contains(c.subscribed[kind], name) {
				c.subscribed[kind] = append(c.subscribed[kind], name)
				i, found := a.find(name)
				if !found {
					i = len(a.channels)
					a.channels = append(a.channels, &channel{name: name})
				}
				a.channels[i].conns = append(a.channels[i].conns, n.conn)
			}
			n.replySubscription(a.prefix+"subscribe", name, c.subscriptions(kind))
		}
	}
}

// unsubscribe implements UNSUBSCRIBE, PUNSUBSCRIBE and SUNSUBSCRIBE. If no name is given, it ends all subscriptions in
// the order in which they were made; in Redis, the order is undefined.
func unsubscribe(kind int) func(n *Node, args []string) {
	return func(n *Node, args []string) {
		c, a := n.state(), &n.audiences[kind]
		names := slices.Clone(args[1:])
		if len(names) == 0 {
			names = slices.Clone(c.subscribed[kind])
		}
		for _, name := range names {
			n.unsubscribe(n.conn, c, kind, name)
			n.replySubscription(a.prefix+"unsubscribe", name, c.subscriptions(kind))
		}
		if len(names) == 0 {
			n.data.ReplyPush(3)
			n.data.ReplyBulk(a.prefix + "unsubscribe")
			n.data.ReplyNull()
			n.data.ReplyInt(int64(c.subscriptions(kind)))
		}
	}
}

func (n *Node) replySubscription(what, name string, count int) {
	n.data.ReplyPush(3)
	n.data.ReplyBulk(what)
	n.data.ReplyBulk(name)
	n.data.ReplyInt(int64(count))
}

// unsubscribe removes a connection from a channel's subscribers.
func (n *Node) unsubscribe(id uint64, c *connection, kind int, name string) {
	a := &n.audiences[kind]
	i, found := a.find(name)
	if !found || !slices.Contains(c.subscribed[kind], name) {
		return
	}
	is := func(other string) bool { return other == name }
	c.subscribed[kind] = slices.DeleteFunc(c.subscribed[kind], is)
	a.channels[i].conns = slices.DeleteFunc(a.channels[i].conns, func(other uint64) bool { return other == id })
	if len(a.channels[i].conns) == 0 {
		a.channels = slices.Delete(a.channels, i, i+1)
	}
}

// unsubscribeAll ends all of a connection's subscriptions without sending replies.
func (n *Node) unsubscribeAll(id uint64, c *connection) {
	for kind := range c.subscribed {
		for _, name := range slices.Clone(c.subscribed[kind]) {
			n.unsubscribe(id, c, kind, name)
		}
	}
}

// publish implements PUBLISH and SPUBLISH. The reply is how many times the message is sent to clients of this node.
func publish(kind int) func(n *Node, args []string) {
	return func(n *Node, args []string) {
		if n.member != nil {
			n.toAll(phaseBroadcast, broadcast{n.busHeader(), kind, args[1], args[2]})
		} else {
			(*hooks)(n).Log(store.Effect{Op: store.OpPublish + store.Op(kind), Key: args[1], Value: args[2]})
		}
		n.data.ReplyInt(n.publish(kind, args[1], args[2]))
	}
}

// publish pushes a message to this node's subscribers, and returns how many pushes it made. The channel's subscribers
// come first, followed by the subscribers to matching patterns, each in the order in which they subscribed.
func (n *Node) publish(kind int, name, message string) (receivers int64) {
	if i, found := n.audiences[kind].find(name); found {
		a := &n.audiences[kind]
		receivers += n.pushTo(a.channels[i].conns, name, message, a.prefix+"message", name, message)
	}
	if kind == toShards {
		return receivers
	}
	for _, p := range n.audiences[toPatterns].channels {
		if resp.Match(p.name, name) {
			receivers += n.pushTo(p.conns, name, message, "pmessage", p.name, name, message)
		}
	}
	return receivers
}

// pushTo sends a push message to several connections at the end of the current turn of the event loop. words is the
// content of the message. How long the push is delayed depends on channel and message. pushTo returns the number of
// connections.
func (n *Node) pushTo(conns []uint64, channel, message string, words ...string) int64 {
	key := n.second().Text(channel).Text(message).Text(words[0])
	for _, id := range conns {
		w := resp.Writer{Out: n.heldBytes, RESP3: n.conns[id].resp3}
		w.ReplyPush(len(words))
		for _, word := range words {
			w.ReplyBulk(word)
		}
		n.push(id, key, w)
	}
	return int64(len(conns))
}

// push sends a push message to a connection at the end of the current turn of the event loop. w.Out must begin with
// n.heldBytes, which contains all replies and pushes held back until then. The bytes after that are the push.
func (n *Node) push(conn uint64, key sim.Key, w resp.Writer) {
	n.held = append(n.held, heldReply{conn: conn, key: key, from: len(n.heldBytes), end: len(w.Out)})
	n.heldBytes = w.Out
}

// pubSub implements PUBSUB. It lists channels sorted by name; in Redis, the order is undefined.
func pubSub(n *Node, args []string) {
	sub := strings.ToLower(args[1])
	kind := toChannels
	if strings.HasPrefix(sub, "shard") {
		kind = toShards
	}
	switch sub {
	case "channels", "shardchannels":
		if len(args) > 3 {
			n.data.ReplyError("ERR unknown subcommand or wrong number of arguments for '" + clip(args[1], 128) +
				"'. Try PUBSUB HELP.")
			return
		}
		var names []string
		for _, c := range n.audiences[kind].channels {
			if len(args) == 2 || resp.Match(args[2], c.name) {
				names = append(names, c.name)
			}
		}
		slices.Sort(names)
		n.data.ReplyLen(len(names))
		for _, name := range names {
			n.data.ReplyBulk(name)
		}
	case "numsub", "shardnumsub":
		n.data.ReplyLen(2 * (len(args) - 2))
		for _, name := range args[2:] {
			n.data.ReplyBulk(name)
			count := 0
			if i, found := n.audiences[kind].find(name); found {
				count = len(n.audiences[kind].channels[i].conns)
			}
			n.data.ReplyInt(int64(count))
		}
	case "numpat":
		n.data.ReplyInt(int64(len(n.audiences[toPatterns].channels)))
	}
}
