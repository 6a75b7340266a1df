package redis

import (
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// event is the notification to publish after a command executed by miniredis has changed a key.
type event struct {
	class store.Events
	name  string
}

var events = map[string]event{
	"append": {store.String, "append"}, "setrange": {store.String, "setrange"},
	"hset": {store.Hash, "hset"}, "hmset": {store.Hash, "hset"}, "hsetnx": {store.Hash, "hset"},
	"hdel": {store.Hash, "hdel"}, "hincrby": {store.Hash, "hincrby"},
	"lpush": {store.List, "lpush"}, "lpushx": {store.List, "lpush"}, "rpush": {store.List, "rpush"},
	"rpushx": {store.List, "rpush"}, "lpop": {store.List, "lpop"}, "rpop": {store.List, "rpop"},
	"lset": {store.List, "lset"}, "lrem": {store.List, "lrem"}, "ltrim": {store.List, "ltrim"},
	"linsert": {store.List, "linsert"},
	"sadd":    {store.Set, "sadd"}, "srem": {store.Set, "srem"},
	"zrem": {store.ZSet, "zrem"}, "zremrangebyrank": {store.ZSet, "zremrangebyrank"},
	"zremrangebyscore": {store.ZSet, "zremrangebyscore"}, "zpopmin": {store.ZSet, "zpopmin"},
	"zpopmax": {store.ZSet, "zpopmax"},
}

// notifyPassed publishes the notifications for a command that miniredis has executed. They have the same order as in
// Redis. notifyPassed is called for each key that the command may have changed. i is the key's index in args. existed
// says whether the command's first key existed before the command.
func notifyPassed(d *store.Data, c *command, args []string, i int, existed bool) {
	name := args[1]
	there := d.Peek(name) != nil
	switch {
	case c.Name == "smove" && i == 2:
		d.Notify(store.Set, "sadd", args[2])
		return
	case c.Name == "smove":
		d.Notify(store.Set, "srem", name)
	case i < c.keys.last:
		return // a move between lists is reported when its last key is handled
	case c.Name == "rpoplpush":
		notifyMove(d, args, "rpop", "lpush")
	case c.Name == "lmove":
		notifyMove(d, args, either(strings.EqualFold(args[3], "left"), "lpop", "rpop"),
			either(strings.EqualFold(args[4], "left"), "lpush", "rpush"))
	case existed || there:
		e := events[c.Name]
		d.Notify(e.class, e.name, name)
	}
	if existed && !there {
		d.Notify(store.Generic, "del", name)
	}
}

func notifyMove(d *store.Data, args []string, pop, push string) {
	d.Notify(store.List, push, args[2])
	d.Notify(store.List, pop, args[1])
}

func either(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}
