package redis

// ownCommands are the commands that the node carries out itself: all that have to do with existence, time, ownership,
// connections and scripts, and what locks use.
var ownCommands = []command{
	{name: "get", arity: 2, run: get},
	{name: "set", arity: -3, run: set},
	{name: "setnx", arity: 3, run: setnx},
	{name: "setex", arity: 4, run: setex("EX", "setex")},
	{name: "psetex", arity: 4, run: setex("PX", "psetex")},
	{name: "getset", arity: 3, run: getset},
	{name: "getdel", arity: 2, run: getdel},
	{name: "getex", arity: -2, run: getex},
	{name: "mget", arity: -2, run: mget},
	{name: "mset", arity: -3, run: mset(false)},
	{name: "msetnx", arity: -3, run: mset(true)},
	{name: "incr", arity: 2, run: incr(1)},
	{name: "decr", arity: 2, run: incr(-1)},
	{name: "incrby", arity: 3, run: incrBy(1)},
	{name: "decrby", arity: 3, run: incrBy(-1)},
	{name: "incrbyfloat", arity: 3, run: incrByFloat},
	{name: "strlen", arity: 2, run: strlen},
	{name: "getrange", arity: 4, run: getrange},

	{name: "del", arity: -2, run: del},
	{name: "unlink", arity: -2, run: del},
	{name: "exists", arity: -2, run: exists},
	{name: "touch", arity: -2, run: exists},
	{name: "type", arity: 2, run: typeOf},
	{name: "rename", arity: 3, run: rename(false)},
	{name: "renamenx", arity: 3, run: rename(true)},
	{name: "copy", arity: -3, run: copyKey},
	{name: "dbsize", arity: 1, run: dbsize},
	{name: "flushall", arity: -1, run: flush},
	{name: "flushdb", arity: -1, run: flush},

	{name: "expire", arity: -3, run: expire("expire", true, false)},
	{name: "pexpire", arity: -3, run: expire("pexpire", false, false)},
	{name: "expireat", arity: -3, run: expire("expireat", true, true)},
	{name: "pexpireat", arity: -3, run: expire("pexpireat", false, true)},
	{name: "persist", arity: 2, run: persist},
	{name: "ttl", arity: 2, run: ttl(true, false)},
	{name: "pttl", arity: 2, run: ttl(false, false)},
	{name: "expiretime", arity: 2, run: ttl(true, true)},
	{name: "pexpiretime", arity: 2, run: ttl(false, true)},

	{name: "multi", arity: 1, flags: noScript | immediate, run: multi},
	{name: "exec", arity: 1, flags: noScript | immediate, run: execQueue},
	{name: "discard", arity: 1, flags: noScript | immediate, run: discard},
	{name: "watch", arity: -2, flags: noScript | immediate, run: watch},
	{name: "unwatch", arity: 1, flags: noScript, run: unwatch},

	{name: "eval", arity: -3, flags: noScript, run: eval},
	{name: "evalsha", arity: -3, flags: noScript, run: evalSHA},
	{name: "script", arity: -2, flags: noScript, run: script},

	{name: "ping", arity: -1, run: ping},
	{name: "echo", arity: 2, run: echo},
	{name: "select", arity: 2, run: selectDB},
	{name: "time", arity: 1, run: now},
	{name: "wait", arity: 3, flags: noScript, run: wait},
	{name: "info", arity: -1, run: info},
	{name: "hello", arity: -1, flags: noScript, run: hello},
	{name: "client", arity: -2, flags: noScript, run: client},
	{name: "auth", arity: -2, flags: noScript, run: auth},
	{name: "quit", arity: -1, flags: noScript | immediate, run: quit},
	{name: "reset", arity: 1, flags: noScript | immediate, run: reset},
}

