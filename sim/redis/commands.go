package redis

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// This file contains three tables: the data commands implemented in this package, the data commands that miniredis
// executes, and all refused commands. Commands for connections, scripts and the node itself are in table.go.

// ownCommands lists the commands that this package implements: most commands on strings, and the commands on keys as a
// whole (such as DEL and RENAME) and on the deadlines of keys and hash fields.
var ownCommands = []command{
	{Name: "get", Arity: 2, run: get},
	{Name: "set", Arity: -3, Flags: write, run: set, In: before8},
	{Name: "set", Arity: -3, Flags: write, run: setComparing, In: only8},
	{Name: "setnx", Arity: 3, Flags: write, run: setnx, checks: history.CheckedPresence},
	{Name: "setex", Arity: 4, Flags: write, run: setex("EX", "setex")},
	{Name: "psetex", Arity: 4, Flags: write, run: setex("PX", "psetex")},
	{Name: "getset", Arity: 3, Flags: write, run: getset},
	{Name: "getdel", Arity: 2, Flags: write, run: getdel},
	{Name: "getex", Arity: -2, Flags: write, run: getex},
	{Name: "mget", Arity: -2, keys: allKeys, run: mget},
	{Name: "mset", Arity: -3, Flags: write, keys: keysValues, run: mset(false)},
	{Name: "msetnx", Arity: -3, Flags: write, keys: keysValues, run: mset(true), checks: history.CheckedPresence},
	{Name: "incr", Arity: 2, Flags: write, run: incr(1)},
	{Name: "decr", Arity: 2, Flags: write, run: incr(-1)},
	{Name: "incrby", Arity: 3, Flags: write, run: incrBy(1)},
	{Name: "decrby", Arity: 3, Flags: write, run: incrBy(-1)},
	{Name: "incrbyfloat", Arity: 3, Flags: write, run: incrByFloat},
	{Name: "cad", Arity: 3, Flags: write, run: compareAndDelete, In: onlyTair, checks: history.CheckedValue},
	{Name: "cas", Arity: -4, Flags: write, run: compareAndSet, In: onlyTair, checks: history.CheckedValue},
	{Name: "delex", Arity: -2, Flags: write, run: delex, In: only8},
	{Name: "strlen", Arity: 2, run: strlen},
	{Name: "getrange", Arity: 4, run: getrange},

	{Name: "del", Arity: -2, Flags: write, keys: allKeys, run: del},
	{Name: "unlink", Arity: -2, Flags: write, keys: allKeys, run: del},
	{Name: "exists", Arity: -2, keys: allKeys, run: exists, checks: history.CheckedPresence},
	{Name: "touch", Arity: -2, keys: allKeys, run: exists, checks: history.CheckedPresence},
	{Name: "type", Arity: 2, run: typeOf, checks: history.CheckedPresence},
	{Name: "rename", Arity: 3, Flags: write, keys: twoKeys, run: rename(false)},
	{Name: "renamenx", Arity: 3, Flags: write, keys: twoKeys, run: rename(true), checks: history.CheckedPresence},
	{Name: "copy", Arity: -3, Flags: write, keys: twoKeys, run: copyKey},
	{Name: "dbsize", Arity: 1, keys: noKey, run: dbsize},
	{Name: "flushall", Arity: -1, Flags: write, keys: noKey, run: flush},
	{Name: "flushdb", Arity: -1, Flags: write, keys: noKey, run: flush},

	{Name: "expire", Arity: -3, Flags: write, run: expire("expire", true, false)},
	{Name: "pexpire", Arity: -3, Flags: write, run: expire("pexpire", false, false)},
	{Name: "expireat", Arity: -3, Flags: write, run: expire("expireat", true, true)},
	{Name: "pexpireat", Arity: -3, Flags: write, run: expire("pexpireat", false, true)},
	{Name: "persist", Arity: 2, Flags: write, run: persist},
	{Name: "ttl", Arity: 2, run: ttl(true, false), checks: history.CheckedPresence},
	{Name: "pttl", Arity: 2, run: ttl(false, false), checks: history.CheckedPresence},
	{Name: "expiretime", Arity: 2, run: ttl(true, true), checks: history.CheckedPresence},
	{Name: "pexpiretime", Arity: 2, run: ttl(false, true), checks: history.CheckedPresence},

	{Name: "xadd", Arity: -5, Flags: write, run: xadd},
	{Name: "xtrim", Arity: -4, Flags: write, run: xtrim},
	{Name: "xlen", Arity: 2, run: xlen},
	{Name: "xrange", Arity: -4, run: xrange},

	{Name: "hexpire", Arity: -6, Flags: write, run: hexpire("hexpire", true, false), In: only8},
	{Name: "hpexpire", Arity: -6, Flags: write, run: hexpire("hpexpire", false, false), In: only8},
	{Name: "hexpireat", Arity: -6, Flags: write, run: hexpire("hexpireat", true, true), In: only8},
	{Name: "hpexpireat", Arity: -6, Flags: write, run: hexpire("hpexpireat", false, true), In: only8},
	{Name: "hpersist", Arity: -5, Flags: write, run: hpersist, In: only8},
	{Name: "httl", Arity: -5, run: httl(true, false), In: only8, checks: history.CheckedPresence},
	{Name: "hpttl", Arity: -5, run: httl(false, false), In: only8, checks: history.CheckedPresence},
	{Name: "hexpiretime", Arity: -5, run: httl(true, true), In: only8, checks: history.CheckedPresence},
	{Name: "hpexpiretime", Arity: -5, run: httl(false, true), In: only8, checks: history.CheckedPresence},
	{Name: "hsetex", Arity: -6, Flags: write, run: hsetex, In: only8},
	{Name: "hgetex", Arity: -5, Flags: write, run: hgetex, In: only8},
	{Name: "hgetdel", Arity: -5, Flags: write, run: hgetdel, In: only8},
}

