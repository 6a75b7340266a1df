package redis

import (
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// This file implements client-side caching. A client with tracking enabled receives RESP3 pushes that name the keys
// that it must forget. When a key changes or is deleted, each client that has read it must forget it. When a key
// expires, the clients that have read it are not notified immediately. They are notified when a command accesses the
// key or the background cycle deletes it or, on a replica, when the master's DEL arrives. If a client's own request
// makes the change, the notice follows the reply to that request.

// remember records which keys the current connection has read with a command. If a script reads any key, all keys that
// the script declares are recorded.
func (n *Node) remember(c *nodeCommand, args []string) {
	if c.Flags&write != 0 || !n.tracking.remembers(n.conn) {
		return
	}
	keys := c.onlyReads(args)
	if n.inScript {
		keys = n.scriptKeys
	}
	n.tracking.remember(n.conn, keys)
}

// cachingGiven is called after each command. It ends the effect of CLIENT CACHING, which lasts for one command or, if a
// transaction is open, until the transaction ends.
func (n *Node) cachingGiven(args []string) {
	t := n.tracking.client(n.conn)
	if t != nil && t.Caching && !n.c.multi && (len(args) == 0 || !strings.EqualFold(args[0], "client")) {
		t.Caching = false
	}
}

// invalidate notifies the clients that have read a key. The key has changed or, if expired is true, it has expired and
// was deleted.
func (n *Node) invalidate(name string, expired bool) {
	for _, conn := range n.tracking.dataChanged(name, n.conn, n.inScript || expired) {
		n.forget(conn, []string{name})
	}
}

// invalidateAll tells all clients with tracking enabled that all keys are gone.
func (n *Node) invalidateAll() {
	for _, conn := range n.tracking.flushed() {
		n.forget(conn, nil)
	}
}

// broadcast tells the clients in broadcasting mode which keys have changed in the current turn of the event loop.
func (n *Node) broadcast() {
	if !n.tracking.active() {
		return
	}
	for _, b := range n.tracking.broadcasting() {
		n.pushForget(b.Conn, b.Keys)
	}
}

// forget tells a connection's client to forget keys, or all keys if the list is nil. If the connection's own request is
// being executed, the notice follows the reply.
func (n *Node) forget(conn uint64, keys []string) {
	if conn == n.conn {
		n.after = append(n.after, keys)
		return
	}
	n.pushForget(conn, keys)
}

// pushForget pushes an invalidation message for the given keys, unless the connection does not use RESP3.
func (n *Node) pushForget(conn uint64, keys []string) {
	if !n.conns[conn].resp3 {
		return
	}
	w := resp.Writer{Out: n.heldBytes, RESP3: true}
	w.ReplyPush(2)
	w.ReplyBulk("invalidate")
	key := n.second().Text("invalidate")
	if keys == nil {
		w.ReplyNull()
	} else {
		w.ReplyLen(len(keys))
	}
	for _, name := range keys {
		w.ReplyBulk(name)
		key = key.Text(name)
	}
	n.push(conn, key, w)
}

// trail sends a request's own connection the pushes that the request has caused. It is called after the reply to the
// request.
func (n *Node) trail(conn uint64) {
	for _, keys := range n.after {
		n.pushForget(conn, keys)
	}
	n.after = n.after[:0]
	if n.quits {
		n.quits = false
		n.hangUp(conn)
	}
}

// track implements CLIENT TRACKING.
func track(n *Node, args []string) {
	o, trouble := parseOptions(args[3:])
	on := strings.EqualFold(args[2], "on")
	switch {
	case trouble != "":
	case on:
		trouble = n.tracking.trouble(n.conn, o)
	case !strings.EqualFold(args[2], "off"):
		trouble = resp.ErrSyntax
	}
	switch {
	case trouble != "":
		n.data.ReplyError(trouble)
		return
	case on:
		n.state()
		n.tracking.enable(n.conn, o)
	default:
		n.tracking.disable(n.conn)
	}
	n.data.ReplyOK()
}

// caching implements CLIENT CACHING.
func caching(n *Node, args []string) {
	t := n.tracking.client(n.conn)
	yes := strings.EqualFold(args[2], "yes")
	switch {
	case t == nil:
		n.data.ReplyError("ERR CLIENT CACHING can be called only when the client is in tracking mode " +
			"with OPTIN or OPTOUT mode enabled")
	case yes && !t.OptIn:
		n.data.ReplyError("ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.")
	case !yes && !strings.EqualFold(args[2], "no"):
		n.data.ReplyError(resp.ErrSyntax)
	case !yes && !t.OptOut:
		n.data.ReplyError("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.")
	default:
		t.Caching = true
		n.data.ReplyOK()
	}
}

// trackingInfo implements CLIENT TRACKINGINFO.
func trackingInfo(n *Node, _ []string) {
	t := n.tracking.client(n.conn)
	flags := t.flags()
	n.data.ReplyMap(3)
	n.data.ReplyBulk("flags")
	n.data.ReplySet(len(flags))
	for _, f := range flags {
		n.data.ReplyBulk(f)
	}
	n.data.ReplyBulk("redirect")
	getRedir(n, nil)
	n.data.ReplyBulk("prefixes")
	if t == nil {
		n.data.ReplyLen(0)
		return
	}
	n.data.ReplyLen(len(t.Prefixes))
	for _, p := range t.Prefixes {
		n.data.ReplyBulk(p)
	}
}

// getRedir implements CLIENT GETREDIR. Redirection is not simulated.
func getRedir(n *Node, _ []string) {
	if n.tracking.client(n.conn) == nil {
		n.data.ReplyInt(-1)
	} else {
		n.data.ReplyInt(0)
	}
}