// passedCommands are executed by miniredis.
var passedCommands = []command{
	{name: "append", arity: 3, flags: write, keys: oneKey},
	{name: "setrange", arity: 4, flags: write | unlessNil, keys: oneKey, first: setrangeFirst},

	{name: "keys", arity: 2},
	{name: "scan", arity: -2},

	{name: "hset", arity: -4, flags: write, keys: oneKey},
	{name: "hsetnx", arity: 4, flags: write | unlessNil, keys: oneKey},
	{name: "hmset", arity: -4, flags: write, keys: oneKey},
	{name: "hget", arity: 3},
	{name: "hmget", arity: -3},
	{name: "hgetall", arity: 2},
	{name: "hkeys", arity: 2},
	{name: "hvals", arity: 2},
	{name: "hlen", arity: 2},
	{name: "hstrlen", arity: 3},
	{name: "hexists", arity: 3},
	{name: "hdel", arity: -3, flags: write | unlessNil, keys: oneKey},
	{name: "hincrby", arity: 4, flags: write, keys: oneKey, first: hincrbyFirst},

	{name: "lpush", arity: -3, flags: write, keys: oneKey},
	{name: "rpush", arity: -3, flags: write, keys: oneKey},
	{name: "lpushx", arity: -3, flags: write | unlessNil, keys: oneKey},
	{name: "rpushx", arity: -3, flags: write | unlessNil, keys: oneKey},
	{name: "lpop", arity: -2, flags: write | unlessNil, keys: oneKey, first: popFirst},
	{name: "rpop", arity: -2, flags: write | unlessNil, keys: oneKey, first: popFirst},
	{name: "llen", arity: 2},
	{name: "lrange", arity: 4},
	{name: "lindex", arity: 3, first: lindexFirst},
	{name: "lset", arity: 4, flags: write, keys: oneKey, first: lsetFirst},
	{name: "lrem", arity: 4, flags: write | unlessNil, keys: oneKey},
	{name: "ltrim", arity: 4, flags: write, keys: oneKey},
	{name: "linsert", arity: 5, flags: write | unlessNil, keys: oneKey},
	{name: "lpos", arity: -3},
	{name: "rpoplpush", arity: 3, flags: write | unlessNil, keys: twoKeys},
	{name: "lmove", arity: 5, flags: write | unlessNil, keys: twoKeys, first: lmoveFirst},

	{name: "sadd", arity: -3, flags: write | unlessNil, keys: oneKey},
	{name: "srem", arity: -3, flags: write | unlessNil, keys: oneKey},
	{name: "smembers", arity: 2},
	{name: "sismember", arity: 3},
	{name: "smismember", arity: -3},
	{name: "scard", arity: 2},
	{name: "smove", arity: 4, flags: write | unlessNil, keys: twoKeys, first: smoveFirst},
	{name: "sunion", arity: -2, flags: unordered},
	{name: "sinter", arity: -2, flags: unordered},
	{name: "sdiff", arity: -2, flags: unordered},
	{name: "sunionstore", arity: -3, run: storeSet("SUNION")},
	{name: "sinterstore", arity: -3, run: storeSet("SINTER")},
	{name: "sdiffstore", arity: -3, run: storeSet("SDIFF")},

	{name: "zadd", arity: -4, flags: write, keys: oneKey},
	{name: "zincrby", arity: 4, flags: write, keys: oneKey},
	{name: "zrem", arity: -3, flags: write | unlessNil, keys: oneKey},
	{name: "zscore", arity: 3},
	{name: "zmscore", arity: -3},
	{name: "zcard", arity: 2},
	{name: "zcount", arity: 4},
	{name: "zrank", arity: 3},
	{name: "zrevrank", arity: 3},
	{name: "zrange", arity: -4},
	{name: "zrevrange", arity: -4},
	{name: "zrangebyscore", arity: -4},
	{name: "zrevrangebyscore", arity: -4},
	{name: "zremrangebyrank", arity: 4, flags: write | unlessNil, keys: oneKey},
	{name: "zremrangebyscore", arity: 4, flags: write | unlessNil, keys: oneKey},
	{name: "zpopmin", arity: -2, flags: write | unlessNil, keys: oneKey, first: zpopFirst},
	{name: "zpopmax", arity: -2, flags: write | unlessNil, keys: oneKey, first: zpopFirst},
}

