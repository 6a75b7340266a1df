package redis

import (
	"maps"
	"slices"
	"strings"
)

// nodeCommand is an entry in a node's command table. If run is set, it executes the command. If run is nil, the entry
// is for a data command, and the embedded command says how to execute it (command.go).
type nodeCommand struct {
	*command
	run func(n *Node, args []string)
}

// commands contains, for each version, a map from names (in lower or upper case) to commands.
var commands = func() (all [versions]map[string]*nodeCommand) {
	for v := range all {
		all[v] = map[string]*nodeCommand{}
		enter := func(c *nodeCommand) {
			if c.In.has(Version(v)) {
				all[v][c.Name], all[v][strings.ToUpper(c.Name)] = c, c
			}
		}
		for _, c := range allCommands() {
			enter(&nodeCommand{command: c})
		}
		for i := range nodeCommands {
			enter(&nodeCommands[i])
		}
	}
	return all
}()

// find returns the command with the given name in the node's version.
func (n *Node) find(name string) *nodeCommand {
	if c := n.commands[name]; c != nil {
		return c
	}
	return n.commands[strings.ToLower(name)]
}

// row makes an entry for the nodeCommands table.
func row(name string, arity int, flags flag, run func(n *Node, args []string)) nodeCommand {
	return nodeCommand{&command{Name: name, Arity: arity, Flags: flags}, run}
}

// withSubs returns the command with the given subcommands.
func (c nodeCommand) withSubs(subs arities) nodeCommand {
	c.Subs = subs
	return c
}

// withWriters returns the command with the given subcommands marked as changing data.
func (c nodeCommand) withWriters(subs ...string) nodeCommand {
	c.writers = subs
	return c
}

// withKeys returns the command with the given arguments marked as keys.
func (c nodeCommand) withKeys(keys keyRange) nodeCommand {
	c.keys = keys
	return c
}

// forVersions returns the command restricted to the given Redis versions.
func (c nodeCommand) forVersions(v versionRange) nodeCommand {
	c.In = v
	return c
}

// byVersion returns the two table entries of a command that scripts may call only in Redis 8: one entry for Redis 8,
// and one for the other simulated versions. (Redis has allowed these calls since 7.2, which is not simulated.)
func byVersion(name string, arity int, flags flag, keys keyRange, run func(n *Node, args []string)) []nodeCommand {
	return []nodeCommand{row(name, arity, flags|noScript, run).withKeys(keys).forVersions(before8),
		row(name, arity, flags, run).withKeys(keys).forVersions(only8)}
}

// clientSubs are CLIENT's subcommands before Redis 8. clientSubs8 returns those in Redis 8.
var clientSubs = arities{"id": 2, "getname": 2, "setname": 3, "no-evict": 3, "tracking": -3, "trackinginfo": 2,
	"caching": 3, "getredir": 2, "unblock": -3}

func clientSubs8() arities {
	subs := maps.Clone(clientSubs)
	subs["setinfo"], subs["no-touch"] = 4, 3 // since Redis 7.2
	return subs
}

