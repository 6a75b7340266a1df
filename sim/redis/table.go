package redis

import (
	"maps"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/command"
)

// nodeCommand is a command of a node: one that is about data, or with run one of the node's own.
type nodeCommand struct {
	*command.Command
	run func(n *Node, args []string)
}

// commands finds a command of a version by its name in lower or upper case.
var commands = func() (all [3]map[string]*nodeCommand) {
	for v := range all {
		all[v] = map[string]*nodeCommand{}
		enter := func(c *nodeCommand) {
			if c.In.Has(command.Version(v)) {
				all[v][c.Name], all[v][strings.ToUpper(c.Name)] = c, c
			}
		}
		for _, c := range command.All() {
			enter(&nodeCommand{Command: c})
		}
		for i := range nodeCommands {
			enter(&nodeCommands[i])
		}
	}
	return all
}()

// find finds a command of the node's version.
func (n *Node) find(name string) *nodeCommand {
	if c := n.commands[name]; c != nil {
		return c
	}
	return n.commands[strings.ToLower(name)]
}

// own is a row of the table below.
func own(name string, arity int, flags command.Flag, run func(n *Node, args []string)) nodeCommand {
	return nodeCommand{&command.Command{Name: name, Arity: arity, Flags: flags}, run}
}

// with gives a command its subcommands.
func (c nodeCommand) with(subs command.Arities) nodeCommand {
	c.Subs = subs
	return c
}

// in says which versions have the command as it stands.
func (c nodeCommand) in(v command.Versions) nodeCommand {
	c.In = v
	return c
}

// byVersion is a command that scripts may call since Redis 7.2.
func byVersion(name string, arity int, flags command.Flag, run func(n *Node, args []string)) []nodeCommand {
	return []nodeCommand{own(name, arity, flags|command.NoScript, run).in(command.Before8),
		own(name, arity, flags, run).in(command.Only8)}
}

// clientSubs are the subcommands of CLIENT before Redis 8, and those that it has beside.
var clientSubs = command.Arities{"id": 2, "getname": 2, "setname": 3, "no-evict": 3, "tracking": -3, "trackinginfo": 2,
	"caching": 3, "getredir": 2, "unblock": -3}

func clientSubs8() command.Arities {
	subs := maps.Clone(clientSubs)
	subs["setinfo"], subs["no-touch"] = 4, 3 // of Redis 7.2
	return subs
}

// nodeCommands are the commands about connections, scripts, other nodes and the node itself, and those that wait.
var nodeCommands = slices.Concat([]nodeCommand{
	own("multi", 1, command.NoScript|command.Immediate, multi),
	own("exec", 1, command.NoScript|command.Immediate, execQueue),
	own("discard", 1, command.NoScript|command.Immediate, discard),
	own("watch", -2, command.NoScript|command.Immediate, watch),
	own("unwatch", 1, command.NoScript, unwatch),

	own("eval", -3, command.NoScript, eval(false)),
	own("evalsha", -3, command.NoScript, evalSHA(false)),
	own("eval_ro", -3, command.NoScript, eval(true)),
	own("evalsha_ro", -3, command.NoScript, evalSHA(true)),
	own("script", -2, command.NoScript, script).with(command.Arities{"load": 3, "exists": -3, "flush": -2}),

	own("publish", 3, 0, publish(toChannels)),
	own("spublish", 3, 0, publish(toShards)),
	own("subscribe", -2, command.NoScript|command.Listener, subscribe(toChannels)),
	own("psubscribe", -2, command.NoScript|command.Listener, subscribe(toPatterns)),
	own("ssubscribe", -2, command.NoScript|command.Listener, subscribe(toShards)),
	own("unsubscribe", -1, command.NoScript|command.Listener, unsubscribe(toChannels)),
	own("punsubscribe", -1, command.NoScript|command.Listener, unsubscribe(toPatterns)),
	own("sunsubscribe", -1, command.NoScript|command.Listener, unsubscribe(toShards)),
	own("pubsub", -2, 0, pubSub).
		with(command.Arities{"channels": -2, "shardchannels": -2, "numsub": -2, "shardnumsub": -2, "numpat": 2}),

	own("ping", -1, command.Listener, ping),
	own("echo", 2, 0, echo),
	own("select", 2, 0, selectDB),
	own("time", 1, 0, now),
	own("role", 1, command.NoScript, role),
	own("replicaof", 3, command.NoScript, replicaOf),
	own("slaveof", 3, command.NoScript, replicaOf),
	own("info", -1, 0, info),
	own("config", -2, command.NoScript, config).with(command.Arities{"get": -3, "set": -4}),
	own("hello", -1, command.NoScript, hello),
	own("client", -2, command.NoScript, client).with(clientSubs).in(command.Before8),
	own("client", -2, command.NoScript, client).with(clientSubs8()).in(command.Only8),
	own("auth", -2, command.NoScript, auth),
	own("quit", -1, command.NoScript|command.Immediate|command.Listener, quit),
	own("reset", 1, command.NoScript|command.Immediate|command.Listener, reset),
},
	byVersion("wait", 3, 0, wait),
	byVersion("blpop", -3, command.Write, popBlocking("LPOP")),
	byVersion("brpop", -3, command.Write, popBlocking("RPOP")),
	byVersion("blmove", 6, command.Write, blmove),
	byVersion("brpoplpush", 4, command.Write, brpoplpush))
