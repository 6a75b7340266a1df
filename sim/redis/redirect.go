package redis

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

const (
	crossSlot = "CROSSSLOT Keys in request don't hash to the same slot"
	tryAgain  = "TRYAGAIN Multiple keys request during rehashing of slot"
)

// takeAsking records whether a request follows ASKING. ASKING applies to the next request or transaction, even if the
// server refuses it. name is the command's name, or "" if the command is unknown or the request is malformed.
func (n *Node) takeAsking(name string) {
	if n.member == nil || n.conn == 0 || n.inScript || n.inExec {
		return
	}
	n.asking = n.c != nil && n.c.asking
	if n.asking && n.transaction() == nil {
		n.c.asking = name == "asking" || name == "multi"
	}
}

// redirection returns the error with which a cluster member refuses a request whose keys it does not serve
// (getNodeByQuery), or "" if it serves them.
func (n *Node) redirection(c *nodeCommand, args []string) string {
	if n.conn == 0 || n.inScript || n.inExec {
		return ""
	}
	asking := n.asking
	if c.Name != "exec" || n.transaction() == nil {
		keys := c.keysOf(args)
		return n.redirectError(keys, c.storedKeys(keys), c.Flags&write != 0, asking, c.toShard())
	}
	var keys []string
	writes := false
	for _, queued := range n.c.queue {
		q := n.find(queued[0])
		keys, writes = append(keys, q.keysOf(queued)...), writes || q.Flags&write != 0
	}
	// Redis 7.0 treats shard channels in a transaction as keys.
	return n.redirectError(keys, keys, writes, asking, false)
}

// toShard reports whether a command's keys are shard channels.
func (c *nodeCommand) toShard() bool { return isOneOf(c.Name, "SPUBLISH", "SSUBSCRIBE") }

// storedKeys returns the keys that name stored data: all of them, or none if they are shard channels.
func (c *nodeCommand) storedKeys(keys []string) []string {
	if c.toShard() {
		return nil
	}
	return keys
}

// redirectError returns the error for a request with the given keys, or "" if this node serves the request. stored
// contains the keys that are not shard channels. Messages on shard channels are served even while the cluster is down,
// and by replicas as well as masters.
func (n *Node) redirectError(keys, stored []string, writes, asking, toShard bool) string {
	if len(keys) == 0 {
		return ""
	}
	m, slot := n.member, KeySlot(keys[0])
	owner := m.owner(slot)
	if owner == nil {
		return "CLUSTERDOWN Hash slot not served"
	}
	if slices.ContainsFunc(keys, func(key string) bool { return KeySlot(key) != slot }) {
		return crossSlot
	}
	missing := slices.ContainsFunc(stored, func(key string) bool { return n.data.Peek(key) == nil })
	several := slices.ContainsFunc(keys, func(key string) bool { return key != keys[0] })
	switch to := m.migrating[slot]; {
	case !m.up && !toShard:
		return "CLUSTERDOWN The cluster is down"
	case owner == m.self && to != nil && missing:
		if slices.ContainsFunc(stored, func(key string) bool { return n.data.Peek(key) != nil }) {
			return tryAgain
		}
		if to == m.self { // Redis allows an operator to cause this
			return ""
		}
		return sentTo("ASK", slot, to)
	case m.importing[slot] != nil && asking:
		if several && missing {
			return tryAgain
		}
		return ""
	case owner == m.self, m.self.master == owner && (toShard || !writes && n.c != nil && n.c.reads):
		return ""
	}
	return sentTo("MOVED", slot, owner)
}

// sentTo returns the error that redirects a client to another member.
func sentTo(how string, slot int, p *peer) string {
	return how + " " + strconv.Itoa(slot) + " " + string(p.name) + ":" + resp.Port
}

// sendAway replies with a redirection. If a transaction is open, its EXEC will fail. If the redirected command is EXEC
// itself, the transaction ends.
func (n *Node) sendAway(c *nodeCommand, where string) {
	if t := n.transaction(); t != nil {
		if t.refused = true; c.Name == "exec" {
			n.leave(t)
		}
	}
	n.data.ReplyError(where)
}

// keysOf returns a request's keys. For commands that deal with messages, these are the shard channels.
func (c *nodeCommand) keysOf(args []string) []string {
	at := c.keys
	switch {
	case strings.HasPrefix(c.Name, "eval"), c.Flags&calls != 0:
		keys, _, _ := scriptArgs(args)
		return keys
	case c.Name == "spublish":
		return args[1:2]
	case c.Name == "ssubscribe":
		return args[1:]
	case at != (keyRange{}):
	case c.run != nil:
		at = noKey
	default:
		at = oneKey
	}
	last := at.last
	if last < 0 {
		last += len(args)
	}
	if at.step == 1 {
		return args[at.first : max(last, at.first-1)+1]
	}
	var keys []string
	for i := at.first; i <= last; i += at.step {
		keys = append(keys, args[i])
	}
	return keys
}

// readsFromReplica implements READONLY and READWRITE.
func readsFromReplica(on bool) func(n *Node, args []string) {
	return func(n *Node, _ []string) {
		if n.notInCluster() {
			return
		}
		if on || n.c != nil {
			n.state().reads = on
		}
		n.data.ReplyOK()
	}
}

// asks implements ASKING.
func asks(n *Node, _ []string) {
	if n.notInCluster() {
		return
	}
	n.state().asking = true
	n.data.ReplyOK()
}

// notInCluster replies with an error if the node is not in a cluster, and reports whether it has replied.
func (n *Node) notInCluster() bool {
	if n.member == nil {
		n.data.ReplyError("ERR This instance has cluster support disabled")
	}
	return n.member == nil
}

// outOfReach returns an error if a script calls a command with keys that the node does not serve, and "" otherwise.
func (n *Node) outOfReach(c *nodeCommand, args []string) string {
	if n.member == nil || n.conn == 0 {
		return ""
	}
	if n.repl.restricted && c.Flags&write != 0 && n.refusesWrites() != "" {
		return "" // Redis first checks whether writes are refused
	}
	keys := c.keysOf(args)
	switch where := n.redirectError(keys, c.storedKeys(keys), c.Flags&write != 0, n.asking, false); {
	case where == "":
		return ""
	case strings.HasPrefix(where, "CLUSTERDOWN The"):
		return "ERR Script attempted to execute a command while the cluster is down"
	}
	return "ERR Script attempted to access a non local key in a cluster node"
}