// nodeCommands lists the commands that wait, and the commands about connections, scripts, other nodes and the node
// itself.
var nodeCommands = slices.Concat([]nodeCommand{
	row("multi", 1, noScript|immediate, multi),
	row("exec", 1, noScript|immediate, execQueue),
	row("discard", 1, noScript|immediate, discard),
	row("watch", -2, noScript|immediate, watch).withKeys(allKeys),
	row("unwatch", 1, noScript, unwatch),

	row("eval", -3, noScript, eval(false, false)),
	row("evalsha", -3, noScript, eval(true, false)),
	row("eval_ro", -3, noScript, eval(false, true)),
	row("evalsha_ro", -3, noScript, eval(true, true)),
	row("script", -2, noScript, script).withSubs(arities{"load": 3, "exists": -3, "flush": -2}),

	row("fcall", -3, noScript|calls, fcall(false)),
	row("fcall_ro", -3, noScript|calls, fcall(true)),
	row("function", -2, noScript, functions).withSubs(arities{"load": -3, "delete": 3, "list": -2, "flush": -2}).
		withWriters("load", "delete", "flush"),

	row("publish", 3, 0, publish(toChannels)),
	row("spublish", 3, 0, publish(toShards)),
	row("subscribe", -2, noScript|listener, subscribe(toChannels)),
	row("psubscribe", -2, noScript|listener, subscribe(toPatterns)),
	row("ssubscribe", -2, noScript|listener, subscribe(toShards)),
	row("unsubscribe", -1, noScript|listener, unsubscribe(toChannels)),
	row("punsubscribe", -1, noScript|listener, unsubscribe(toPatterns)),
	row("sunsubscribe", -1, noScript|listener, unsubscribe(toShards)),
	row("pubsub", -2, 0, pubSub).
		withSubs(arities{"channels": -2, "shardchannels": -2, "numsub": -2, "shardnumsub": -2, "numpat": 2}),

	row("ping", -1, listener, ping),
	row("echo", 2, 0, echo),
	row("select", 2, 0, selectDB),
	row("time", 1, 0, serverTime),
	row("role", 1, noScript, role),
	row("replicaof", 3, noScript, replicaOf),
	row("slaveof", 3, noScript, replicaOf),
	row("info", -1, 0, info),
	row("config", -2, noScript, config).withSubs(arities{"get": -3, "set": -4}),
	row("hello", -1, noScript, hello),
	row("client", -2, noScript, client).withSubs(clientSubs).forVersions(before8),
	row("client", -2, noScript, client).withSubs(clientSubs8()).forVersions(only8),
	row("auth", -2, noScript, auth),
	row("cluster", -2, 0, cluster).withSubs(clusterSubs),
	row("readonly", 1, 0, readsFromReplica(true)),
	row("readwrite", 1, 0, readsFromReplica(false)),
	row("asking", 1, 0, asks),
	row("quit", -1, noScript|immediate|listener, quit),
	row("reset", 1, noScript|immediate|listener, reset),
},
	byVersion("wait", 3, 0, noKey, wait),
	[]nodeCommand{row("waitaof", 4, 0, waitAOF).forVersions(only8)},
	byVersion("blpop", -3, write, keysLast, popBlocking("LPOP")),
	byVersion("brpop", -3, write, keysLast, popBlocking("RPOP")),
	byVersion("blmove", 6, write, twoKeys, blmove),
	byVersion("brpoplpush", 4, write, twoKeys, brpoplpush))

// dispatch executes a command, or queues it in a transaction, and appends the reply to n.data.Out.
func (n *Node) dispatch(args []string) {
	if len(args) == 0 {
		n.data.ReplyError("ERR fencepost: the request contains no command")
		return
	}
	if n.face != nil && n.outward(args) {
		return
	}
	c := n.find(args[0])
	if c == nil {
		n.takeAsking("")
		n.refuse(nil, unknownCommand(n.cfg.Version, args))
		return
	}
	trouble := c.refusalOf(n.cfg.Version, args)
	if trouble == "" || c.Name == "asking" {
		n.takeAsking(c.Name)
	} else {
		n.takeAsking("")
	}
	if trouble == "" && n.cfg.Password != "" {
		trouble = n.refusesStranger(c)
	}
	if trouble == "" && n.member != nil {
		if trouble = n.redirection(c, args); trouble != "" {
			n.sendAway(c, trouble)
			return
		}
	}
	if trouble == "" && n.repl.restricted && n.mayWrite(c, args) {
		trouble = n.refusesWrites()
	}
	if trouble == "" {
		trouble = n.refusesListener(c, args)
	}
	if trouble != "" {
		n.refuse(c, trouble)
		return
	}
	if t := n.transaction(); t != nil && c.Flags&immediate == 0 {
		if !t.refused && !t.dirty { // otherwise EXEC executes nothing, and does not look at the command's keys
			t.queue = append(t.queue, append([]string(nil), args...))
		}
		n.data.ReplyStatus("QUEUED")
		return
	}
	if !n.replaying() {
		n.data.ExpireDue()
	}
	if c.run != nil {
		c.run(n, args)
		return
	}
	c.carryOut(n.data, args)
	if n.tracking.active() {
		n.remember(c, args)
	}
}

// refuse replies to a command with an error instead of executing it. c is nil if the command is unknown. If a
// transaction is open, its EXEC will fail. If c is EXEC itself, the transaction ends.
func (n *Node) refuse(c *nodeCommand, trouble string) {
	t := n.transaction()
	if c != nil && c.Name == "exec" {
		trouble = "EXECABORT Transaction discarded because of: " + strings.TrimPrefix(trouble, "ERR ")
		if n.c != nil {
			n.leave(n.c)
		}
	} else if t != nil {
		t.refused = true
	}
	n.data.ReplyError(trouble)
}