// passedCommands lists the commands that miniredis executes, except where a run function does so instead.
var passedCommands = []command{
	{Name: "append", Arity: 3, Flags: write, keys: oneKey},
	{Name: "setrange", Arity: 4, Flags: write | unlessNil, keys: oneKey, first: setrangeFirst},

	{Name: "keys", Arity: 2, keys: noKey},
	{Name: "scan", Arity: -2, keys: noKey, run: scan},

	{Name: "hset", Arity: -4, Flags: write, keys: oneKey, first: hsetFirst},
	{Name: "hsetnx", Arity: 4, Flags: write | unlessNil, keys: oneKey, first: fieldFirst,
		checks: history.CheckedPresence},
	{Name: "hmset", Arity: -4, Flags: write, keys: oneKey, first: hsetFirst},
	{Name: "hget", Arity: 3, Flags: naming, keys: oneKey, first: fieldFirst},
	{Name: "hmget", Arity: -3, Flags: naming, keys: oneKey, first: hmgetFirst},
	{Name: "hgetall", Arity: 2, Flags: asMap, keys: oneKey},
	{Name: "hkeys", Arity: 2, keys: oneKey},
	{Name: "hvals", Arity: 2, keys: oneKey},
	{Name: "hlen", Arity: 2, keys: oneKey, first: hlenFirst},
	{Name: "hstrlen", Arity: 3, Flags: naming, keys: oneKey, first: fieldFirst},
	{Name: "hexists", Arity: 3, Flags: naming, keys: oneKey, first: fieldFirst},
	{Name: "hdel", Arity: -3, Flags: write | unlessNil, keys: oneKey, first: hdelFirst, checks: history.CheckedValue},
	{Name: "hincrby", Arity: 4, Flags: write, keys: oneKey, first: hincrbyFirst},

	{Name: "lpush", Arity: -3, Flags: write, keys: oneKey},
	{Name: "rpush", Arity: -3, Flags: write, keys: oneKey},
	{Name: "lpushx", Arity: -3, Flags: write | unlessNil, keys: oneKey, checks: history.CheckedPresence},
	{Name: "rpushx", Arity: -3, Flags: write | unlessNil, keys: oneKey, checks: history.CheckedPresence},
	{Name: "lpop", Arity: -2, Flags: write | unlessNil, keys: oneKey, first: popFirst, checks: history.CheckedPresence},
	{Name: "rpop", Arity: -2, Flags: write | unlessNil, keys: oneKey, first: popFirst, checks: history.CheckedPresence},
	{Name: "llen", Arity: 2, keys: oneKey},
	{Name: "lrange", Arity: 4, keys: oneKey, first: indices(2, 3)},
	{Name: "lindex", Arity: 3, keys: oneKey, first: lindexFirst},
	{Name: "lset", Arity: 4, Flags: write, keys: oneKey, first: lsetFirst},
	{Name: "lrem", Arity: 4, Flags: write | unlessNil, keys: oneKey, first: indices(2, 2),
		checks: history.CheckedValue},
	{Name: "ltrim", Arity: 4, Flags: write, keys: oneKey, first: indices(2, 3)},
	{Name: "linsert", Arity: 5, Flags: write | unlessNil, keys: oneKey, checks: history.CheckedPresence},
	{Name: "lpos", Arity: -3, run: lpos},
	{Name: "rpoplpush", Arity: 3, Flags: write | unlessNil, keys: twoKeys, checks: history.CheckedPresence},
	{Name: "lmove", Arity: 5, Flags: write | unlessNil, keys: twoKeys, first: lmoveFirst,
		checks: history.CheckedPresence},

	{Name: "sadd", Arity: -3, Flags: write | unlessNil, keys: oneKey},
	{Name: "srem", Arity: -3, Flags: write | unlessNil, keys: oneKey, checks: history.CheckedValue},
	{Name: "smembers", Arity: 2, Flags: asSet, keys: oneKey},
	{Name: "sismember", Arity: 3, Flags: naming, keys: oneKey},
	{Name: "smismember", Arity: -3, Flags: naming, keys: oneKey},
	{Name: "scard", Arity: 2, keys: oneKey},
	{Name: "smove", Arity: 4, Flags: write | unlessNil, keys: twoKeys, first: smoveFirst, checks: history.CheckedValue},
	{Name: "sunion", Arity: -2, Flags: unordered | asSet, keys: allKeys, first: readSets},
	{Name: "sinter", Arity: -2, Flags: unordered | asSet, keys: allKeys, first: readSets},
	{Name: "sdiff", Arity: -2, Flags: unordered | asSet, keys: allKeys, first: readSets},
	{Name: "sunionstore", Arity: -3, Flags: write, keys: allKeys, run: storeSet("SUNION")},
	{Name: "sinterstore", Arity: -3, Flags: write, keys: allKeys, run: storeSet("SINTER")},
	{Name: "sdiffstore", Arity: -3, Flags: write, keys: allKeys, run: storeSet("SDIFF")},

	{Name: "zadd", Arity: -4, Flags: write, run: zadd(false)},
	{Name: "zincrby", Arity: 4, Flags: write, run: zadd(true)},
	{Name: "zrem", Arity: -3, Flags: write | unlessNil, keys: oneKey, checks: history.CheckedValue},
	{Name: "zscore", Arity: 3, Flags: naming | scored, keys: oneKey},
	{Name: "zmscore", Arity: -3, Flags: naming | scored, keys: oneKey},
	{Name: "zcard", Arity: 2, keys: oneKey},
	{Name: "zcount", Arity: 4, keys: oneKey, first: byScore},
	{Name: "zrank", Arity: 3, keys: oneKey},
	{Name: "zrevrank", Arity: 3, keys: oneKey},
	{Name: "zrange", Arity: -4, Flags: scored, keys: oneKey, first: indices(2, 3, "WITHSCORES", "REV")},
	{Name: "zrevrange", Arity: -4, Flags: scored, keys: oneKey, first: indices(2, 3, "WITHSCORES")},
	{Name: "zrangebyscore", Arity: -4, Flags: scored, keys: oneKey, first: byScore},
	{Name: "zrevrangebyscore", Arity: -4, Flags: scored, keys: oneKey, first: byScore},
	{Name: "zremrangebyrank", Arity: 4, Flags: write | unlessNil, keys: oneKey, first: indices(2, 3),
		checks: history.CheckedPresence},
	{Name: "zremrangebyscore", Arity: 4, Flags: write | unlessNil, keys: oneKey, first: byScore,
		checks: history.CheckedValue},
	{Name: "zpopmin", Arity: -2, Flags: write | unlessNil | scored, keys: oneKey, first: zpopFirst,
		checks: history.CheckedPresence},
	{Name: "zpopmax", Arity: -2, Flags: write | unlessNil | scored, keys: oneKey, first: zpopFirst,
		checks: history.CheckedPresence},
}

