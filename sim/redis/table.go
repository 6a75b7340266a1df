package redis

import (
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/command"
)

// nodeCommand is a command of a node: one that is about data, or with run one of the node's own.
type nodeCommand struct {
	*command.Command
	run func(n *Node, args []string)
}

// commands finds a command by its name in lower or upper case.
var commands = map[string]*nodeCommand{}

func init() {
	for _, c := range command.All() {
		enter(&nodeCommand{Command: c})
	}
	for i := range nodeCommands {
		enter(&nodeCommands[i])
	}
}

func enter(c *nodeCommand) {
	commands[c.Name] = c
	commands[strings.ToUpper(c.Name)] = c
}

func findCommand(name string) *nodeCommand {
	if c := commands[name]; c != nil {
		return c
	}
	return commands[strings.ToLower(name)]
}

// own is a row of the table below.
func own(name string, arity int, flags command.Flag, run func(n *Node, args []string),
	subs ...command.Arities) nodeCommand {
	c := &command.Command{Name: name, Arity: arity, Flags: flags}
	if len(subs) > 0 {
		c.Subs = subs[0]
	}
	return nodeCommand{c, run}
}

// nodeCommands are the commands about connections, scripts, other nodes and the node itself.
var nodeCommands = []nodeCommand{
	own("multi", 1, command.NoScript|command.Immediate, multi),
	own("exec", 1, command.NoScript|command.Immediate, execQueue),
	own("discard", 1, command.NoScript|command.Immediate, discard),
	own("watch", -2, command.NoScript|command.Immediate, watch),
	own("unwatch", 1, command.NoScript, unwatch),

	own("eval", -3, command.NoScript, eval),
	own("evalsha", -3, command.NoScript, evalSHA),
	own("script", -2, command.NoScript, script, command.Arities{"load": 3, "exists": -3, "flush": -2}),

	own("publish", 3, 0, publish(toChannels)),
	own("spublish", 3, 0, publish(toShards)),
	own("subscribe", -2, command.NoScript|command.Listener, subscribe(toChannels)),
	own("psubscribe", -2, command.NoScript|command.Listener, subscribe(toPatterns)),
	own("ssubscribe", -2, command.NoScript|command.Listener, subscribe(toShards)),
	own("unsubscribe", -1, command.NoScript|command.Listener, unsubscribe(toChannels)),
	own("punsubscribe", -1, command.NoScript|command.Listener, unsubscribe(toPatterns)),
	own("sunsubscribe", -1, command.NoScript|command.Listener, unsubscribe(toShards)),
	own("pubsub", -2, 0, pubSub,
		command.Arities{"channels": -2, "shardchannels": -2, "numsub": -2, "shardnumsub": -2, "numpat": 2}),

	own("ping", -1, command.Listener, ping),
	own("echo", 2, 0, echo),
	own("select", 2, 0, selectDB),
	own("time", 1, 0, now),
	own("wait", 3, 0, wait),
	own("role", 1, command.NoScript, role),
	own("replicaof", 3, command.NoScript, replicaOf),
	own("slaveof", 3, command.NoScript, replicaOf),
	own("info", -1, 0, info),
	own("hello", -1, command.NoScript, hello),
	own("client", -2, command.NoScript, client, command.Arities{"id": 2, "getname": 2, "setname": 3, "setinfo": 4,
		"no-evict": 3, "no-touch": 3, "tracking": -3, "trackinginfo": 2, "caching": 3, "getredir": 2,
		"info": 2, "list": -2, "kill": -3}),
	own("auth", -2, command.NoScript, auth),
	own("quit", -1, command.NoScript|command.Immediate|command.Listener, quit),
	own("reset", 1, command.NoScript|command.Immediate|command.Listener, reset),
}