// Why commands that Redis has are not simulated.
const (
	random   = "its reply is random"
	unasked  = "messages that nobody asked for cannot be delivered"
	blocking = "it blocks"
	aServer  = "it is about a real server"
	beyond   = "locks do not use it"
)

// notSimulated are commands of Redis that the node refuses, and why.
var notSimulated = map[string]string{
	"spop": random, "srandmember": random, "randomkey": random, "hrandfield": random, "zrandmember": random,

	"subscribe": unasked, "unsubscribe": unasked, "psubscribe": unasked, "punsubscribe": unasked, "publish": unasked,
	"pubsub": unasked, "ssubscribe": unasked, "sunsubscribe": unasked, "spublish": unasked, "monitor": unasked,

	"blpop": blocking, "brpop": blocking, "brpoplpush": blocking, "blmove": blocking, "blmpop": blocking,
	"bzpopmin": blocking, "bzpopmax": blocking, "bzmpop": blocking,

	"config": aServer, "debug": aServer, "command": aServer, "cluster": aServer, "memory": aServer, "object": aServer,
	"latency": aServer, "slowlog": aServer, "acl": aServer, "module": aServer, "save": aServer, "bgsave": aServer,
	"bgrewriteaof": aServer, "lastsave": aServer, "shutdown": aServer, "failover": aServer, "replicaof": aServer,
	"slaveof": aServer, "role": aServer, "sync": aServer, "psync": aServer, "replconf": aServer, "dump": aServer,
	"restore": aServer, "migrate": aServer, "waitaof": aServer, "readonly": aServer, "readwrite": aServer, "asking": aServer,

	"xadd": beyond, "xread": beyond, "xreadgroup": beyond, "xrange": beyond, "xrevrange": beyond, "xlen": beyond,
	"xdel": beyond, "xtrim": beyond, "xgroup": beyond, "xack": beyond, "xclaim": beyond, "xautoclaim": beyond,
	"xpending": beyond, "xinfo": beyond, "xsetid": beyond,
	"geoadd": beyond, "geopos": beyond, "geodist": beyond, "geohash": beyond, "geosearch": beyond, "geosearchstore": beyond,
	"georadius": beyond, "georadiusbymember": beyond, "georadius_ro": beyond, "georadiusbymember_ro": beyond,
	"pfadd": beyond, "pfcount": beyond, "pfmerge": beyond,
	"setbit": beyond, "getbit": beyond, "bitcount": beyond, "bitop": beyond, "bitpos": beyond, "bitfield": beyond,
	"bitfield_ro": beyond, "sort": beyond, "sort_ro": beyond, "lcs": beyond, "substr": beyond,
	"hexpire": beyond, "hpexpire": beyond, "hexpireat": beyond, "hpexpireat": beyond, "httl": beyond, "hpttl": beyond,
	"hpersist": beyond, "hsetex": beyond, "hgetex": beyond, "hscan": beyond, "sscan": beyond, "zscan": beyond,
	"hincrbyfloat": beyond, "lmpop": beyond, "zmpop": beyond, "sintercard": beyond, "zintercard": beyond,
	"zunion": beyond, "zinter": beyond, "zdiff": beyond, "zunionstore": beyond, "zinterstore": beyond,
	"zdiffstore": beyond, "zrangestore": beyond, "zrangebylex": beyond, "zrevrangebylex": beyond,
	"zremrangebylex": beyond, "zlexcount": beyond,
	"move": beyond, "swapdb": beyond, "fcall": beyond, "fcall_ro": beyond, "function": beyond, "eval_ro": beyond,
	"evalsha_ro": beyond,
}
