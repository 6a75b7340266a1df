package redis

import "strings"

// nodeCommand is a command of a node: one that is about data, or with run one of the node's own.
type nodeCommand struct {
	*command
	run func(n *Node, args []string)
}

// commands finds a command by its name in lower or upper case.
var commands = map[string]*nodeCommand{}

func init() {
	for _, c := range allCommands() {
		enter(&nodeCommand{command: c})
	}
	for i := range nodeCommands {
		enter(&nodeCommands[i])
	}
}

func enter(c *nodeCommand) {
	commands[c.name] = c
	commands[strings.ToUpper(c.name)] = c
}

func findCommand(name string) *nodeCommand {
	if c := commands[name]; c != nil {
		return c
	}
	return commands[strings.ToLower(name)]
}

// nodeCommands are the commands about connections, scripts, other nodes and the node itself.
var nodeCommands = []nodeCommand{
	{&command{name: "multi", arity: 1, flags: noScript | immediate}, multi},
	{&command{name: "exec", arity: 1, flags: noScript | immediate}, execQueue},
	{&command{name: "discard", arity: 1, flags: noScript | immediate}, discard},
	{&command{name: "watch", arity: -2, flags: noScript | immediate}, watch},
	{&command{name: "unwatch", arity: 1, flags: noScript}, unwatch},

	{&command{name: "eval", arity: -3, flags: noScript}, eval},
	{&command{name: "evalsha", arity: -3, flags: noScript}, evalSHA},
	{&command{name: "script", arity: -2, flags: noScript, subs: arities{"load": 3, "exists": -3, "flush": -2}}, script},

	{&command{name: "publish", arity: 3}, publish(toChannels)},
	{&command{name: "spublish", arity: 3}, publish(toShards)},
	{&command{name: "subscribe", arity: -2, flags: noScript | listener}, subscribe(toChannels)},
	{&command{name: "psubscribe", arity: -2, flags: noScript | listener}, subscribe(toPatterns)},
	{&command{name: "ssubscribe", arity: -2, flags: noScript | listener}, subscribe(toShards)},
	{&command{name: "unsubscribe", arity: -1, flags: noScript | listener}, unsubscribe(toChannels)},
	{&command{name: "punsubscribe", arity: -1, flags: noScript | listener}, unsubscribe(toPatterns)},
	{&command{name: "sunsubscribe", arity: -1, flags: noScript | listener}, unsubscribe(toShards)},
	{&command{name: "pubsub", arity: -2, subs: arities{"channels": -2, "shardchannels": -2, "numsub": -2, "shardnumsub": -2, "numpat": 2}}, pubSub},

	{&command{name: "ping", arity: -1, flags: listener}, ping},
	{&command{name: "echo", arity: 2}, echo},
	{&command{name: "select", arity: 2}, selectDB},
	{&command{name: "time", arity: 1}, now},
	{&command{name: "wait", arity: 3}, wait},
	{&command{name: "role", arity: 1, flags: noScript}, role},
	{&command{name: "replicaof", arity: 3, flags: noScript}, replicaOf},
	{&command{name: "slaveof", arity: 3, flags: noScript}, replicaOf},
	{&command{name: "info", arity: -1}, info},
	{&command{name: "hello", arity: -1, flags: noScript}, hello},
	{&command{name: "client", arity: -2, flags: noScript, subs: arities{"id": 2, "getname": 2, "setname": 3, "setinfo": 4}}, client},
	{&command{name: "auth", arity: -2, flags: noScript}, auth},
	{&command{name: "quit", arity: -1, flags: noScript | immediate | listener}, quit},
	{&command{name: "reset", arity: 1, flags: noScript | immediate | listener}, reset},
}