// Reasons why some Redis commands are not simulated.
const (
	random  = "its reply is random"
	waiting = "of the commands that wait for data, only BLPOP, BRPOP, BLMOVE and BRPOPLPUSH are simulated"
	aServer = "it administers a real server"
	beyond  = "locks do not use it"
	others  = "the simulation keeps no list of connections: to break a connection, use a fault"
	help    = "it only prints help"
)

// refused lists the Redis 7.0 commands and subcommands that the node refuses, with the reasons. A node that simulates
// Redis 8 refuses them as well. A command that the node neither executes nor refuses does not exist in the server's
// version.
var refused = map[string]string{
	"spop": random, "srandmember": random, "randomkey": random, "hrandfield": random, "zrandmember": random,

	"blmpop": waiting, "bzpopmin": waiting, "bzpopmax": waiting, "bzmpop": waiting,

	"monitor": aServer, "debug": aServer, "command": aServer, "memory": aServer, "object": aServer,
	"latency": aServer, "slowlog": aServer, "acl": aServer, "module": aServer, "save": aServer, "bgsave": aServer,
	"bgrewriteaof": aServer, "lastsave": aServer, "shutdown": aServer, "failover": aServer, "sync": aServer,
	"psync": aServer, "replconf": aServer, "dump": aServer, "restore": aServer, "restore-asking": aServer,
	"migrate": aServer, "lolwut": aServer,
	"pfdebug": aServer, "pfselftest": aServer, "config|resetstat": aServer, "config|rewrite": aServer,
	"cluster|bumpepoch": aServer, "cluster|count-failure-reports": aServer, "cluster|flushslots": aServer,
	"cluster|forget": aServer, "cluster|links": aServer, "cluster|meet": aServer, "cluster|replicate": aServer,
	"cluster|reset": aServer, "cluster|saveconfig": aServer, "cluster|set-config-epoch": aServer,
	"cluster|addslots": aServer, "cluster|addslotsrange": aServer, "cluster|delslots": aServer,
	"cluster|delslotsrange": aServer, "cluster|help": help,
	"script|debug": aServer, "script|kill": "a script that runs too long is stopped",

	"client|info": others, "client|list": others, "client|kill": others, "client|pause": others,
	"client|unpause": others, "client|reply": others,
	"client|help": help, "config|help": help, "pubsub|help": help, "script|help": help,

	"xread": beyond, "xreadgroup": beyond, "xrevrange": beyond, "xdel": beyond, "xgroup": beyond, "xack": beyond,
	"xclaim": beyond, "xautoclaim": beyond, "xpending": beyond, "xinfo": beyond, "xsetid": beyond,
	"geoadd": beyond, "geopos": beyond, "geodist": beyond, "geohash": beyond, "geosearch": beyond,
	"geosearchstore": beyond, "georadius": beyond, "georadiusbymember": beyond, "georadius_ro": beyond,
	"georadiusbymember_ro": beyond, "pfadd": beyond, "pfcount": beyond, "pfmerge": beyond,
	"setbit": beyond, "getbit": beyond, "bitcount": beyond, "bitop": beyond, "bitpos": beyond, "bitfield": beyond,
	"bitfield_ro": beyond, "sort": beyond, "sort_ro": beyond, "lcs": beyond, "substr": beyond,
	"hscan": beyond, "sscan": beyond, "zscan": beyond,
	"hincrbyfloat": beyond, "lmpop": beyond, "zmpop": beyond, "sintercard": beyond, "zintercard": beyond,
	"zunion": beyond, "zinter": beyond, "zdiff": beyond, "zunionstore": beyond, "zinterstore": beyond,
	"zdiffstore": beyond, "zrangestore": beyond, "zrangebylex": beyond, "zrevrangebylex": beyond,
	"zremrangebylex": beyond, "zlexcount": beyond,
	"move": beyond, "swapdb": beyond,
	"function|dump": aServer, "function|restore": aServer, "function|stats": aServer, "function|help": help,
	"function|kill": "a function that runs too long is stopped",
}

