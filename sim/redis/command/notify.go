package command

import (
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/keyspace"
)

// event is what is sent about the key of a command that was passed on and has changed it.
type event struct {
	class keyspace.Events
	name  string
}

var events = map[string]event{
	"append": {keyspace.String, "append"}, "setrange": {keyspace.String, "setrange"},
	"hset": {keyspace.Hash, "hset"}, "hmset": {keyspace.Hash, "hset"}, "hsetnx": {keyspace.Hash, "hset"},
	"hdel": {keyspace.Hash, "hdel"}, "hincrby": {keyspace.Hash, "hincrby"},
	"lpush": {keyspace.List, "lpush"}, "lpushx": {keyspace.List, "lpush"}, "rpush": {keyspace.List, "rpush"},
	"rpushx": {keyspace.List, "rpush"}, "lpop": {keyspace.List, "lpop"}, "rpop": {keyspace.List, "rpop"},
	"lset": {keyspace.List, "lset"}, "lrem": {keyspace.List, "lrem"}, "ltrim": {keyspace.List, "ltrim"},
	"linsert": {keyspace.List, "linsert"},
	"sadd":    {keyspace.Set, "sadd"}, "srem": {keyspace.Set, "srem"},
	"zrem": {keyspace.ZSet, "zrem"}, "zremrangebyrank": {keyspace.ZSet, "zremrangebyrank"},
	"zremrangebyscore": {keyspace.ZSet, "zremrangebyscore"}, "zpopmin": {keyspace.ZSet, "zpopmin"},
	"zpopmax": {keyspace.ZSet, "zpopmax"},
}

// notifyPassed sends what a command that was passed on has done to its keys, in the order in which Redis says it, once
// the ith argument, one of them, has been settled. was says whether the first was there; it has come to be by the
// command if it is there now.
func notifyPassed(d *keyspace.Data, c *Command, args []string, i int, was bool) {
	name := args[1]
	there := d.Peek(name) != nil
	switch {
	case c.Name == "smove" && i == 2:
		d.Notify(keyspace.Set, "sadd", args[2])
		return
	case c.Name == "smove":
		d.Notify(keyspace.Set, "srem", name)
	case i < c.keys.last:
		return // a move between lists says all at its end
	case c.Name == "rpoplpush":
		notifyMove(d, args, "rpop", "lpush")
	case c.Name == "lmove":
		notifyMove(d, args, either(strings.EqualFold(args[3], "left"), "lpop", "rpop"),
			either(strings.EqualFold(args[4], "left"), "lpush", "rpush"))
	case was || there:
		e := events[c.Name]
		d.Notify(e.class, e.name, name)
	}
	if was && !there {
		d.Notify(keyspace.Generic, "del", name)
	}
}

func notifyMove(d *keyspace.Data, args []string, pop, push string) {
	d.Notify(keyspace.List, push, args[2])
	d.Notify(keyspace.List, pop, args[1])
}

func either(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}