// refused8 lists the refused commands that were added after 7.0, up to 8.4. It does not include module commands
// (https://redis.io/commands/redis-8-4-commands).
var refused8 = map[string]string{
	"cluster|myshardid": aServer, "cluster|slot-stats": aServer, "cluster|migration": aServer,
	"xdelex": beyond, "xackdel": beyond, "digest": "locks do not use digests", "msetex": beyond,
}

// isModule8 reports whether a command comes from one of the modules included in Redis 8, such as JSON.SET, FT.SEARCH
// and VADD.
func isModule8(name string) bool {
	module, _, dotted := strings.Cut(name, ".")
	if dotted {
		return slices.Contains([]string{"json", "ft", "ts", "bf", "cf", "cms", "topk", "tdigest"}, module)
	}
	return slices.Contains([]string{"vadd", "vcard", "vdim", "vemb", "vgetattr", "vinfo", "vismember", "vlinks",
		"vrandmember", "vrange", "vrem", "vsetattr", "vsim"}, name)
}

// refusedBecause explains why a server of the given version refuses a command. name is in lower case, with a bar before
// a subcommand. The result is "" if the command is not refused or does not exist in that version.
func refusedBecause(v Version, name string) string {
	if why := refused[name]; why != "" {
		return why
	}
	switch {
	case v != Redis8:
		return ""
	case isModule8(name):
		return beyond
	}
	return refused8[name]
}

func notSimulated(name, why string) string {
	return "ERR fencepost: " + strings.ToUpper(strings.ReplaceAll(name, "|", " ")) + " is not simulated: " + why
}

// unknownSub returns the error for a subcommand that Redis does not know or that is not simulated.
func unknownSub(v Version, command, sub string) string {
	name := command + "|" + strings.ToLower(sub)
	if why := refusedBecause(v, name); why != "" {
		return notSimulated(name, why)
	}
	return "ERR unknown subcommand '" + clip(sub, 128) + "'. Try " + strings.ToUpper(command) + " HELP."
}

// unknownCommand returns the error for a command that Redis does not know or that is not simulated.
func unknownCommand(v Version, args []string) string {
	if why := refusedBecause(v, strings.ToLower(args[0])); why != "" {
		return notSimulated(strings.ToLower(args[0]), why)
	}
	quoted := ""
	for _, a := range args[1:] {
		if len(quoted) >= 128 {
			break
		}
		quoted += "'" + clip(a, 128-len(quoted)) + "' "
	}
	return "ERR unknown command '" + clip(args[0], 128) + "', with args beginning with: " + quoted
}
